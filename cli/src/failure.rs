//! Why a command failed, and its exit code.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use serde_json::json;

use crate::commands::aws::AwsError;
use crate::output::{Output, Tone, printable};
use crate::problem::Problem;

/// The result of a command that ran without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Fine,
    /// A signature that does not match, a delivery that is dead.
    Unsuccessful,
    /// Ctrl-C was pressed.
    Interrupted,
}

impl Ending {
    pub(crate) fn of(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::Unsuccessful }
    }

    /// 0, 1 or, by the convention of shells, 128 + SIGINT.
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fine => 0,
            Self::Unsuccessful => 1,
            Self::Interrupted => 130,
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Invalid usage or input.
    #[error("{0}")]
    Input(String),
    /// The gateway rejected the request.
    #[error("{}", .problem.headline())]
    Rejected {
        problem: Box<Problem>,
        advice: Option<String>,
    },
    /// The gateway responded with a 5xx status.
    #[error("the gateway reported an error: {}", .0.headline())]
    ServerError(Box<Problem>),
    /// The gateway did not respond.
    #[error("cannot reach the gateway at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// An address other than the gateway's did not respond.
    #[error("no response from {url}: {reason}")]
    NoAnswer { url: String, reason: String },
    /// The response is not one that a gateway of this version sends.
    #[error("unexpected response from the gateway: {0}")]
    NotUnderstood(String),
    /// AWS, or the tool that calls it, reported an error.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// A data directory or backup that cannot be used.
    pub(crate) fn of_files(error: &postrider_ports::Error) -> Self {
        match error {
            postrider_ports::Error::Unavailable(reason)
            | postrider_ports::Error::Broken(reason) => Self::Input(reason.clone()),
            postrider_ports::Error::InvalidCursor => Self::Input(error.to_string()),
        }
    }

    /// The exit code, as listed in `postrider --help`.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Output(_) if self.is_broken_pipe() => 0,
            Self::Output(_) => 1,
            Self::Input(_) => 2,
            Self::Aws(error) => error.exit_code(),
            Self::Rejected { .. } => 3,
            Self::ServerError(_)
            | Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::NotUnderstood(_) => 4,
        })
    }

    pub(crate) fn report(&self, out: Output) {
        if self.is_broken_pipe() {
            return;
        }
        if out.wants_json() {
            out.complain(self.as_json());
        } else {
            out.complain(format!(
                "{} {}",
                out.paint_error(Tone::Bad, "error:"),
                self.for_people()
            ));
        }
    }

    /// `… | head` closes the pipe; that is not a failure.
    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    fn for_people(&self) -> String {
        let mut text = printable(&self.to_string());
        match self {
            Self::Rejected { problem, advice } => {
                text.push_str(&problem.details());
                if let Some(advice) = advice {
                    let _ = write!(text, "\n  → {advice}");
                }
            }
            Self::ServerError(problem) => text.push_str(&problem.details()),
            Self::Unreachable { .. } => {
                text.push_str("\n  → start it with `postrider serve`, or set another address with --url or POSTRIDER_URL");
            }
            Self::Aws(error) => {
                if let Some(advice) = error.advice() {
                    let _ = write!(text, "\n  → {advice}");
                }
            }
            Self::Input(_) | Self::NoAnswer { .. } | Self::NotUnderstood(_) | Self::Output(_) => {}
        }
        text
    }

    fn as_json(&self) -> String {
        let code = match self {
            Self::Rejected { problem, .. } | Self::ServerError(problem) => {
                return problem.as_json();
            }
            Self::Input(_) => "usage",
            Self::Aws(_) => "aws",
            Self::Unreachable { .. } | Self::NoAnswer { .. } => "unreachable",
            Self::NotUnderstood(_) => "not_understood",
            Self::Output(_) => "output",
        };
        json!({ "code": code, "title": self.to_string() }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_lists_every_field_and_what_to_do() {
        let body = r#"{"title":"Invalid input","status":422,"code":"invalid","detail":"two errors",
            "errors":[{"field":"name","message":"must be 1 to 100 characters"},{"field":"x","message":"y"}]}"#;
        let problem = Box::new(Problem::read(http::StatusCode::UNPROCESSABLE_ENTITY, body));
        let text = Failure::Rejected {
            problem,
            advice: Some("try this".to_owned()),
        }
        .for_people();
        for part in [
            "Invalid input",
            "422",
            "two errors",
            "name: must be 1 to 100 characters",
            "x: y",
            "→ try this",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_response_cannot_control_the_terminal() {
        let body = r#"{"title":"\u001b[2Jgone","status":400,"detail":"\u001b]0;x\u0007"}"#;
        let problem = Box::new(Problem::read(http::StatusCode::BAD_REQUEST, body));
        let text = Failure::Rejected {
            problem,
            advice: None,
        }
        .for_people();
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text:?}"
        );
    }
}
