//! The side of `postrider dev`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use postrider_ports::queue::Queue;
use postrider_ports::{Result, Store};
use postrider_store_format::Vault;
use serde::{Deserialize, Serialize};

use crate::pass::Pass;

pub(crate) const HELLO: &str = "/hello";
pub(crate) const PORTS: &str = "/ports/";

/// What is served.
#[derive(Clone)]
pub struct Served {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The process that holds it, for the owners of leases.
    pub process: String,
    /// The queue.
    pub queue: Arc<dyn Queue>,
}

/// What a client must know before its first call.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) process: String,
    pub(crate) shards: u16,
}

struct Side {
    served: Served,
    vault: Vault,
    pass: Pass,
}

/// The ports, for whoever has the pass.
///
/// # Errors
/// When the pass cannot be used.
pub fn router(served: Served, pass: Pass) -> Result<Router> {
    let side = Arc::new(Side {
        served,
        vault: pass.vault()?,
        pass,
    });
    Ok(Router::new()
        .route(HELLO, post(hello))
        .route(&format!("{PORTS}{{verb}}"), post(call))
        .layer(middleware::from_fn_with_state(Arc::clone(&side), admit))
        // A batch of the largest events; only who has the pass comes this far.
        .layer(DefaultBodyLimit::disable())
        .with_state(side))
}

async fn admit(State(side): State<Arc<Side>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(AUTHORIZATION);
    if shown.is_some_and(|shown| side.pass.admits(shown.as_bytes())) {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

async fn hello(State(side): State<Arc<Side>>) -> Json<Hello> {
    Json(Hello {
        process: side.served.process.clone(),
        shards: side.served.store.shards(),
    })
}

async fn call(State(side): State<Arc<Side>>, Path(verb): Path<String>, asked: Bytes) -> Response {
    match crate::verbs::answer(&side.served, &side.vault, &verb, &asked).await {
        Ok(Some(answer)) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, format!("no verb {verb}")).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}
