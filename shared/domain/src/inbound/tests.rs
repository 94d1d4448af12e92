use super::*;
use crate::ids::{SourceId, TenantId};
use crate::secret::{OVERLAP, SecretRing};
use crate::source::SourceSettings;
use crate::time::Millis;
use proptest::prelude::*;
use std::sync::LazyLock;

const SECRET: &str = "It's a Secret to Everybody";
const BODY: &[u8] = b"Hello, World!";
/// HMAC-SHA256 of the body, published by GitHub; the scheme `postrider` signs the same way.
const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

fn secret(text: &str) -> SharedSecret {
    SharedSecret::parse(text).unwrap()
}

fn source() -> Source {
    Source {
        id: SourceId::from_bytes([1; 16]),
        tenant: TenantId::default(),
        settings: SourceSettings {
            name: "peer".to_owned(),
            scheme: Scheme::named("postrider").unwrap(),
            public_url: None,
            verify_token: None,
            routes: Vec::new(),
        },
        secrets: SecretRing::new(secret(SECRET)),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn request(headers: &[(&'static str, &str)], body: &[u8]) -> Inbound {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    Inbound::post(headers.collect(), Bytes::copy_from_slice(body))
}

fn signed(more: &[(&'static str, &str)], body: &[u8]) -> Inbound {
    let mac = crate::signature::hmac(SECRET.as_bytes(), &[body]);
    let signature = format!("sha256={}", data_encoding::HEXLOWER.encode(&mac));
    let mut inbound = request(more, body);
    let value = signature.parse().unwrap();
    inbound.headers.insert("x-webhook-signature", value);
    inbound
}

static SOURCE: LazyLock<Source> = LazyLock::new(source);

fn accepted(inbound: Inbound) -> Verified<'static> {
    verify(inbound, Some(&SOURCE), NOW).unwrap()
}

#[test]
fn the_published_signature_verifies_in_either_header() {
    for name in ["x-observatory-signature", "x-webhook-signature"] {
        accepted(request(&[(name, SIGNATURE)], BODY));
    }
}

#[test]
fn the_operator_gets_the_exact_reason() {
    let rejection =
        |inbound: Inbound, source: Option<&Source>| verify(inbound, source, NOW).unwrap_err();
    let source = source();
    let genuine = request(&[("x-webhook-signature", SIGNATURE)], BODY);
    assert_eq!(rejection(genuine, None), Rejection::UnknownSource);
    for unsigned in [
        "",
        "sha256=",
        "sha256=zz",
        "sha1=00",
        &SIGNATURE[7..],
        &SIGNATURE.to_uppercase(),
    ] {
        let inbound = request(&[("x-webhook-signature", unsigned)], BODY);
        assert_eq!(
            rejection(inbound, Some(&source)),
            Rejection::Unsigned,
            "{unsigned}"
        );
    }
    assert_eq!(
        rejection(request(&[], BODY), Some(&source)),
        Rejection::Unsigned
    );
    let other = request(&[("x-webhook-signature", SIGNATURE)], b"Hello, World?");
    assert_eq!(rejection(other, Some(&source)), Rejection::NoMatch);
}

#[test]
fn a_rejection_has_one_name_in_the_api_and_in_every_store() {
    for reason in Rejection::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.code());
    }
}

#[test]
fn a_request_of_an_unknown_source_costs_a_digest_of_its_body() {
    let [way] = &*Scheme::stand_in().ways else {
        panic!("one way");
    };
    let inbound = request(&[], BODY);
    let request = SignedParts {
        inbound: &inbound,
        public_url: None,
    };
    assert_eq!(way.message(request).0.concat(), BODY);
    assert!(way.key(&secret(UNKNOWN)).is_some());
}

#[test]
fn a_request_is_shown_without_its_contents() {
    let mut inbound = request(&[("x-token", "canary")], b"canary");
    inbound.query = Some("token=canary".to_owned());
    let shown = format!("{inbound:?}");
    assert!(!shown.contains("canary"), "{shown}");
    for part in ["POST", "x-token", "body_bytes: 6"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn a_rotated_secret_verifies_until_it_expires() {
    let mut source = source();
    source.secrets = source.secrets.rotated(secret("next"), NOW).unwrap();
    let check = |at| {
        verify(
            request(&[("x-webhook-signature", SIGNATURE)], BODY),
            Some(&source),
            at,
        )
    };
    assert!(check(NOW.plus(OVERLAP).minus(Millis::new(1))).is_ok());
    assert_eq!(check(NOW.plus(OVERLAP)), Err(Rejection::NoMatch));
}

#[test]
fn one_valid_signature_among_others_is_enough() {
    let many = format!("sha256={}, {SIGNATURE}", "00".repeat(32));
    accepted(request(&[("x-observatory-signature", &many)], BODY));
}

#[test]
fn the_event_type_comes_from_the_header_or_the_body() {
    let named = |more: &[(&'static str, &str)], body: &str| {
        accepted(signed(more, body.as_bytes()))
            .event_type()
            .to_string()
    };
    let body = r#"{"type":"task.done"}"#;
    assert_eq!(
        named(&[("x-webhook-event", "task.begun")], body),
        "task.begun"
    );
    assert_eq!(
        named(&[("x-webhook-event", "Push Hook")], body),
        "Push_Hook"
    );
    assert_eq!(named(&[], body), "task.done");
    assert_eq!(named(&[("x-webhook-event", " ")], body), "task.done");
    for none in [
        "",
        "not json",
        "[]",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":""}"#,
        r#"{"type":"a..b"}"#,
        r#"{"type":"*"}"#,
    ] {
        assert_eq!(named(&[], none), "unknown", "{none}");
    }
    let deep = format!("{}1", "[".repeat(100_000));
    assert_eq!(named(&[], &deep), "unknown");
}

#[test]
fn a_delivery_with_an_id_always_has_the_same_event_id() {
    let id = |more: &[(&'static str, &str)], body: &[u8]| accepted(signed(more, body)).keyed_id();
    let first = id(&[("webhook-id", "a")], b"1");
    assert!(first.is_some());
    assert_eq!(id(&[("webhook-id", "a")], b"2"), first);
    assert_ne!(id(&[("webhook-id", "b")], b"1"), first);
    assert_eq!(id(&[], b"1"), None);
}

#[test]
fn an_event_contains_what_was_received() {
    let inbound = signed(
        &[("content-type", "text/plain; charset=utf-8")],
        b"\xff\x00",
    );
    let id = EventId::from_bytes([2; 16]);
    let event = accepted(inbound).into_event(id, NOW);
    assert_eq!(
        (&event.body[..], event.content_type.as_str()),
        (&b"\xff\x00"[..], "text/plain; charset=utf-8")
    );
    assert_eq!(
        (event.origin, event.created_at),
        (Origin::Source(source().id), NOW)
    );
    let bare = accepted(signed(&[("content-type", "é")], b""));
    assert_eq!(bare.content_type.as_str(), "application/octet-stream");
}

proptest! {
    #[test]
    fn one_flipped_bit_is_rejected(body in proptest::collection::vec(any::<u8>(), 1..64), bit: usize) {
        let genuine = signed(&[], &body);
        let source = source();
        let is_rejected = |inbound| verify(inbound, Some(&source), NOW).is_err();
        prop_assert!(!is_rejected(genuine.clone()));

        let mut other = body.clone();
        other[bit / 8 % body.len()] ^= 1 << (bit % 8);
        let changed = Inbound { body: other.into(), ..genuine.clone() };
        prop_assert!(is_rejected(changed));

        let mut header = genuine.headers["x-webhook-signature"].as_bytes().to_vec();
        let at = bit / 8 % header.len();
        header[at] ^= 1 << (bit % 8);
        let mut headers = genuine.headers.clone();
        match http::HeaderValue::from_bytes(&header) {
            Ok(value) => { headers.insert("x-webhook-signature", value); }
            Err(_) => { headers.remove("x-webhook-signature"); }
        }
        let changed = Inbound { headers, ..genuine };
        prop_assert!(is_rejected(changed));
    }

    #[test]
    fn no_request_makes_the_check_panic(value: Vec<u8>, body: Vec<u8>) {
        let mut inbound = signed(&[], &body);
        if let Ok(value) = http::HeaderValue::from_bytes(&value) {
            for name in ["x-observatory-signature", "x-webhook-event", "webhook-id", "content-type"] {
                inbound.headers.insert(name, value.clone());
            }
        }
        let _ = verify(inbound, Some(&source()), NOW);
    }
}
