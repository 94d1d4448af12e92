//! The tables as declared in the template.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
};
use postrider_adapter_aws::dynamodb::Tables;

/// Name, partition key and sort key of each index of the deliveries table.
const INDEXES: [(&str, &str, &str); 5] = [
    ("status-next_retry_at", "lane", "next_retry_at"),
    ("recent", "recent", "created_at"),
    ("by_webhook", "by_webhook", "created_at"),
    ("by_session", "by_session", "created_at"),
    ("trouble", "trouble", "created_at"),
];

/// Creates both tables. Returns the ARN of the deliveries table's stream.
pub(crate) async fn create(client: &Client, tables: &Tables) -> String {
    let configs = client
        .create_table()
        .table_name(&tables.configs)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::S))
        .set_key_schema(Some(key("pk", "sk")));
    configs.send().await.unwrap();
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages);
    let mut deliveries = client
        .create_table()
        .table_name(&tables.deliveries)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::S))
        .attribute_definitions(attribute("next_retry_at", ScalarAttributeType::N))
        .attribute_definitions(attribute("created_at", ScalarAttributeType::N))
        .set_key_schema(Some(key("pk", "sk")))
        .stream_specification(stream.build().unwrap());
    for (name, hash, range) in INDEXES {
        deliveries = deliveries
            .attribute_definitions(attribute(hash, ScalarAttributeType::S))
            .global_secondary_indexes(index(name, hash, range));
    }
    let made = deliveries.send().await.unwrap();
    let described = made.table_description.unwrap();
    described.latest_stream_arn.unwrap()
}

fn index(name: &str, hash: &str, range: &str) -> GlobalSecondaryIndex {
    let keys_only = Projection::builder().projection_type(ProjectionType::KeysOnly);
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(key(hash, range)))
        .projection(keys_only.build())
        .build()
        .unwrap()
}

fn key(hash: &str, range: &str) -> Vec<KeySchemaElement> {
    let element = |name: &str, kind| {
        let element = KeySchemaElement::builder().attribute_name(name);
        element.key_type(kind).build().unwrap()
    };
    vec![element(hash, KeyType::Hash), element(range, KeyType::Range)]
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    let definition = AttributeDefinition::builder().attribute_name(name);
    definition.attribute_type(kind).build().unwrap()
}
