//! The ports on AWS: DynamoDB holds what is stored, SQS brings hints, SNS announces, SES mails.

pub mod dynamodb;
mod fault;
pub mod first_key;
pub mod ses;
pub mod sns;
pub mod sqs;
