//! What differs between what a shadow got and what the last attempt got.

use crate::attempt::Attempt;
use crate::outcome::KEPT_BODY_BYTES;
use crate::shadow::ShadowReply;

/// The start of a response that every store keeps whole. A longer one may have been cut.
const SURELY_WHOLE_BYTES: usize = 512;
/// How much of each body is shown around the first difference, in characters.
const SHOWN_CHARS: usize = 40;
/// How much of that comes before it.
const SHOWN_BEFORE: usize = 10;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The status code, or why there was none.
    Status,
    /// The `Content-Type` of the response.
    ContentType,
    /// The body of the response.
    Body,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Status, Self::ContentType, Self::Body];

    /// The name used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::ContentType => "content_type",
            Self::Body => "body",
        }
    }
}

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// No difference, as far as it is kept.
    Same,
    /// A difference.
    Different,
    /// One of the two is not known.
    Unknown,
}

impl Likeness {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Same, Self::Different, Self::Unknown];

    /// The name used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Unknown => "unknown",
        }
    }
}

/// One aspect, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// What was compared.
    pub aspect: Aspect,
    /// What it came to.
    pub likeness: Likeness,
    /// In plain words, with both sides.
    pub detail: String,
}

/// Compares what a shadow got with what the last attempt got, aspect by aspect.
#[must_use]
pub fn compare(reply: &ShadowReply, last: &Attempt) -> [Compared; 3] {
    [
        (Aspect::Status, status(reply, last)),
        (Aspect::ContentType, content_type(reply)),
        (Aspect::Body, body(reply, last)),
    ]
    .map(|(aspect, (likeness, detail))| Compared {
        aspect,
        likeness,
        detail,
    })
}

fn status(reply: &ShadowReply, last: &Attempt) -> (Likeness, String) {
    let why = |error: &Option<String>| error.clone().unwrap_or_else(|| "no reason known".into());
    match (reply.status_code, last.status_code) {
        (Some(here), Some(there)) if here == there => {
            (Likeness::Same, format!("{here} here and there"))
        }
        (Some(here), Some(there)) => (
            Likeness::Different,
            format!("{here} here, {there} at the last attempt"),
        ),
        (Some(here), None) => (
            Likeness::Different,
            format!(
                "{here} here, no answer at the last attempt ({})",
                why(&last.error)
            ),
        ),
        (None, Some(there)) => (
            Likeness::Different,
            format!(
                "no answer here ({}), {there} at the last attempt",
                why(&reply.error)
            ),
        ),
        (None, None) => {
            let (here, there) = (why(&reply.error), why(&last.error));
            if kind(&here) == kind(&there) {
                let kind = kind(&here);
                (Likeness::Same, format!("no answer here and there: {kind}"))
            } else {
                (
                    Likeness::Different,
                    format!("no answer: {here} here, {there} at the last attempt"),
                )
            }
        }
    }
}

/// The kind of a failure: what stands before its detail.
fn kind(error: &str) -> &str {
    error.split(": ").next().unwrap_or(error)
}

fn content_type(reply: &ShadowReply) -> (Likeness, String) {
    let here = match (&reply.content_type, reply.status_code) {
        (Some(kind), _) => format!("{kind} here"),
        (None, Some(_)) => "none here".to_owned(),
        (None, None) => "no answer here".to_owned(),
    };
    let detail = format!("{here}; it is not kept of attempts");
    (Likeness::Unknown, detail)
}

fn body(reply: &ShadowReply, last: &Attempt) -> (Likeness, String) {
    let unknown = |why: &str| (Likeness::Unknown, why.to_owned());
    match (&reply.response_body, &last.response_body) {
        (Some(here), Some(there)) => bodies(here, there),
        (None, _) => unknown("no answer here"),
        (Some(_), None) if last.status_code.is_none() => unknown("no answer at the last attempt"),
        (Some(_), None) if last.error.is_none() => {
            unknown("the response of an attempt that delivered is not kept")
        }
        (Some(_), None) => unknown("the response of the last attempt is not kept"),
    }
}

fn bodies(here: &str, there: &str) -> (Likeness, String) {
    let both = here.bytes().zip(there.bytes());
    let alike = both.take_while(|(a, b)| a == b).count();
    let is_cut = |text: &str, whole: usize| text.len() == alike && text.len() >= whole;
    if here == there && alike < SURELY_WHOLE_BYTES {
        let detail = match alike {
            0 => "empty here and there".to_owned(),
            bytes => format!("the same {bytes} bytes"),
        };
        return (Likeness::Same, detail);
    }
    // Four bytes less than the limit may be a character that did not fit.
    if is_cut(there, SURELY_WHOLE_BYTES) || is_cut(here, KEPT_BODY_BYTES - 4) {
        let detail = format!("the same {alike} bytes; no more is kept to compare");
        return (Likeness::Same, detail);
    }
    let at = here
        .floor_char_boundary(alike)
        .min(there.floor_char_boundary(alike));
    let detail = format!(
        "they differ after {at} bytes: {} here, {} at the last attempt",
        around(here, at),
        around(there, at)
    );
    (Likeness::Different, detail)
}

/// What stands at a place of a text, in quotes.
fn around(text: &str, at: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    if after.is_empty() && before.is_empty() {
        return "nothing".to_owned();
    }
    let skipped = before.chars().count().saturating_sub(SHOWN_BEFORE);
    let lead: String = before.chars().skip(skipped).collect();
    let shown: String = after.chars().take(SHOWN_CHARS - SHOWN_BEFORE).collect();
    let start = if skipped > 0 { "…" } else { "" };
    let end = if shown.len() < after.len() { "…" } else { "" };
    format!("«{start}{lead}{shown}{end}»")
}
