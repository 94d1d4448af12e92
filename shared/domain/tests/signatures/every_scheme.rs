//! Properties of every scheme: signing, tampering, expiry, replay, rotation.

use super::{NOW, keys, post, secret, signed, source, unsigned, ways};
use http::HeaderValue;
use postrider_domain::diagnosis::diagnose;
use postrider_domain::handshake::handshake;
use postrider_domain::inbound::{Inbound, Rejection, verify};
use postrider_domain::scheme::{At, Digest, Field, Part, Scheme, TimeForm, Way};
use postrider_domain::secret::OVERLAP;
use postrider_domain::time::Millis;
use postrider_samples as sample;
use proptest::prelude::*;
use serde_json::Value;

const ID: &str = "7d1a6f";

/// `bytes` with each single bit flipped, one at a time.
fn flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(move |bit| {
        let mut other = bytes.to_vec();
        other[bit / 8] ^= 1 << (bit % 8);
        other
    })
}

fn with_header(inbound: &Inbound, name: &str, value: &[u8]) -> Inbound {
    let mut other = inbound.clone();
    other.headers.remove(name);
    if let Ok(value) = HeaderValue::from_bytes(value) {
        other
            .headers
            .insert(http::HeaderName::try_from(name).unwrap(), value);
    }
    other
}

/// The request with each bit of this field flipped, one at a time.
fn tampered(inbound: &Inbound, field: &Field) -> Vec<Inbound> {
    let header = |name: &str| {
        let value = inbound.headers[name].as_bytes().to_vec();
        let others = flips(&value).map(|other| with_header(inbound, name, &other));
        others.collect::<Vec<_>>()
    };
    match &field.at {
        At::Header(name) => header(name),
        At::Numbered(name) => header(&format!("{name}-1")),
        At::Body(pointer) => {
            let body: Value = serde_json::from_slice(&inbound.body).unwrap();
            let Some(text) = body.pointer(pointer).and_then(Value::as_str) else {
                return Vec::new(); // A number; flipping the whole body covers it.
            };
            let others = flips(text.as_bytes()).filter_map(|other| String::from_utf8(other).ok());
            let others = others.map(|other| {
                let mut body = body.clone();
                *body.pointer_mut(pointer).unwrap() = Value::from(other);
                Inbound {
                    body: body.to_string().into(),
                    ..inbound.clone()
                }
            });
            others.collect()
        }
        At::Form(_) => Vec::new(),
    }
}

/// `%2B` and `%2b` are the same field.
fn is_same_form(way: &Way, one: &[u8], other: &[u8]) -> bool {
    let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("%2b", "%2B");
    way.signed.contains(&Part::SortedForm) && lower(one) == lower(other)
}

fn places(way: &Way) -> Vec<&Field> {
    let time = way.time.iter().flat_map(|time| time.at.first());
    way.signature
        .first()
        .into_iter()
        .chain(way.id.first())
        .chain(time)
        .collect()
}

#[test]
fn a_signed_request_is_accepted_with_its_event_type() {
    for (scheme, way) in ways() {
        let keys = keys(way, 1);
        let source = source(scheme, keys.secret.clone());
        scheme.check_secret(&keys.secret).unwrap();
        for event in sample::events(scheme) {
            let inbound = sample::sign_in(way, scheme, &keys, unsigned(event, ID), NOW).unwrap();
            let verified = verify(inbound, Some(&source), NOW);
            let verified = verified.unwrap_or_else(|reason| panic!("{}: {reason}", scheme.name));
            assert_eq!(
                verified.event_type().as_str(),
                event.name,
                "{}",
                scheme.name
            );
        }
    }
}

#[test]
fn a_flipped_bit_of_signature_time_or_id_is_rejected() {
    for (scheme, way) in ways() {
        let keys = keys(way, 1);
        let source = source(scheme, keys.secret.clone());
        let inbound = signed(scheme, way, &keys, ID, NOW);
        let mut tried = 0;
        for field in places(way) {
            for other in tampered(&inbound, field) {
                tried += 1;
                let rejected = verify(other, Some(&source), NOW).is_err();
                assert!(rejected, "{}: {field:?}", scheme.name);
            }
        }
        assert!(tried >= 160, "{}: {tried}", scheme.name);
    }
}

#[test]
fn a_flipped_bit_of_the_body_is_rejected() {
    let covers = |way: &Way| {
        let covering = [Part::Body, Part::SortedForm, Part::HashedBody];
        way.signed.iter().any(|part| covering.contains(part))
    };
    for (scheme, way) in ways().filter(|(_, way)| covers(way)) {
        let keys = keys(way, 1);
        let source = source(scheme, keys.secret.clone());
        let inbound = signed(scheme, way, &keys, ID, NOW);
        for body in flips(&inbound.body).filter(|body| !is_same_form(way, body, &inbound.body)) {
            let other = Inbound {
                body: body.into(),
                ..inbound.clone()
            };
            assert!(
                verify(other, Some(&source), NOW).is_err(),
                "{}",
                scheme.name
            );
        }
        let cut = Inbound {
            body: bytes::Bytes::new(),
            ..inbound
        };
        assert!(verify(cut, Some(&source), NOW).is_err(), "{}", scheme.name);
    }
}

#[test]
fn a_request_is_accepted_up_to_the_edge_of_its_window_and_no_further() {
    for (scheme, way) in ways() {
        let keys = keys(way, 1);
        let source = source(scheme, keys.secret.clone());
        let inbound = signed(scheme, way, &keys, ID, NOW);
        let check = |at| verify(inbound.clone(), Some(&source), at).map(|_| ());
        let Some((time, window)) = way
            .time
            .as_ref()
            .and_then(|time| Some((time, time.window_seconds?)))
        else {
            check(NOW.plus(Millis::from_seconds(1_000_000))).unwrap();
            continue;
        };
        let edge = Millis::from_seconds(window.into());
        let beyond = edge.plus(match time.form {
            TimeForm::Seconds => Millis::new(1000),
            TimeForm::Millis | TimeForm::Rfc3339 => Millis::new(1),
        });
        for at in [NOW.plus(edge), NOW.minus(edge)] {
            check(at).unwrap_or_else(|reason| panic!("{}: {reason}", scheme.name));
        }
        for at in [NOW.plus(beyond), NOW.minus(beyond)] {
            assert_eq!(check(at), Err(Rejection::OutOfWindow), "{}", scheme.name);
        }
    }
}

#[test]
fn a_request_sent_again_is_the_same_event() {
    for (scheme, way) in ways() {
        let keys = keys(way, 1);
        let source = source(scheme, keys.secret.clone());
        let event_id = |id, at| {
            let inbound = signed(scheme, way, &keys, id, at);
            verify(inbound, Some(&source), NOW).unwrap().keyed_id()
        };
        let (first, name) = (event_id("100", NOW), scheme.name);
        assert_eq!(event_id("100", NOW), first, "{name}");
        let later = NOW.plus(Millis::from_seconds(1));
        match (scheme.delivery_id.is_empty(), &way.time) {
            // Identified by its id, whenever it was sent.
            (false, _) => {
                assert!(first.is_some() && event_id("101", NOW) != first, "{name}");
                assert_eq!(event_id("100", later), first, "{name}");
            }
            // Identified by the signed content: sent again unchanged.
            (true, Some(_)) => {
                assert!(first.is_some() && event_id("100", later) != first, "{name}");
            }
            // Two equal requests may be two events.
            (true, None) => assert_eq!(first, None, "{name}"),
        }
    }
}

#[test]
fn a_standard_webhook_keeps_its_id_when_it_is_signed_again() {
    for name in ["standard", "svix"] {
        let scheme = super::named(name);
        let way = &scheme.ways[0];
        let keys = keys(way, 1);
        let source = source(&scheme, keys.secret.clone());
        let event_id = |id, at| {
            let inbound = signed(&scheme, way, &keys, id, at);
            verify(inbound, Some(&source), NOW).unwrap().keyed_id()
        };
        let first = event_id("msg_1", NOW);
        let later = NOW.plus(Millis::from_seconds(60));
        assert_eq!(event_id("msg_1", later), first, "{name}");
        assert_ne!(event_id("msg_2", NOW), first, "{name}");
    }
}

#[test]
fn unsigned_parts_do_not_make_a_replay_another_event() {
    let scheme = super::named("calendly");
    let keys = keys(&scheme.ways[0], 1);
    let source = source(&scheme, keys.secret.clone());
    let inbound = signed(&scheme, &scheme.ways[0], &keys, ID, NOW);
    let event_id = |inbound| verify(inbound, Some(&source), NOW).unwrap().keyed_id();
    let first = event_id(inbound.clone());
    let header = "calendly-webhook-signature";
    let signature = inbound.headers[header].to_str().unwrap();
    let longer = format!("{signature},v1={}", "00".repeat(32));
    let mut again = with_header(&inbound, header, longer.as_bytes());
    again.headers.insert("x-new", "1".parse().unwrap());
    again.query = Some("new=1".to_owned());
    assert_eq!(event_id(again), first);
}

#[test]
fn old_and_new_secret_are_accepted_until_the_old_one_expires() {
    for (scheme, way) in ways() {
        let (old, new) = (keys(way, 1), keys(way, 2));
        let mut source = source(scheme, old.secret.clone());
        let stranger = signed(scheme, way, &new, ID, NOW);
        assert!(
            verify(stranger, Some(&source), NOW).is_err(),
            "{}",
            scheme.name
        );
        source.secrets = source.secrets.rotated(new.secret.clone(), NOW).unwrap();
        let check =
            |keys, at| verify(signed(scheme, way, keys, ID, at), Some(&source), at).map(|_| ());
        let last = NOW.plus(OVERLAP).minus(Millis::new(1));
        for at in [NOW, last] {
            assert_eq!(
                (check(&old, at), check(&new, at)),
                (Ok(()), Ok(())),
                "{}",
                scheme.name
            );
        }
        let retired = NOW.plus(OVERLAP);
        assert_eq!(
            check(&old, retired),
            Err(Rejection::NoMatch),
            "{}",
            scheme.name
        );
        assert_eq!(check(&new, retired), Ok(()), "{}", scheme.name);
    }
}

#[test]
fn one_valid_signature_among_ten_is_enough_and_the_eleventh_is_ignored() {
    let scheme = super::named("stripe");
    let way = &scheme.ways[0];
    let keys = keys(way, 1);
    let source = source(&scheme, keys.secret.clone());
    let inbound = signed(&scheme, way, &keys, ID, NOW);
    let good = inbound.headers["stripe-signature"].to_str().unwrap();
    let (time, right) = good.split_once(',').unwrap();
    let others = |count| {
        format!(
            "{time}{},{right}",
            format!(",v1={}", "00".repeat(32)).repeat(count)
        )
    };
    let check = |count| {
        let inbound = with_header(&inbound, "stripe-signature", others(count).as_bytes());
        verify(inbound, Some(&source), NOW).map(|_| ())
    };
    assert_eq!((check(9), check(10)), (Ok(()), Err(Rejection::NoMatch)));
}

#[test]
fn a_valid_signature_that_is_repeated_is_still_valid() {
    for (scheme, way) in ways() {
        let keys = keys(way, 1);
        let source = source(scheme, keys.secret.clone());
        let mut inbound = signed(scheme, way, &keys, ID, NOW);
        let Some(At::Header(name)) = way.signature.first().map(|field| &field.at) else {
            continue;
        };
        let signature = inbound.headers[name.as_ref()].clone();
        let name = http::HeaderName::try_from(name.as_ref()).unwrap();
        inbound.headers.append(name, signature);
        let accepted = verify(inbound, Some(&source), NOW).is_ok();
        assert!(accepted, "{}", scheme.name);
    }
}

#[test]
fn a_digest_open_to_length_extension_is_accepted_for_json_only() {
    let scheme = super::named("hubspot");
    for way in scheme
        .ways
        .iter()
        .filter(|way| way.digest == Digest::Sha256)
    {
        let keys = keys(way, 1);
        let source = source(&scheme, keys.secret.clone());
        let event = sample::SampleEvent {
            body: "[1]\u{80}",
            ..sample::events(&scheme)[0]
        };
        assert!(sample::sign_in(way, &scheme, &keys, unsigned(&event, ID), NOW).is_none());
        let inbound = signed(&scheme, way, &keys, ID, NOW);
        assert!(verify(inbound, Some(&source), NOW).is_ok());
    }
}

#[test]
fn an_ambiguous_id_is_rejected() {
    let scheme = super::named("standard");
    let way = &scheme.ways[0];
    let event = &sample::events(&scheme)[0];
    assert!(sample::sign_in(way, &scheme, &keys(way, 1), unsigned(event, "a.1"), NOW).is_none());
}

#[test]
fn a_secret_must_have_the_format_of_its_scheme() {
    for (name, wanted) in [
        ("sendgrid", "P-256"),
        ("discord", "64 hexadecimal digits"),
        ("standard", "whsec_"),
        ("svix", "whpk_"),
    ] {
        let misfit = super::named(name)
            .check_secret(&secret("!"))
            .unwrap_err()
            .to_string();
        assert!(misfit.contains(wanted) && misfit.contains(name), "{misfit}");
    }
    let scheme = super::named("discord");
    assert!(
        scheme.check_secret(&secret(&"0".repeat(64))).is_err(),
        "a weak key vouches for anything"
    );
    assert!(super::named("github").check_secret(&secret("!")).is_ok());
}

#[test]
fn a_source_reports_what_its_scheme_needs() {
    use postrider_domain::source::SourceDraft;
    let draft = |scheme: &str| SourceDraft {
        name: "s".to_owned(),
        scheme: scheme.to_owned(),
        ..SourceDraft::default()
    };
    for scheme in Scheme::all() {
        let checked = draft(scheme.name).check(|_| true);
        assert_eq!(checked.is_err(), scheme.signs_url(), "{}", scheme.name);
    }
    let faults = draft("custom").check(|_| true).unwrap_err().into_fields();
    assert_eq!(faults[0].field, "custom");
}

proptest! {
    #[test]
    fn no_request_makes_a_check_panic(value in "[ -~]{0,40}", query in proptest::option::of("[ -~]{0,40}"), body: Vec<u8>, json in r#"[\[\]{}",:a-z0-9 ]{0,60}"#) {
        for (scheme, way) in ways() {
            let source = source(scheme, keys(way, 1).secret);
            for body in [&body, json.as_bytes()] {
                let mut inbound = post(&[("content-type", "application/x-www-form-urlencoded")], body);
                inbound.query = query.clone();
                for field in places(way) {
                    if let (At::Header(name), Ok(value)) = (&field.at, value.parse()) {
                        inbound.headers.insert(http::HeaderName::try_from(name.as_ref()).unwrap(), value);
                    }
                }
                prop_assert!(verify(inbound.clone(), Some(&source), NOW).is_err());
                let _ = handshake(&inbound, &source, NOW);
            }
        }
        let scheme = super::named("twilio");
        let inbound = Inbound { query, ..post(&[], &body) };
        let _ = diagnose(&inbound, &source(&scheme, secret("x")), NOW);
    }
}
