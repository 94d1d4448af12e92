//! `postrider send`: publish an event.

use std::path::PathBuf;

use clap::Args;
use data_encoding::BASE64;
use http::Method;
use postrider_api_types::event::NewEvent;
use serde_json::value::RawValue;

use super::follow::{WaitArgs, show_published};
use super::input::{read_file, read_stdin};
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider send task.completed '{\"id\": 42}'
  postrider send task.completed --file event.json --session build-7 --wait
  date | postrider send clock.ticked - --content-type text/plain
  postrider send invoice.paid '{\"no\": 9}' --idempotency-key invoice-9

The payload is sent byte for byte. Without --content-type it must be JSON.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SendArgs {
    /// Event type, such as task.completed
    #[arg(value_name = "TYPE")]
    event_type: String,

    /// Payload; `-` reads it from standard input
    #[arg(default_value = "{}", hide_default_value = true)]
    payload: String,

    /// File with the payload
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    file: Option<PathBuf>,

    /// Session of the event
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Send it only to this webhook, whatever it subscribes to
    #[arg(long, value_name = "ID")]
    webhook: Option<String>,

    /// Idempotency key: sending again with the same key stores nothing new
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// Content type of the payload [default: application/json]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,

    #[command(flatten)]
    wait: WaitArgs,
}

/// The payload as `POST /v1/events` takes it.
#[derive(Debug)]
enum Payload {
    Json(Box<RawValue>),
    Bytes(String),
}

impl Payload {
    fn event(&self, event_type: String, content_type: Option<String>) -> NewEvent<'_> {
        let (payload, payload_base64) = match self {
            Self::Json(value) => (Some(&**value), None),
            Self::Bytes(encoded) => (None, Some(encoded.clone())),
        };
        NewEvent {
            event_type,
            payload,
            payload_base64,
            content_type,
            ..NewEvent::default()
        }
    }
}

pub(crate) async fn run(args: SendArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let bytes = match &args.file {
        Some(path) => read_file(path)?,
        None if args.payload == "-" => read_stdin()?,
        None => args.payload.into_bytes(),
    };
    let (payload, content_type) = encode(&bytes, args.content_type)?;
    let body = NewEvent {
        session_id: args.session,
        webhook_id: args.webhook,
        ..payload.event(args.event_type, content_type)
    };
    let mut request = client.request(Method::POST, &["v1", "events"])?.json(&body);
    if let Some(key) = args.idempotency_key {
        request = request.header("idempotency-key", key);
    }
    let answer = client.send(request).await?;
    show_published(client, &answer.text, args.wait, out).await
}

/// Encodes the bytes so that they arrive unchanged. JSON is embedded as written. Whitespace around it would be lost in
/// the enclosing document, so a text with such whitespace is sent as base64.
fn encode(
    bytes: &[u8],
    content_type: Option<String>,
) -> Result<(Payload, Option<String>), Failure> {
    let json = std::str::from_utf8(bytes)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            let value: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok((value.get().len() == text.len()).then(|| value.to_owned()))
        });
    match (json, content_type) {
        (Ok(Some(value)), content_type) => Ok((Payload::Json(value), content_type)),
        (Ok(None), content_type) => {
            let content_type = content_type.unwrap_or_else(|| "application/json".to_owned());
            Ok((Payload::Bytes(BASE64.encode(bytes)), Some(content_type)))
        }
        (Err(_), Some(content_type)) => {
            Ok((Payload::Bytes(BASE64.encode(bytes)), Some(content_type)))
        }
        (Err(_), None) if bytes.starts_with(b"@") => Err(Failure::Input(
            "the payload is not JSON; to send the content of a file, use --file FILE".to_owned(),
        )),
        (Err(error), None) => Err(Failure::Input(format!(
            "the payload is not JSON ({error}); set its type with --content-type, such as text/plain"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: &[u8], content_type: Option<&str>) -> String {
        let (payload, content_type) = encode(bytes, content_type.map(str::to_owned)).unwrap();
        serde_json::to_string(&payload.event("t".to_owned(), content_type)).unwrap()
    }

    #[test]
    fn json_is_sent_as_written() {
        let text = r#"{"b": 1.00,  "a":"\u00e4","b":2}"#;
        assert_eq!(
            body(text.as_bytes(), None),
            format!(r#"{{"type":"t","payload":{text}}}"#)
        );
    }

    #[test]
    fn bytes_that_a_document_would_change_are_sent_as_base64() {
        let expected = r#"{"type":"t","payload_base64":"e30K","content_type":"application/json"}"#;
        assert_eq!(body(b"{}\n", None), expected);
        let expected = r#"{"type":"t","payload_base64":"/w==","content_type":"image/x"}"#;
        assert_eq!(body(&[0xff], Some("image/x")), expected);
    }

    #[test]
    fn a_payload_that_is_not_json_needs_a_content_type() {
        assert!(matches!(encode(b"hello", None), Err(Failure::Input(_))));
        assert!(encode(b"hello", Some("text/plain".to_owned())).is_ok());
    }
}
