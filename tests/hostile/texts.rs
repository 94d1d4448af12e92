//! Texts that are decoded: ids, cursors, secrets, names, times, headers, signatures.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use postrider_domain::event::{Label, Origin};
use postrider_domain::headers::CustomHeaders;
use postrider_domain::ids::{DeliveryId, EventId, JobId, KeyId, SourceId, TenantId, WebhookId};
use postrider_domain::outcome::{Control, RetryAfter};
use postrider_domain::pattern::{EventType, Pattern};
use postrider_domain::scheme::{CustomDraft, Scheme};
use postrider_domain::secret::{SharedSecret, SigningSecret};
use postrider_domain::signature::{self, SignedRequest};
use postrider_domain::time::Timestamp;
use postrider_ports::history::Cursor;
use postrider_ports::spans::TraceParent;
use postrider_store_format::ListKey;

use super::Outcome;
use super::scene::NOW;

/// Decodes a text as everything it could be.
///
/// # Panics
/// When a value does not survive a round trip, or a forged signature is accepted.
pub fn try_text(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else {
        return Outcome::Nothing;
    };
    let read = [
        ids(text, input),
        cursor(text, input),
        secrets(text),
        names(text),
        times(text),
        headers(text),
        json(text),
    ];
    signatures(text, input);
    if read.contains(&true) {
        Outcome::Accepted
    } else {
        Outcome::Rejected
    }
}

/// Whether it is a valid value; then this is its only spelling.
fn has_one_spelling<T: FromStr + Display>(text: &str) -> bool {
    let Ok(read) = text.parse::<T>() else {
        return false;
    };
    assert_eq!(read.to_string(), text, "one spelling");
    true
}

/// Whether the value survives a round trip.
fn is_read_back<T: FromStr + Display + PartialEq + Debug>(value: &T) -> bool {
    let read = value.to_string().parse::<T>().ok();
    assert_eq!(read.as_ref(), Some(value), "read as it was written");
    true
}

fn ids(text: &str, input: &[u8]) -> bool {
    let with = |prefix: &str| format!("{prefix}{text}");
    let plain = [
        has_one_spelling::<WebhookId>(&with(WebhookId::PREFIX)),
        has_one_spelling::<SourceId>(&with(SourceId::PREFIX)),
        has_one_spelling::<EventId>(&with(EventId::PREFIX)),
        has_one_spelling::<DeliveryId>(&with(DeliveryId::PREFIX)),
        has_one_spelling::<JobId>(text),
        has_one_spelling::<KeyId>(text),
        has_one_spelling::<TenantId>(text),
        has_one_spelling::<Origin>(text),
    ];
    let bytes = input.first_chunk::<16>();
    let made = bytes.is_some_and(|bytes| {
        let (event, webhook) = (EventId::from_bytes(*bytes), WebhookId::from_bytes(*bytes));
        is_read_back(&event)
            && is_read_back(&webhook)
            && is_read_back(&DeliveryId { event, webhook })
    });
    made || plain.contains(&true)
}

fn cursor(text: &str, input: &[u8]) -> bool {
    let (list, other) = (ListKey::of("list"), ListKey::of("other list"));
    let made = list.cursor(input);
    assert_eq!(list.place(&made).ok().as_deref(), Some(input));
    assert!(other.place(&made).is_err(), "a cursor of another list");
    let place = list.place(&Cursor(text.to_owned()));
    let again = place.ok().map(|place| list.cursor(&place).0);
    assert!(
        again.as_deref().is_none_or(|again| again == text),
        "one spelling"
    );
    again.is_some()
}

fn secrets(text: &str) -> bool {
    let signing = SigningSecret::parse(text);
    if let Ok(secret) = &signing {
        assert_eq!(secret.expose(), text);
        assert!((24..=64).contains(&secret.key().len()));
    }
    let Ok(shared) = SharedSecret::parse(text) else {
        return signing.is_ok();
    };
    for scheme in Scheme::all() {
        if let Err(misfit) = scheme.check_secret(&shared) {
            let other = SharedSecret::parse("?").unwrap();
            let about_other = scheme.check_secret(&other).unwrap_err();
            assert_eq!(
                misfit.to_string(),
                about_other.to_string(),
                "it says nothing about the secret"
            );
        }
    }
    signing.is_ok()
}

fn names(text: &str) -> bool {
    let event_type = text.parse::<EventType>();
    let pattern = text.parse::<Pattern>();
    if let (Ok(event_type), Ok(pattern)) = (&event_type, &pattern) {
        assert!(pattern.matches(event_type), "a type is its own pattern");
    }
    let headers = CustomHeaders::parse([(text, "value"), ("x-name", text)]);
    let label = text.parse::<Label>();
    event_type.is_ok() || pattern.is_ok() || label.is_ok() || headers.is_ok()
}

fn times(text: &str) -> bool {
    let Ok(at) = Timestamp::parse_rfc3339(text) else {
        return false;
    };
    assert_eq!(Timestamp::parse_rfc3339(&at.to_string()), Ok(at));
    true
}

/// What receivers respond with, and what a publisher may add to a request.
fn headers(text: &str) -> bool {
    let control = Control::parse(text);
    assert!(control.is_none_or(|control| control.as_str() == text.trim()));
    let retry_after = RetryAfter::parse(text);
    if let Some(after) = retry_after {
        assert!(NOW.plus(after.wait(NOW)) >= NOW, "never in the past");
    }
    let parent = text.parse::<TraceParent>();
    let is_parent = parent.is_ok_and(|parent| is_read_back(&parent));
    control.is_some() || retry_after.is_some() || is_parent
}

fn json(text: &str) -> bool {
    let Ok(draft) = serde_json::from_str::<CustomDraft>(text) else {
        return false;
    };
    draft.check().is_ok()
}

/// The secret is unknown, so no signature is valid.
fn signatures(text: &str, input: &[u8]) {
    let secret = SigningSecret::from_key(&[9; 32]);
    assert!(signature::verify_plain(text, &secret, input).is_err());
    let request = SignedRequest {
        id: text,
        timestamp: &NOW.as_seconds().to_string(),
        signatures: text,
        body: input,
    };
    let secrets = std::iter::once(&secret);
    assert!(signature::verify_standard(request, secrets, NOW).is_err());
}
