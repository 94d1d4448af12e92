//! An empty function: the baseline for the cold start of a Rust function.

use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let nothing = |_: LambdaEvent<serde_json::Value>| async { Ok::<_, Error>(()) };
    lambda_runtime::run(service_fn(nothing)).await
}
