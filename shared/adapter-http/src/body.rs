//! The start of a response body: read within limits, kept as text.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use postrider_domain::outcome::KEPT_BODY_BYTES;

/// How much of a body is read before the connection is dropped. A shorter body is read to its end, so that the
/// connection can be reused.
const MAX_READ_BYTES: usize = 16 * 1024;

/// The start of a body, as far as it was received.
#[derive(Default)]
pub(crate) struct BodyStart {
    kept: Vec<u8>,
    seen: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With its last byte.
    Complete,
    /// Before that: too long, interrupted or malformed. The status line has already decided.
    CutShort,
}

impl BodyStart {
    /// Reads until the end, a failure or the limit.
    pub(crate) async fn read(&mut self, mut body: Incoming) -> Ending {
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Ending::CutShort;
            };
            if let Ok(data) = frame.into_data() {
                self.take(&data);
            }
            if self.seen > MAX_READ_BYTES {
                return Ending::CutShort;
            }
        }
        Ending::Complete
    }

    fn take(&mut self, data: &Bytes) {
        let room = KEPT_BODY_BYTES.saturating_sub(self.kept.len());
        self.kept
            .extend_from_slice(data.get(..room).unwrap_or(data));
        self.seen = self.seen.saturating_add(data.len());
    }

    /// The kept bytes as text: invalid bytes are replaced, and the cut is between characters.
    pub(crate) fn into_text(self) -> String {
        let was_cut = self.seen > self.kept.len();
        let mut text = String::with_capacity(self.kept.len());
        let mut chunks = self.kept.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            push_within(&mut text, chunk.valid());
            let is_cut_off =
                was_cut && chunks.peek().is_none() && begins_a_character(chunk.invalid());
            if !is_cut_off && !chunk.invalid().is_empty() {
                push_within(&mut text, "\u{fffd}");
            }
        }
        text
    }
}

/// Replacing invalid bytes makes the text longer; what is stored stays within the same limit.
fn push_within(text: &mut String, more: &str) {
    let room = KEPT_BODY_BYTES.saturating_sub(text.len());
    let end = more.floor_char_boundary(room);
    text.push_str(more.get(..end).unwrap_or_default());
}

fn begins_a_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(parts: &[&[u8]]) -> String {
        let mut start = BodyStart::default();
        for part in parts {
            start.take(&Bytes::copy_from_slice(part));
        }
        start.into_text()
    }

    #[test]
    fn a_short_body_is_kept_unchanged() {
        assert_eq!(text_of(&[b"{\"ok\":", b"true}"]), "{\"ok\":true}");
        assert_eq!(text_of(&[]), "");
    }

    #[test]
    fn a_character_is_not_cut_into_garbage() {
        let long = "ü".repeat(KEPT_BODY_BYTES);
        assert_eq!(text_of(&[long.as_bytes()]), "ü".repeat(KEPT_BODY_BYTES / 2));
        let shifted = format!("x{long}");
        assert_eq!(
            text_of(&[shifted.as_bytes()]),
            format!("x{}", "ü".repeat(KEPT_BODY_BYTES / 2 - 1))
        );
    }

    #[test]
    fn invalid_bytes_are_replaced_and_the_text_stays_within_the_limit() {
        assert_eq!(text_of(&[b"a\xffb"]), "a\u{fffd}b");
        assert_eq!(text_of(&[b"half \xc3"]), "half \u{fffd}");
        let garbage = text_of(&[&[0xff; 4096]]);
        assert!(garbage.len() <= KEPT_BODY_BYTES && garbage.chars().all(|c| c == '\u{fffd}'));
    }
}
