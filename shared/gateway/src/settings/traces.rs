//! The export of traces, configured with OpenTelemetry's environment variables.
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>

use postrider_ports::spans::Share;
use postrider_ports::traces::TraceSettings;
use url::Url;

use super::Reader;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";

impl Reader<'_> {
    /// `None` unless an endpoint is set.
    pub fn traces(&mut self) -> Option<TraceSettings> {
        let endpoint = self.trace_endpoint();
        let share = self.trace_share();
        if self
            .text(PROTOCOL)
            .is_some_and(|name| name != "http/protobuf")
        {
            self.fault(
                PROTOCOL,
                "must be http/protobuf, the only supported protocol",
            );
        }
        let service_name = self.text("OTEL_SERVICE_NAME");
        Some(TraceSettings {
            endpoint: endpoint?,
            service_name: service_name.unwrap_or_else(|| "postrider".to_owned()),
            share,
        })
    }

    /// The endpoint for traces unchanged, or the endpoint for all signals with the path of traces.
    fn trace_endpoint(&mut self) -> Option<Url> {
        let own = self
            .text(TRACES_ENDPOINT)
            .map(|text| (TRACES_ENDPOINT, text));
        let of_all = || {
            let text = self.text(ENDPOINT)?;
            Some((
                ENDPOINT,
                format!("{}/v1/traces", text.trim_end_matches('/')),
            ))
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
        match self.text(SAMPLER).as_deref() {
            None | Some("always_on" | "parentbased_always_on") => Share::ALL,
            Some("always_off" | "parentbased_always_off") => Share::NONE,
            Some("traceidratio" | "parentbased_traceidratio") => {
                let ratio = self
                    .text(SAMPLER_ARG)
                    .map_or(Some(1.0), |text| text.parse().ok());
                ratio.and_then(Share::part).unwrap_or_else(|| {
                    self.fault(SAMPLER_ARG, "must be a number from 0 to 1");
                    Share::ALL
                })
            }
            Some(_) => {
                self.fault(SAMPLER, "must be always_on, always_off or traceidratio");
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
        assert_eq!(read(&[(ENDPOINT, " "), (SAMPLER, "always_on")]), Ok(None));
    }

    #[test]
    fn the_endpoint_for_all_signals_gets_the_path_of_traces() {
        let traces = "http://127.0.0.1:4318/v1/traces";
        assert_eq!(endpoint(&[(ENDPOINT, "http://127.0.0.1:4318")]), traces);
        assert_eq!(endpoint(&[(ENDPOINT, "http://127.0.0.1:4318/")]), traces);
        let own = (TRACES_ENDPOINT, "https://collector.example/take/them");
        assert_eq!(endpoint(&[(ENDPOINT, "http://127.0.0.1:4318"), own]), own.1);
    }

    #[test]
    fn the_sampler_sets_the_share_of_traces() {
        let share = |sampler, arg| {
            let on = (ENDPOINT, "http://127.0.0.1:4318");
            read(&[on, (SAMPLER, sampler), (SAMPLER_ARG, arg)]).map(|read| read.unwrap().share)
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
            (ENDPOINT, "collector:4317"),
            (TRACES_ENDPOINT, "grpc://user:secret@collector"),
            (PROTOCOL, "grpc"),
        ] {
            let error = read(&[(name, bad)]).unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains(bad), "{error}");
        }
    }
}
