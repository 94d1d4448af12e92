//! Whether the gateway works, and where to start reading.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, header};
use postrider_domain::time::{Millis, Timestamp};
use serde::Serialize;

use crate::Api;
use crate::problem::ProblemBody;
use crate::problem::{Code, Problem};

/// How long the store may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
const CHECK_EVERY: Millis = Millis::from_seconds(2);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The gateway works.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthView {
    #[schema(example = "ok")]
    status: &'static str,
    version: &'static str,
}

/// Where to start.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Index)]
pub(crate) struct IndexView {
    name: &'static str,
    version: &'static str,
    openapi: &'static str,
    health: &'static str,
    inspector: &'static str,
}

/// Check whether the gateway works
#[utoipa::path(get, path = "/healthz", operation_id = "get_health", tag = "gateway", security(()), responses(
    (status = 200, description = "It works.", body = HealthView),
    (status = 503, description = "The store cannot be read or written, so nothing is accepted.", body = ProblemBody, content_type = "application/problem+json"),
))]
pub(crate) async fn healthz(State(api): State<Api>) -> Result<Json<HealthView>, Problem> {
    // One check at a time; requests that arrive meanwhile get its result.
    let mut last = api.last_check.lock().await;
    let check = match last.filter(|check| check.is_fresh(api.now())) {
        Some(check) => check,
        None => {
            let check = tokio::time::timeout(PATIENCE, api.gateway.ports.store.check()).await;
            // A health check only asks whether to send traffic, whatever is wrong with the store.
            let works = matches!(check, Ok(Ok(())));
            *last.insert(LastCheck {
                at: api.now(),
                works,
            })
        }
    };
    if check.works {
        Ok(healthy())
    } else {
        Err(Problem::new(
            Code::Unavailable,
            "the store cannot be read or written",
        ))
    }
}

/// Check whether the process should be restarted
///
/// Unlike `/healthz`, it does not depend on the disk: restarting does not free space.
#[utoipa::path(get, path = "/livez", operation_id = "get_liveness", tag = "gateway", security(()), responses(
    (status = 200, description = "It runs.", body = HealthView),
    (status = 503, description = "It cannot recover; restart it.", body = ProblemBody, content_type = "application/problem+json"),
))]
pub(crate) async fn livez(State(api): State<Api>) -> Result<Json<HealthView>, Problem> {
    liveness(api.gateway.ports.store.is_alive())
}

fn liveness(is_alive: bool) -> Result<Json<HealthView>, Problem> {
    if is_alive {
        Ok(healthy())
    } else {
        Err(Problem::new(
            Code::Unavailable,
            "the store has stopped; restart the gateway",
        ))
    }
}

fn healthy() -> Json<HealthView> {
    Json(HealthView {
        status: "ok",
        version: VERSION,
    })
}

/// The result of the last check. Everyone may ask, and a check writes to the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastCheck {
    at: Timestamp,
    works: bool,
}

impl LastCheck {
    fn is_fresh(self, now: Timestamp) -> bool {
        self.at <= now && now.since(self.at) < CHECK_EVERY
    }
}

/// Get the paths to start with; a browser is redirected to the Inspector
#[utoipa::path(get, path = "/", operation_id = "get_index", tag = "gateway", security(()), responses(
    (status = 200, description = "Paths to start with.", body = IndexView),
    (status = 303, description = "To the Inspector, for a client that accepts `text/html`."),
))]
pub(crate) async fn index(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT);
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return Redirect::to(postrider_inspector::HOME).into_response();
    }
    let index = IndexView {
        name: "Postrider",
        version: VERSION,
        openapi: "/openapi.json",
        health: "/healthz",
        inspector: postrider_inspector::HOME,
    };
    Json(index).into_response()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    /// No test can stop the store's thread from outside: it catches every panic.
    #[test]
    fn a_process_whose_store_has_stopped_asks_to_be_restarted() {
        let status = |is_alive| liveness(is_alive).into_response().status();
        assert_eq!(status(true), StatusCode::OK);
        assert_eq!(status(false), StatusCode::SERVICE_UNAVAILABLE);
    }
}
