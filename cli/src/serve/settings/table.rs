//! Every setting of `postrider serve`, in the order of `docs/configuration.md`.

use postrider_gateway::settings::portal;
use postrider_gateway::settings::setting::{Documented, SettingRow};
use postrider_gateway::settings::shared::{
    EGRESS_ALLOW, EGRESS_DENY, EGRESS_HTTP, EGRESS_PORTS, LOG, RETENTION_DEAD, RETENTION_DELIVERED,
    RETRY_BUDGET, RETRY_JITTER,
};
use postrider_gateway::settings::traces;
use postrider_gateway::settings::validation::EVENT_VALIDATION;

use super::declared::{
    ADMIN_TOKEN, CONCURRENCY, CONNECTIONS, CONNECTIONS_PER_ADDRESS, DATA, DNS_SERVERS,
    EGRESS_CA_FILE, LISTEN, LOG_FORMAT, NO_COLOR, POLL_INTERVAL, WEBHOOK_CONCURRENCY,
};
use super::{backups, mail};

pub(super) const ALL: &[&dyn Documented] = &[
    &LISTEN,
    &DATA,
    &ADMIN_TOKEN,
    &RETRY_JITTER,
    &RETRY_BUDGET,
    &POLL_INTERVAL,
    &WEBHOOK_CONCURRENCY,
    &CONCURRENCY,
    &CONNECTIONS,
    &CONNECTIONS_PER_ADDRESS,
    &EGRESS_ALLOW,
    &EGRESS_DENY,
    &EGRESS_HTTP,
    &EGRESS_PORTS,
    &EGRESS_CA_FILE,
    &DNS_SERVERS,
    &RETENTION_DELIVERED,
    &RETENTION_DEAD,
    &backups::DIRECTORY,
    &backups::INTERVAL,
    &backups::KEEP,
    &mail::SMTP_URL,
    &mail::SMTP_CA_FILE,
    &mail::MAIL_FROM,
    &mail::ALERT_ADDRESS,
    &mail::PUBLIC_URL,
    &portal::NAME,
    &portal::LOGO,
    &portal::COLOR,
    &portal::FRAME_ANCESTORS,
    &EVENT_VALIDATION,
    &portal::PUBLIC_CATALOGUE,
    &LOG,
    &LOG_FORMAT,
    &traces::ENDPOINT,
    &traces::TRACES_ENDPOINT,
    &traces::PROTOCOL,
    &traces::HEADERS,
    &traces::SERVICE_NAME,
    &traces::SAMPLER,
    &traces::SAMPLER_ARG,
    &NO_COLOR,
];

/// The page `docs/configuration.md`.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\nThe embedded gateway, `postrider serve`, is configured with environment variables. An empty variable counts as unset. \
         The gateway refuses to start if a setting is invalid and reports all invalid settings at once.\n\nThis page is generated from the code \
         (`postrider serve --print-configuration`).\n\n| setting | default | values | meaning |\n|---|---|---|---|\n",
    );
    for setting in ALL {
        let SettingRow {
            name,
            default,
            values,
            meaning,
        } = setting.row();
        page.push_str(&format!(
            "| `{name}` | {default} | {values} | {meaning} |\n"
        ));
    }
    page.push_str(
        "\nSettings of a single webhook (`retry`, `timeout_seconds`, `retry_rate`, `headers`, …) are part of the API: see \
         `/openapi.json` of a running gateway.\n\n## Internal receivers\n\nWebhooks reach private addresses only if \
         `POSTRIDER_EGRESS_ALLOW` names them, and only by IP address or by a public name that resolves to them. Single-label names, \
         `localhost` and names ending in `.local`, `.internal` or `.home.arpa` are always rejected, because the owner of a webhook must \
         not be able to probe the gateway's own network by name. In Docker Compose or Kubernetes, use a fixed address or give the service \
         a name in a domain of your own.\n\n**The addresses in `POSTRIDER_EGRESS_ALLOW` are allowed for every tenant**, including customers who \
         create webhooks in the [portal](portal.md): they choose URL, port, headers and body, and see the response. If other tenants \
         than your own can create webhooks, run a separate gateway for internal receivers, or list what customers must not reach in \
         `POSTRIDER_EGRESS_DENY`, which applies to your own webhooks as well.\n\n## Compatibility\n\nThe `PAYMENT_REQUEST_…` variables above and the header \
         `X-Observatory-Signature`, which every request carries with the same value as `X-Webhook-Signature`, are the names of the \
         [source documents](origins.md). New receivers should verify `webhook-signature`.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::serve::settings::Settings;

    /// What `serve` reads, given these settings.
    fn read_names(given: &[(&str, &str)]) -> BTreeSet<String> {
        let names = RefCell::new(BTreeSet::new());
        let lookup = |name: &str| {
            names.borrow_mut().insert(name.to_owned());
            let given = given.iter().find(|(known, _)| *known == name);
            given.map(|(_, value)| (*value).to_owned())
        };
        drop(Settings::read(lookup));
        names.into_inner()
    }

    #[test]
    fn the_page_in_docs_is_the_generated_one() {
        let committed = include_str!("../../../../docs/configuration.md");
        assert_eq!(
            committed,
            page(),
            "run: postrider serve --print-configuration > docs/configuration.md"
        );
    }

    #[test]
    fn every_setting_that_is_read_is_documented_and_the_other_way_round() {
        let mut read = read_names(&[]);
        // Some settings are read only if another one is set.
        read.extend(read_names(&[
            (traces::SAMPLER.name, "traceidratio"),
            (mail::SMTP_URL.name, "smtps://mail.example.com"),
        ]));
        // The command's arguments, the terminal and the exporter of traces read these.
        read.extend([LISTEN.name, DATA.name, NO_COLOR.name, traces::HEADERS.name].map(Into::into));
        let aliases = [RETRY_JITTER.values.alias, RETRY_BUDGET.values.alias];
        for alias in aliases {
            assert!(read.remove(alias), "{alias}");
        }
        let documented: BTreeSet<String> = ALL
            .iter()
            .map(|setting| setting.row().name.into())
            .collect();
        assert_eq!(read, documented);
        assert_eq!(documented.len(), ALL.len(), "a setting is listed twice");
    }

    #[test]
    fn the_documented_defaults_change_nothing() {
        let unset = format!("{:?}", Settings::read(|_| None).unwrap());
        for setting in ALL {
            let SettingRow { name, default, .. } = setting.row();
            // Defaults that are not values are words, such as "none".
            let is_value = default.parse::<u64>().is_ok()
                || ["false", "info", "text", "postrider", "always_on"].contains(&default.as_str());
            let lookup = |asked: &str| (asked == name && is_value).then(|| default.clone());
            let set = Settings::read(lookup).unwrap();
            assert_eq!(format!("{set:?}"), unset, "{name}");
        }
    }

    #[test]
    fn the_readme_explains_jitter_and_budget() {
        let readme = include_str!("../../../../README.md");
        for name in [RETRY_JITTER.name, RETRY_BUDGET.name] {
            assert!(readme.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
