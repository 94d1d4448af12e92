//! Signatures over a URL and a body without a separator between them.

use postrider_domain::inbound::{Inbound, verify};
use postrider_domain::scheme::{CustomDraft, Part, Scheme, UrlForm, Way};
use postrider_samples::{self as sample, Unsigned};
use std::sync::Arc;

use super::{NOW, URL, keys, source};

/// Schemes that sign the body directly after the URL, and a custom one.
fn bordering() -> Vec<(Arc<Scheme>, Way)> {
    let custom = CustomDraft {
        header: "x-signature".to_owned(),
        signed: Some("{url}{body}".to_owned()),
        ..CustomDraft::default()
    };
    let custom = Arc::new(custom.check().unwrap());
    let named = ["square", "hubspot"].map(super::named);
    let schemes = named.into_iter().chain([custom]);
    let ways = schemes.flat_map(|scheme| {
        let ways = scheme.ways.clone();
        ways.into_iter().map(move |way| (Arc::clone(&scheme), way))
    });
    let is_plain = |way: &Way| {
        way.signed.contains(&Part::Body) && way.signed.contains(&Part::Url(UrlForm::AsGiven))
    };
    ways.filter(|(_, way)| is_plain(way)).collect()
}

/// Whether a request is accepted whose query and body were signed together as `signed`.
fn is_accepted(
    scheme: &Arc<Scheme>,
    way: &Way,
    signed: (&str, &str),
    sent: (Option<&str>, &str),
) -> bool {
    let keys = keys(way, 1);
    let unsigned = Unsigned {
        url: URL,
        query: Some(signed.0),
        id: "1",
        headers: &[],
        content_type: "application/json",
        body: signed.1.as_bytes(),
    };
    let genuine = sample::sign_in(way, scheme, &keys, unsigned, NOW).unwrap();
    let source = source(scheme, keys.secret);
    assert!(verify(genuine.clone(), Some(&source), NOW).is_ok());
    let moved = Inbound {
        query: sent.0.map(str::to_owned),
        body: sent.1.to_owned().into(),
        ..genuine
    };
    verify(moved, Some(&source), NOW).is_ok()
}

#[test]
fn a_moved_border_is_rejected() {
    let ways = bordering();
    assert_eq!(ways.len(), 4, "square, two of hubspot, and the custom one");
    for (scheme, way) in ways {
        for (signed, sent) in [
            (("a=1", "[{}]"), (Some("a=1["), "{}]")),
            (("a=1", "[{}]"), (Some("a="), "1[{}]")),
            (("a=[", "[{}]"), (Some("a="), "[[{}]")),
            (("a=1", "[{}]"), (None, "?a=1[{}]")),
            (("a=1", ""), (Some("a="), "1")),
            (("a=1", ""), (None, "?a=1")),
        ] {
            let is_forged = is_accepted(&scheme, &way, signed, sent);
            assert!(!is_forged, "{}: {signed:?} sent as {sent:?}", scheme.name);
        }
    }
}

#[test]
fn a_request_without_a_clear_border_cannot_be_signed() {
    for (scheme, way) in bordering() {
        for (query, body) in [
            (Some("a=[1]"), ""),
            (Some("a=1"), "text"),
            (Some("a=1"), "1"),
            (None, "?a=1"),
        ] {
            let unsigned = Unsigned {
                url: URL,
                query,
                id: "1",
                headers: &[],
                content_type: "text/plain",
                body: body.as_bytes(),
            };
            let signed = sample::sign_in(&way, &scheme, &keys(&way, 1), unsigned, NOW);
            assert!(signed.is_none(), "{}: {query:?}, {body}", scheme.name);
        }
    }
}
