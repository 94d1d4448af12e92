//! Notifications, live, as server-sent events.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use postrider_web::stream;

use crate::Api;
use crate::auth::{Caller, Read};
use crate::openapi::Problems;
use crate::problem::{Problem, ProblemBody};

/// Listen to notifications as server-sent events
///
/// `id` is the position in the stream, `event` the type, `data` the CloudEvents 1.0 JSON. A new listener starts with the
/// next notification; one that sends `Last-Event-ID` continues after it. The first event has only the position where the
/// stream starts, so that a listener that loses the connection before the first notification knows where to continue.
#[utoipa::path(
    get, path = "/v1/stream", operation_id = "listen", tag = "gateway", security(("token" = ["read"])),
    params(("Last-Event-ID" = Option<u64>, Header, description = "The last `id` received.", minimum = 0)),
    responses(
        (status = 200, description = "Continues until either side ends it.", body = String, content_type = "text/event-stream"),
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
