//! The HTTP side of the receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use postrider_domain::secret::SigningSecret;

use super::answer::{Answer, Unverified, may_forward};
use super::forward::Forward;
use super::show::{Received, show};
use super::verdict::{Verdict, verify};
use crate::edge;
use crate::output::Output;

/// More than any gateway sends; limits the memory of this process.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Verifies, shows and answers requests.
pub(super) struct Receiver {
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) behaviour: Behaviour,
    /// How many more requests to answer with 500.
    pub(super) failures_left: AtomicU32,
    pub(super) out: Output,
}

pub(super) enum Behaviour {
    /// Answers with this status.
    Answer(StatusCode),
    /// Forwards it and returns the response.
    Forward(Forward, Unverified),
}

impl Receiver {
    /// Accepts every path and method.
    pub(super) fn router(self) -> Router {
        Router::new().fallback(receive).with_state(Arc::new(self))
    }

    async fn answer(&self, head: &Parts, body: &Bytes, verdict: &Verdict) -> Answer {
        if self.fails() {
            return Answer::Configured(StatusCode::INTERNAL_SERVER_ERROR);
        }
        match &self.behaviour {
            Behaviour::Answer(status) => Answer::Configured(*status),
            Behaviour::Forward(_, unverified) if !may_forward(verdict, *unverified) => {
                Answer::Withheld
            }
            Behaviour::Forward(forward, _) => match forward.pass_on(head, body.clone()).await {
                Ok(answered) => Answer::Forwarded(answered),
                Err(reason) => Answer::Unreachable(reason),
            },
        }
    }

    fn fails(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.failures_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .is_ok()
    }
}

async fn receive(State(receiver): State<Arc<Receiver>>, request: Request<Body>) -> Response<Body> {
    let at = edge::now();
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return Answer::Configured(StatusCode::PAYLOAD_TOO_LARGE).into_response();
    };
    let verdict = verify(&head.headers, &body, &receiver.secrets, at);
    let answer = receiver.answer(&head, &body, &verdict).await;
    let received = Received {
        at,
        head: &head,
        body: &body,
        verdict,
        answer: &answer,
    };
    // A failed write to the terminal does not change the response.
    let _ = show(&received, receiver.out);
    answer.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[tokio::test]
    async fn the_first_n_requests_fail() {
        let receiver = Receiver {
            secrets: Vec::new(),
            behaviour: Behaviour::Answer(StatusCode::NO_CONTENT),
            failures_left: AtomicU32::new(2),
            out: Output::new(Format::Json, true),
        };
        let (head, ()) = http::Request::new(()).into_parts();
        let mut answers = Vec::new();
        for _ in 0..4 {
            let answer = receiver
                .answer(&head, &Bytes::new(), &Verdict::Unsigned)
                .await;
            answers.push(answer.status().as_u16());
        }
        assert_eq!(answers, [500, 500, 204, 204]);
    }
}
