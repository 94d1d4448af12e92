//! Workers take due deliveries, claim them and run their attempts: [`embedded`] in the process of `postrider serve`,
//! [`queue`] on batches of queue messages on AWS.

pub mod embedded;
pub mod queue;
