//! Parses server-sent events from the bytes of a response.

/// The longest allowed line. A notification is smaller than 1 KB.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// One event, or a message of the server about the stream itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// The position in the stream.
    pub(super) id: Option<String>,
    /// The type of the event; empty if the server does not name one.
    pub(super) kind: String,
    /// When to reconnect after the response ends, in milliseconds.
    pub(super) retry_ms: Option<u64>,
    /// The lines of data; may be empty.
    pub(super) data: String,
}

/// The response is not an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// Holds the event that is not complete yet.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    event: Event,
}

impl Parser {
    /// Reads the next bytes and returns the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, LineTooLong> {
        let mut complete = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                if self.line.len() > MAX_LINE_BYTES {
                    return Err(LineTooLong);
                }
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if !line.is_empty() {
                self.event.take(line);
            } else if self.event != Event::default() {
                complete.push(std::mem::take(&mut self.event));
            }
        }
        Ok(complete)
    }
}

impl Event {
    /// A comment has no name before its colon and is ignored.
    fn take(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.kind),
            "retry" => self.retry_ms = value.parse().ok(),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "id: 4\nretry: 2000\n\n: alive\n\nid:5\r\nevent: a.b\r\ndata: {\"ä\":\r\ndata: 1}\r\n\r\nid: 6\n";

    fn event(id: &str, kind: &str, retry_ms: Option<u64>, data: &str) -> Event {
        Event {
            id: Some(id.to_owned()),
            kind: kind.to_owned(),
            retry_ms,
            data: data.to_owned(),
        }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_split() {
        let expected = [
            event("4", "", Some(2000), ""),
            event("5", "a.b", None, "{\"ä\":\n1}"),
        ];
        for size in 1..=STREAM.len() {
            let mut parser = Parser::default();
            let pieces = STREAM.as_bytes().chunks(size);
            let events: Vec<Event> = pieces
                .flat_map(|piece| parser.feed(piece).unwrap())
                .collect();
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut parser = Parser::default();
        assert_eq!(
            parser.feed(&vec![b'x'; MAX_LINE_BYTES + 1]),
            Err(LineTooLong)
        );
    }
}
