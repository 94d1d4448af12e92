//! Reads the table's stream to its end.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{
    AttributeValue as Streamed, Record as StreamRecord, ShardIteratorType,
};
use aws_sdk_dynamodbstreams::{Client, Config};
use data_encoding::BASE64;
use postrider_adapter_aws::dynamodb::{Image, Record};
use postrider_domain::time::Timestamp;
use serde_json::{Value, json};

use super::Servers;

/// A reader that remembers its position.
pub(crate) struct Stream {
    client: Client,
    arn: String,
    /// Where to continue in each shard; `None` at the end of a closed one.
    iterators: HashMap<String, Option<String>>,
    has_read: bool,
}

impl Stream {
    pub(crate) fn of(servers: Servers, arn: String) -> Self {
        let config = Config::builder()
            .behavior_version(aws_sdk_dynamodbstreams::config::BehaviorVersion::latest())
            .endpoint_url(format!("http://{}", servers.dynamodb))
            .region(aws_sdk_dynamodbstreams::config::Region::from_static(
                "us-east-1",
            ))
            .credentials_provider(super::credentials());
        Self {
            client: Client::from_conf(config.build()),
            arn,
            iterators: HashMap::new(),
            has_read: false,
        }
    }

    /// What was written since the last call.
    pub(crate) async fn records(&mut self) -> Vec<Record> {
        self.read().await.into_iter().map(record).collect()
    }

    /// The same, as Lambda delivers it to a function.
    pub(crate) async fn events(&mut self) -> Vec<Value> {
        self.read().await.into_iter().map(event).collect()
    }

    async fn read(&mut self) -> Vec<StreamRecord> {
        // A closed shard is followed by others.
        if self.iterators.values().flatten().next().is_none() {
            self.find_shards().await;
        }
        let mut records = Vec::new();
        for next in self.iterators.values_mut() {
            while let Some(iterator) = next {
                let call = self.client.get_records().shard_iterator(&*iterator);
                let answer = call.send().await.unwrap();
                let streamed = answer.records.unwrap_or_default();
                let is_end = streamed.is_empty();
                records.extend(streamed);
                *next = answer.next_shard_iterator;
                if is_end {
                    break;
                }
            }
        }
        self.has_read |= !records.is_empty();
        if !self.has_read {
            // In DynamoDB Local a position in a stream without records is before its first one, and cannot be read from.
            self.iterators.clear();
        }
        records
    }

    async fn find_shards(&mut self) {
        let described = self.client.describe_stream().stream_arn(&self.arn);
        let described = described.send().await.unwrap().stream_description.unwrap();
        for shard in described.shards() {
            let id = shard.shard_id().unwrap();
            if !self.iterators.contains_key(id) {
                let beginning = self.beginning(id).await;
                self.iterators.insert(id.to_owned(), Some(beginning));
            }
        }
    }

    async fn beginning(&self, shard: &str) -> String {
        let call = self.client.get_shard_iterator().stream_arn(&self.arn);
        let call = call.shard_id(shard);
        let call = call.shard_iterator_type(ShardIteratorType::TrimHorizon);
        call.send().await.unwrap().shard_iterator.unwrap()
    }
}

fn record(change: StreamRecord) -> Record {
    let change = change.dynamodb.unwrap();
    let at = change.approximate_creation_date_time.unwrap();
    Record {
        id: change.sequence_number.unwrap(),
        before: change.old_image.map(image),
        after: change.new_image.map(image),
        at: Timestamp::from_millis(at.to_millis().unwrap()),
    }
}

fn event(change: StreamRecord) -> Value {
    let name = change.event_name.unwrap();
    let id = change.event_id.unwrap();
    let change = change.dynamodb.unwrap();
    let at = change.approximate_creation_date_time.unwrap();
    let Value::Object(mut dynamodb) = json!({
        "ApproximateCreationDateTime": at.secs(),
        "SequenceNumber": change.sequence_number.unwrap(),
        "SizeBytes": change.size_bytes,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }) else {
        panic!("an object")
    };
    let images = [
        ("Keys", change.keys),
        ("NewImage", change.new_image),
        ("OldImage", change.old_image),
    ];
    for (name, image) in images {
        if let Some(image) = image {
            dynamodb.insert(name.to_owned(), attributes(image));
        }
    }
    json!({
        "eventID": id,
        "eventName": name.as_str(),
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": dynamodb,
    })
}

fn attributes(streamed: HashMap<String, Streamed>) -> Value {
    let attributes = streamed.into_iter();
    attributes
        .map(|(name, value)| (name, attribute(value)))
        .collect()
}

fn attribute(streamed: Streamed) -> Value {
    match streamed {
        Streamed::S(text) => json!({ "S": text }),
        Streamed::N(number) => json!({ "N": number }),
        Streamed::B(bytes) => json!({ "B": BASE64.encode(bytes.as_ref()) }),
        Streamed::Bool(truth) => json!({ "BOOL": truth }),
        Streamed::L(list) => {
            let list: Vec<_> = list.into_iter().map(attribute).collect();
            json!({ "L": list })
        }
        Streamed::M(map) => json!({ "M": attributes(map) }),
        Streamed::Null(_) => json!({ "NULL": true }),
        Streamed::Ss(texts) => json!({ "SS": texts }),
        Streamed::Bs(_) | Streamed::Ns(_) | _ => panic!("not written by the store"),
    }
}

fn image(streamed: HashMap<String, Streamed>) -> Image {
    let attribute = |(name, of)| (name, value(of));
    streamed.into_iter().map(attribute).collect()
}

fn value(streamed: Streamed) -> AttributeValue {
    match streamed {
        Streamed::S(text) => AttributeValue::S(text),
        Streamed::N(number) => AttributeValue::N(number),
        Streamed::B(bytes) => AttributeValue::B(Blob::new(bytes.into_inner())),
        Streamed::Bool(truth) => AttributeValue::Bool(truth),
        Streamed::L(list) => AttributeValue::L(list.into_iter().map(value).collect()),
        Streamed::M(map) => AttributeValue::M(image(map)),
        Streamed::Null(_) => AttributeValue::Null(true),
        Streamed::Bs(_) | Streamed::Ns(_) | Streamed::Ss(_) | _ => {
            panic!("not written by the store")
        }
    }
}
