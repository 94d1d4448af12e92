//! `wildcard`: `*` stands for any number of characters, `\*` and `\\` for themselves.

/// The literal parts around each `*`. Taking the first place of every inner part is always right, so a match takes one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wildcard {
    first: String,
    inner: Vec<String>,
    /// `None` without a `*`.
    last: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WildcardError {
    #[error("must not have two `*` in a row")]
    Doubled,
    #[error("must have `*` or `\\` after each `\\`")]
    Escape,
}

impl Wildcard {
    pub(super) fn parse(text: &str) -> Result<Self, WildcardError> {
        let mut parts = vec![String::new()];
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let literal = match c {
                '*' if chars.peek() == Some(&'*') => return Err(WildcardError::Doubled),
                '*' => {
                    parts.push(String::new());
                    continue;
                }
                '\\' => chars
                    .next_if(|next| matches!(next, '*' | '\\'))
                    .ok_or(WildcardError::Escape)?,
                other => other,
            };
            if let Some(part) = parts.last_mut() {
                part.push(literal);
            }
        }
        let first = parts.remove(0);
        let last = parts.pop();
        Ok(Self {
            first,
            inner: parts,
            last,
        })
    }

    /// How many `*` it has.
    pub(super) fn stars(&self) -> usize {
        self.inner.len() + usize::from(self.last.is_some())
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(last) = &self.last else {
            return text == self.first;
        };
        let inside = text
            .strip_prefix(self.first.as_str())
            .and_then(|rest| rest.strip_suffix(last.as_str()));
        let Some(mut rest) = inside else {
            return false;
        };
        self.inner.iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let cases = [
            ("*", "", true),
            ("*", "abc", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*ab*ab*", "abab", true),
            ("*ab*ab*", "aba", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("", "", true),
            ("", "a", false),
            ("a\\*c", "a*c", true),
            ("a\\*c", "abc", false),
            ("a\\\\*", "a\\b", true),
            ("*ö*", "schön", true),
        ];
        for (pattern, text, expected) in cases {
            let wildcard = Wildcard::parse(pattern).unwrap();
            assert_eq!(wildcard.matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn ambiguous_wildcards_are_rejected() {
        assert_eq!(Wildcard::parse("a**"), Err(WildcardError::Doubled));
        for bad in ["\\", "a\\n", "*\\"] {
            assert_eq!(Wildcard::parse(bad), Err(WildcardError::Escape), "{bad}");
        }
        assert!(Wildcard::parse("*\\**").is_ok());
    }
}
