//! A shadow request: one delivery sent to another URL, with both responses side by side.

mod sides;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::ids::DeliveryId;
use postrider_domain::invalid::FieldError;
use postrider_domain::shadow::{MAX_TIMEOUT_SECONDS, OwnHeaders, ShadowDraft};
use postrider_gateway::GatewayError;

use crate::App;
use crate::fields::{Fields, Form, Named};
use crate::page::{Frame, PageError, Section, html};
use crate::session::{Manager, Viewer};
use sides::Sides;

#[derive(Template)]
#[template(path = "shadow.html")]
struct ShadowPage {
    frame: Frame,
    id: String,
    event_type: String,
    shadow: ShadowForm,
    errors: Vec<FieldError>,
    result: Option<Sides>,
}

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

    pub(super) const fn max_seconds(&self) -> u32 {
        MAX_TIMEOUT_SECONDS
    }

    fn draft(&self) -> ShadowDraft {
        // Text that is not a number gets the same error as a number that is too large, which names the limit.
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

pub(crate) async fn ask(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<DeliveryId>,
) -> Result<Response, PageError> {
    let (page, _) = page(&app, &viewer, id, ShadowForm::default()).await?;
    Ok(html(StatusCode::OK, &page))
}

/// Sends the request and shows the response. Nothing is stored: reloading the page sends it again.
pub(crate) async fn send(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<DeliveryId>,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let form = ShadowForm::of(&fields);
    let draft = form.draft();
    let (mut page, target_url) = page(&app, &viewer, id, form).await?;
    let status = match app.shadows.send(viewer.tenant(), id, draft).await {
        Ok(shadowed) => {
            page.result = Some(Sides::of(shadowed, &target_url));
            StatusCode::OK
        }
        Err(GatewayError::Invalid(errors)) => {
            page.errors = errors.into_fields();
            StatusCode::BAD_REQUEST
        }
        Err(error) => return Err(error.into()),
    };
    Ok(html(status, &page))
}

/// The page without a result, and the delivery's own target URL.
async fn page(
    app: &App,
    viewer: &Viewer,
    id: DeliveryId,
    shadow: ShadowForm,
) -> Result<(ShadowPage, String), PageError> {
    let row = app
        .gateway
        .ports
        .store
        .delivery(viewer.tenant(), id)
        .await?;
    let row = row.ok_or_else(|| PageError::not_found("delivery"))?;
    let page = ShadowPage {
        frame: Frame::new("Send to another URL", Section::Deliveries, viewer),
        id: id.to_string(),
        event_type: row.event_type.as_str().to_owned(),
        shadow,
        errors: Vec::new(),
        result: None,
    };
    Ok((page, row.target_url))
}
