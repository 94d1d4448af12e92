//! Pauses one call until the test has done something else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Clone, Debug)]
pub(crate) struct Gate {
    at: usize,
    made: Arc<AtomicUsize>,
    reached: Arc<Notify>,
    opened: Arc<Mutex<mpsc::Receiver<()>>>,
}

pub(crate) struct Key(mpsc::Sender<()>);

impl Key {
    pub(crate) fn open(self) {
        self.0.send(()).unwrap();
    }
}

impl Gate {
    /// Before the `n`-th call, counted from 0.
    pub(crate) fn before(n: usize) -> (Self, Key) {
        let (key, opened) = mpsc::channel();
        let gate = Self {
            at: n,
            made: Arc::default(),
            reached: Arc::default(),
            opened: Arc::new(Mutex::new(opened)),
        };
        (gate, Key(key))
    }

    /// Returns when the call is waiting.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }
}

impl Intercept for Gate {
    fn name(&self) -> &'static str {
        "Gate"
    }

    fn modify_before_transmit(
        &self,
        _: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if self.made.fetch_add(1, Ordering::Relaxed) == self.at {
            self.reached.notify_one();
            // If the key was dropped, the gate is open.
            let _ = tokio::task::block_in_place(|| self.opened.lock().recv());
        }
        Ok(())
    }
}
