//! Requests of every scheme: genuine, forged, or neither.

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use postrider_domain::handshake::handshake;
use postrider_domain::inbound::{Inbound, verify};
use postrider_domain::scheme::Part;
use postrider_domain::secret::OVERLAP;
use postrider_domain::time::Timestamp;
use url::form_urlencoded;

use super::Outcome;
use super::edits::{Edit, Journey};
use super::scene::{NOW, Scene};

/// What an input describes.
#[derive(Arbitrary, Debug)]
pub(super) struct Attempt<'a> {
    way: u8,
    event: u8,
    /// Whether it starts as the signed request, or empty.
    is_signed: bool,
    query: Option<Query>,
    edits: Vec<Edit<'a>>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Query {
    Plain,
    Bracketed,
    Escaped,
}

impl Query {
    const fn text(self) -> &'static str {
        match self {
            Self::Plain => "a=1",
            Self::Bracketed => "a[]=1&b=",
            Self::Escaped => "a=%40%2F&b=x+y",
        }
    }
}

/// A request as it was sent, if it was sent, and as it arrived.
pub(super) struct Arrival {
    pub(super) scene: &'static Scene,
    pub(super) sent: Option<Inbound>,
    pub(super) inbound: Inbound,
    pub(super) now: Timestamp,
    is_untouched: bool,
}

impl Arrival {
    /// The request that an input describes.
    pub(super) fn of(input: &[u8]) -> Option<Self> {
        let attempt = Attempt::arbitrary(&mut Unstructured::new(input)).ok()?;
        let scene = Scene::pick(attempt.way);
        let query = attempt.query.map(Query::text);
        let signed = scene.signed(attempt.event, query);
        let sent = signed.filter(|_| attempt.is_signed);
        let mut journey = Journey {
            inbound: sent.clone().unwrap_or_default(),
            now: NOW,
            headers: &scene.headers,
        };
        attempt.edits.iter().for_each(|edit| journey.suffer(edit));
        Some(Self {
            scene,
            is_untouched: attempt.edits.is_empty(),
            now: journey.now,
            inbound: journey.inbound,
            sent,
        })
    }

    pub(super) fn is_accepted(&self) -> bool {
        verify(self.inbound.clone(), Some(&self.scene.known), self.now).is_ok()
    }
}

/// Tries the request that an input describes.
///
/// # Panics
/// When a forged one is accepted, or a genuine one rejected.
pub fn try_request(input: &[u8]) -> Outcome {
    let Some(arrival) = Arrival::of(input) else {
        return Outcome::Nothing;
    };
    other_sources_reject_it(&arrival);
    let Some(sent) = arrival.sent.as_ref().filter(|_| arrival.is_accepted()) else {
        let name = arrival.scene.scheme.name;
        assert!(!arrival.is_accepted(), "{name}: accepted, but never signed");
        let is_genuine = arrival.sent.is_some() && arrival.is_untouched;
        assert!(!is_genuine, "{name}: genuine, and refused");
        return Outcome::Rejected;
    };
    it_is_what_was_signed(&arrival, sent);
    it_stays_accepted(&arrival);
    Outcome::Accepted
}

/// Without the secret, nothing is accepted and no handshake is answered.
fn other_sources_reject_it(arrival: &Arrival) {
    let Arrival { scene, now, .. } = arrival;
    let name = scene.scheme.name;
    let stranger = verify(arrival.inbound.clone(), Some(&scene.stranger), *now);
    assert!(stranger.is_err(), "{name}: a stranger accepts it");
    assert!(verify(arrival.inbound.clone(), None, *now).is_err());
    let reply = handshake(&arrival.inbound, &scene.stranger, *now);
    assert_eq!(reply, None, "{name}: a stranger answers");
}

/// Everything that the signature covers is as it was sent.
fn it_is_what_was_signed(arrival: &Arrival, sent: &Inbound) {
    let (scene, got) = (arrival.scene, &arrival.inbound);
    let name = scene.scheme.name;
    let signs = |part: &Part| scene.way.signed.contains(part);
    if signs(&Part::Body) || signs(&Part::HashedBody) {
        assert_eq!(got.body, sent.body, "{name}: another body");
    }
    if signs(&Part::SortedForm) {
        // There are no separators between names, values and the URL: that is how Twilio signs.
        assert_eq!(row(got), row(sent), "{name}: another form");
    } else if scene.scheme.signs_url() && scene.way.signed.iter().any(is_url) {
        assert_eq!(decoded(got), decoded(sent), "{name}: another query");
    }
    if signs(&Part::Method) {
        assert_eq!(got.method, sent.method, "{name}: another method");
    }
    let id = |inbound: &Inbound, at| {
        let verified = verify(inbound.clone(), Some(&scene.known), at);
        verified.map(|verified| verified.keyed_id())
    };
    if signs(&Part::Id) && !is_id_unsigned(scene) {
        assert_eq!(id(got, arrival.now), id(sent, NOW), "{name}: another id");
    }
    let window = scene.way.time.as_ref().and_then(|time| time.window_seconds);
    let off = arrival.now.as_millis().abs_diff(NOW.as_millis());
    let is_timely = window.is_none_or(|window| off <= u64::from(window) * 1000);
    assert!(is_timely, "{name}: out of its window");
}

fn is_url(part: &Part) -> bool {
    matches!(part, Part::Url(_))
}

/// Whether the id of the delivery is outside the signed part.
fn is_id_unsigned(scene: &Scene) -> bool {
    scene.way.id != scene.scheme.delivery_id
}

/// The query and the fields of a form, concatenated, as another parser finds them.
fn row(inbound: &Inbound) -> Vec<u8> {
    let fields: BTreeSet<_> = form_urlencoded::parse(&inbound.body).collect();
    let fields = fields.iter().flat_map(|(name, value)| [name, value]);
    let query = inbound.query.iter().map(|query| format!("?{query}"));
    let texts = query.chain(fields.map(ToString::to_string));
    texts.collect::<String>().into_bytes()
}

fn decoded(inbound: &Inbound) -> Option<Vec<u8>> {
    let query = inbound.query.as_deref()?;
    Some(percent_decode_str(query).collect())
}

/// Also a second time, with an irrelevant header, and during a rotation of the secret.
fn it_stays_accepted(arrival: &Arrival) {
    let (scene, now) = (arrival.scene, arrival.now);
    let mut other = arrival.inbound.clone();
    other
        .headers
        .insert("x-of-no-use", HeaderValue::from_static("1"));
    for (inbound, source) in [
        (&arrival.inbound, &scene.known),
        (&other, &scene.known),
        (&arrival.inbound, &scene.rotated),
    ] {
        let again = verify(inbound.clone(), Some(source), now);
        let is_live = now < NOW.plus(OVERLAP) || std::ptr::eq(source, &raw const scene.known);
        assert_eq!(again.is_ok(), is_live, "{}: {again:?}", scene.scheme.name);
    }
}
