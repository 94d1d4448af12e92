//! The export of traces, configured with OpenTelemetry's environment variables.
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>

use postrider_ports::spans::Share;
use postrider_ports::traces::TraceSettings;
use url::Url;

use super::Reader;
use super::setting::{DefaultText, OptionalText, Setting};

pub const ENDPOINT: Setting<OptionalText> = Setting {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    values: OptionalText {
        form: "URL",
        unset: "unset",
    },
    meaning: "OpenTelemetry collector that accepts OTLP over http/protobuf, such as `http://127.0.0.1:4318`. If unset, no traces are recorded. See [tracing](tracing.md). `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, if set, takes precedence and is used unchanged.",
};

pub const TRACES_ENDPOINT: Setting<OptionalText> = Setting {
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    values: OptionalText {
        form: "URL",
        unset: "unset",
    },
    meaning: "Takes precedence over `OTEL_EXPORTER_OTLP_ENDPOINT` and is used unchanged, without `/v1/traces` added.",
};

pub const PROTOCOL: Setting<DefaultText> = Setting {
    name: "OTEL_EXPORTER_OTLP_PROTOCOL",
    values: DefaultText {
        form: "http/protobuf",
        default: "http/protobuf",
    },
    meaning: "Protocol of the collector. No other value is supported.",
};

/// Read by the exporter itself.
pub const HEADERS: Setting<OptionalText> = Setting {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    values: OptionalText {
        form: "comma-separated name=value",
        unset: "none",
    },
    meaning: "Headers for requests to the collector, such as its API key.",
};

pub const SERVICE_NAME: Setting<DefaultText> = Setting {
    name: "OTEL_SERVICE_NAME",
    values: DefaultText {
        form: "text",
        default: "postrider",
    },
    meaning: "Service name of this gateway in traces.",
};

pub const SAMPLER: Setting<DefaultText> = Setting {
    name: "OTEL_TRACES_SAMPLER",
    values: DefaultText {
        form: "always_on, always_off or traceidratio",
        default: "always_on",
    },
    meaning: "Which traces to record. `traceidratio` records a share of them, each one complete.",
};

pub const SAMPLER_ARG: Setting<DefaultText> = Setting {
    name: "OTEL_TRACES_SAMPLER_ARG",
    values: DefaultText {
        form: "0 to 1",
        default: "1",
    },
    meaning: "The share that `traceidratio` records.",
};

impl Reader<'_> {
    /// `None` unless an endpoint is set.
    pub fn traces(&mut self) -> Option<TraceSettings> {
        let endpoint = self.trace_endpoint();
        let share = self.trace_share();
        if PROTOCOL.read(self) != PROTOCOL.values.default {
            self.fault(
                PROTOCOL.name,
                "must be http/protobuf, the only supported protocol",
            );
        }
        let service_name = SERVICE_NAME.read(self);
        Some(TraceSettings {
            endpoint: endpoint?,
            service_name,
            share,
        })
    }

    /// The endpoint for traces unchanged, or the endpoint for all signals with the path of traces.
    fn trace_endpoint(&mut self) -> Option<Url> {
        let own = TRACES_ENDPOINT.read(self);
        let own = own.map(|text| (TRACES_ENDPOINT.name, text));
        let of_all = || {
            let text = ENDPOINT.read(self)?;
            let url = format!("{}/v1/traces", text.trim_end_matches('/'));
            Some((ENDPOINT.name, url))
        };
        let (name, text) = own.or_else(of_all)?;
        let url = Url::parse(&text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            self.fault(
                name,
                "must be an http or https URL such as http://127.0.0.1:4318",
            );
        }
        url
    }

    fn trace_share(&mut self) -> Share {
        match SAMPLER.read(self).as_str() {
            "always_on" | "parentbased_always_on" => Share::ALL,
            "always_off" | "parentbased_always_off" => Share::NONE,
            "traceidratio" | "parentbased_traceidratio" => {
                let ratio = SAMPLER_ARG.read(self).parse().ok();
                ratio.and_then(Share::part).unwrap_or_else(|| {
                    self.fault(SAMPLER_ARG.name, "must be a number from 0 to 1");
                    Share::ALL
                })
            }
            _ => {
                let form = SAMPLER.values.form;
                self.fault(SAMPLER.name, &format!("must be {form}"));
                Share::ALL
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BadSettings;
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<TraceSettings>, BadSettings> {
        let lookup = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut reader = Reader::new(&lookup);
        let settings = reader.traces();
        reader.finish().map(|()| settings)
    }

    fn endpoint(pairs: &[(&str, &str)]) -> String {
        read(pairs).unwrap().unwrap().endpoint.to_string()
    }

    #[test]
    fn without_an_endpoint_there_are_no_traces() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(
            read(&[(ENDPOINT.name, " "), (SAMPLER.name, "always_on")]),
            Ok(None)
        );
    }

    #[test]
    fn the_endpoint_for_all_signals_gets_the_path_of_traces() {
        let traces = "http://127.0.0.1:4318/v1/traces";
        assert_eq!(
            endpoint(&[(ENDPOINT.name, "http://127.0.0.1:4318")]),
            traces
        );
        assert_eq!(
            endpoint(&[(ENDPOINT.name, "http://127.0.0.1:4318/")]),
            traces
        );
        let own = (TRACES_ENDPOINT.name, "https://collector.example/take/them");
        assert_eq!(
            endpoint(&[(ENDPOINT.name, "http://127.0.0.1:4318"), own]),
            own.1
        );
    }

    #[test]
    fn the_sampler_sets_the_share_of_traces() {
        let share = |sampler, arg| {
            let on = (ENDPOINT.name, "http://127.0.0.1:4318");
            read(&[on, (SAMPLER.name, sampler), (SAMPLER_ARG.name, arg)])
                .map(|read| read.unwrap().share)
        };
        assert_eq!(share("", ""), Ok(Share::ALL));
        assert_eq!(share("always_off", ""), Ok(Share::NONE));
        let tenth = Share::part(0.1).unwrap();
        assert_eq!(share("parentbased_traceidratio", "0.1"), Ok(tenth));
        assert!(share("traceidratio", "2").is_err());
        assert!(share("sometimes", "").is_err());
    }

    #[test]
    fn an_invalid_setting_is_named_without_its_value() {
        for (name, bad) in [
            (ENDPOINT.name, "collector:4317"),
            (TRACES_ENDPOINT.name, "grpc://user:secret@collector"),
            (PROTOCOL.name, "grpc"),
        ] {
            let error = read(&[(name, bad)]).unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains(bad), "{error}");
        }
    }
}
