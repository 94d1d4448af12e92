//! Compares the response to a shadow request with that to the last attempt.

use crate::attempt::Attempt;
use crate::outcome::KEPT_BODY_BYTES;
use crate::shadow::ShadowReply;

/// Every store keeps at least this much of a response. A longer one may have been cut.
const SURELY_WHOLE_BYTES: usize = 512;
/// Characters of each body shown around the first difference.
const SHOWN_CHARS: usize = 40;
/// How many of these come before the difference.
const SHOWN_BEFORE: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The status code, or why there was none.
    Status,
    ContentType,
    Body,
}

impl Aspect {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// No difference, as far as the responses are stored.
    Same,
    Different,
    /// At least one side is not stored.
    Unknown,
}

impl Likeness {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub aspect: Aspect,
    pub likeness: Likeness,
    /// Both sides, in plain words.
    pub detail: String,
}

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
    let why = |error: &Option<String>| error.clone().unwrap_or_else(|| "reason unknown".into());
    match (reply.status_code, last.status_code) {
        (Some(here), Some(there)) if here == there => {
            (Likeness::Same, format!("{here} both times"))
        }
        (Some(here), Some(there)) => (
            Likeness::Different,
            format!("{here} here, {there} on the last attempt"),
        ),
        (Some(here), None) => (
            Likeness::Different,
            format!(
                "{here} here, no response to the last attempt ({})",
                why(&last.error)
            ),
        ),
        (None, Some(there)) => (
            Likeness::Different,
            format!(
                "no response here ({}), {there} on the last attempt",
                why(&reply.error)
            ),
        ),
        (None, None) => {
            let (here, there) = (why(&reply.error), why(&last.error));
            if kind(&here) == kind(&there) {
                let kind = kind(&here);
                (Likeness::Same, format!("no response either time: {kind}"))
            } else {
                (
                    Likeness::Different,
                    format!("no response: {here} here, {there} on the last attempt"),
                )
            }
        }
    }
}

/// The kind of failure, without its detail.
fn kind(error: &str) -> &str {
    error.split(": ").next().unwrap_or(error)
}

fn content_type(reply: &ShadowReply) -> (Likeness, String) {
    let here = match (&reply.content_type, reply.status_code) {
        (Some(kind), _) => format!("{kind} here"),
        (None, Some(_)) => "none here".to_owned(),
        (None, None) => "no response here".to_owned(),
    };
    let detail = format!("{here}; attempts do not store it");
    (Likeness::Unknown, detail)
}

fn body(reply: &ShadowReply, last: &Attempt) -> (Likeness, String) {
    let unknown = |why: &str| (Likeness::Unknown, why.to_owned());
    match (&reply.response_body, &last.response_body) {
        (Some(here), Some(there)) => bodies(here, there),
        (None, _) => unknown("no response here"),
        (Some(_), None) if last.status_code.is_none() => unknown("no response to the last attempt"),
        (Some(_), None) if last.error.is_none() => {
            unknown("responses to successful attempts are not stored")
        }
        (Some(_), None) => unknown("the response to the last attempt is not stored"),
    }
}

fn bodies(here: &str, there: &str) -> (Likeness, String) {
    let both = here.bytes().zip(there.bytes());
    let alike = both.take_while(|(a, b)| a == b).count();
    let is_cut = |text: &str, whole: usize| text.len() == alike && text.len() >= whole;
    if here == there && alike < SURELY_WHOLE_BYTES {
        let detail = match alike {
            0 => "empty both times".to_owned(),
            bytes => format!("the same {bytes} bytes"),
        };
        return (Likeness::Same, detail);
    }
    // Up to four bytes below the limit, because a character may not have fitted.
    if is_cut(there, SURELY_WHOLE_BYTES) || is_cut(here, KEPT_BODY_BYTES - 4) {
        let detail = format!("the first {alike} bytes are the same; the rest is not stored");
        return (Likeness::Same, detail);
    }
    let at = here
        .floor_char_boundary(alike)
        .min(there.floor_char_boundary(alike));
    let detail = format!(
        "they differ after {at} bytes: {} here, {} on the last attempt",
        excerpt(here, at),
        excerpt(there, at)
    );
    (Likeness::Different, detail)
}

/// The text around this position, in backticks.
fn excerpt(text: &str, at: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    if after.is_empty() && before.is_empty() {
        return "nothing".to_owned();
    }
    let skipped = before.chars().count().saturating_sub(SHOWN_BEFORE);
    let lead: String = before.chars().skip(skipped).collect();
    let shown: String = after.chars().take(SHOWN_CHARS - SHOWN_BEFORE).collect();
    let start = if skipped > 0 { "…" } else { "" };
    let end = if shown.len() < after.len() { "…" } else { "" };
    format!("`{start}{lead}{shown}{end}`")
}
