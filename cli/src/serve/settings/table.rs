//! Every setting in words, from which `docs/configuration.md` is made.

/// One setting.
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
        meaning: "Where the API listens; also `--listen`. An address other than loopback is refused until a key exists: set `POSTRIDER_ADMIN_TOKEN`, or start once on loopback.",
    },
    Row {
        name: "POSTRIDER_DATA",
        default: "./postrider-data",
        range: "directory",
        meaning: "Where the data lives; also `--data`. Made with mode 0700. One gateway serves one directory.",
    },
    Row {
        name: "POSTRIDER_ADMIN_TOKEN",
        default: "made at the first start",
        range: "32 or more visible ASCII characters",
        meaning: "The first API key, with all scopes. Unset: one is made, printed once if there is a terminal, and kept in the directory as `admin-token` (0600). Changing it revokes the one before.",
    },
    Row {
        name: "POSTRIDER_RETRY_JITTER_BPS",
        default: "the profile's",
        range: "0 to 10000",
        meaning: "How far a retry may stray from its schedule, either way, in basis points: the wait lies within `base × (1 ± bps / 10000)` and is clamped to `(0, max_backoff]`. 0 keeps the exact schedule. Replaces the profile's jitter for every webhook that names none. Also read as `PAYMENT_REQUEST_WEBHOOK_RETRY_JITTER_BPS`; both set and different is refused.",
    },
    Row {
        name: "POSTRIDER_RETRY_BUDGET",
        default: "0",
        range: "0 or more",
        meaning: "The most retries any delivery gets, at runtime: attempts end at `min(max_attempts of the row, budget + 1)`. 0 is off. It never raises a maximum and changes no stored row. Also read as `PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET`; both set and different is refused.",
    },
    Row {
        name: "POSTRIDER_POLL_INTERVAL_MS",
        default: "5000",
        range: "10 to 60000",
        meaning: "How long the gateway sleeps at the most when nothing is due. Due rows wake it, so this is only a safety net.",
    },
    Row {
        name: "POSTRIDER_WEBHOOK_CONCURRENCY",
        default: "128",
        range: "1 to 10000",
        meaning: "How many attempts one webhook may have under way. A receiver that hangs holds up no more than these.",
    },
    Row {
        name: "POSTRIDER_CONCURRENCY",
        default: "1024",
        range: "1 to 100000",
        meaning: "How many attempts may be under way in all. Webhooks share what is left in fair turns.",
    },
    Row {
        name: "POSTRIDER_CONNECTIONS",
        default: "512",
        range: "16 to 100000",
        meaning: "How many clients may be connected at once, each of them with a body of up to 1 MiB in memory; more wait until one is gone. A connection is closed when no request comes for 10 seconds, or when its client reads nothing for 30. Stay below the file descriptors of the process (`ulimit -n`), of which attempts under way need one each.",
    },
    Row {
        name: "POSTRIDER_EGRESS_ALLOW",
        default: "nothing",
        range: "CIDRs, comma-separated",
        meaning: "Private addresses that webhooks may reach, on any port and over plain http. Loopback, link-local and metadata addresses only when named one by one, by a /32 or /128, such as `127.0.0.1/32`.",
    },
    Row {
        name: "POSTRIDER_EGRESS_HTTP",
        default: "false",
        range: "true or false",
        meaning: "Allows plain http to public addresses.",
    },
    Row {
        name: "POSTRIDER_EGRESS_PORTS",
        default: "nothing",
        range: "ports, comma-separated",
        meaning: "Ports beside 80 and 443 that webhooks may use.",
    },
    Row {
        name: "POSTRIDER_EGRESS_CA_FILE",
        default: "nothing",
        range: "PEM file",
        meaning: "Certificate authorities that are trusted beside the public ones.",
    },
    Row {
        name: "POSTRIDER_DNS_SERVERS",
        default: "the system's",
        range: "address:port, comma-separated",
        meaning: "The name servers that resolve webhooks' hosts.",
    },
    Row {
        name: "POSTRIDER_RETENTION_DELIVERED_DAYS",
        default: "30",
        range: "1 to 3650",
        meaning: "How long delivered rows are kept, from their last attempt on.",
    },
    Row {
        name: "POSTRIDER_RETENTION_DEAD_DAYS",
        default: "90",
        range: "1 to 3650",
        meaning: "How long dead rows are kept, and rows that stay open.",
    },
    Row {
        name: "POSTRIDER_SMTP_URL",
        default: "nothing",
        range: "smtps://user:password@host:port or smtp://…",
        meaning: "The mail server by which owners are told that a webhook has failed, or has failed three times in a row. `smtps://` is TLS from the first byte (port 465 unless named); `smtp://` is STARTTLS (587), without which nothing is sent; `smtp://…?tls=none` is plain, with a password to this machine only. User and password may be left out; what is special in a URL is written `%40`. Unset: nobody is mailed.",
    },
    Row {
        name: "POSTRIDER_SMTP_CA_FILE",
        default: "nothing",
        range: "PEM file",
        meaning: "Certificate authorities that are trusted for the mail server beside the public ones.",
    },
    Row {
        name: "POSTRIDER_MAIL_FROM",
        default: "must be set with `POSTRIDER_SMTP_URL`",
        range: "mail address",
        meaning: "Who letters come from: `alerts@example.com` or `Postrider <alerts@example.com>`.",
    },
    Row {
        name: "POSTRIDER_ALERT_ADDRESS",
        default: "nobody",
        range: "mail address",
        meaning: "Who is told of webhooks that name no `owner_email`.",
    },
    Row {
        name: "POSTRIDER_PUBLIC_URL",
        default: "nothing",
        range: "URL",
        meaning: "Where people reach the gateway, for links in letters.",
    },
    Row {
        name: "POSTRIDER_LOG",
        default: "info",
        range: "a tracing filter",
        meaning: "What is logged, to standard error: `warn`, `info`, `debug`, or by module. At `info` each attempt is one line.",
    },
    Row {
        name: "POSTRIDER_LOG_FORMAT",
        default: "text",
        range: "text or json",
        meaning: "How log lines look.",
    },
    Row {
        name: "OTEL_EXPORTER_OTLP_ENDPOINT",
        default: "unset",
        range: "URL",
        meaning: "An OpenTelemetry collector that speaks OTLP over http/protobuf, such as `http://127.0.0.1:4318`. Unset: no traces are made. See [tracing](tracing.md). `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, if set, is used as it is instead.",
    },
    Row {
        name: "OTEL_EXPORTER_OTLP_HEADERS",
        default: "nothing",
        range: "name=value, comma-separated",
        meaning: "Headers of each request to the collector, such as its key.",
    },
    Row {
        name: "OTEL_SERVICE_NAME",
        default: "postrider",
        range: "text",
        meaning: "What this gateway is called in its traces.",
    },
    Row {
        name: "OTEL_TRACES_SAMPLER",
        default: "always_on",
        range: "always_on, always_off, traceidratio",
        meaning: "Which traces are recorded. By `traceidratio` a part of them, each of them whole.",
    },
    Row {
        name: "OTEL_TRACES_SAMPLER_ARG",
        default: "1",
        range: "0 to 1",
        meaning: "The part that `traceidratio` records.",
    },
    Row {
        name: "NO_COLOR",
        default: "unset",
        range: "anything",
        meaning: "Turns colours off.",
    },
];

/// The page `docs/configuration.md`.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\nThe embedded gateway, `postrider serve`, is configured by the environment. An empty setting counts as unset. \
         A setting out of range refuses the start, and every bad one is named at once.\n\nThis page is made from the code \
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
        "\nWhat a single webhook may set (`retry`, `timeout_seconds`, `retry_rate`, `headers`, …) is part of the API: see \
         `/openapi.json` of a running gateway.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_the_one_made_from_the_code() {
        let kept = include_str!("../../../../docs/configuration.md");
        assert_eq!(
            kept,
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
