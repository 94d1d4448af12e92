//! Every signature scheme: accepted as its provider signs, rejected when anything is changed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation shall stop the test where it stands"
)]

mod borders;
mod custom;
mod diagnoses;
mod every_scheme;
mod handshakes;
mod known_answers;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::{Scheme, Way};
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::time::Timestamp;
use postrider_samples::{self as sample, SampleEvent, SampleKeys, Unsigned};
use std::sync::Arc;

const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
const URL: &str = "https://hooks.example/gateway/webhooks/src_1";

fn secret(text: &str) -> SharedSecret {
    SharedSecret::parse(text).unwrap()
}

fn named(name: &str) -> Arc<Scheme> {
    Scheme::named(name).unwrap()
}

fn source(scheme: &Arc<Scheme>, secret: SharedSecret) -> Source {
    Source {
        id: SourceId::from_bytes([1; 16]),
        tenant: TenantId::default(),
        settings: SourceSettings {
            name: "provider".to_owned(),
            scheme: Arc::clone(scheme),
            public_url: Some(URL.parse().unwrap()),
            verify_token: None,
            routes: Vec::new(),
        },
        secrets: SecretRing::new(secret),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn post(headers: &[(&str, &str)], body: &[u8]) -> Inbound {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            (
                name.parse::<HeaderName>().unwrap(),
                value.parse::<HeaderValue>().unwrap(),
            )
        })
        .collect();
    Inbound::post(headers, Bytes::copy_from_slice(body))
}

fn unsigned<'a>(event: &'a SampleEvent, id: &'a str) -> Unsigned<'a> {
    Unsigned {
        url: URL,
        query: None,
        id,
        headers: event.headers,
        content_type: event.content_type,
        body: event.body.as_bytes(),
    }
}

/// The first sample of a scheme, signed this way.
fn signed(scheme: &Scheme, way: &Way, keys: &SampleKeys, id: &str, at: Timestamp) -> Inbound {
    let event = &sample::events(scheme)[0];
    sample::sign_in(way, scheme, keys, unsigned(event, id), at)
        .unwrap_or_else(|| panic!("{} cannot sign its sample", scheme.name))
}

fn keys(way: &Way, seed: u8) -> SampleKeys {
    sample::keys_for(way, &[seed; 32]).unwrap()
}

/// Every way of every built-in scheme.
fn ways() -> impl Iterator<Item = (&'static Arc<Scheme>, &'static Way)> {
    Scheme::all().flat_map(|scheme| scheme.ways.iter().map(move |way| (scheme, way)))
}
