//! Validation errors by field, so that a caller gets all of them at once.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// The field's path, such as `retry.delays_seconds`.
    pub field: String,
    /// A JSON pointer to the place in the field's value, if it has parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What the field must be, including its limit.
    pub message: String,
}

/// All errors of one input. Never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalid(Vec<FieldError>);

impl Invalid {
    #[must_use]
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        let mut errors = Self::default();
        errors.add(field, message);
        errors
    }

    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.into(),
            pointer: None,
            message: message.into(),
        });
    }

    /// Adds an error unless `holds`.
    pub fn require(&mut self, holds: bool, field: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.add(field, message());
        }
    }

    /// Returns the value, or adds the error.
    pub fn take<T, E: fmt::Display>(&mut self, field: &str, result: Result<T, E>) -> Option<T> {
        result
            .map_err(|error| self.add(field, error.to_string()))
            .ok()
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// `Ok` if there are no errors.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    #[must_use]
    pub fn into_fields(self) -> Vec<FieldError> {
        self.0
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            write!(
                f,
                "{}{}: {}",
                if n == 0 { "" } else { "; " },
                error.field,
                error.message
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}
