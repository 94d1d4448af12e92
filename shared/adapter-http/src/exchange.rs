//! One request and its progress, so that a timeout loses nothing that is known.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::Full;
use postrider_domain::outcome::{Answer, Control, Failure, Phase, Response, RetryAfter, Timings};

use crate::body::{BodyStart, Ending};
use crate::connection::Connection;
use crate::dialling::{millis, now};
use crate::failure;

/// Longer than any legitimate media type.
const MAX_CONTENT_TYPE_CHARS: usize = 100;

/// A request that has its connection.
pub(crate) struct Exchange {
    begun_at: Instant,
    stage: Stage,
}

enum Stage {
    Waiting,
    Answered(Head, BodyStart),
    Failed(Failure),
}

/// A status line and the other parts of the head that matter.
struct Head {
    came_at: Instant,
    status: u16,
    retry_after: Option<RetryAfter>,
    control: Option<Control>,
    content_type: Option<String>,
}

impl Exchange {
    pub(crate) fn new(begun_at: Instant) -> Self {
        Self {
            begun_at,
            stage: Stage::Waiting,
        }
    }

    /// Sends the request and reads the response as far as needed. May be cancelled at any point.
    pub(crate) async fn run(
        &mut self,
        connection: &mut Connection,
        request: Request<Full<Bytes>>,
    ) -> Ending {
        let response = match connection.send(request).await {
            Ok(response) => response,
            Err(error) => {
                self.stage = Stage::Failed(failure::without_response(&error));
                return Ending::CutShort;
            }
        };
        let (parts, incoming) = response.into_parts();
        let head = Head {
            came_at: now(),
            status: parts.status.as_u16(),
            retry_after: retry_after(&parts.headers),
            control: control(&parts.headers),
            content_type: content_type(&parts.headers),
        };
        self.stage = Stage::Answered(head, BodyStart::default());
        match &mut self.stage {
            Stage::Answered(_, body) => connection.read(incoming, body).await,
            Stage::Waiting | Stage::Failed(_) => Ending::CutShort,
        }
    }

    /// Adds to `timings` how long the response took so far.
    pub(crate) fn timings(&self, ended_at: Instant, timings: Timings) -> Timings {
        let span = |from: Instant, to: Instant| millis(to.saturating_duration_since(from));
        let answered_at = match &self.stage {
            Stage::Answered(head, _) => Some(head.came_at),
            Stage::Waiting | Stage::Failed(_) => None,
        };
        Timings {
            first_byte_ms: Some(span(self.begun_at, answered_at.unwrap_or(ended_at))),
            body_ms: answered_at.map(|at| span(at, ended_at)),
            ..timings
        }
    }

    /// How the exchange ended: completed, or cancelled by this limit. A status line decides, whatever happened afterwards.
    pub(crate) fn into_answer(self, limit: Duration) -> Answer {
        match self.stage {
            Stage::Answered(
                Head {
                    status,
                    retry_after,
                    control,
                    content_type,
                    ..
                },
                body,
            ) => Answer::Response(Response {
                status,
                retry_after,
                control,
                content_type,
                body: body.into_text(),
            }),
            Stage::Failed(failed) => Answer::Failed(failed),
            Stage::Waiting => Answer::Failed(failure::timed_out(Phase::FirstByte, limit)),
        }
    }
}

/// The header as text; a receiver may write anything.
fn content_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.chars().take(MAX_CONTENT_TYPE_CHARS).collect())
}

fn control(headers: &HeaderMap) -> Option<Control> {
    Control::parse(headers.get(Control::HEADER)?.to_str().ok()?)
}

fn retry_after(headers: &HeaderMap) -> Option<RetryAfter> {
    RetryAfter::parse(headers.get(header::RETRY_AFTER)?.to_str().ok()?)
}
