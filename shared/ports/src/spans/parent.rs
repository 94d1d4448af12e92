//! The `traceparent` header. <https://www.w3.org/TR/trace-context/>

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;

use super::{SpanId, TraceId};

/// The span that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: TraceId,
    pub span: SpanId,
    /// Whether the sender records the trace.
    pub sampled: bool,
}

impl TraceParent {
    pub const HEADER: &'static str = "traceparent";
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace,
            span,
            sampled,
        } = self;
        write!(f, "00-{trace}-{span}-{:02x}", u8::from(*sampled))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a W3C traceparent")]
pub struct TraceParentError;

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        read(text).ok_or(TraceParentError)
    }
}

/// Versions above 00 may add parts at the end.
fn read(text: &str) -> Option<TraceParent> {
    let mut parts = text.trim().split('-');
    let [version] = bytes(parts.next()?)?;
    let trace = TraceId(bytes(parts.next()?)?);
    let span = SpanId(bytes(parts.next()?)?);
    let [flags] = bytes(parts.next()?)?;
    let whole = version != 0 || parts.next().is_none();
    let fits = version != 0xff && trace.0 != [0; 16] && span.0 != [0; 8] && whole;
    fits.then_some(TraceParent {
        trace,
        span,
        sampled: flags & 1 == 1,
    })
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_specifications_example_is_read_and_written_back() {
        let parent: TraceParent = EXAMPLE.parse().unwrap();
        assert!(parent.sampled);
        assert_eq!(parent.to_string(), EXAMPLE);
        let unsampled: TraceParent = EXAMPLE.replace("-01", "-00").parse().unwrap();
        assert!(!unsampled.sampled);
        assert!(
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what"
                .parse::<TraceParent>()
                .is_ok()
        );
    }

    #[test]
    fn what_the_specification_forbids_is_refused() {
        for bad in [
            "",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01",
        ] {
            assert_eq!(bad.parse::<TraceParent>(), Err(TraceParentError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = text.parse::<TraceParent>();
        }
    }
}
