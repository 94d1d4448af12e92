//! A batch of changes and the result of each.

use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use postrider_adapter_aws::dynamodb::Record;
use postrider_adapter_aws::unreadable::UnreadableChange;
use postrider_domain::notification::Notification;

/// The changes in the order of the stream.
pub(crate) struct Batch(Vec<Change>);

struct Change {
    content: Result<Record, UnreadableChange>,
    sequence: String,
    notifications: Vec<Notification>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// It must be processed again.
    Failed,
}

impl Batch {
    pub(crate) fn of(changes: Vec<(String, Result<Record, UnreadableChange>)>) -> Self {
        let change = |(sequence, content)| Change {
            content,
            sequence,
            notifications: Vec::new(),
            end: End::Done,
        };
        Self(changes.into_iter().map(change).collect())
    }

    pub(crate) fn unreadable(&self) -> Vec<UnreadableChange> {
        let contents = self.0.iter().map(|change| change.content.as_ref());
        contents.filter_map(Result::err).cloned().collect()
    }

    /// The decoded changes, each with its index.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (usize, Record)> {
        let changes = self.0.iter().enumerate();
        changes.filter_map(|(index, change)| Some((index, change.content.clone().ok()?)))
    }

    /// The notifications, each with the index of its change.
    pub(crate) fn notifications(&self) -> impl Iterator<Item = (usize, Notification)> {
        self.0.iter().enumerate().flat_map(|(index, change)| {
            let notifications = change.notifications.iter().cloned();
            notifications.map(move |notification| (index, notification))
        })
    }

    pub(crate) fn add(&mut self, index: usize, notifications: Vec<Notification>) {
        if let Some(change) = self.0.get_mut(index) {
            change.notifications = notifications;
        }
    }

    pub(crate) fn fail(&mut self, index: usize) {
        if let Some(change) = self.0.get_mut(index) {
            change.end = End::Failed;
        }
    }

    pub(crate) fn fail_unreadable(&mut self) {
        for change in self.0.iter_mut().filter(|it| it.content.is_err()) {
            change.end = End::Failed;
        }
    }

    pub(crate) fn sequence(&self, index: usize) -> &str {
        self.0.get(index).map_or("", |change| &change.sequence)
    }

    /// The changes that will not be processed again: those before the first failure.
    pub(crate) fn settled(&self) -> Vec<Record> {
        let settled = self.0.iter().take_while(|it| it.end == End::Done);
        settled.filter_map(|it| it.content.clone().ok()).collect()
    }

    /// How many changes it has, how many notifications, and how many changes failed.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let announced = self.0.iter().map(|change| change.notifications.len());
        (self.0.len(), announced.sum(), self.failed().count())
    }

    pub(crate) fn response(&self) -> DynamoDbEventResponse {
        let failures = self.failed().map(|change| {
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(change.sequence.clone());
            failure
        });
        let mut response = DynamoDbEventResponse::default();
        response.batch_item_failures = failures.collect();
        response
    }

    fn failed(&self) -> impl Iterator<Item = &Change> {
        self.0.iter().filter(|change| change.end == End::Failed)
    }
}
