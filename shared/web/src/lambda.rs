//! Runs a router as a Lambda function behind API Gateway.
//!
//! `lambda_http` panics on an event that it cannot turn into a request, and after a panic the next caller waits for a
//! cold start. So everything a caller controls is sanitised first.

use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64;
use http::HeaderMap;
use http::header::{HOST, HeaderName};
use http::uri::Authority;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::request::LambdaRequest;
use lambda_http::tower::ServiceExt;
use lambda_http::{Adapter, Error, LambdaEvent, lambda_runtime};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::Url;

use crate::envelope;
use crate::problem::{Code, Problem};

/// More than API Gateway accepts in total, and far less than makes a URI too long even if fully escaped.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>
const MAX_PART_BYTES: usize = 12 * 1024;
/// The functions end after 29 s. The caller would get a 502 without a reason, and the next one would wait for a cold start.
const LONGEST: Duration = Duration::from_secs(28);
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// Not allowed in the query of a URI.
const NOT_IN_A_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// # Errors
/// If the Lambda runtime cannot be reached.
pub async fn run(router: Router) -> Result<(), Error> {
    let sanitize = |event: LambdaEvent<LambdaRequest>| LambdaEvent {
        payload: sanitized(event.payload),
        ..event
    };
    lambda_runtime::run(Adapter::from(router).map_request(sanitize)).await
}

/// The response of a router, or a 503 if it takes too long.
pub async fn in_time(response: impl Future<Output = Response>) -> Response {
    match tokio::time::timeout(LONGEST, response).await {
        Ok(response) => response,
        Err(_) => too_slow(),
    }
}

fn too_slow() -> Response {
    tracing::warn!(
        event = "api.too_slow",
        "answered 503: the request took longer than 28 s"
    );
    let detail = "the request took longer than 28 s; repeat it with the same `Idempotency-Key`, and send smaller batches from then on";
    let mut response = Problem::new(Code::Unavailable, detail).into_response();
    envelope::set_headers(response.headers_mut());
    response
}

/// The event, with everything that cannot become part of a request fixed or removed.
#[must_use]
pub fn sanitized(mut event: LambdaRequest) -> LambdaRequest {
    if let LambdaRequest::ApiGatewayV2(event) = &mut event {
        fix_path(event);
        fix_query(event);
        fix_host(&mut event.headers);
        let named = &mut event.request_context.domain_name;
        *named = named.take().filter(|name| is_host(name));
        fix_body(event);
    }
    event
}

fn fix_path(event: &mut ApiGatewayV2httpRequest) {
    let fits = |path: &String| path.starts_with('/') && path.len() <= MAX_PART_BYTES;
    let path = event.raw_path.take().filter(fits);
    event.raw_path = Some(path.unwrap_or_else(|| "/".to_owned()));
}

fn fix_query(event: &mut ApiGatewayV2httpRequest) {
    let escaped = event
        .raw_query_string
        .take()
        .map(|query| utf8_percent_encode(&query, NOT_IN_A_QUERY).to_string());
    event.raw_query_string = escaped.filter(|query| query.len() <= MAX_PART_BYTES);
}

/// Both headers become part of the request's URI, and the caller controls both.
fn fix_host(headers: &mut HeaderMap) {
    let keep = |name: &HeaderName, is_good: fn(&str) -> bool| {
        let value = headers.get(name);
        value.is_none_or(|value| value.to_str().is_ok_and(is_good))
    };
    let keeps_host = keep(&HOST, is_host);
    let keeps_proto = keep(&FORWARDED_PROTO, |proto| matches!(proto, "http" | "https"));
    if !keeps_host {
        headers.remove(HOST);
    }
    if !keeps_proto {
        headers.remove(FORWARDED_PROTO);
    }
}

fn is_host(text: &str) -> bool {
    let is_url = || Url::parse(&format!("https://{text}/")).is_ok();
    text.len() <= 255 && text.parse::<Authority>().is_ok() && is_url()
}

/// API Gateway encodes the body itself; one that cannot be decoded did not come through it.
fn fix_body(event: &mut ApiGatewayV2httpRequest) {
    let body = event.body.as_deref().unwrap_or_default();
    if event.is_base64_encoded && BASE64.decode(body.as_bytes()).is_err() {
        event.body = None;
        event.is_base64_encoded = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::CACHE_CONTROL;
    use serde_json::{Value, json};

    #[tokio::test(start_paused = true)]
    async fn a_request_that_takes_too_long_is_answered_before_the_function_ends() {
        let quick = in_time(async { "done".into_response() }).await;
        assert_eq!(quick.status(), 200);
        let ends_after = Duration::from_secs(29);
        let slow = tokio::time::timeout(ends_after, in_time(std::future::pending())).await;
        let slow = slow.unwrap();
        assert_eq!(slow.status(), 503);
        assert_eq!(slow.headers()[CACHE_CONTROL], "no-store");
    }

    const SAMPLE: &str = include_str!("../../../infra/events/receiver.json");

    fn request(change: impl Fn(&mut Value)) -> lambda_http::Request {
        let mut event: Value = serde_json::from_str(SAMPLE).unwrap();
        change(&mut event);
        let event: LambdaRequest = serde_json::from_str(&event.to_string()).unwrap();
        sanitized(event).into()
    }

    #[test]
    fn a_valid_event_is_unchanged() {
        let plain: lambda_http::Request = lambda_http::request::from_str(SAMPLE).unwrap();
        let sanitized = request(|_| {});
        assert_eq!(sanitized.uri(), plain.uri());
        assert_eq!(sanitized.headers(), plain.headers());
        let queried = request(|event| event["rawQueryString"] = json!("a=%20b&c[]=%7B"));
        assert_eq!(queried.uri().query(), Some("a=%20b&c[]=%7B"));
    }

    #[test]
    fn characters_not_allowed_in_a_uri_are_escaped() {
        let request = request(|event| event["rawQueryString"] = json!("a=\"<ü \u{7f}#>"));
        let escaped = "a=%22%3C%C3%BC%20%7F%23%3E";
        assert_eq!(request.uri().query(), Some(escaped));
    }

    #[test]
    fn what_cannot_be_fixed_is_removed() {
        let long = "x".repeat(MAX_PART_BYTES + 1);
        for (pointer, value) in [
            ("/rawPath", json!("no slash")),
            ("/rawPath", json!(format!("/{long}"))),
            ("/rawQueryString", json!(long)),
            ("/headers/host", json!("a b")),
            ("/headers/host", json!("[::")),
            ("/headers/x-forwarded-proto", json!("https,http")),
            ("/requestContext/domainName", json!(":::")),
        ] {
            let made = request(|event| *event.pointer_mut(pointer).unwrap() = value.clone());
            assert!(!made.uri().to_string().contains("xxx"), "{pointer}");
        }
        let undecodable = request(|event| {
            event["body"] = json!("?");
            event["isBase64Encoded"] = json!(true);
        });
        assert!(undecodable.body().is_empty());
    }
}
