//! The ports on AWS: DynamoDB, SQS, SNS, SES, KMS, Secrets Manager.
