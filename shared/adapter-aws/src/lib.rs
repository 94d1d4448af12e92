//! The ports on AWS: DynamoDB stores everything, SQS carries queue messages, SNS and EventBridge publish
//! notifications, SES sends e-mail.
//!
//! Two rules shape most of the design. Every change is one conditional write or one transaction, and calls that need
//! several order them so that repeating an interrupted call completes it. So any number of functions can work on the
//! tables at once, and a crash loses nothing that was acknowledged. And the queue carries only ids: DynamoDB is the
//! source of truth, the poller replaces a lost message, and a duplicate finds nothing to claim. What follows from a
//! change (webhook state, counters, notifications) is derived from the table's stream.
//!
//! Start with `dynamodb/keys.rs` and `dynamodb/row.rs` for the layout of the tables, then follow one delivery through
//! `accept.rs`, `claim.rs` and `apply.rs`, and its effects through `follow.rs`. `calls.rs` wraps the SDK. What DynamoDB
//! Local does not simulate is described in `dynamodb/mod.rs`.

pub mod dead_letters;
pub mod dynamodb;
pub mod eventbridge;
mod fault;
pub mod first_key;
pub mod ses;
pub mod sns;
pub mod sqs;
pub mod topics;
pub mod unreadable;
