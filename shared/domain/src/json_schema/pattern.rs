//! Regular expressions of a schema.

use regex_lite::{Regex, RegexBuilder};

/// How large a compiled expression may be. Matching takes time in proportion to this and to the text.
const MAX_COMPILED_BYTES: usize = 32 * 1024;
/// The smallest size that is told apart from others.
const MIN_COMPILED_BYTES: usize = 256;
/// About one state of the compiled expression.
const BYTES_PER_STATE: usize = 64;
/// The longest expression that a message repeats.
const MAX_SHOWN_CHARS: usize = 60;

/// A regular expression, matched in linear time: without look-around and back-references.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// At most, when compiled.
    bytes: usize,
}

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, String> {
        let mut size = MIN_COMPILED_BYTES;
        loop {
            let mut builder = RegexBuilder::new(source);
            let built = builder.size_limit(size).nest_limit(50).build();
            match built {
                Ok(regex) => return Ok(Self { regex, bytes: size }),
                // The library does not tell the size, so it is found by trying.
                Err(_) if size < MAX_COMPILED_BYTES => size *= 2,
                Err(why) => {
                    return Err(format!(
                        "is not a regular expression that can be matched in linear time: {why}. Look-around, back-references and \\p{{…}} \
                         are not supported"
                    ));
                }
            }
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What matching costs, in steps: each state may be under way at each byte.
    pub(super) fn cost(&self, text: &str) -> usize {
        1 + text.len().saturating_mul(self.bytes / BYTES_PER_STATE)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// As part of a message.
    pub(super) fn shown(&self) -> Option<&str> {
        let source = self.regex.as_str();
        (source.chars().count() <= MAX_SHOWN_CHARS).then_some(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_costs_in_proportion_to_the_text_and_to_the_expression() {
        let small = Pattern::new("a").unwrap();
        let costs = ["", "a", "aaaaaaaaaa"].map(|text| small.cost(text));
        assert_eq!(costs, [1, 5, 41]);
        let large = Pattern::new("(a{1,30}){1,13}").unwrap();
        let times = large.bytes() / small.bytes();
        assert!(times > 10, "{times}");
        assert_eq!(large.cost("aaaaaaaaaa"), 40 * times + 1);
    }
}
