//! Reads settings one by one and collects their errors.

use std::fmt::{self, Display};
use std::str::FromStr;

/// One line per invalid setting.
#[derive(Debug, PartialEq, Eq)]
pub struct BadSettings(pub Vec<String>);

impl Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid configuration:")?;
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

impl std::error::Error for BadSettings {}

/// Looks settings up by name and collects errors.
pub struct Reader<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<String>,
}

impl<'a> Reader<'a> {
    #[must_use]
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            lookup,
            faults: Vec::new(),
        }
    }

    /// Adds an error. The message must not repeat the value, which may be a secret.
    pub fn fault(&mut self, name: &str, message: &str) {
        self.faults.push(format!("{name}: {message}"));
    }

    pub fn finish(self) -> Result<(), BadSettings> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(BadSettings(self.faults))
        }
    }

    /// An empty text counts as unset.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let text = (self.lookup)(name)?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// For a setting without a default.
    pub fn required(&mut self, name: &str) -> String {
        self.text(name).unwrap_or_else(|| {
            self.fault(name, "must be set");
            String::new()
        })
    }

    /// For a setting with two names. It is an error if both are set and differ.
    pub fn either(
        &mut self,
        name: &'static str,
        other: &'static str,
    ) -> Option<(&'static str, String)> {
        match (self.text(name), self.text(other)) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                self.fault(
                    name,
                    &format!("must not differ from {other}; set only one of them"),
                );
                None
            }
            (Some(text), _) => Some((name, text)),
            (None, Some(text)) => Some((other, text)),
            (None, None) => None,
        }
    }

    pub fn number<T>(&mut self, name: &str, min: T, max: T, default: T) -> T
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let text = self.text(name);
        text.and_then(|text| self.parse_number(name, &text, min, max))
            .unwrap_or(default)
    }

    /// For a text that was read before.
    pub fn parse_number<T>(&mut self, name: &str, text: &str, min: T, max: T) -> Option<T>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let number = text
            .parse()
            .ok()
            .filter(|number| *number >= min && *number <= max);
        if number.is_none() {
            self.fault(name, &format!("must be a whole number from {min} to {max}"));
        }
        number
    }

    /// False if unset.
    pub fn flag(&mut self, name: &str) -> bool {
        match self.text(name).as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                self.fault(name, "must be true or false");
                false
            }
        }
    }

    /// A comma-separated list; empty if unset. `form` completes the error text "must be ...".
    pub fn list<T: FromStr>(&mut self, name: &str, form: &str) -> Vec<T> {
        let text = self.text(name).unwrap_or_default();
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let parsed: Result<Vec<T>, _> = parts.map(str::parse).collect();
        parsed.unwrap_or_else(|_| {
            self.fault(name, &format!("must be {form}"));
            Vec::new()
        })
    }
}
