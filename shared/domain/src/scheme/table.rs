//! The rows of all built-in schemes. By default a way is HMAC-SHA256 over the body, in hex, keyed with the secret's
//! text.

mod bodies;
mod keys;
mod times;
mod urls;

use std::sync::{Arc, LazyLock};

use super::{At, Field, Part, Scheme, Text, Time, TimeForm, Way};

/// How far a request's timestamp may be from now for most providers.
const WINDOW_SECONDS: u32 = 300;

pub(super) static TABLE: LazyLock<Vec<Arc<Scheme>>> = LazyLock::new(|| {
    let families = [bodies::rows(), times::rows(), urls::rows(), keys::rows()];
    families.into_iter().flatten().map(Arc::new).collect()
});

/// A header with one value, or with several if a proxy has joined repeated headers.
fn header(name: &'static str) -> Field {
    behind(name, "")
}

/// A header whose values have a prefix.
fn behind(name: &'static str, prefix: &'static str) -> Field {
    part(name, ',', prefix)
}

fn part(name: &'static str, separator: char, prefix: &'static str) -> Field {
    Field {
        at: At::Header(Text::Borrowed(name)),
        separator: Some(separator),
        prefix: Text::Borrowed(prefix),
    }
}

/// A header that is one value, even if it contains commas.
fn whole(name: &'static str) -> Field {
    at(At::Header(Text::Borrowed(name)))
}

fn body(pointer: &'static str) -> Field {
    at(At::Body(Text::Borrowed(pointer)))
}

fn at(at: At) -> Field {
    Field {
        at,
        separator: None,
        prefix: Text::Borrowed(""),
    }
}

const fn text(text: &'static str) -> Part {
    Part::Text(Text::Borrowed(text))
}

fn seconds(field: Field) -> Option<Time> {
    Some(Time {
        at: vec![field],
        form: TimeForm::Seconds,
        window_seconds: Some(WINDOW_SECONDS),
    })
}

/// Standard Webhooks under either set of header names.
fn standard(version: &'static str) -> Way {
    Way {
        signature: vec![
            part("webhook-signature", ' ', version),
            part("svix-signature", ' ', version),
        ],
        signed: vec![Part::Id, text("."), Part::Time, text("."), Part::Body],
        time: Some(Time {
            at: vec![whole("webhook-timestamp"), whole("svix-timestamp")],
            form: TimeForm::Seconds,
            window_seconds: Some(WINDOW_SECONDS),
        }),
        id: vec![whole("webhook-id"), whole("svix-id")],
        ..Way::default()
    }
}
