//! Describes every setting. `docs/configuration.md` is generated from it.

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) range: &'static str,
    pub(crate) meaning: &'static str,
}

/// All settings of `postrider serve`.
pub(crate) const TABLE: &[Row] = &[
    Row {
        name: "POSTRIDER_LISTEN",
        default: "127.0.0.1:8080",
        range: "address:port",
        meaning: "Address the API listens on; also `--listen`. An address other than loopback needs an existing key: set `POSTRIDER_ADMIN_TOKEN`, or start once on loopback.",
    },
    Row {
        name: "POSTRIDER_DATA",
        default: "./postrider-data",
        range: "directory",
        meaning: "Data directory; also `--data`. Created with mode 0700. Only one gateway can use a directory.",
    },
    Row {
        name: "POSTRIDER_ADMIN_TOKEN",
        default: "generated at the first start",
        range: "32 or more visible ASCII characters",
        meaning: "The first API key, with all scopes. If unset, a key is generated, printed once if stdout is a terminal, and stored in the data directory as `admin-token` (0600). Changing it revokes the previous one.",
    },
    Row {
        name: "POSTRIDER_RETRY_JITTER_BPS",
        default: "the profile's",
        range: "0 to 10000",
        meaning: "How far a retry may deviate from its schedule in either direction, in basis points: the delay is within `base × (1 ± bps / 10000)`, clamped to `(0, max_backoff]`. 0 keeps the exact schedule. Replaces the profile's jitter for webhooks that do not set their own. Also read as `PAYMENT_REQUEST_WEBHOOK_RETRY_JITTER_BPS`; setting both to different values is an error.",
    },
    Row {
        name: "POSTRIDER_RETRY_BUDGET",
        default: "0",
        range: "0 or more",
        meaning: "Maximum number of retries for any delivery, applied at runtime: attempts end at `min(max_attempts of the row, budget + 1)`. 0 means no limit. It never raises a maximum and never changes a stored row. Also read as `PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET`; setting both to different values is an error.",
    },
    Row {
        name: "POSTRIDER_POLL_INTERVAL_MS",
        default: "5000",
        range: "10 to 60000",
        meaning: "The longest the gateway sleeps when nothing is due. Due deliveries wake it, so this is only a safety net.",
    },
    Row {
        name: "POSTRIDER_WEBHOOK_CONCURRENCY",
        default: "128",
        range: "1 to 10000",
        meaning: "Maximum number of attempts in flight per webhook. A receiver that hangs ties up no more slots than this.",
    },
    Row {
        name: "POSTRIDER_CONCURRENCY",
        default: "1024",
        range: "1 to 100000",
        meaning: "Maximum number of attempts in flight in total. Webhooks share free slots fairly.",
    },
    Row {
        name: "POSTRIDER_CONNECTIONS",
        default: "512",
        range: "16 to 100000",
        meaning: "Maximum number of connected clients, each with a body of up to 1 MiB in memory; more wait until one disconnects. A connection is closed if no request arrives for 10 s or its client reads nothing for 30 s. Stay below the process's file descriptor limit (`ulimit -n`); each attempt in flight needs a descriptor, too.",
    },
    Row {
        name: "POSTRIDER_EGRESS_ALLOW",
        default: "none",
        range: "CIDRs, comma-separated",
        meaning: "Private addresses that webhooks may reach, on any port and over plain http. Loopback, link-local and metadata addresses must be listed individually as a /32 or /128, such as `127.0.0.1/32`.",
    },
    Row {
        name: "POSTRIDER_EGRESS_HTTP",
        default: "false",
        range: "true or false",
        meaning: "Whether webhooks may use plain http to public addresses.",
    },
    Row {
        name: "POSTRIDER_EGRESS_PORTS",
        default: "none",
        range: "ports, comma-separated",
        meaning: "Ports other than 80 and 443 that webhooks may use.",
    },
    Row {
        name: "POSTRIDER_EGRESS_CA_FILE",
        default: "none",
        range: "PEM file",
        meaning: "Certificate authorities to trust in addition to the public ones.",
    },
    Row {
        name: "POSTRIDER_DNS_SERVERS",
        default: "the system's",
        range: "address:port, comma-separated",
        meaning: "Name servers that resolve the hosts of webhooks.",
    },
    Row {
        name: "POSTRIDER_RETENTION_DELIVERED_DAYS",
        default: "30",
        range: "1 to 3650",
        meaning: "How long successful deliveries are stored, counted from their last attempt.",
    },
    Row {
        name: "POSTRIDER_RETENTION_DEAD_DAYS",
        default: "90",
        range: "1 to 3650",
        meaning: "How long dead deliveries, and those that stay open, are stored.",
    },
    Row {
        name: "POSTRIDER_SMTP_URL",
        default: "none",
        range: "smtps://user:password@host:port or smtp://…",
        meaning: "Mail server for notifying owners that a webhook has failed, or has failed three times in a row. `smtps://` uses TLS from the start (default port 465); `smtp://` requires STARTTLS (default port 587); `smtp://…?tls=none` is unencrypted and allows a password only to this machine. User and password are optional; percent-encode special characters, such as `%40` for `@`. If unset, no e-mail is sent.",
    },
    Row {
        name: "POSTRIDER_SMTP_CA_FILE",
        default: "none",
        range: "PEM file",
        meaning: "Certificate authorities to trust for the mail server in addition to the public ones.",
    },
    Row {
        name: "POSTRIDER_MAIL_FROM",
        default: "required with `POSTRIDER_SMTP_URL`",
        range: "e-mail address",
        meaning: "Sender of e-mails: `alerts@example.com` or `Postrider <alerts@example.com>`.",
    },
    Row {
        name: "POSTRIDER_ALERT_ADDRESS",
        default: "none",
        range: "e-mail address",
        meaning: "Recipient for webhooks without an `owner_email`.",
    },
    Row {
        name: "POSTRIDER_PUBLIC_URL",
        default: "none",
        range: "URL",
        meaning: "Public URL of the gateway, for links in e-mails.",
    },
    Row {
        name: "POSTRIDER_LOG",
        default: "info",
        range: "a tracing filter",
        meaning: "What to log to standard error: `warn`, `info`, `debug`, or a filter by module. At `info` each attempt is one line.",
    },
    Row {
        name: "POSTRIDER_LOG_FORMAT",
        default: "text",
        range: "text or json",
        meaning: "Format of log lines.",
    },
    Row {
        name: "OTEL_EXPORTER_OTLP_ENDPOINT",
        default: "unset",
        range: "URL",
        meaning: "OpenTelemetry collector that accepts OTLP over http/protobuf, such as `http://127.0.0.1:4318`. If unset, no traces are recorded. See [tracing](tracing.md). `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, if set, takes precedence and is used unchanged.",
    },
    Row {
        name: "OTEL_EXPORTER_OTLP_HEADERS",
        default: "none",
        range: "name=value, comma-separated",
        meaning: "Headers for requests to the collector, such as its API key.",
    },
    Row {
        name: "OTEL_SERVICE_NAME",
        default: "postrider",
        range: "text",
        meaning: "Service name of this gateway in traces.",
    },
    Row {
        name: "OTEL_TRACES_SAMPLER",
        default: "always_on",
        range: "always_on, always_off, traceidratio",
        meaning: "Which traces to record. `traceidratio` records a share of them, each one complete.",
    },
    Row {
        name: "OTEL_TRACES_SAMPLER_ARG",
        default: "1",
        range: "0 to 1",
        meaning: "The share that `traceidratio` records.",
    },
    Row {
        name: "NO_COLOR",
        default: "unset",
        range: "anything",
        meaning: "Turns off coloured output.",
    },
];

/// The page `docs/configuration.md`.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\nThe embedded gateway, `postrider serve`, is configured with environment variables. An empty variable counts as unset. \
         The gateway refuses to start if a setting is invalid and reports all invalid settings at once.\n\nThis page is generated from the code \
         (`postrider serve --print-configuration`).\n\n| setting | default | values | meaning |\n|---|---|---|---|\n",
    );
    for Row {
        name,
        default,
        range,
        meaning,
    } in TABLE
    {
        page.push_str(&format!("| `{name}` | {default} | {range} | {meaning} |\n"));
    }
    page.push_str(
        "\nSettings of a single webhook (`retry`, `timeout_seconds`, `retry_rate`, `headers`, …) are part of the API: see \
         `/openapi.json` of a running gateway.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_readme_explains_jitter_and_budget() {
        let readme = include_str!("../../../../README.md");
        for name in ["POSTRIDER_RETRY_JITTER_BPS", "POSTRIDER_RETRY_BUDGET"] {
            assert!(readme.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
