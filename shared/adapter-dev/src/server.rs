//! The server, run by `postrider dev`.

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

#[derive(Clone)]
pub struct Served {
    pub store: Arc<dyn Store>,
    /// The process that holds the store, for the owners of leases.
    pub process: String,
    pub queue: Arc<dyn Queue>,
}

/// What a client must know before its first call.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) process: String,
    pub(crate) shards: u16,
}

struct Server {
    served: Served,
    vault: Vault,
    pass: Pass,
}

/// The ports, for clients that have the pass.
pub fn router(served: Served, pass: Pass) -> Result<Router> {
    let server = Arc::new(Server {
        served,
        vault: pass.vault()?,
        pass,
    });
    Ok(Router::new()
        .route(HELLO, post(hello))
        .route(&format!("{PORTS}{{verb}}"), post(call))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), admit))
        // For a batch of the largest events; only clients with the pass get this far.
        .layer(DefaultBodyLimit::disable())
        .with_state(server))
}

/// The answer to a call of a client that has the pass, without HTTP.
///
/// # Errors
/// If there is no such call.
pub async fn carry_out(served: &Served, pass: &Pass, path: &str, call: &[u8]) -> Result<Vec<u8>> {
    if path == HELLO {
        return serde_json::to_vec(&served.hello()).map_err(|_| crate::wire::unfit("an answer"));
    }
    let verb = path.strip_prefix(PORTS).unwrap_or(path);
    let answer = crate::verbs::answer(served, &pass.vault()?, verb, call).await?;
    answer.ok_or_else(|| crate::wire::unfit("a call"))
}

impl Served {
    fn hello(&self) -> Hello {
        Hello {
            process: self.process.clone(),
            shards: self.store.shards(),
        }
    }
}

async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(AUTHORIZATION);
    if shown.is_some_and(|shown| server.pass.admits(shown.as_bytes())) {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

async fn hello(State(server): State<Arc<Server>>) -> Json<Hello> {
    Json(server.served.hello())
}

async fn call(
    State(server): State<Arc<Server>>,
    Path(verb): Path<String>,
    body: Bytes,
) -> Response {
    match crate::verbs::answer(&server.served, &server.vault, &verb, &body).await {
        Ok(Some(answer)) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, format!("unknown verb {verb}")).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}
