//! Comparing texts without regard to case. Characters are folded one by one, so no value is copied to be compared.

/// A text in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folded(Vec<char>);

impl Folded {
    pub(super) fn of(text: &str) -> Self {
        Self(fold(text.chars()).collect())
    }

    pub(super) fn equals(&self, text: &str) -> bool {
        fold(text.chars()).eq(self.0.iter().copied())
    }

    pub(super) fn starts(&self, text: &str) -> bool {
        let mut found = fold(text.chars());
        self.0.iter().all(|c| found.next() == Some(*c))
    }

    pub(super) fn ends(&self, text: &str) -> bool {
        // A character may become several, whose order is not reversed with the text.
        let mut found = text.chars().rev().flat_map(|c| {
            let mut folded: Vec<char> = c.to_lowercase().collect();
            folded.reverse();
            folded
        });
        self.0.iter().rev().all(|c| found.next() == Some(*c))
    }
}

fn fold(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_ignored_in_every_script() {
        for (pattern, text) in [("aWs", "AwS"), ("ÄÖ", "äö"), ("İx", "İX"), ("", "")] {
            let folded = Folded::of(pattern);
            assert!(folded.equals(text), "{pattern}");
            assert!(folded.starts(&format!("{text}tail")), "{pattern}");
            assert!(folded.ends(&format!("head{text}")), "{pattern}");
        }
        assert!(!Folded::of("ab").equals("abc"));
        assert!(!Folded::of("abc").starts("ab"));
        assert!(!Folded::of("abc").ends("bc"));
    }
}
