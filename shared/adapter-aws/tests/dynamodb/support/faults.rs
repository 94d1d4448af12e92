//! Calls that fail in transit: DynamoDB Local neither throttles nor loses answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use parking_lot::Mutex;
use postrider_testkit::interruption::Interruption;

pub(crate) use postrider_testkit::interruption::Fault;

const OPERATION: &str = "x-amz-target";

/// The failure injected into the current request.
#[derive(Debug)]
struct Struck(Option<Fault>);

impl Storable for Struck {
    type Storer = StoreReplace<Self>;
}

/// Makes calls fail.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    fault: Fault,
    first: usize,
    last: usize,
    counted: Counted,
    made: Arc<AtomicUsize>,
}

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    All,
    Writes,
}

impl Counted {
    fn includes(self, operation: &str) -> bool {
        let reads = ["GetItem", "BatchGetItem", "Query"];
        self == Self::All || !reads.iter().any(|read| operation.ends_with(read))
    }
}

impl Faults {
    /// The `n`-th call fails, counted from 0.
    pub(crate) fn at(n: usize, fault: Fault) -> Self {
        let made = Arc::default();
        let (first, last) = (n, n);
        Self {
            fault,
            first,
            last,
            counted: Counted::All,
            made,
        }
    }

    /// Every call from the `n`-th on fails, as after a crash.
    pub(crate) fn from(n: usize, fault: Fault) -> Self {
        Self {
            last: usize::MAX,
            ..Self::at(n, fault)
        }
    }

    /// The `n`-th write and every call after it fail. A crash between two reads is the same as one after the write before
    /// them.
    pub(crate) fn from_write(n: usize, fault: Fault) -> Self {
        Self {
            counted: Counted::Writes,
            ..Self::from(n, fault)
        }
    }

    /// How many calls were made.
    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }
}

impl Intercept for Faults {
    fn name(&self) -> &'static str {
        "Faults"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let operation = context.request().headers().get(OPERATION);
        let struck = if self.counted.includes(operation.unwrap_or_default()) {
            let call = self.made.fetch_add(1, Ordering::Relaxed);
            (self.first..=self.last).contains(&call)
        } else {
            self.made() > self.first
        };
        let struck = struck.then_some(self.fault);
        config.interceptor_state().store_put(Struck(struck));
        let request = context.request_mut();
        match struck {
            // The request is replaced, so it has no effect.
            Some(Fault::Throttled) => {
                request
                    .headers_mut()
                    .insert(OPERATION, "DynamoDB_20120810.Nothing");
            }
            Some(Fault::Unreachable) => request.set_uri("http://127.0.0.1:1/")?,
            Some(Fault::AnswerLost) | None => {}
        }
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (status, code) = match config.load::<Struck>().and_then(|struck| struck.0) {
            Some(Fault::Throttled) => (400, "ThrottlingException"),
            Some(Fault::AnswerLost) => (500, "InternalServerError"),
            Some(Fault::Unreachable) | None => return Ok(()),
        };
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}"}}"#);
        *context.response_mut() = HttpResponse::new(status.try_into()?, body.into());
        Ok(())
    }
}

/// Faults of a client that come and go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruptions(Arc<Mutex<Option<Faults>>>);

impl Interruptions {
    pub(crate) fn set(&self, interruption: Option<Interruption>) {
        let faults = interruption.map(|Interruption { calls, fault }| Faults {
            last: calls.end - 1,
            ..Faults::at(calls.start, fault)
        });
        *self.0.lock() = faults;
    }
}

impl Intercept for Interruptions {
    fn name(&self) -> &'static str {
        "Interruptions"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(faults) = self.0.lock().clone() else {
            return Ok(());
        };
        // The client does not retry: its caller does.
        config
            .interceptor_state()
            .store_put(RetryConfig::disabled());
        faults.modify_before_transmit(context, components, config)
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        match self.0.lock().clone() {
            Some(faults) => faults.modify_before_deserialization(context, components, config),
            None => Ok(()),
        }
    }
}
