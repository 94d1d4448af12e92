//! Calls of the API, the Inspector and the portal, by callers with and without rights.

mod caller;
mod samples;
mod setup;
mod stage;

use std::cell::RefCell;
use std::fmt;

use arbitrary::{Arbitrary, Unstructured};
use axum::body::Body;
use http::request::Builder;
use http::{HeaderName, HeaderValue, Method, Request, header};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use self::caller::Caller;
use self::stage::{HOST, Reply, SECRETS, Stage};
use super::Outcome;
use super::json_edits::{JsonEdit, MAX_EDITS, Text};

/// More calls would only make an input slow.
const MAX_CALLS: usize = 4;

#[derive(Arbitrary, Debug)]
struct Call<'a> {
    caller: Caller,
    target: Target<'a>,
    /// Instead of the one that the target is for.
    method: Option<OtherMethod>,
    query: Vec<(Text<'a>, Text<'a>)>,
    headers: Vec<(Header, &'a [u8])>,
    content: Content<'a>,
}

#[derive(Arbitrary, Debug)]
enum Target<'a> {
    Operation(u8, Parameters<'a>),
    Form(u8, Site, Parameters<'a>),
    Page(u8, Site, Parameters<'a>),
    Raw(&'a str),
}

type Parameters<'a> = [Parameter<'a>; 2];

#[derive(Arbitrary, Debug)]
enum Parameter<'a> {
    Known(u8),
    Free(&'a [u8]),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Site {
    Inspector,
    Portal,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum OtherMethod {
    Get,
    Head,
    Options,
    Post,
    Put,
    Patch,
    Delete,
    Unknown,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Header {
    Accept,
    AcceptEncoding,
    Authorization,
    ContentEncoding,
    ContentLength,
    ContentType,
    Cookie,
    Expect,
    Host,
    IdempotencyKey,
    IfNoneMatch,
    LastEventId,
    Origin,
    Referer,
    SecFetchSite,
    TraceParent,
    XForwardedProto,
}

/// The body that the target takes, or another.
#[derive(Arbitrary, Debug)]
enum Content<'a> {
    Sample(Vec<JsonEdit<'a>>),
    /// The sample with one byte replaced.
    Damaged(Vec<JsonEdit<'a>>, u16, u8),
    Raw(&'a [u8]),
}

impl Header {
    const fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptEncoding => "accept-encoding",
            Self::Authorization => "authorization",
            Self::ContentEncoding => "content-encoding",
            Self::ContentLength => "content-length",
            Self::ContentType => "content-type",
            Self::Cookie => "cookie",
            Self::Expect => "expect",
            Self::Host => "host",
            Self::IdempotencyKey => "idempotency-key",
            Self::IfNoneMatch => "if-none-match",
            Self::LastEventId => "last-event-id",
            Self::Origin => "origin",
            Self::Referer => "referer",
            Self::SecFetchSite => "sec-fetch-site",
            Self::TraceParent => "traceparent",
            Self::XForwardedProto => "x-forwarded-proto",
        }
    }
}

impl OtherMethod {
    fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Head => Method::HEAD,
            Self::Options => Method::OPTIONS,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
            Self::Unknown => Method::TRACE,
        }
    }
}

/// What a target is in a gateway: where it is, and what it takes.
struct Aim {
    method: Method,
    path: String,
    sample: Option<Value>,
    is_form: bool,
}

impl Aim {
    fn of(target: &Target<'_>, stage: &Stage) -> Self {
        match target {
            Target::Operation(n, parameters) => {
                let (method, path, sample) = pick(&stage.facts.operations, *n);
                Self {
                    method: method.clone(),
                    path: filled(path, parameters, stage),
                    sample: sample.clone(),
                    is_form: false,
                }
            }
            Target::Form(n, site, parameters) => {
                let (path, sample) = pick(&stage.facts.forms, *n);
                Self {
                    method: Method::POST,
                    path: filled(&site.path(path), parameters, stage),
                    sample: Some(sample.clone()),
                    is_form: true,
                }
            }
            Target::Page(n, site, parameters) => Self {
                method: Method::GET,
                path: filled(
                    &site.path(pick::<&str>(&samples::PAGES, *n)),
                    parameters,
                    stage,
                ),
                sample: None,
                is_form: true,
            },
            Target::Raw(path) => Self {
                method: Method::GET,
                path: (*path).to_owned(),
                sample: None,
                is_form: false,
            },
        }
    }
}

impl Site {
    fn path(self, rest: &str) -> String {
        let site = match self {
            Self::Inspector => "inspector",
            Self::Portal => "portal",
        };
        format!("/{site}{rest}")
    }
}

fn pick<T>(all: &[T], n: u8) -> &T {
    &all[usize::from(n) % all.len()]
}

/// The path of a route with its parameters.
fn filled(path: &str, parameters: &Parameters<'_>, stage: &Stage) -> String {
    let mut parameters = parameters.iter();
    let mut before = "";
    let mut parts = Vec::new();
    for part in path.split('/') {
        let given = part.starts_with('{').then(|| parameters.next()).flatten();
        parts.push(match given {
            None => part.to_owned(),
            Some(Parameter::Known(n)) => {
                let known = stage.facts.objects.of(before);
                let at = usize::from(*n).checked_rem(known.len()).unwrap_or_default();
                known.get(at).copied().unwrap_or_default().to_owned()
            }
            Some(Parameter::Free(bytes)) => percent_encode(bytes, NON_ALPHANUMERIC).to_string(),
        });
        before = part;
    }
    parts.join("/")
}

impl Call<'_> {
    /// The request; nothing if HTTP has no such request.
    fn request(&self, stage: &Stage) -> Option<Request<Body>> {
        let aim = Aim::of(&self.target, stage);
        let method = self.method.map_or(aim.method, OtherMethod::method);
        let mut uri = aim.path;
        if !self.query.is_empty() {
            let pairs = self.query.iter();
            let pairs = pairs.map(|(name, value)| {
                let text = |text| stage.facts.vocabulary.text(text);
                (text(name), text(value))
            });
            let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
            uri = format!("{uri}?{query}");
        }
        let kind = if aim.is_form {
            "application/x-www-form-urlencoded"
        } else {
            "application/json"
        };
        let credentials = stage.credentials(self.caller);
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::HOST, HOST)
            .header(header::ORIGIN, format!("https://{HOST}"))
            .header(header::CONTENT_TYPE, kind);
        if !credentials.token.is_empty() {
            let bearer = format!("Bearer {}", credentials.token);
            request = request.header(header::AUTHORIZATION, bearer);
        }
        if !credentials.cookie.is_empty() {
            request = request.header(header::COOKIE, &credentials.cookie);
        }
        let request = self.with_headers(request);
        let sample = aim.sample.unwrap_or_default();
        let body = self.body(sample, aim.is_form, stage);
        request.body(Body::from(body)).ok()
    }

    fn with_headers(&self, mut request: Builder) -> Builder {
        for (name, value) in &self.headers {
            let name = HeaderName::from_static(name.name());
            if let (Some(headers), Ok(value)) =
                (request.headers_mut(), HeaderValue::from_bytes(value))
            {
                headers.insert(name, value);
            }
        }
        request
    }

    fn body(&self, mut sample: Value, is_form: bool, stage: &Stage) -> Vec<u8> {
        let (edits, damage) = match &self.content {
            Content::Raw(bytes) => return bytes.to_vec(),
            Content::Sample(edits) => (edits, None),
            Content::Damaged(edits, at, byte) => (edits, Some((*at, *byte))),
        };
        for edit in edits.iter().take(MAX_EDITS) {
            stage.facts.vocabulary.edit(&mut sample, edit);
        }
        let text = match (&sample, is_form) {
            (Value::Null, _) => String::new(),
            (sample, true) => form(sample),
            (sample, false) => sample.to_string(),
        };
        let mut body = text.into_bytes();
        if let Some((at, byte)) = damage
            && let Some(at) = usize::from(at).checked_rem(body.len())
        {
            body[at] = byte;
        }
        body
    }
}

/// A document as a browser sends a form.
fn form(document: &Value) -> String {
    let mut form = Serializer::new(String::new());
    for (name, value) in document.as_object().into_iter().flatten() {
        let values = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            form.append_pair(name, &text);
        }
    }
    form.finish()
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// Makes the calls that an input describes.
///
/// # Panics
/// When one breaks a guarantee.
pub fn try_api_calls(input: &[u8]) -> Outcome {
    let Ok(calls) = Vec::<Call<'_>>::arbitrary(&mut Unstructured::new(input)) else {
        return Outcome::Nothing;
    };
    STAGE.with_borrow_mut(|current| {
        let stage = current.get_or_insert_with(Stage::new);
        let before = stage.version();
        let outcomes = calls.iter().take(MAX_CALLS).map(|call| make(call, stage));
        let outcome = outcomes.max().unwrap_or(Outcome::Nothing);
        // Every input meets the gateway as it was set up, so one that fails does so again.
        if stage.version() != before {
            *current = None;
        }
        outcome
    })
}

fn make(call: &Call<'_>, stage: &Stage) -> Outcome {
    let Some(request) = call.request(stage) else {
        return Outcome::Nothing;
    };
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let is_own = !call.brings_credentials();
    let may_reach_others = call.caller == Caller::Customer && !method.is_safe();
    let others = may_reach_others.then(|| of_operator(stage));
    let before = stage.version();
    let reply = stage.send(request);
    let is_changed = stage.version() != before;
    let about = Failed {
        call,
        request: format!("{method} {path}"),
        reply: &reply,
    };

    assert!(!reply.status.is_server_error(), "a server error: {about}");
    assert_eq!(
        reply.header(header::X_CONTENT_TYPE_OPTIONS),
        "nosniff",
        "{about}"
    );
    let tokens = Caller::ALL.map(|caller| stage.credentials(caller).token.as_str());
    for secret in SECRETS.into_iter().chain(tokens) {
        let is_shown = !secret.is_empty() && reply.body.contains(secret);
        assert!(!is_shown, "it shows {secret}: {about}");
    }
    let is_rejected = reply.status.is_client_error();
    let ends_session = path.ends_with("/logout") || path.ends_with("/login");
    if is_rejected || method.is_safe() || (call.caller.is_harmless() && is_own && !ends_session) {
        assert!(!is_changed, "something was stored: {about}");
    }
    if is_page(&path) {
        check_page(&path, &reply, &about);
    } else {
        check_answer(&method, &reply, &about);
        let may = is_rejected || !is_own || call.caller.may_call(&method, &path);
        assert!(may, "without the right to: {about}");
    }
    if let Some(others) = others.filter(|_| is_changed && is_own) {
        assert_eq!(of_operator(stage), others, "of another tenant: {about}");
    }
    if is_rejected {
        Outcome::Rejected
    } else {
        Outcome::Accepted
    }
}

/// What a failed assertion says.
struct Failed<'c> {
    call: &'c Call<'c>,
    request: String,
    reply: &'c Reply,
}

impl fmt::Display for Failed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reply { status, body, .. } = self.reply;
        write!(f, "{:?}\n{}: {status} {body}", self.call, self.request)
    }
}

impl Call<'_> {
    /// Whether it names other credentials than its caller's.
    fn brings_credentials(&self) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| matches!(name, Header::Authorization | Header::Cookie))
    }
}

/// What the tenant `default` has.
fn of_operator(stage: &Stage) -> [String; 4] {
    ["webhooks", "sources", "event-types", "keys"].map(|list| {
        let path = format!("/v1/{list}");
        stage.call(Caller::Operator, Method::GET, &path, None).body
    })
}

fn is_page(path: &str) -> bool {
    let is_below = |home: &str| {
        let rest = path.strip_prefix(home);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_public = is_below("/event-types") || path == "/event-types.json";
    is_below("/inspector") || is_below("/portal") || is_public
}

fn check_page(path: &str, reply: &Reply, about: &Failed<'_>) {
    let kind = reply.header(header::CONTENT_TYPE);
    let policy = reply.header(header::CONTENT_SECURITY_POLICY);
    assert!(policy.starts_with("default-src 'none'"), "{about}");
    // Scripts read the stream.
    let is_shown = !path.ends_with("/stream") && !reply.body.is_empty();
    if reply.status.is_client_error() && is_shown {
        assert_eq!(kind, "text/html; charset=utf-8", "{about}");
    }
    if kind.starts_with("text/html") {
        let is_escaped = !reply.body.contains("<postrider-probe");
        assert!(is_escaped, "a text is markup: {about}");
    }
    if reply.status.is_redirection() {
        let there = reply.header(header::LOCATION);
        assert!(
            is_page(there.split('?').next().unwrap_or_default()),
            "to {there}: {about}"
        );
    }
}

/// An error of the API is a problem; nothing else is.
fn check_answer(method: &Method, reply: &Reply, about: &Failed<'_>) {
    let is_problem = reply.header(header::CONTENT_TYPE) == "application/problem+json";
    assert_eq!(is_problem, reply.status.is_client_error(), "{about}");
    if !is_problem || *method == Method::HEAD {
        return;
    }
    let problem: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(problem["status"], reply.status.as_u16(), "{about}");
    let code = problem["code"].as_str().unwrap_or_default();
    let kind = problem["type"].as_str().unwrap_or_default();
    assert!(
        !code.is_empty() && kind.ends_with(&format!("#{code}")),
        "{about}"
    );
    for field in ["title", "detail"] {
        let text = problem[field].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{field}: {about}");
    }
    assert!(problem["errors"].is_array(), "{about}");
}
