//! One request and its progress, so that a timeout loses nothing that is known.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{Extensions, HeaderMap, Request, header};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use postrider_domain::outcome::{Answer, Control, Phase, Response, RetryAfter, Timings};

use crate::body::{BodyStart, Ending};
use crate::connection::AboutConnection;
use crate::connector::Connector;
use crate::dialling::{Dialling, millis, now};
use crate::failure::{self, NoConnection};
use crate::limits::Limits;

/// Longer than any legitimate media type.
const MAX_CONTENT_TYPE_CHARS: usize = 100;

/// A request in flight.
pub(crate) struct Exchange {
    begun_at: Instant,
    dialling: Arc<Dialling>,
    captured: CaptureConnection,
    stage: Stage,
}

enum Stage {
    Waiting,
    Answered(Head, BodyStart),
    Failed(NoConnection),
}

/// How an exchange ended.
pub(crate) enum Ended {
    /// The request had a connection.
    Connected(Answer),
    NotConnected(NoConnection),
}

/// A status line and the other parts of the head that matter.
struct Head {
    came_at: Instant,
    status: u16,
    retry_after: Option<RetryAfter>,
    control: Option<Control>,
    content_type: Option<String>,
    connection: Option<AboutConnection>,
}

impl Exchange {
    pub(crate) fn new(
        begun_at: Instant,
        dialling: Arc<Dialling>,
        request: &mut Request<Full<Bytes>>,
    ) -> Self {
        Self {
            begun_at,
            dialling,
            captured: capture_connection(request),
            stage: Stage::Waiting,
        }
    }

    /// Resolves when the request has its connection, new or reused.
    pub(crate) fn connected(&self) -> impl Future<Output = ()> + use<> {
        let mut captured = self.captured.clone();
        async move {
            captured.wait_for_connection_metadata().await;
        }
    }

    /// Sends the request and reads the response as far as needed. May be cancelled at any point.
    pub(crate) async fn run(
        &mut self,
        client: &Client<Connector, Full<Bytes>>,
        request: Request<Full<Bytes>>,
    ) {
        let response = match client.request(request).await {
            Ok(response) => response,
            Err(error) => {
                self.stage = Stage::Failed(failure::from_client(&error));
                return;
            }
        };
        let (mut parts, incoming) = response.into_parts();
        let connection: Option<AboutConnection> = parts.extensions.remove();
        let (retry_after, control) = (retry_after(&parts.headers), control(&parts.headers));
        let head = Head {
            came_at: now(),
            status: parts.status.as_u16(),
            retry_after,
            control,
            content_type: content_type(&parts.headers),
            connection: connection.clone(),
        };
        self.stage = Stage::Answered(head, BodyStart::default());
        if let Stage::Answered(_, body) = &mut self.stage
            && body.read(incoming).await == Ending::Complete
            && let Some(connection) = connection
        {
            connection.renew_allowance();
        }
    }

    /// How the exchange ended: completed, or cancelled by its limits. A status line decides, whatever happened afterwards.
    pub(crate) fn into_ended(self, limits: Limits) -> (Ended, Timings) {
        let timings = self.timings(now());
        let was_connected = self.captured.connection_metadata().is_some();
        let ended = match self.stage {
            Stage::Answered(
                Head {
                    status,
                    retry_after,
                    control,
                    content_type,
                    ..
                },
                body,
            ) => Ended::Connected(Answer::Response(Response {
                status,
                retry_after,
                control,
                content_type,
                body: body.into_text(),
            })),
            Stage::Failed(failed) if was_connected => {
                Ended::Connected(Answer::Failed(failed.into_failure()))
            }
            Stage::Failed(failed) => Ended::NotConnected(failed),
            Stage::Waiting if was_connected => Ended::Connected(Answer::Failed(
                failure::timed_out(Phase::FirstByte, limits.response),
            )),
            Stage::Waiting => {
                let phase = self.dialling.steps().phase;
                Ended::NotConnected(failure::not_connected(phase, limits.connect))
            }
        };
        (ended, timings)
    }

    fn timings(&self, ended_at: Instant) -> Timings {
        let span = |from: Instant, to: Instant| millis(to.saturating_duration_since(from));
        let total_ms = span(self.begun_at, ended_at);
        let steps = self.dialling.steps();
        let (dialled, sent_at) = match self.connection() {
            None => {
                return Timings {
                    total_ms,
                    ..steps.ended(ended_at).timings
                };
            }
            Some(connection) if connection.is_dialled_by(&self.dialling) => {
                (steps.timings, steps.since)
            }
            Some(_) => (Timings::default(), self.begun_at),
        };
        let answered_at = match &self.stage {
            Stage::Answered(head, _) => Some(head.came_at),
            Stage::Waiting | Stage::Failed(_) => None,
        };
        Timings {
            first_byte_ms: Some(span(sent_at, answered_at.unwrap_or(ended_at))),
            body_ms: answered_at.map(|at| span(at, ended_at)),
            total_ms,
            ..dialled
        }
    }

    /// The connection that carried the request, once there is one.
    fn connection(&self) -> Option<AboutConnection> {
        if let Stage::Answered(head, _) = &self.stage {
            return head.connection.clone();
        }
        let mut extras = Extensions::new();
        self.captured
            .connection_metadata()
            .as_ref()?
            .get_extras(&mut extras);
        extras.remove()
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
