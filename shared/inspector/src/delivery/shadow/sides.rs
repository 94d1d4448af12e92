//! The response to a shadow request next to the response to the last attempt.

use postrider_domain::attempt::Attempt;
use postrider_domain::shadow::{Aspect, Compared, Likeness, ShadowReply};
use postrider_gateway::shadow::{SentRequest, Shadowed};

use crate::delivery::timeline::{self, Step};
use crate::site::Site;
use crate::text::{self, Pill};

/// In place of an attempt number; attempts start at 1.
const SHADOW: u32 = 0;

pub(super) struct Sides {
    pub(super) headline: String,
    /// The shadow request's response, then the last attempt's if there is one.
    pub(super) sides: Vec<Side>,
    pub(super) compared: Vec<Line>,
    pub(super) request: SentRequest,
    pub(super) body: String,
}

pub(super) struct Side {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) step: Step,
    pub(super) content_type: Option<String>,
    /// The text in place of a missing response body.
    pub(super) silence: &'static str,
}

pub(super) struct Line {
    pub(super) aspect: &'static str,
    pub(super) state: Pill,
    pub(super) detail: String,
}

impl Sides {
    pub(super) fn of(shadowed: Shadowed, target_url: &str) -> Self {
        let Shadowed {
            request,
            reply,
            last,
            compared,
        } = shadowed;
        let attempts: Vec<Attempt> = last.into_iter().chain([as_attempt(&reply)]).collect();
        // Drawn together, so their bars use the same scale.
        let (steps, _) = timeline::steps(Site::Inspector, &attempts);
        let sides = attempts.iter().zip(steps).rev();
        let sides =
            sides.map(|(attempt, step)| Side::of(attempt, step, &reply, &request, target_url));
        Self {
            headline: headline(&reply),
            sides: sides.collect(),
            compared: compared.into_iter().map(Line::from).collect(),
            body: text::bytes(request.body_bytes),
            request,
        }
    }
}

impl Side {
    fn of(
        attempt: &Attempt,
        step: Step,
        reply: &ShadowReply,
        request: &SentRequest,
        target_url: &str,
    ) -> Self {
        let (title, url, content_type) = match attempt.number {
            SHADOW => (
                "Other URL".to_owned(),
                request.url.as_str(),
                reply.content_type.clone(),
            ),
            number => (format!("Last attempt, #{number}"), target_url, None),
        };
        Self {
            title,
            url: url.to_owned(),
            step,
            content_type,
            silence: silence(attempt),
        }
    }
}

/// The response as an attempt, to be drawn like one.
fn as_attempt(reply: &ShadowReply) -> Attempt {
    Attempt {
        number: SHADOW,
        version: 0,
        at: reply.at,
        status_code: reply.status_code,
        error: reply.error.clone(),
        kind: reply.kind,
        phase: reply.phase,
        timings: reply.timings,
        response_body: reply.response_body.clone(),
    }
}

fn headline(reply: &ShadowReply) -> String {
    match reply.status_code {
        Some(status) => format!("The other URL returned {status}"),
        None => "No response from the other URL".to_owned(),
    }
}

const fn silence(attempt: &Attempt) -> &'static str {
    if attempt.status_code.is_none() {
        "No response."
    } else if attempt.response_body.is_some() {
        "Empty response."
    } else if attempt.error.is_none() {
        "Responses of successful attempts are not stored."
    } else {
        "The response was not stored."
    }
}

impl From<Compared> for Line {
    fn from(compared: Compared) -> Self {
        let (class, word) = match compared.likeness {
            Likeness::Same => ("delivered", "Same"),
            Likeness::Different => ("failed", "Different"),
            Likeness::Unknown => ("parked", "Unknown"),
        };
        Self {
            aspect: match compared.aspect {
                Aspect::Status => "Status",
                Aspect::ContentType => "Content type",
                Aspect::Body => "Body",
            },
            state: Pill {
                class,
                text: word.to_owned(),
            },
            detail: compared.detail,
        }
    }
}
