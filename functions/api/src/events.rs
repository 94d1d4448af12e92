//! Publishing events: the busiest path.

mod input;
pub(crate) mod stored;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use postrider_api_types::event::EventAnswer;
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;
use postrider_gateway::GatewayError;
use postrider_gateway::ingest::{EventDraft, MAX_KEY_BYTES, PublishRequest, Published};
use postrider_gateway::settings::{MAX_BATCH_BYTES, MAX_BATCH_EVENTS};
use postrider_web::answer::StoredEvent;
use serde::Serialize;
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};

use crate::auth::{Caller, Publish};
use crate::events::input::{Publication, draft, one_of_batch};
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::{Code, Problem, ProblemBody};
use crate::{Api, body};

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// A batch adds `#99` to its key.
const MAX_BATCH_KEY_BYTES: usize = MAX_KEY_BYTES - 3;

/// The results of a batch.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BatchAnswer {
    /// In the order of `events`.
    results: Vec<BatchResult>,
}

/// The result of one event of a batch.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum BatchResult {
    /// The event is stored.
    Stored(EventAnswer),
    /// The event is not stored.
    Rejected(ProblemBody),
}

impl BatchResult {
    fn of(published: Result<Published, GatewayError>) -> Self {
        match published {
            Ok(published) => {
                let StoredEvent(answer) = published.into();
                Self::Stored(answer)
            }
            Err(error) => Self::Rejected(Problem::from(error).body()),
        }
    }
}

/// The response to one event, or to a batch.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes responses of other types")]
pub(crate) enum PublishAnswer {
    /// One event.
    One(EventAnswer),
    /// A batch.
    Many(BatchAnswer),
}

/// Publish one event, or up to 100
///
/// An event goes to every webhook that subscribes to its type, or only to `webhook_id`, whatever its subscriptions. A webhook
/// with a `filter` gets it only if that matches; `deliveries` lists what was created. The event is stored before the response. With an `Idempotency-Key`, a repeated call returns the first result; in a batch, the
/// n-th event (from 0) has the key `<key>#<n>`. A payload may have up to 4 MiB, a request up to 6 MB.
#[utoipa::path(
    post, path = "/v1/events", operation_id = "publish_events", tag = "events", security(("token" = ["publish"])),
    params(IdempotencyKey),
    request_body(content = Publication<'_>, content_type = "application/json"),
    responses(
        (status = 202, description = "Stored; each event of a batch has a result or a problem.", body = PublishAnswer),
        (status = 200, description = "Stored by an earlier call.", body = EventAnswer),
        (status = 404, description = "There is no webhook with the id `webhook_id`.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The key was used for another request, or the named webhook is disabled.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn publish(
    State(api): State<Api>,
    caller: Caller<Publish>,
    request: Request,
) -> Result<Response, Problem> {
    let max_payload = api.gateway.settings.max_body_bytes;
    let key = idempotency_key(request.headers())?;
    let bytes = body::read_json(request, MAX_BATCH_BYTES)
        .await
        .map_err(|problem| name_payload_limit(problem, max_payload))?;
    match Publication::read(&bytes)? {
        Publication::One(event) => {
            let answer = store(
                &api,
                caller.tenant(),
                draft(event, max_payload),
                key.as_deref(),
            );
            Ok(answer.await?.into_response())
        }
        Publication::Many(batch) => {
            if key.as_deref().map_or(0, str::len) > MAX_BATCH_KEY_BYTES {
                return Err(bad_key(MAX_BATCH_KEY_BYTES).into());
            }
            let events = batch.events.into_iter();
            let drafts = events.map(|event| one_of_batch(event, max_payload));
            let results = store_all(&api, caller.tenant(), drafts.collect(), key).await;
            Ok((StatusCode::ACCEPTED, Json(BatchAnswer { results })).into_response())
        }
    }
}

async fn store(
    api: &Api,
    tenant: &TenantId,
    draft: Result<EventDraft, GatewayError>,
    key: Option<&str>,
) -> Result<StoredEvent, Problem> {
    let published = api.gateway.ingest.publish(tenant, draft?, key).await?;
    Ok(published.into())
}

/// Stores the events of a batch that are valid, all at once. One result each, in order.
async fn store_all(
    api: &Api,
    tenant: &TenantId,
    drafts: Vec<Result<EventDraft, GatewayError>>,
    key: Option<String>,
) -> Vec<BatchResult> {
    let (mut requests, mut rejected) = (Vec::new(), Vec::new());
    for (n, draft) in drafts.into_iter().enumerate() {
        let key = key.as_ref().map(|key| format!("{key}#{n}"));
        match draft {
            Ok(draft) => {
                requests.push(PublishRequest { draft, key });
                rejected.push(None);
            }
            Err(error) => rejected.push(Some(error)),
        }
    }
    let mut published = api.gateway.ingest.publish_all(tenant, requests).await;
    let mut published = published.drain(..);
    let results = rejected.into_iter().map(|rejected| match rejected {
        Some(error) => Some(Err(error)),
        None => published.next(),
    });
    results.flatten().map(BatchResult::of).collect()
}

/// The header that makes repeated calls safe.
struct IdempotencyKey;

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let key = ParameterBuilder::new()
            .name(IDEMPOTENCY_KEY)
            .parameter_in(ParameterIn::Header)
            .description(Some(format!(
                "1 to {MAX_KEY_BYTES} visible ASCII characters; at most {MAX_BATCH_KEY_BYTES} for a batch."
            )))
            .schema(Some(Schema::from(
                ObjectBuilder::new()
                    .schema_type(SchemaType::new(Type::String))
                    .pattern(Some("^[!-~]+$"))
                    .max_length(Some(MAX_KEY_BYTES)),
            )))
            .required(Required::False);
        vec![key.build()]
    }
}

/// The key of the call. Also checked here, because a batch derives longer keys from it: an empty one would pass as
/// `#0`.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Invalid> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Invalid::field(IDEMPOTENCY_KEY, "is given twice"));
    }
    value
        .to_str()
        .ok()
        .filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()))
        .filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()))
        .map(|key| Some(key.to_owned()))
        .ok_or_else(|| bad_key(MAX_KEY_BYTES))
}

fn bad_key(limit: usize) -> Invalid {
    Invalid::field(
        IDEMPOTENCY_KEY,
        format!("must be 1 to {limit} visible ASCII characters"),
    )
}

/// A caller with one huge event needs to know the limit of one payload.
fn name_payload_limit(problem: Problem, max_payload: usize) -> Problem {
    if problem.code() != Code::PayloadTooLarge {
        return problem;
    }
    let detail = format!(
        "the request body is larger than the {MAX_BATCH_BYTES} bytes allowed for up to {MAX_BATCH_EVENTS} events; \
         the payload of one event may have {max_payload} bytes"
    );
    Problem::new(Code::PayloadTooLarge, detail)
}
