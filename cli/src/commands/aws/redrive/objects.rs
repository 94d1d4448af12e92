//! Failed batches of stream records. Lambda writes one object for each:
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>.

use serde_json::{Value, json};

use super::super::json::{at, list};
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsError, AwsTool, Invoked};
use super::Unprocessed;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::RecordCount;

/// As many as the event source passes at once.
const MAX_RECORDS: usize = 100;
/// An invocation takes 6 MB: <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>.
const MAX_BYTES: usize = 5_000_000;

pub(super) struct Bucket<'a> {
    pub(super) name: String,
    pub(super) stack: &'a Stack,
    pub(super) tool: &'a AwsTool,
}

#[derive(Debug, Default)]
pub(super) struct Processed {
    pub(super) objects: usize,
    pub(super) records: usize,
    pub(super) failed: Vec<Unprocessed>,
}

impl Bucket<'_> {
    /// The keys of the objects. Those of one shard come in the order of its records.
    pub(super) async fn list(&self) -> Result<Vec<String>, AwsError> {
        let call = AwsCall::new("s3api", "list-objects-v2").option("--bucket", &self.name);
        let listed = self.tool.run(&call).await?;
        let keys = list(&listed, "/Contents").filter_map(|object| at(object, "/Key").as_str());
        let mut keys: Vec<String> = keys.map(ToOwned::to_owned).collect();
        keys.sort();
        Ok(keys)
    }

    /// Processes every object, and deletes those whose records were all processed.
    pub(super) async fn process(&self, out: Output) -> Result<Processed, Failure> {
        let mut processed = Processed::default();
        let count = RecordCount::new(out, "Processed");
        for key in self.list().await? {
            let batch = FailedBatch::read(&self.get(&key).await?);
            let result = match batch {
                Ok(batch) => self.invoke(batch).await?,
                Err(reason) => Err(reason),
            };
            match result {
                Ok(records) => {
                    self.delete(&key).await?;
                    processed.objects += 1;
                    processed.records += records;
                    count.set(processed.records as u64);
                }
                Err(reason) => {
                    processed.failed.push(Unprocessed::told(key, &reason, out));
                }
            }
        }
        count.finish();
        Ok(processed)
    }

    async fn get(&self, key: &str) -> Result<String, Failure> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("object");
        let get = AwsCall::new("s3api", "get-object")
            .option("--bucket", &self.name)
            .option("--key", key)
            .value(file.display().to_string());
        self.tool.run(&get).await?;
        Ok(std::fs::read_to_string(&file)?)
    }

    async fn delete(&self, key: &str) -> Result<(), AwsError> {
        let delete = AwsCall::new("s3api", "delete-object")
            .option("--bucket", &self.name)
            .option("--key", key);
        self.tool.run(&delete).await.map(drop)
    }

    /// Invokes the function that failed with all records of a batch; returns how many, or why it failed again.
    async fn invoke(&self, batch: FailedBatch) -> Result<Result<usize, String>, AwsError> {
        let mut functions = self.stack.functions();
        // An object of another stack must not reach this one.
        if !functions.any(|function| function.physical == batch.function) {
            return Ok(Err(format!(
                "it is for {}, which is not a function of {}",
                batch.function, self.stack.name
            )));
        }
        let count = batch.records.len();
        for records in chunks(batch.records) {
            let event = json!({ "Records": records }).to_string();
            match self.tool.invoke(&batch.function, &event).await? {
                Invoked::Failed(reason) => return Ok(Err(reason)),
                Invoked::Returned(answer) => {
                    if let Some(reason) = failures(&answer) {
                        return Ok(Err(reason));
                    }
                }
            }
        }
        Ok(Ok(count))
    }
}

/// A batch that a function could not process.
#[derive(Debug, PartialEq)]
struct FailedBatch {
    function: String,
    records: Vec<Value>,
}

impl FailedBatch {
    fn read(text: &str) -> Result<Self, String> {
        let object: Value = serde_json::from_str(text)
            .map_err(|_| "it is not a failure record of Lambda: not JSON".to_owned())?;
        let arn = at(&object, "/requestContext/functionArn").as_str();
        let function = arn
            .and_then(|arn| arn.split_once(":function:"))
            .and_then(|(_, name)| name.split(':').next())
            .ok_or("it is not a failure record of Lambda: no functionArn")?;
        let records = match at(&object, "/payload") {
            // The event as text.
            Value::String(text) => {
                let event: Value =
                    serde_json::from_str(text).map_err(|_| "its payload is not JSON")?;
                at(&event, "/Records").as_array().cloned()
            }
            event @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => at(event, "/Records").as_array().cloned(),
        };
        Ok(Self {
            function: function.to_owned(),
            records: records.ok_or("it has no records: only an S3 destination stores them")?,
        })
    }
}

/// In order, each small enough for one invocation.
fn chunks(records: Vec<Value>) -> Vec<Vec<Value>> {
    let mut chunks: Vec<Vec<Value>> = Vec::new();
    let mut bytes = 0;
    for record in records {
        let size = record.to_string().len() + 1;
        let fits = bytes + size <= MAX_BYTES;
        match chunks.last_mut() {
            Some(chunk) if fits && chunk.len() < MAX_RECORDS => {
                chunk.push(record);
                bytes += size;
            }
            Some(_) | None => {
                chunks.push(vec![record]);
                bytes = size;
            }
        }
    }
    chunks
}

fn failures(answer: &Value) -> Option<String> {
    let failed = at(answer, "/batchItemFailures").as_array()?;
    let first = at(failed.first()?, "/itemIdentifier")
        .as_str()
        .unwrap_or("?");
    Some(format!(
        "failed again at the record with the sequence number {first}; see the function's log"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTION: &str = "arn:aws:lambda:eu-central-1:123456789012:function:postrider-publisher";

    fn object(payload: &Value) -> String {
        json!({
            "requestContext": {"requestId": "r", "functionArn": FUNCTION, "condition": "RetryAttemptsExhausted",
                "approximateInvokeCount": 20},
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "version": "1.0",
            "timestamp": "2026-11-17T00:13:49.717Z",
            "DDBStreamBatchInfo": {"shardId": "shardId-1", "startSequenceNumber": "1", "endSequenceNumber": "2",
                "batchSize": 2, "streamArn": "arn:aws:dynamodb:x"},
            "payload": payload,
        })
        .to_string()
    }

    #[test]
    fn records_are_read_from_a_payload_as_text_or_as_an_object() {
        let event = json!({"Records": [{"eventID": "1"}, {"eventID": "2"}]});
        for payload in [event.clone(), Value::String(event.to_string())] {
            let batch = FailedBatch::read(&object(&payload)).unwrap();
            assert_eq!(batch.function, "postrider-publisher");
            assert_eq!(batch.records.len(), 2);
        }
    }

    #[test]
    fn an_object_without_records_says_so() {
        for text in ["", "{}", &object(&Value::Null), &object(&json!("x"))] {
            FailedBatch::read(text).unwrap_err();
        }
    }

    #[test]
    fn chunks_keep_the_order_and_fit_into_an_invocation() {
        let sizes = |records: Vec<Value>| chunks(records).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(vec![json!(1); 250]), [100, 100, 50]);
        let large = json!("x".repeat(2_000_000));
        assert_eq!(sizes(vec![large; 5]), [2, 2, 1]);
        let numbered: Vec<Value> = (0..250).map(|n| json!(n)).collect();
        assert_eq!(chunks(numbered.clone()).concat(), numbered);
        assert_eq!(sizes(Vec::new()), [0_usize; 0]);
    }

    #[test]
    fn a_batch_that_fails_again_names_its_first_record() {
        assert_eq!(failures(&json!({"batchItemFailures": []})), None);
        let again = json!({"batchItemFailures": [{"itemIdentifier": "42"}]});
        assert!(failures(&again).unwrap().contains("42"));
    }
}
