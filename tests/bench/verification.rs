//! The cost of verifying a request to a source, compared with one HMAC over the same body.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::inbound::{Inbound, verify};
use postrider_domain::scheme::Scheme;
use postrider_domain::secret::SecretRing;
use postrider_domain::source::{Source, SourceSettings};
use postrider_samples::{self as sample, Unsigned};
use postrider_testkit::builders::NOW;
use sha2::Sha256;

use crate::plan::Plan;
use crate::report::Report;

const URL: &str = "https://hooks.example/in";
const KIB: usize = 1024;
const SIZES: [(&str, usize); 3] = [("1 KiB", KIB), ("32 KiB", 32 * KIB), ("1 MiB", KIB * KIB)];
const SCHEMES: [&str; 6] = [
    "github", "stripe", "standard", "twilio", "sendgrid", "discord",
];

pub(crate) fn measure(plan: &Plan, report: &mut Report) {
    let mut of = report.of("Verifying a request to a source");
    for (size, bytes) in SIZES {
        for scheme in SCHEMES {
            let (mac, verification) = best(plan, &Case::new(scheme, bytes));
            if scheme == SCHEMES[0] {
                of.measurement(format!("{size}: HMAC-SHA256 of the body alone"), mac, "µs");
            }
            of.measurement(format!("{size}: {scheme}"), verification, "µs");
            let times = verification / mac;
            of.measurement(
                format!("{size}: {scheme} ÷ HMAC of the same body"),
                times,
                "",
            );
        }
    }
}

/// The fastest call of each, in microseconds: the one least disturbed by other processes. Alternating, so that other
/// load affects both.
fn best(plan: &Plan, case: &Case) -> (f64, f64) {
    let began = Instant::now();
    let mut best = (f64::INFINITY, f64::INFINITY);
    while began.elapsed() < plan.calls {
        best.0 = best.0.min(microseconds(|| case.mac()));
        best.1 = best.1.min(microseconds(|| case.verify()));
    }
    best
}

fn microseconds<T>(call: impl Fn() -> T) -> f64 {
    let began = Instant::now();
    black_box(call());
    began.elapsed().as_secs_f64() * 1e6
}

/// A signed request of about this size, and the source that accepts it.
struct Case {
    inbound: Inbound,
    source: Source,
}

impl Case {
    fn new(scheme: &str, bytes: usize) -> Self {
        let scheme = Scheme::named(scheme).unwrap();
        let keys = sample::keys(&scheme, &[7; 32]).unwrap();
        let event = sample::events(&scheme)[0];
        let body = grown(event.body, bytes);
        let unsigned = Unsigned {
            url: URL,
            query: None,
            id: "7d1a6f",
            headers: event.headers,
            content_type: event.content_type,
            body: body.as_bytes(),
        };
        let inbound = sample::sign(&scheme, &keys, unsigned, NOW).unwrap();
        let source = Source {
            id: SourceId::from_bytes([1; 16]),
            tenant: TenantId::default(),
            settings: SourceSettings {
                name: "bench".to_owned(),
                scheme,
                public_url: URL.parse().ok(),
                verify_token: None,
                routes: Vec::new(),
            },
            secrets: SecretRing::new(keys.secret),
            created_at: NOW,
            updated_at: NOW,
        };
        let case = Self { inbound, source };
        assert!(case.verify(), "a genuine request is accepted");
        case
    }

    fn verify(&self) -> bool {
        let inbound = black_box(self.inbound.clone());
        verify(inbound, Some(&self.source), NOW).is_ok()
    }

    fn mac(&self) -> Bytes {
        let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
        mac.update(black_box(&self.inbound.body));
        Bytes::copy_from_slice(&mac.finalize().into_bytes())
    }
}

/// A sample's body, extended with more of the same: records in JSON, fields in a form.
fn grown(body: &str, bytes: usize) -> String {
    let (head, tail, separator) = match body.chars().last() {
        Some(']') => (&body[..body.len() - 1], "]", ","),
        Some('}') => (&body[..body.len() - 1], "]}", ",\"more\":["),
        _ => (body, "", "&"),
    };
    let record = |n: usize| match tail {
        "" => format!("Field{n}=some+text+of+%C3%BCsual+length"),
        _ => format!(
            r#"{{"id":{n},"name":"some text of \"usual\" length","ok":true,"at":1771668000}}"#
        ),
    };
    let between = if tail.is_empty() { "&" } else { "," };
    let mut grown = format!("{head}{separator}{}", record(0));
    // Twilio signs at most a thousand fields; a single long field replaces the rest.
    let most = if tail.is_empty() { 900 } else { usize::MAX };
    for n in 1..most {
        if grown.len() >= bytes {
            break;
        }
        grown.push_str(between);
        grown.push_str(&record(n));
    }
    if tail.is_empty() && grown.len() < bytes {
        grown.push_str(&"x".repeat(bytes - grown.len()));
    }
    grown + tail
}
