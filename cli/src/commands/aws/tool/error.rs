//! Why a call failed, read from what the tool prints.

use super::call::AwsCall;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AwsError {
    #[error("the `aws` command-line tool is not installed")]
    Missing,
    #[error("cannot run the `aws` command-line tool: {0}")]
    NotRun(String),
    #[error("this version of the `aws` command-line tool does not know `aws {0}`")]
    TooOld(String),
    #[error("not logged in to AWS: {0}")]
    NotLoggedIn(String),
    #[error("no region is set")]
    NoRegion,
    #[error("access denied: {permission} is missing. {detail}")]
    Denied { permission: String, detail: String },
    #[error("`aws {call}` failed: {detail}")]
    Rejected {
        call: String,
        /// AWS's code of the error; empty if the tool itself failed.
        code: String,
        detail: String,
    },
    #[error("`aws {0}` printed something other than JSON")]
    Unreadable(String),
}

/// The credentials are missing, invalid or expired.
const LOGIN_PHRASES: [&str; 9] = [
    "Unable to locate credentials",
    "Error loading SSO Token",
    "Error when retrieving token from sso",
    "Token has expired",
    "The SSO session",
    "could not be found",
    "ExpiredToken",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
];

impl AwsError {
    pub(super) fn read(call: &AwsCall, printed: &str) -> Self {
        let text = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.contains("Invalid choice") || text.contains("Unknown options") {
            return Self::TooOld(call.name());
        }
        if text.contains("You must specify a region") {
            return Self::NoRegion;
        }
        let code = code_of(&text).unwrap_or_default();
        let is_profile = code.is_empty() && text.contains("config profile");
        if is_profile || names_login(code, &text) {
            return Self::NotLoggedIn(text);
        }
        if code.contains("AccessDenied")
            || code.contains("Unauthorized")
            || code == "AuthorizationError"
            || code == "403"
        {
            let permission = denied_action(&text).unwrap_or_else(|| call.permission());
            return Self::Denied {
                permission,
                detail: text,
            };
        }
        Self::Rejected {
            call: call.name(),
            code: code.to_owned(),
            detail: text,
        }
    }

    /// Whether AWS says that the named thing does not exist.
    pub(in crate::commands::aws) fn is_not_found(&self) -> bool {
        match self {
            Self::Rejected { code, detail, .. } => {
                code.contains("NotFound")
                    || code.starts_with("NoSuch")
                    || (code == "ValidationError" && detail.contains("does not exist"))
            }
            Self::Missing
            | Self::NotRun(_)
            | Self::TooOld(_)
            | Self::NotLoggedIn(_)
            | Self::NoRegion
            | Self::Denied { .. }
            | Self::Unreadable(_) => false,
        }
    }

    /// Whether CloudFormation found nothing to change.
    pub(in crate::commands::aws) fn is_unchanged(&self) -> bool {
        matches!(self, Self::Rejected { detail, .. } if detail.contains("No updates are to be performed"))
    }

    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Missing => Some(
                "install it: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html",
            ),
            Self::TooOld(_) => Some("update it to version 2, or to 1.29 or later"),
            Self::NotLoggedIn(_) => {
                Some("log in with `aws sso login` or `aws configure`, or choose another --profile")
            }
            Self::NoRegion => Some("set --region or AWS_REGION"),
            Self::Denied { .. } => Some("docs/operations.md lists the permissions of an operator"),
            Self::NotRun(_) | Self::Rejected { .. } | Self::Unreadable(_) => None,
        }
    }

    /// 2 for what the operator has to set up first, 3 for what AWS rejected.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Missing
            | Self::NotRun(_)
            | Self::TooOld(_)
            | Self::NotLoggedIn(_)
            | Self::NoRegion => 2,
            Self::Denied { .. } | Self::Rejected { .. } => 3,
            Self::Unreadable(_) => 4,
        }
    }
}

fn names_login(code: &str, text: &str) -> bool {
    // Other services also say that something could not be found, with a code.
    let phrases = LOGIN_PHRASES.iter();
    if code.is_empty() {
        phrases.into_iter().any(|phrase| text.contains(phrase))
    } else {
        phrases.into_iter().any(|phrase| code.contains(phrase))
    }
}

/// The code in `An error occurred (AccessDenied) when calling the … operation: …`.
fn code_of(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("An error occurred (")?;
    Some(after.split_once(')')?.0)
}

/// The action in `… is not authorized to perform: dynamodb:DescribeTable on resource: …`.
fn denied_action(text: &str) -> Option<String> {
    let (_, after) = text.split_once("is not authorized to perform: ")?;
    let action = after.split([' ', ',']).next()?;
    Some(action.to_owned()).filter(|action| action.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(printed: &str) -> AwsError {
        AwsError::read(&AwsCall::new("dynamodb", "describe-table"), printed)
    }

    #[test]
    fn a_denied_call_names_the_missing_permission() {
        let named = read(
            "\nAn error occurred (AccessDeniedException) when calling the DescribeTable operation: User: \
             arn:aws:iam::123456789012:user/ana is not authorized to perform: dynamodb:DescribeTable on resource: \
             arn:aws:dynamodb:eu-central-1:123456789012:table/x because no identity-based policy allows it\n",
        );
        let unnamed =
            read("An error occurred (AccessDenied) when calling the X operation: Access Denied");
        for error in [named, unnamed] {
            let AwsError::Denied { permission, .. } = &error else {
                panic!("{error:?}");
            };
            assert_eq!(permission, "dynamodb:DescribeTable");
            assert_eq!(error.exit_code(), 3);
        }
    }

    #[test]
    fn missing_or_expired_credentials_are_told_from_missing_things() {
        for printed in [
            "Unable to locate credentials. You can configure credentials by running \"aws configure\".",
            "The config profile (prod) could not be found",
            "Error when retrieving token from sso: Token has expired and refresh failed",
            "An error occurred (ExpiredToken) when calling the DescribeStacks operation: The security token \
             included in the request is expired",
            "An error occurred (UnrecognizedClientException) when calling the X operation: The security token \
             included in the request is invalid.",
        ] {
            let error = read(printed);
            assert!(matches!(error, AwsError::NotLoggedIn(_)), "{error:?}");
        }
        for printed in [
            "An error occurred (ValidationError) when calling the DescribeStacks operation: Stack with id x does \
             not exist",
            "An error occurred (ResourceNotFoundException) when calling the DescribeTable operation: Requested \
             resource could not be found",
            "An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation: The specified bucket does \
             not exist",
        ] {
            assert!(read(printed).is_not_found(), "{printed}");
        }
    }

    #[test]
    fn an_old_tool_and_a_missing_region_are_recognised() {
        let old = "usage: aws [options]\naws: error: argument operation: Invalid choice, valid choices are:";
        assert_eq!(
            read(old),
            AwsError::TooOld("dynamodb describe-table".to_owned())
        );
        let region = "You must specify a region. You can also configure your region by running \"aws configure\".";
        assert_eq!(read(region), AwsError::NoRegion);
    }

    #[test]
    fn an_update_without_changes_is_recognised() {
        let unchanged = "An error occurred (ValidationError) when calling the UpdateStack operation: No updates \
                         are to be performed.";
        assert!(read(unchanged).is_unchanged());
    }
}
