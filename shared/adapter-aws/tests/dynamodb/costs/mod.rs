//! What deliveries use, counted on DynamoDB Local by running the gateway's own code: the API, the dispatcher and the
//! publisher, on metered tables and against a receiver.

mod cases;
mod documents;
mod site;
mod storage;

pub(crate) use documents::{Report, documents, quote};
