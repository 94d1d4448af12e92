//! The HTTP side of the receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use http::StatusCode;
use postrider_domain::secret::SigningSecret;

use super::show::{Received, show};
use super::verdict::judge;
use crate::edge;
use crate::output::Output;

/// More than any gateway sends; a bound, so that nobody fills this process.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Verifies, shows, answers.
pub(super) struct Receiver {
    secrets: Vec<SigningSecret>,
    status: StatusCode,
    failures_left: AtomicU32,
    out: Output,
}

impl Receiver {
    pub(super) fn new(secrets: Vec<SigningSecret>, status: u16, fail: u32, out: Output) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        Self {
            secrets,
            status,
            failures_left: AtomicU32::new(fail),
            out,
        }
    }

    /// Every path and method is taken.
    pub(super) fn router(self) -> Router {
        Router::new().fallback(receive).with_state(Arc::new(self))
    }

    fn answer(&self) -> StatusCode {
        let one_less = |left: u32| left.checked_sub(1);
        match self
            .failures_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
        {
            Ok(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Err(_) => self.status,
        }
    }
}

async fn receive(State(receiver): State<Arc<Receiver>>, request: Request<Body>) -> StatusCode {
    let at = edge::now();
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE;
    };
    let verdict = judge(&head.headers, &body, &receiver.secrets, at);
    let answer = receiver.answer();
    let received = Received {
        at,
        head: &head,
        body: &body,
        verdict,
        answer,
    };
    // That nobody reads what is shown is no reason to answer otherwise.
    let _ = show(&received, receiver.out);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn the_first_requests_fail_if_told_so() {
        let receiver = Receiver::new(Vec::new(), 204, 2, Output::new(Format::Json, true));
        let answers: Vec<u16> = (0..4).map(|_| receiver.answer().as_u16()).collect();
        assert_eq!(answers, [500, 500, 204, 204]);
    }
}
