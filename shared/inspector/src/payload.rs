//! The body of an event: formatted, raw, or as a download. It is untrusted and only ever shown as text.

use std::fmt::Write;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use postrider_api_types::pretty;
use postrider_domain::event::Event;
use postrider_domain::ids::DeliveryId;
use serde::de::IgnoredAny;

use super::fields::Named;
use super::page::PageError;
use super::session::Viewer;
use super::text;
use crate::App;

/// How much of a body a page shows.
const SHOWN_BYTES: usize = 64 * 1024;
/// How much of a binary body a page shows.
const DUMPED_BYTES: usize = 512;

pub(super) struct Payload {
    pub(super) content_type: String,
    pub(super) size: String,
    pub(super) text: String,
    /// Whether it can be formatted.
    pub(super) is_json: bool,
    pub(super) is_text: bool,
    pub(super) is_raw: bool,
    pub(super) is_cut: bool,
}

impl Payload {
    pub(super) fn of(event: &Event, is_raw: bool) -> Self {
        Self::of_body(&event.body, event.content_type.as_str(), is_raw)
    }

    pub(super) fn of_body(body: &[u8], content_type: &str, is_raw: bool) -> Self {
        let written = std::str::from_utf8(body).ok();
        let is_json = written.is_some_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        let whole = match written {
            Some(text) if is_json && !is_raw && text.len() <= SHOWN_BYTES => {
                pretty::indented(text).unwrap_or_else(|| text.to_owned())
            }
            Some(text) => text.to_owned(),
            None => dump(body.get(..DUMPED_BYTES).unwrap_or(body)),
        };
        let end = whole.floor_char_boundary(SHOWN_BYTES * 2);
        let cut = written.map_or(body.len() > DUMPED_BYTES, |text| text.len() > SHOWN_BYTES);
        Self {
            content_type: content_type.to_owned(),
            size: text::bytes(body.len()),
            text: whole.get(..end).unwrap_or_default().to_owned(),
            is_json,
            is_text: written.is_some(),
            is_raw,
            is_cut: cut || end < whole.len(),
        }
    }
}

/// A hex dump, sixteen bytes per line.
fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (n, line) in bytes.chunks(16).enumerate() {
        let _ = write!(text, "{:06x} ", n * 16);
        for byte in line {
            let _ = write!(text, " {byte:02x}");
        }
        let gap = 3 * (16 - line.len()) + 2;
        text.extend(std::iter::repeat_n(' ', gap));
        let shown = |byte: &u8| {
            if byte.is_ascii_graphic() {
                char::from(*byte)
            } else {
                '.'
            }
        };
        text.extend(line.iter().map(shown));
        text.push('\n');
    }
    text
}

/// The whole body as a download, never with its own content type.
pub(super) async fn download(
    State(app): State<App>,
    viewer: Viewer,
    Named(id): Named<DeliveryId>,
) -> Result<Response, PageError> {
    let (store, tenant) = (&app.gateway.ports.store, viewer.tenant());
    let row = store.delivery(tenant, id).await?;
    row.ok_or_else(|| PageError::not_found("delivery"))?;
    let event = store.event(tenant, id.event).await?;
    let event = event.ok_or_else(|| PageError::not_found("event"))?;
    let name = format!("attachment; filename=\"{}.payload\"", id.event);
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, event.body.clone()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_a_hex_dump() {
        let text = dump(b"\x00Postrider\xff 0123456789");
        assert_eq!(
            text,
            "000000  00 50 6f 73 74 72 69 64 65 72 ff 20 30 31 32 33  .Postrider..0123\n000010  34 35 36 37 38 39                                456789\n"
        );
    }
}
