//! Where a function publishes notifications.

use std::sync::Arc;

use postrider_adapter_aws::eventbridge::EventBus;
use postrider_adapter_aws::sns::SnsTopic;
use postrider_adapter_aws::topics::Topics;
use postrider_ports::notifications::Topic;

use crate::aws::Aws;

/// The SNS topic with this ARN, and the EventBridge bus with this name. Makes no call yet.
#[must_use]
pub fn topic(aws: &Aws, arn: String, bus: Option<String>) -> Arc<dyn Topic> {
    let sns = SnsTopic::new(aws_sdk_sns::Client::new(aws.config()), arn);
    let Some(bus) = bus else {
        return Arc::new(sns);
    };
    let bus = EventBus::new(aws_sdk_eventbridge::Client::new(aws.config()), bus);
    let topics: [Arc<dyn Topic>; 2] = [Arc::new(sns), Arc::new(bus)];
    Arc::new(Topics::new(topics))
}
