//! What can go wrong between us and AWS, and what a caller of a port is told of it.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use postrider_ports::Error;

/// Refusals that pass by themselves.
const PASSING: [&str; 13] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
    "LimitExceededException",
    "InternalServerError",
    "InternalServerErrorException",
    "ServiceUnavailable",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ReplicatedWriteConflictException",
    "DependencyTimeoutException",
    "KMSInternalException",
];

/// A failed call in the words of the ports. Throttling, timeouts, lost connections and the service's own faults may pass;
/// everything else will not go away by itself.
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's errors may grow")]
pub(crate) fn of<E>(error: &SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata,
{
    match error {
        SdkError::TimeoutError(_) => Error::Unavailable("aws: no answer in time".to_owned()),
        SdkError::DispatchFailure(failure) => {
            let why = failure.as_connector_error().map(ToString::to_string);
            Error::Unavailable(format!("aws: {}", why.unwrap_or_default()))
        }
        SdkError::ResponseError(_) => Error::Unavailable("aws: half an answer".to_owned()),
        SdkError::ServiceError(refusal) => {
            let code = refusal.err().code().unwrap_or("unknown error");
            let message = refusal.err().message().unwrap_or_default();
            let said = format!("aws: {code}: {message}");
            let status = refusal.raw().status();
            if PASSING.contains(&code) || status.is_server_error() || status.as_u16() == 429 {
                Error::Unavailable(said)
            } else {
                Error::Broken(said)
            }
        }
        // A request that could not be built, and whatever the SDK learns to say later.
        _ => Error::Broken("aws: the request could not be made".to_owned()),
    }
}

/// Names what cannot be read, never what it holds.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::Broken(format!("the table cannot be read: {what}"))
}

/// A race that was lost too often; the same call may win later.
pub(crate) fn contended(what: &str) -> Error {
    Error::Unavailable(format!("{what} is being changed by too many at once"))
}
