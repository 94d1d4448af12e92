//! The mail settings.

use std::path::PathBuf;

use postrider_adapter_smtp::{FromAddress, Server, is_address};
use postrider_gateway::mail::Addresses;
use postrider_gateway::settings::Reader;
use postrider_gateway::settings::setting::{OptionalText, Setting};
use url::Url;

pub(crate) const SMTP_URL: Setting<OptionalText> = Setting {
    name: "POSTRIDER_SMTP_URL",
    values: OptionalText {
        form: "smtps://user:password@host:port or smtp://…",
        unset: "none",
    },
    meaning: "Mail server for notifying owners that a webhook has failed, or has failed three times in a row. `smtps://` uses TLS from the start (default port 465); `smtp://` requires STARTTLS (default port 587); `smtp://…?tls=none` is unencrypted and allows a password only to this machine. User and password are optional; percent-encode special characters, such as `%40` for `@`. If unset, no e-mail is sent.",
};

pub(crate) const SMTP_CA_FILE: Setting<OptionalText> = Setting {
    name: "POSTRIDER_SMTP_CA_FILE",
    values: OptionalText {
        form: "PEM file",
        unset: "none",
    },
    meaning: "Certificate authorities to trust for the mail server in addition to the public ones.",
};

pub(crate) const MAIL_FROM: Setting<OptionalText> = Setting {
    name: "POSTRIDER_MAIL_FROM",
    values: OptionalText {
        form: "e-mail address",
        unset: "required with `POSTRIDER_SMTP_URL`",
    },
    meaning: "Sender of e-mails: `alerts@example.com` or `Postrider <alerts@example.com>`.",
};

pub(crate) const ALERT_ADDRESS: Setting<OptionalText> = Setting {
    name: "POSTRIDER_ALERT_ADDRESS",
    values: OptionalText {
        form: "e-mail address",
        unset: "none",
    },
    meaning: "Recipient for webhooks without an `owner_email`.",
};

pub(crate) const PUBLIC_URL: Setting<OptionalText> = Setting {
    name: "POSTRIDER_PUBLIC_URL",
    values: OptionalText {
        form: "URL",
        unset: "none",
    },
    meaning: "Public URL of the gateway, for links in e-mails and to the portal.",
};

#[derive(Debug)]
pub(crate) struct MailSettings {
    pub(crate) server: Server,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) from: FromAddress,
    pub(crate) addresses: Addresses,
}

/// Reads the mail settings; none if no mail server is set.
pub(crate) fn read(reader: &mut Reader<'_>) -> Option<MailSettings> {
    let public_url = public_url(reader);
    let Some(url) = SMTP_URL.read(reader) else {
        // Setting these without a server is a mistake: no e-mail would be sent.
        for setting in [MAIL_FROM, ALERT_ADDRESS, SMTP_CA_FILE] {
            if setting.read(reader).is_some() {
                let message = "has no effect without POSTRIDER_SMTP_URL; set both";
                reader.fault(setting.name, message);
            }
        }
        return None;
    };
    let server = Server::parse(&url);
    let server = server.map_err(|bad| reader.fault(SMTP_URL.name, &bad.to_string()));
    let from = sender(reader);
    let alert_address = alert_address(reader);
    Some(MailSettings {
        server: server.ok()?,
        ca_file: SMTP_CA_FILE.read(reader).map(PathBuf::from),
        from: from?,
        addresses: Addresses {
            alert_address,
            public_url,
        },
    })
}

fn sender(reader: &mut Reader<'_>) -> Option<FromAddress> {
    let Some(text) = MAIL_FROM.read(reader) else {
        reader.fault(MAIL_FROM.name, "is required with POSTRIDER_SMTP_URL");
        return None;
    };
    let sender = FromAddress::parse(&text);
    sender
        .map_err(|bad| reader.fault(MAIL_FROM.name, &bad.to_string()))
        .ok()
}

fn alert_address(reader: &mut Reader<'_>) -> Option<String> {
    let address = ALERT_ADDRESS.read(reader)?;
    if !is_address(&address) {
        reader.fault(
            ALERT_ADDRESS.name,
            "must be an e-mail address such as ops@example.com",
        );
    }
    Some(address)
}

fn public_url(reader: &mut Reader<'_>) -> Option<String> {
    let text = PUBLIC_URL.read(reader)?;
    let url = Url::parse(&text).ok();
    let fits = url.is_some_and(|url| {
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let is_bare = url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        is_web && is_bare && is_anonymous
    });
    if !fits {
        let message =
            "must be a URL such as https://gateway.example.com, without a user, query or fragment";
        reader.fault(PUBLIC_URL.name, message);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(pairs: &[(&str, &str)]) -> Result<Option<MailSettings>, Vec<String>> {
        let lookup = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut reader = Reader::new(&lookup);
        let settings = read(&mut reader);
        reader.finish().map_err(|bad| bad.0)?;
        Ok(settings)
    }

    #[test]
    fn without_settings_no_mail_is_sent() {
        assert!(read_from(&[]).unwrap().is_none());
        assert!(
            read_from(&[(PUBLIC_URL.name, "https://example.com")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_server_and_a_sender_are_enough() {
        let settings = read_from(&[
            (SMTP_URL.name, "smtp://u:canary@mail.example.com:2525"),
            (MAIL_FROM.name, "Postrider <alerts@example.com>"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!(
            (settings.server.host.as_str(), settings.server.port),
            ("mail.example.com", 2525)
        );
        assert_eq!(settings.addresses, Addresses::default());
        assert!(!format!("{settings:?}").contains("canary"));
    }

    #[test]
    fn all_invalid_settings_are_reported_at_once_without_passwords() {
        let faults = read_from(&[
            (SMTP_URL.name, "smtp://u:canary@mail.example.com?tls=maybe"),
            (MAIL_FROM.name, "alerts"),
            (ALERT_ADDRESS.name, "ops"),
            (PUBLIC_URL.name, "https://u:canary@example.com"),
        ]);
        let faults = faults.unwrap_err();
        assert_eq!(faults.len(), 4, "{faults:?}");
        assert!(!faults.concat().contains("canary"), "{faults:?}");
    }

    #[test]
    fn mail_settings_without_a_server_are_invalid() {
        let faults = read_from(&[
            (MAIL_FROM.name, "alerts@example.com"),
            (ALERT_ADDRESS.name, "ops@example.com"),
        ]);
        assert_eq!(faults.unwrap_err().len(), 2);
        let faults = read_from(&[(SMTP_URL.name, "smtps://mail.example.com")]).unwrap_err();
        assert!(faults[0].starts_with(MAIL_FROM.name), "{faults:?}");
    }
}
