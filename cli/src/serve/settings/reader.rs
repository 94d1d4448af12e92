//! Reads settings one by one and collects what is wrong with them.

use std::fmt::Display;
use std::str::FromStr;

use crate::serve::settings::BadSettings;

/// A look-up by name, and the faults found so far.
pub(super) struct Reader<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            lookup,
            faults: Vec::new(),
        }
    }

    pub(super) fn fault(&mut self, name: &str, message: &str) {
        self.faults.push(format!("{name}: {message}"));
    }

    pub(super) fn finish(self) -> Result<(), BadSettings> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(BadSettings(self.faults))
        }
    }

    /// The setting's text; an empty one counts as unset.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = (self.lookup)(name)?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// A setting with two names; both set and different is a fault.
    pub(super) fn either(
        &mut self,
        name: &'static str,
        other: &'static str,
    ) -> Option<(&'static str, String)> {
        match (self.text(name), self.text(other)) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                self.fault(name, &format!("differs from {other}; set only one of them"));
                None
            }
            (Some(text), _) => Some((name, text)),
            (None, Some(text)) => Some((other, text)),
            (None, None) => None,
        }
    }

    /// A whole number within a range.
    pub(super) fn number<T>(&mut self, name: &str, min: T, max: T, default: T) -> T
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let text = self.text(name);
        text.and_then(|text| self.parse_number(name, &text, min, max))
            .unwrap_or(default)
    }

    pub(super) fn parse_number<T>(&mut self, name: &str, text: &str, min: T, max: T) -> Option<T>
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

    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.text(name).as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                self.fault(name, "must be true or false");
                false
            }
        }
    }

    /// A comma-separated list; empty when unset.
    pub(super) fn list<T: FromStr>(&mut self, name: &str, form: &str) -> Vec<T> {
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
