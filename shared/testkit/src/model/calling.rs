//! Calls that may be interrupted: their callers repeat them.

use std::fmt::Debug;

use postrider_ports::{Error, Result};
use proptest::prelude::*;

use super::Model;
use crate::interruption::Fault;

/// What a caller was told in the end.
pub(super) struct Answer<T> {
    pub(super) said: Result<T>,
    pub(super) is_repeated: bool,
}

impl Model<'_> {
    /// Makes a call, and repeats it if its caller got no answer.
    pub(super) async fn call<T>(&self, call: impl AsyncFn() -> Result<T>) -> Answer<T> {
        let first = self.call_once(&call).await;
        let is_repeated = first.is_none();
        let said = match first {
            Some(said) => said,
            None => call().await,
        };
        Answer { said, is_repeated }
    }

    /// Makes a call. `None` if it failed and may be repeated, or if its answer was lost on the way to its caller.
    pub(super) async fn call_once<T>(
        &self,
        call: impl AsyncFn() -> Result<T>,
    ) -> Option<Result<T>> {
        let Some(interruption) = self.interruption.take() else {
            return Some(call().await);
        };
        self.fixture.interrupt(Some(interruption.clone()));
        let said = call().await;
        self.fixture.interrupt(None);
        let failed = said.as_ref().is_err_and(Error::is_transient);
        if failed || interruption.fault == Fault::AnswerLost {
            self.interrupted.set(self.interrupted.get() + 1);
            return None;
        }
        self.interruption.set(Some(interruption));
        Some(said)
    }

    /// Makes a call that says the first of these; one that is repeated may say the second, because its first try took effect.
    pub(super) async fn expect<T: PartialEq + Debug>(
        &self,
        [first, second]: [T; 2],
        call: impl AsyncFn() -> Result<T>,
    ) -> std::result::Result<(), TestCaseError> {
        let Answer { said, is_repeated } = self.call(call).await;
        if is_repeated && said.as_ref() == Ok(&second) {
            return Ok(());
        }
        prop_assert_eq!(said, Ok(first));
        Ok(())
    }
}
