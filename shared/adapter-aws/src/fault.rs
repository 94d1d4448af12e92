//! Errors of calls to AWS, and the port errors they become.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use postrider_ports::Error;

/// Error codes that are worth a retry.
const TRANSIENT: [&str; 15] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
    "LimitExceededException",
    "InternalServerError",
    "InternalServerErrorException",
    "InternalFailure",
    "ServiceUnavailable",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ReplicatedWriteConflictException",
    "DependencyTimeoutException",
    "KMSInternalException",
    "RequestTimeout",
];

/// A failed call as a port error. Throttling, timeouts, lost connections and errors inside AWS may go away; everything
/// else needs an operator.
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK may add errors")]
pub(crate) fn of<E>(error: &SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata,
{
    match error {
        SdkError::TimeoutError(_) => Error::Unavailable("aws: request timed out".to_owned()),
        SdkError::DispatchFailure(failure) => {
            let why = failure.as_connector_error().map(ToString::to_string);
            Error::Unavailable(format!("aws: {}", why.unwrap_or_default()))
        }
        SdkError::ResponseError(_) => Error::Unavailable("aws: incomplete response".to_owned()),
        SdkError::ServiceError(failure) => {
            let code = failure.err().code().unwrap_or("unknown error");
            let message = failure.err().message().unwrap_or_default();
            let text = format!("aws: {code}: {message}");
            let status = failure.raw().status();
            if TRANSIENT.contains(&code) || status.is_server_error() || status.as_u16() == 429 {
                Error::Unavailable(text)
            } else {
                Error::Broken(text)
            }
        }
        // A request that could not be built, and any variant that the SDK adds later.
        _ => Error::Broken("aws: could not build the request".to_owned()),
    }
}

/// The error of one entry of a call that succeeded.
pub(crate) fn of_entry(code: &str, message: &str) -> Error {
    let text = format!("aws: {code}: {message}");
    if TRANSIENT.contains(&code) {
        Error::Unavailable(text)
    } else {
        Error::Broken(text)
    }
}

/// Names what cannot be read, never its content.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::Broken(format!("the table cannot be read: {what}"))
}

/// Leaves out an item that cannot be read, so that it does not stop what comes behind it.
pub(crate) fn readable<T>(value: Result<T, Error>) -> Result<Option<T>, Error> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(Error::Broken(reason)) => {
            left_aside(&reason);
            Ok(None)
        }
        Err(error @ (Error::Unavailable(_) | Error::InvalidCursor)) => Err(error),
    }
}

/// The items that can be read.
pub(crate) fn readable_only<T>(
    values: impl Iterator<Item = Result<T, Error>>,
) -> Result<Vec<T>, Error> {
    values.map(readable).filter_map(Result::transpose).collect()
}

pub(crate) fn left_aside(reason: &str) {
    tracing::error!(
        event = "store.row_unreadable",
        reason,
        "a stored row cannot be read and is left aside"
    );
}

/// Whether the stored item does not allow the requested change, such as adding to a text.
pub(crate) fn is_misfit(error: &Error) -> bool {
    matches!(error, Error::Broken(text) if text.starts_with("aws: ValidationException"))
}

/// A race that was lost too often; the same call may win later.
pub(crate) fn contended(what: &str) -> Error {
    Error::Unavailable(format!("too many concurrent changes to {what}"))
}
