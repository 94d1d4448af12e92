//! Sends the request and shows the response.

use http::StatusCode;
use postrider_api_types::event::EventAnswer;
use postrider_domain::inbound::Inbound;
use serde_json::{Map, Value, json};

use super::super::follow::{WaitArgs, show_published};
use super::target::Target;
use crate::body::pretty_body;
use crate::client::{Client, read, why_unreachable};
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone};
use crate::problem::Problem;
use crate::transport::transport;

const SHOWN_BODY_CHARS: usize = 2000;

/// Sends the request. Shows the accepted event for a source, and the plain response for any other URL.
pub(super) async fn deliver(
    request: Inbound,
    target: &Target,
    client: &Client,
    wait: WaitArgs,
    out: Output,
) -> Result<Ending, Failure> {
    let (status, text) = post(request, target).await?;
    let Some(source) = &target.source else {
        return show_answer(status, &text, out);
    };
    if !status.is_success() {
        return Err(rejected(status, &text, source));
    }
    let Ok(published) = read::<EventAnswer>(&text) else {
        // A handshake has a different response.
        return show_answer(status, &text, out);
    };
    if published.deliveries.is_empty() && !out.wants_json() {
        out.line(format!(
            "Event {}\nNo route of {source} matches. The event is stored but not sent.\n\
             To route the next ones: postrider sources routes set {source} --route 'TYPE=INTENT->wh_…'",
            published.id
        ))?;
        return Ok(Ending::Fine);
    }
    show_published(client, &text, wait, out).await
}

async fn post(request: Inbound, target: &Target) -> Result<(StatusCode, String), Failure> {
    let mut url = target.url.clone();
    url.set_query(request.query.as_deref());
    let no_answer = |error: reqwest::Error| Failure::NoAnswer {
        url: target.url.to_string(),
        reason: why_unreachable(&error),
    };
    let http = transport(&url).map_err(no_answer)?;
    let sent = http
        .request(request.method, url)
        .headers(request.headers)
        .body(request.body)
        .send();
    let response = sent.await.map_err(no_answer)?;
    let status = response.status();
    let text = response.text().await.map_err(no_answer)?;
    Ok((status, text))
}

fn rejected(status: StatusCode, text: &str, source: &str) -> Failure {
    let problem = Box::new(Problem::read(status, text));
    if !status.is_client_error() {
        return Failure::ServerError(problem);
    }
    let advice = (status == StatusCode::UNAUTHORIZED).then(|| {
        format!("the secret probably differs from the source's; to find out: postrider sources diagnose {source}")
    });
    Failure::Rejected { problem, advice }
}

fn show_answer(status: StatusCode, text: &str, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.value(&json!({ "status": status.as_u16(), "body": text }))?;
    } else {
        let tone = if status.is_success() {
            Tone::Good
        } else {
            Tone::Bad
        };
        let status = out.paint(tone, status);
        let body = pretty_body(text.as_bytes(), SHOWN_BODY_CHARS);
        out.line(format!("{status}\n{body}").trim_end())?;
    }
    Ok(Ending::of(status.is_success()))
}

/// Prints the request in the format that `sources diagnose --request` reads.
pub(super) fn print(request: &Inbound, target: &Target, out: Output) -> Result<(), Failure> {
    let mut url = target.url.clone();
    url.set_query(request.query.as_deref());
    let headers = request.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str(), value)
    });
    if out.wants_json() {
        let body = String::from_utf8_lossy(&request.body);
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        return out.value(&json!({ "url": url, "headers": headers, "body": body }));
    }
    let lines: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let head = format!(
        "{} {path} HTTP/1.1\n{}\n\n",
        request.method,
        lines.join("\n")
    );
    out.bytes(&[head.as_bytes(), &request.body].concat())
}
