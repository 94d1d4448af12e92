//! The settings that only the embedded gateway has.

use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::settings::setting::{
    ArgumentText, CommaList, DefaultText, OptionalText, Setting, WholeNumber,
};
use postrider_server::ConnectionLimits;

pub(crate) const LISTEN: Setting<ArgumentText> = Setting {
    name: "POSTRIDER_LISTEN",
    values: ArgumentText {
        flag: "listen",
        form: "address:port",
        default: "127.0.0.1:8080",
    },
    meaning: "Address the API listens on. An address other than loopback needs an existing key: set `POSTRIDER_ADMIN_TOKEN`, or start once on loopback.",
};

pub(crate) const DATA: Setting<ArgumentText> = Setting {
    name: "POSTRIDER_DATA",
    values: ArgumentText {
        flag: "data",
        form: "directory",
        default: "./postrider-data",
    },
    meaning: "Data directory. Created with mode 0700. Only one gateway can use a directory.",
};

pub(crate) const ADMIN_TOKEN: Setting<OptionalText> = Setting {
    name: "POSTRIDER_ADMIN_TOKEN",
    values: OptionalText {
        form: "32 or more visible ASCII characters",
        unset: "generated at the first start",
    },
    meaning: "The first API key, with all scopes. If unset, a key is generated, printed once if stdout is a terminal, and stored in the data directory as `admin-token` (0600). Changing it revokes the previous one.",
};

pub(crate) const POLL_INTERVAL: Setting<WholeNumber<u64>> = Setting {
    name: "POSTRIDER_POLL_INTERVAL_MS",
    values: WholeNumber {
        min: 10,
        max: 60_000,
        default: WorkerSettings::POLL_INTERVAL.get(),
    },
    meaning: "The longest the gateway sleeps when nothing is due. Due deliveries wake it, so this is only a safety net.",
};

pub(crate) const WEBHOOK_CONCURRENCY: Setting<WholeNumber<usize>> = Setting {
    name: "POSTRIDER_WEBHOOK_CONCURRENCY",
    values: WholeNumber {
        min: 1,
        max: 10_000,
        default: WorkerSettings::PER_WEBHOOK,
    },
    meaning: "Maximum number of attempts in flight per webhook. A receiver that hangs ties up no more slots than this.",
};

pub(crate) const CONCURRENCY: Setting<WholeNumber<usize>> = Setting {
    name: "POSTRIDER_CONCURRENCY",
    values: WholeNumber {
        min: 1,
        max: 100_000,
        default: WorkerSettings::TOTAL,
    },
    meaning: "Maximum number of attempts in flight in total. Webhooks share free slots fairly.",
};

pub(crate) const CONNECTIONS: Setting<WholeNumber<usize>> = Setting {
    name: "POSTRIDER_CONNECTIONS",
    values: WholeNumber {
        min: 16,
        max: 100_000,
        default: ConnectionLimits::CONNECTIONS,
    },
    meaning: "Maximum number of connected clients, each with a body of up to 4 MiB in memory. When all are taken, the oldest one without a valid key, session or signature makes room; clients that had one keep theirs. A connection is closed if no request arrives for 10 s, if its body comes in at less than 16 KiB per 5 s, or if its client reads nothing for 30 s. Each client needs one file descriptor, each attempt in flight up to two: `serve` raises its soft limit (`ulimit -n`) to the hard limit and refuses to start if that is too low.",
};

pub(crate) const CONNECTIONS_PER_ADDRESS: Setting<WholeNumber<usize>> = Setting {
    name: "POSTRIDER_CONNECTIONS_PER_ADDRESS",
    values: WholeNumber {
        min: 1,
        max: 100_000,
        default: ConnectionLimits::PER_ADDRESS,
    },
    meaning: "Maximum number of connections per IP address (IPv6: per /64) without a valid key, session or signature. Loopback is exempt. Raise it if a proxy on another machine brings the requests of everyone.",
};

pub(crate) const EGRESS_CA_FILE: Setting<OptionalText> = Setting {
    name: "POSTRIDER_EGRESS_CA_FILE",
    values: OptionalText {
        form: "PEM file",
        unset: "none",
    },
    meaning: "Certificate authorities to trust in addition to the public ones.",
};

pub(crate) const DNS_SERVERS: Setting<CommaList> = Setting {
    name: "POSTRIDER_DNS_SERVERS",
    values: CommaList {
        items: "address:port",
        unset: "the system's",
    },
    meaning: "Name servers that resolve the hosts of webhooks.",
};

pub(crate) const LOG_FORMAT: Setting<DefaultText> = Setting {
    name: "POSTRIDER_LOG_FORMAT",
    values: DefaultText {
        form: "text or json",
        default: "text",
    },
    meaning: "Format of log lines.",
};

pub(crate) const NO_COLOR: Setting<OptionalText> = Setting {
    name: "NO_COLOR",
    values: OptionalText {
        form: "anything",
        unset: "unset",
    },
    meaning: "Turns off coloured output.",
};
