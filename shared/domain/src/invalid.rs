//! What is wrong with an input, field by field, so that a caller learns everything at once.

use std::fmt;

use serde::Serialize;

/// One field and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// The field's path, such as `retry.delays_seconds`.
    pub field: String,
    /// What it must be, naming the limit.
    pub message: String,
}

/// Every fault of one input. Never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalid(Vec<FieldError>);

impl Invalid {
    /// A single fault.
    #[must_use]
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.add(field, message);
        faults
    }

    /// Adds a fault.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.into(),
            message: message.into(),
        });
    }

    /// Adds a fault unless `holds`.
    pub fn require(&mut self, holds: bool, field: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.add(field, message());
        }
    }

    /// Keeps the value, or the fault.
    pub fn take<T, E: fmt::Display>(&mut self, field: &str, result: Result<T, E>) -> Option<T> {
        result
            .map_err(|error| self.add(field, error.to_string()))
            .ok()
    }

    /// Adds all faults of a part of the input.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// `Ok` if nothing is wrong.
    ///
    /// # Errors
    /// Itself, when there is a fault.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// The faults.
    #[must_use]
    pub fn into_fields(self) -> Vec<FieldError> {
        self.0
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.0.iter().enumerate() {
            write!(
                f,
                "{}{}: {}",
                if n == 0 { "" } else { "; " },
                fault.field,
                fault.message
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}
