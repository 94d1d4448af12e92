//! The publisher on Lambda.

use std::sync::Arc;

use lambda_runtime::{Error, service_fn};
use postrider_adapter_aws::dynamodb::Follower;
use postrider_adapter_aws::unreadable::UnreadableQueue;
use postrider_adapter_system::SystemClock;
use postrider_publisher::Publisher;
use postrider_wiring::settings::PublisherSettings;
use postrider_wiring::{Aws, traced};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = PublisherSettings::from_environment()?;
    settings.common.start()?;
    let aws = Aws::load().await;
    let store = postrider_wiring::store(&aws, &settings.store);
    let topic = postrider_wiring::topic(&aws, settings.topic_arn, settings.notification_bus);
    let sqs = aws_sdk_sqs::Client::new(aws.config());
    let unreadable = UnreadableQueue::new(sqs, settings.unreadable_queue_url);
    let publisher = Publisher::new(
        Arc::new(Follower::of(store)),
        topic,
        Arc::new(unreadable),
        Arc::new(SystemClock),
        settings.common.gateway,
    );
    lambda_runtime::run(service_fn(|event| traced(publisher.handle(event)))).await
}
