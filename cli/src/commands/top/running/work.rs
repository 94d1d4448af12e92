//! Requests to the gateway that run in the background.

use std::pin::Pin;

use postrider_api_types::delivery::{DeliveryDetail, RetryNow};

use super::super::picture::Picture;
use crate::client::Client;
use crate::commands::show::{Parts, describe};
use crate::failure::Failure;
use crate::output::{Format, Output};

pub(super) enum Done {
    Refreshed(Result<Box<Picture>, Failure>),
    /// A delivery as text that is safe to print.
    Shown(Result<String, Failure>),
    /// The requeued delivery.
    Retried(Result<String, Failure>),
}

/// At most one request at a time; a new one replaces the previous one.
#[derive(Default)]
pub(super) struct Work<'a>(Option<Pin<Box<dyn Future<Output = Done> + 'a>>>);

impl<'a> Work<'a> {
    pub(super) fn begin(&mut self, work: impl Future<Output = Done> + 'a) {
        self.0 = Some(Box::pin(work));
    }

    pub(super) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the result; forever if no request is running.
    pub(super) async fn done(&mut self) -> Done {
        match &mut self.0 {
            Some(work) => {
                let done = work.await;
                self.0 = None;
                done
            }
            None => std::future::pending().await,
        }
    }
}

pub(super) async fn refresh(client: &Client, window: &str) -> Done {
    Done::Refreshed(Picture::take(client, window).await.map(Box::new))
}

pub(super) async fn show(client: &Client, id: String) -> Done {
    let described = async {
        let answer = client.get(&["v1", "deliveries", &id]).await?;
        let delivery: DeliveryDetail = answer.read()?;
        let plain = Output::new(Format::People, true);
        Ok(describe(&delivery, Parts::WithPayload, plain))
    };
    Done::Shown(described.await)
}

pub(super) async fn retry(client: &Client, id: String) -> Done {
    let path = ["v1", "deliveries", &id, "retry"];
    let answer = client.post(&path, &RetryNow::default()).await;
    Done::Retried(answer.map(|_| id))
}
