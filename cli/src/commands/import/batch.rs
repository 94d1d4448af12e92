//! Sends records in batches and reports the result of each.

use postrider_api_types::transfer::{ImportRequest, ImportResultsView, MAX_RECORDS, SealingKey};
use postrider_store_format::transfer::TransferKey;
use serde_json::value::RawValue;

use super::report::Report;
use super::webhook::NewWebhook;
use crate::client::Client;
use crate::edge;
use crate::failure::Failure;
use crate::progress::RecordCount;

/// About how large a batch may be; a single record may be larger.
const MAX_BYTES: usize = 512 * 1024;

pub(super) struct Batches<'a> {
    pub(super) client: &'a Client,
    pub(super) replace: bool,
    pub(super) count: &'a RecordCount,
}

/// Records that are sent together, each with its name in messages.
pub(super) struct Batch<'a> {
    to: &'a Batches<'a>,
    key: SealingKey,
    names: Vec<String>,
    records: Vec<Box<RawValue>>,
    bytes: usize,
    sent: u64,
}

impl<'a> Batches<'a> {
    pub(super) fn begin(&'a self, key: &TransferKey) -> Batch<'a> {
        Batch {
            to: self,
            key: key.to_hex().to_string().into(),
            names: Vec::new(),
            records: Vec::new(),
            bytes: 0,
            sent: 0,
        }
    }

    /// Imports the webhooks of another service. Their secrets are sealed with a key that exists only for this call.
    pub(super) async fn webhooks(
        &self,
        webhooks: Vec<NewWebhook>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let key = TransferKey::from_bytes(edge::seed()?);
        let mut batch = self.begin(&key);
        for webhook in webhooks {
            let (name, record) = webhook.record(&key)?;
            batch.add(name, record, report).await?;
        }
        batch.send(report).await
    }
}

impl Batch<'_> {
    pub(super) async fn add(
        &mut self,
        name: String,
        record: Box<RawValue>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let is_full = self.records.len() == MAX_RECORDS
            || self.bytes.saturating_add(record.get().len()) > MAX_BYTES;
        if is_full {
            self.send(report).await?;
        }
        self.bytes += record.get().len();
        self.names.push(name);
        self.records.push(record);
        Ok(())
    }

    /// Sends what has been collected.
    pub(super) async fn send(&mut self, report: &mut Report) -> Result<(), Failure> {
        let records = std::mem::take(&mut self.records);
        let names = std::mem::take(&mut self.names);
        self.bytes = 0;
        if records.is_empty() {
            return Ok(());
        }
        let request = ImportRequest {
            key: self.key.clone(),
            replace: self.to.replace,
            records,
        };
        let answer = self.to.client.post(&["v1", "import"], &request).await?;
        let ImportResultsView { results } = answer.read()?;
        if results.len() != names.len() {
            let detail = "another number of results than records".to_owned();
            return Err(Failure::NotUnderstood(detail));
        }
        self.sent += results.len() as u64;
        self.to.count.set(self.sent);
        for (name, result) in names.iter().zip(&results) {
            report.add(name, result);
        }
        Ok(())
    }
}
