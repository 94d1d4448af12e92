//! The settings of the embedded gateway: read once, all errors reported together.

pub(crate) mod backups;
pub(crate) mod declared;
pub(crate) mod mail;
pub(crate) mod table;
pub(crate) mod unknown;

use std::net::SocketAddr;
use std::path::PathBuf;

use postrider_domain::egress::Rules;
use postrider_domain::time::Millis;
use postrider_gateway::settings::portal::PortalSettings;
use postrider_gateway::settings::shared::LOG;
use postrider_gateway::settings::validation::EventValidation;
use postrider_gateway::settings::{BadSettings, Reader, WorkerSettings};
use postrider_ports::traces::TraceSettings;
use postrider_server::ConnectionLimits;

use crate::serve::settings::backups::BackupSettings;
use crate::serve::settings::declared::{
    ADMIN_TOKEN, CONCURRENCY, CONNECTIONS, CONNECTIONS_PER_ADDRESS, DNS_SERVERS, EGRESS_CA_FILE,
    LOG_FORMAT, POLL_INTERVAL, WEBHOOK_CONCURRENCY,
};
use crate::serve::settings::mail::MailSettings;

const MIN_TOKEN_CHARS: usize = 32;

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) admin_token: Option<String>,
    pub(crate) egress: Rules,
    pub(crate) event_validation: EventValidation,
    pub(crate) egress_ca_file: Option<PathBuf>,
    pub(crate) dns_servers: Option<Vec<SocketAddr>>,
    pub(crate) worker: WorkerSettings,
    pub(crate) limits: ConnectionLimits,
    pub(crate) traces: Option<TraceSettings>,
    pub(crate) mail: Option<MailSettings>,
    pub(crate) portal: PortalSettings,
    pub(crate) backups: Option<BackupSettings>,
    pub(crate) log_filter: String,
    pub(crate) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Settings {
    /// Reads every setting with `lookup`; an empty one counts as unset.
    pub(crate) fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, BadSettings> {
        let mut reader = Reader::new(&lookup);
        let worker = WorkerSettings {
            per_webhook: WEBHOOK_CONCURRENCY.read(&mut reader),
            total: CONCURRENCY.read(&mut reader),
            poll_interval: Millis::new(POLL_INTERVAL.read(&mut reader)),
            retry: reader.retry(),
            retention: reader.retention(),
        };
        let limits = ConnectionLimits {
            connections: CONNECTIONS.read(&mut reader),
            per_address: CONNECTIONS_PER_ADDRESS.read(&mut reader),
            ..ConnectionLimits::default()
        };
        let settings = Self {
            admin_token: read_admin_token(&mut reader),
            egress: reader.egress(),
            event_validation: reader.event_validation(),
            egress_ca_file: EGRESS_CA_FILE.read(&reader).map(PathBuf::from),
            dns_servers: read_dns_servers(&mut reader),
            worker,
            limits,
            traces: reader.traces(),
            portal: PortalSettings {
                public_url: mail::PUBLIC_URL.read(&reader).as_deref().map(without_slash),
                ..reader.portal()
            },
            mail: mail::read(&mut reader),
            backups: backups::read(&mut reader),
            log_filter: LOG.read(&reader),
            log_format: read_log_format(&mut reader),
        };
        reader.finish()?;
        Ok(settings)
    }
}

fn read_admin_token(reader: &mut Reader<'_>) -> Option<String> {
    let token = ADMIN_TOKEN.read(reader)?;
    let fits =
        token.chars().count() >= MIN_TOKEN_CHARS && token.bytes().all(|b| b.is_ascii_graphic());
    if !fits {
        let message = format!("must be {}", ADMIN_TOKEN.values.form);
        reader.fault(ADMIN_TOKEN.name, &message);
    }
    Some(token)
}

fn read_dns_servers(reader: &mut Reader<'_>) -> Option<Vec<SocketAddr>> {
    let servers = DNS_SERVERS.read(reader);
    (!servers.is_empty()).then_some(servers)
}

fn without_slash(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}

fn read_log_format(reader: &mut Reader<'_>) -> LogFormat {
    match LOG_FORMAT.read(reader).as_str() {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        _ => {
            let message = format!("must be {}", LOG_FORMAT.values.form);
            reader.fault(LOG_FORMAT.name, &message);
            LogFormat::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use postrider_domain::retention::Retention;
    use postrider_domain::retry::{RetryBudget, RuntimeRetry};

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, BadSettings> {
        Settings::read(|name| {
            pairs
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_settings_the_documented_defaults_apply() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.worker.retry, RuntimeRetry::default());
        assert_eq!(settings.worker.poll_interval, Millis::new(5000));
        assert_eq!(settings.worker.retention, Retention::default());
    }

    #[test]
    fn an_empty_setting_counts_as_unset() {
        let settings = read(&[
            ("POSTRIDER_RETRY_JITTER_BPS", ""),
            ("POSTRIDER_ADMIN_TOKEN", " "),
        ])
        .unwrap();
        assert_eq!(settings.worker.retry.jitter_bps, None);
        assert_eq!(settings.admin_token, None);
    }

    #[test]
    fn all_invalid_settings_are_reported_at_once() {
        let bad = read(&[
            ("POSTRIDER_RETRY_JITTER_BPS", "10001"),
            ("POSTRIDER_RETRY_BUDGET", "-1"),
            ("POSTRIDER_POLL_INTERVAL_MS", "soon"),
            ("POSTRIDER_EGRESS_ALLOW", "10.0.0.0/8,nonsense"),
            ("POSTRIDER_EGRESS_HTTP", "maybe"),
            ("POSTRIDER_ADMIN_TOKEN", "short"),
            ("POSTRIDER_LOG_FORMAT", "xml"),
        ])
        .unwrap_err();
        let named = |name: &str| bad.0.iter().filter(|fault| fault.starts_with(name)).count();
        assert_eq!(bad.0.len(), 7, "{bad}");
        assert_eq!(named("POSTRIDER_RETRY_JITTER_BPS"), 1);
        assert!(bad.to_string().contains("0 to 10000"), "{bad}");
        assert!(
            bad.to_string().contains(&MIN_TOKEN_CHARS.to_string()),
            "{bad}"
        );
        assert!(
            !bad.to_string().contains("short"),
            "a token is never shown: {bad}"
        );
    }

    #[test]
    fn the_names_of_the_specification_are_also_read() {
        let settings = read(&[
            ("PAYMENT_REQUEST_WEBHOOK_RETRY_JITTER_BPS", "250"),
            ("PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET", "3"),
        ])
        .unwrap();
        assert_eq!(
            settings.worker.retry,
            RuntimeRetry {
                jitter_bps: Some(250),
                budget: RetryBudget(3)
            }
        );
    }

    #[test]
    fn both_names_with_different_values_are_an_error() {
        let both = |ours, theirs| {
            read(&[
                ("POSTRIDER_RETRY_BUDGET", ours),
                ("PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET", theirs),
            ])
        };
        assert_eq!(both("3", "3").unwrap().worker.retry.budget, RetryBudget(3));
        assert_eq!(both("3", "4").unwrap_err().0.len(), 1);
    }
}
