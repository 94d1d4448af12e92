//! Receives signed webhooks: `POST /gateway/webhooks/{source_id}`.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::post;
use postrider_domain::inbound::Inbound;
use postrider_gateway::{Gateway, traces};
use postrider_web::answer::EventAnswer;
use postrider_web::problem::Problem;
use postrider_web::{body, envelope};

/// The path of every source, for a router that has others too.
pub fn routes(gateway: Arc<Gateway>) -> Router {
    let receive = post(receive).fallback(envelope::method_not_allowed);
    Router::new()
        .route("/gateway/webhooks/{source_id}", receive)
        .layer(map_response(settle))
        .with_state(gateway)
}

/// The whole receiver over this gateway.
pub fn router(gateway: Arc<Gateway>) -> Router {
    routes(gateway).fallback(envelope::unknown_route)
}

/// The size is bounded before anything is computed over it. What stands in the path is not looked at here: whatever it
/// is, it is answered as an unknown source.
async fn receive(
    State(gateway): State<Arc<Gateway>>,
    source: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<EventAnswer, Problem> {
    let (parts, body) = request.into_parts();
    let limit = gateway.settings.max_body_bytes;
    let body = body::read_bytes(&parts.headers, body, limit).await?;
    let cause = traces::cause(&parts.headers);
    let inbound = Inbound {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body,
    };
    let source = source.map_or_else(|_| String::new(), |Path(text)| text);
    let receiving = gateway.receive.receive(&source, inbound);
    let published = traces::caused_by(cause, receiving).await?;
    Ok(published.into())
}

async fn settle(mut response: Response) -> Response {
    envelope::set_headers(response.headers_mut());
    response
}
