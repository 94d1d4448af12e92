//! Receives signed webhooks: `POST /gateway/webhooks/{source_id}`, and `GET` from senders that send a handshake first.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use postrider_domain::handshake::HandshakeReply;
use postrider_domain::inbound::Inbound;
use postrider_gateway::receive::Received;
use postrider_gateway::{Gateway, traces};
use postrider_web::answer::StoredEvent;
use postrider_web::problem::{Code, Problem};
use postrider_web::recognised::Recognised;
use postrider_web::{body, envelope};

/// The path of every source, for a router that also has other routes.
pub fn routes(gateway: Arc<Gateway>) -> Router {
    routes_at(&["/gateway/webhooks/{source_id}"], gateway)
}

/// The complete receiver. API Gateway puts the name of the stage before the path, unless it is `$default`.
pub fn router(gateway: Arc<Gateway>) -> Router {
    let paths = [
        "/gateway/webhooks/{source_id}",
        "/{stage}/gateway/webhooks/{source_id}",
    ];
    routes_at(&paths, gateway).fallback(envelope::unknown_route)
}

fn routes_at(paths: &[&str], gateway: Arc<Gateway>) -> Router {
    let receive = get(receive)
        .post(receive)
        .fallback(envelope::method_not_allowed);
    let route = |router: Router<_>, path: &&str| router.route(path, receive.clone());
    let routes = paths.iter().fold(Router::new(), route);
    routes.layer(map_response(set_headers)).with_state(gateway)
}

/// The size is limited before anything is computed from the body. The path is not validated here: any id that does not
/// exist is answered as an unknown source.
async fn receive(
    State(gateway): State<Arc<Gateway>>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let source = params.map_or_else(|_| String::new(), |params| source_in(&params));
    let limit = gateway.settings.max_body_bytes;
    let read = body::read_bytes(&parts.headers, body, limit).await;
    let cause = traces::cause(&parts.headers);
    let mut inbound = Inbound {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        ..Inbound::default()
    };
    inbound.body = match read {
        Ok(body) => body,
        Err(problem) if problem.code() == Code::PayloadTooLarge => {
            return Err(gateway.receive.too_large(&source, inbound).await.into());
        }
        Err(problem) => return Err(problem),
    };
    let verified = || Recognised::mark(&parts.extensions);
    let receiving = gateway.receive.receive(&source, inbound, verified);
    match traces::caused_by(cause, receiving).await? {
        Received::Stored(published) => Ok(StoredEvent::from(published).into_response()),
        Received::Answered(reply) => Ok(answer(reply)),
    }
}

fn source_in(params: &RawPathParams) -> String {
    let mut params = params.iter();
    let found = params.find(|(name, _)| *name == "source_id");
    found.map_or_else(String::new, |(_, source)| source.to_owned())
}

fn answer(reply: HandshakeReply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    let kind = [(header::CONTENT_TYPE, reply.content_type)];
    (status, kind, reply.body).into_response()
}

async fn set_headers(mut response: Response) -> Response {
    envelope::set_headers(response.headers_mut());
    response
}
