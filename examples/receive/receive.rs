//! Receives webhooks and verifies their signatures. Needs:
//! cargo add axum hmac sha2 data-encoding && cargo add tokio --features full
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example of a receiver, not a part of the gateway"
)]

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::net::TcpListener;

/// How far the sender's clock may be off, in seconds. Older requests may have been replayed.
const TOLERANCE: u64 = 300;

async fn receive(State(key): State<Arc<[u8]>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    // The signature covers the exact bytes, so verify before anything parses them.
    if verify(&key, &headers, &body).is_none() {
        return StatusCode::UNAUTHORIZED;
    }
    // The id is the same for every attempt: remember it to drop duplicates.
    println!("{:?} {}", headers.get("webhook-id"), body.escape_ascii());
    StatusCode::NO_CONTENT
}

/// Verifies as <https://www.standardwebhooks.com> says. During a rotation there are several signatures; one has to match.
fn verify(key: &[u8], headers: &HeaderMap, body: &[u8]) -> Option<()> {
    let header = |name| headers.get(name)?.to_str().ok();
    let (id, at) = (header("webhook-id")?, header("webhook-timestamp")?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    if now.abs_diff(at.parse().ok()?) > TOLERANCE {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(format!("{id}.{at}.").as_bytes());
    mac.update(body);
    let signatures = header("webhook-signature")?.split(' ');
    let mut signatures = signatures.filter_map(|signature| signature.strip_prefix("v1,"));
    let matches = |bytes: Vec<u8>| mac.clone().verify_slice(&bytes).is_ok();
    signatures
        .any(|signature| BASE64.decode(signature.as_bytes()).is_ok_and(matches))
        .then_some(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secret = env::var("WEBHOOK_SECRET")?;
    let key = BASE64.decode(secret.trim_start_matches("whsec_").as_bytes())?;
    let port = env::var("PORT").map_or(Ok(9001), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("Listening on http://{}", listener.local_addr()?);
    let router = Router::new().route("/", post(receive));
    axum::serve(listener, router.with_state(key.into())).await?;
    Ok(())
}
