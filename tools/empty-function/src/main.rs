//! A function that does nothing: what the cold start of a Rust function costs before it has any of ours.

use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let nothing = |_: LambdaEvent<serde_json::Value>| async { Ok::<_, Error>(()) };
    lambda_runtime::run(service_fn(nothing)).await
}
