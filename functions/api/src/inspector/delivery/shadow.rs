//! A delivery sent to another URL, and both answers side by side.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::attempt::Attempt;
use postrider_domain::ids::DeliveryId;
use postrider_domain::invalid::FieldError;
use postrider_domain::shadow::{
    Aspect, Compared, Likeness, MAX_TIMEOUT_SECONDS, OwnHeaders, Reply, ShadowDraft,
};
use postrider_gateway::Refusal;
use postrider_gateway::shadow::{SentRequest, Shadowed};

use super::timeline::{self, Step};
use crate::Api;
use crate::inspector::fields::{Fields, Form, Named};
use crate::inspector::page::{Frame, Section, Trouble, html};
use crate::inspector::session::{Manager, Viewer};
use crate::inspector::text::{self, Pill};

/// Stands for the number of an attempt; those begin with 1.
const SHADOW: u32 = 0;

#[derive(Template)]
#[template(path = "shadow.html")]
struct ShadowPage {
    frame: Frame,
    id: String,
    event_type: String,
    shadow: ShadowForm,
    faults: Vec<FieldError>,
    result: Option<Sides>,
}

/// What is written into the form.
#[derive(Default)]
pub(super) struct ShadowForm {
    pub(super) url: String,
    pub(super) timeout_seconds: String,
    pub(super) include_headers: bool,
}

impl ShadowForm {
    fn of(fields: &Fields) -> Self {
        Self {
            url: fields.text("url"),
            timeout_seconds: fields.text("timeout_seconds"),
            include_headers: fields.get("include_headers").is_some(),
        }
    }

    /// The longest timeout.
    pub(super) const fn max_seconds(&self) -> u32 {
        MAX_TIMEOUT_SECONDS
    }

    fn draft(&self) -> ShadowDraft {
        // What is no number is refused as one that is too large is, with the limit.
        let seconds = |text: &str| text.parse().unwrap_or(u32::MAX);
        let given = Some(self.timeout_seconds.as_str()).filter(|text| !text.is_empty());
        ShadowDraft {
            url: self.url.clone(),
            timeout_seconds: given.map(seconds),
            own_headers: if self.include_headers {
                OwnHeaders::Sent
            } else {
                OwnHeaders::LeftOut
            },
        }
    }
}

/// Both answers.
struct Sides {
    headline: String,
    /// The other URL's, then the last attempt's if there was one.
    sides: Vec<Side>,
    compared: Vec<Line>,
    request: SentRequest,
    body: String,
}

/// One answer.
struct Side {
    title: String,
    url: String,
    step: Step,
    content_type: Option<String>,
    /// What is said where no response is shown.
    silence: &'static str,
}

/// One aspect, compared.
struct Line {
    aspect: &'static str,
    state: Pill,
    detail: String,
}

impl Sides {
    fn of(shadowed: Shadowed, target_url: &str) -> Self {
        let Shadowed {
            request,
            reply,
            last,
            compared,
        } = shadowed;
        let attempts: Vec<Attempt> = last.into_iter().chain([as_attempt(&reply)]).collect();
        // Drawn together, so that their bars can be compared.
        let (steps, _) = timeline::steps(&attempts);
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
        reply: &Reply,
        request: &SentRequest,
        target_url: &str,
    ) -> Self {
        let (title, url, content_type) = match attempt.number {
            SHADOW => (
                "The other URL".to_owned(),
                request.url.as_str(),
                reply.content_type.clone(),
            ),
            number => (format!("The last attempt, #{number}"), target_url, None),
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

/// The reply in the shape of an attempt, to be drawn as one.
fn as_attempt(reply: &Reply) -> Attempt {
    Attempt {
        number: SHADOW,
        version: 0,
        at: reply.at,
        status_code: reply.status_code,
        error: reply.error.clone(),
        phase: reply.phase.clone(),
        timings: reply.timings,
        response_body: reply.response_body.clone(),
    }
}

fn headline(reply: &Reply) -> String {
    match reply.status_code {
        Some(status) => format!("The other URL answered {status}"),
        None => "The other URL gave no answer".to_owned(),
    }
}

const fn silence(attempt: &Attempt) -> &'static str {
    if attempt.status_code.is_none() {
        "No response."
    } else if attempt.response_body.is_some() {
        "The response is empty."
    } else if attempt.error.is_none() {
        "The response of an attempt that delivered is not kept."
    } else {
        "The response is not kept."
    }
}

impl From<Compared> for Line {
    fn from(compared: Compared) -> Self {
        let (class, word) = match compared.likeness {
            Likeness::Same => ("delivered", "Same"),
            Likeness::Different => ("failed", "Different"),
            Likeness::Unknown => ("parked", "Not known"),
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

/// The form by itself.
pub(in crate::inspector) async fn ask(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<DeliveryId>,
) -> Result<Response, Trouble> {
    let (page, _) = page(&api, &viewer, id, ShadowForm::default()).await?;
    Ok(html(StatusCode::OK, &page))
}

/// Sends it and shows what came back. Nothing is kept: whoever loads the page again sends it again.
pub(in crate::inspector) async fn send(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<DeliveryId>,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let form = ShadowForm::of(&fields);
    let draft = form.draft();
    let (mut page, target_url) = page(&api, &viewer, id, form).await?;
    let status = match api.shadows.send(viewer.tenant(), id, draft).await {
        Ok(shadowed) => {
            page.result = Some(Sides::of(shadowed, &target_url));
            StatusCode::OK
        }
        Err(Refusal::Invalid(faults)) => {
            page.faults = faults.into_fields();
            StatusCode::BAD_REQUEST
        }
        Err(refusal) => return Err(refusal.into()),
    };
    Ok(html(status, &page))
}

/// The page without a result, and where the delivery went last.
async fn page(
    api: &Api,
    viewer: &Viewer,
    id: DeliveryId,
    shadow: ShadowForm,
) -> Result<(ShadowPage, String), Trouble> {
    let row = api
        .gateway
        .ports
        .store
        .delivery(viewer.tenant(), id)
        .await?;
    let row = row.ok_or_else(|| Trouble::not_found("delivery"))?;
    let page = ShadowPage {
        frame: Frame::new("Send to another URL", Section::Deliveries, viewer),
        id: id.to_string(),
        event_type: row.event_type.as_str().to_owned(),
        shadow,
        faults: Vec::new(),
        result: None,
    };
    Ok((page, row.target_url))
}
