//! What the values of one rendering may cost.
//!
//! The engine's fuel counts instructions, but one instruction can concatenate or compare values of any size, and a list that
//! contains another list twice doubles with every line. Every operator and filter therefore weighs what it gets first.

use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::MAX_TEMPLATE_WORK;

/// What a value costs in addition to its text.
const NODE: u64 = 16;
/// Deeper values could exhaust the stack of those that walk them. JSON that is nested deeper than 128 levels is not parsed.
const MAX_DEPTH: usize = 160;

pub(super) struct Budget {
    left: AtomicU64,
}

impl Budget {
    pub(super) const fn new() -> Self {
        Self {
            left: AtomicU64::new(MAX_TEMPLATE_WORK),
        }
    }

    pub(super) fn charge(&self, cost: usize) -> Result<(), Error> {
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let paid = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(cost)
            });
        paid.map(drop).map_err(|_| too_much())
    }

    /// Charges the size of a value, counting what it contains twice as two.
    pub(super) fn weigh(&self, value: &Value) -> Result<(), Error> {
        self.weigh_at(value, 0)
    }

    fn weigh_at(&self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            let message = format!("values may be nested at most {MAX_DEPTH} levels deep");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        let text = value.as_str().map_or(0, str::len);
        self.charge(text.saturating_add(usize::try_from(NODE).unwrap_or(16)))?;
        let Some(object) = value.as_object() else {
            return Ok(());
        };
        if value.kind() == ValueKind::Map {
            for (key, value) in object.try_iter_pairs().into_iter().flatten() {
                self.weigh_at(&key, depth + 1)?;
                self.weigh_at(&value, depth + 1)?;
            }
            return Ok(());
        }
        for item in object.try_iter().into_iter().flatten() {
            self.weigh_at(&item, depth + 1)?;
        }
        Ok(())
    }
}

fn too_much() -> Error {
    let mib = MAX_TEMPLATE_WORK / 1024 / 1024;
    let message = format!("the template processes more than {mib} MiB of values");
    Error::new(ErrorKind::OutOfFuel, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_be_nested_as_deep_as_the_limit() {
        let nestings: [fn(Value) -> Value; 3] = [
            |inner| Value::from(vec![inner]),
            |inner| Value::from_pairs([(Value::from("key"), inner)]),
            |inner| Value::from_pairs([(inner, Value::from("value"))]),
        ];
        for (n, nesting) in nestings.into_iter().enumerate() {
            let nested =
                |levels: usize| (0..levels).fold(Value::from(1), |inner, _| nesting(inner));
            assert!(Budget::new().weigh(&nested(MAX_DEPTH)).is_ok(), "{n}");
            let error = Budget::new().weigh(&nested(MAX_DEPTH + 1)).unwrap_err();
            assert_eq!(
                error.detail(),
                Some("values may be nested at most 160 levels deep"),
                "{n}"
            );
        }
    }
}
