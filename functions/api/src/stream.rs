//! Notifications, live, as server-sent events.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use postrider_api_types::schema;
use postrider_web::stream;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::Api;
use crate::auth::{Caller, Read};
use crate::openapi::Problems;
use crate::problem::{Problem, ProblemBody};

/// One event of the stream.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what `stream::follow` writes")]
struct StreamEvent {
    /// The position of the event in the stream.
    #[schema(value_type = schema::StreamPosition)]
    id: String,
    /// The type of the notification, or `gap` if some are missing here.
    #[schema(value_type = schema::StreamEventKind, required = false)]
    event: String,
    /// The notification as CloudEvents 1.0 JSON.
    #[schema(required = false)]
    data: String,
}

struct LastEventId;

impl IntoParams for LastEventId {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let position = ParameterBuilder::new()
            .name(stream::LAST_EVENT_ID)
            .parameter_in(ParameterIn::Header)
            .description(Some("The last `id` received."))
            .schema(Some(schema::StreamPosition::schema()))
            .required(Required::False);
        vec![position.build()]
    }
}

/// Listen to notifications as server-sent events
///
/// `id` is the position in the stream, `event` the type, `data` the CloudEvents 1.0 JSON. A new listener starts with the
/// next notification; one that sends `Last-Event-ID` continues after it. The first event has only the position where the
/// stream starts, so that a listener that loses the connection before the first notification knows where to continue.
///
/// An event of the type `gap` means that notifications are missing: reload what you show. On AWS the stream has
/// notifications only from a few seconds after the first listener connects, and at most about 100 per second.
#[utoipa::path(
    get, path = "/v1/stream", operation_id = "listen", tag = "gateway", security(("token" = ["read"])),
    params(LastEventId),
    responses(
        (status = 200, description = "Continues until either side ends it.", body = StreamEvent, content_type = "text/event-stream"),
        (status = 429, description = "Too many streams are open.", body = ProblemBody, content_type = "application/problem+json",
            headers(("Retry-After" = u32, description = "Seconds to wait."))),
        Problems,
    )
)]
pub(crate) async fn listen(
    State(api): State<Api>,
    caller: Caller<Read>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let streams = Arc::clone(&api.streams);
    stream::follow(streams, caller.key(), None, None, &headers).await
}
