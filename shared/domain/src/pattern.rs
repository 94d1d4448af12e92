//! Event types and the patterns that subscribe to them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest event type or pattern, in bytes.
pub const MAX_TYPE_BYTES: usize = 128;

/// A dotted name such as `task.completed`: visible ASCII without `*`, no empty segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventType(String);

impl EventType {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be 1 to 128 visible ASCII characters without `*`, in segments separated by single dots"
)]
pub struct EventTypeError;

fn is_dotted(text: &str) -> bool {
    (1..=MAX_TYPE_BYTES).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_graphic())
        && text.split('.').all(|segment| !segment.is_empty())
}

impl FromStr for EventType {
    type Err = EventTypeError;

    fn from_str(text: &str) -> Result<Self, EventTypeError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for EventType {
    type Error = EventTypeError;

    fn try_from(text: String) -> Result<Self, EventTypeError> {
        if is_dotted(&text) && !text.contains('*') {
            Ok(Self(text))
        } else {
            Err(EventTypeError)
        }
    }
}

impl From<EventType> for String {
    fn from(event_type: EventType) -> Self {
        event_type.0
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which event types a webhook subscribes to. `*` matches one segment; as the last segment, `*` and `**` match one or
/// more. So `*` alone matches everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be 1 to 128 visible ASCII characters in segments separated by single dots; a whole segment may be `*`, the last also `**`"
)]
pub struct PatternError;

impl Pattern {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn matches(&self, event_type: &EventType) -> bool {
        let mut segments = self.0.split('.').peekable();
        let mut names = event_type.0.split('.');
        while let Some(segment) = segments.next() {
            let is_last = segments.peek().is_none();
            let Some(name) = names.next() else {
                return false;
            };
            match segment {
                "*" | "**" if is_last => return true,
                "*" => {}
                exact if exact == name => {}
                _ => return false,
            }
        }
        names.next().is_none()
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        let last = text.split('.').count().saturating_sub(1);
        let stars_stand_alone = text
            .split('.')
            .enumerate()
            .all(|(n, segment)| match segment {
                "*" => true,
                "**" => n == last,
                name => !name.contains('*'),
            });
        if is_dotted(&text) && stars_stand_alone {
            Ok(Self(text))
        } else {
            Err(PatternError)
        }
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_segment_by_segment() {
        let cases = [
            ("*", "task", true),
            ("*", "task.completed", true),
            ("**", "a.b.c", true),
            ("task.*", "task.completed", true),
            ("task.*", "task.step.completed", true),
            ("task.*", "task", false),
            ("task.**", "task.a.b", true),
            ("task.**", "task", false),
            ("task.*.done", "task.step.done", true),
            ("task.*.done", "task.a.b.done", false),
            ("task.*.done", "task.step", false),
            ("*.done", "task.done", true),
            ("*.done", "task.not", false),
            ("task", "task", true),
            ("task", "task.completed", false),
            ("Task", "task", false),
        ];
        for (pattern, event_type, expected) in cases {
            let matched = pattern
                .parse::<Pattern>()
                .unwrap()
                .matches(&event_type.parse().unwrap());
            assert_eq!(matched, expected, "{pattern} on {event_type}");
        }
    }

    #[test]
    fn a_pattern_is_shown_and_stored_as_it_was_written() {
        for text in ["*", "task.**", "a.*.done"] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.as_str(), text);
            assert_eq!(pattern.to_string(), text);
            assert_eq!(serde_json::to_value(pattern).unwrap(), text);
        }
    }

    #[test]
    fn malformed_types_and_patterns_are_rejected() {
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a b",
            "ä",
            "a*",
            &"x".repeat(129),
        ] {
            assert_eq!(bad.parse::<EventType>(), Err(EventTypeError), "{bad}");
        }
        for bad in ["", "a..b", "a*", "**.a", "a.**.b", "***"] {
            assert_eq!(bad.parse::<Pattern>(), Err(PatternError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_type_matches_itself_and_everything(name in "[a-z]{1,5}(\\.[a-z]{1,5}){0,4}") {
            let event_type: EventType = name.parse().unwrap();
            prop_assert!(name.parse::<Pattern>().unwrap().matches(&event_type));
            prop_assert!("*".parse::<Pattern>().unwrap().matches(&event_type));
        }
    }
}
