//! Why a command did not do what was asked, and the exit code that says so.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use serde_json::json;

use crate::output::{Output, Tone, printable};
use crate::problem::Problem;

/// How a command ended that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As hoped.
    Fine,
    /// The answer is no: a signature that does not match, a delivery that is dead.
    Negative,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Ending {
    /// `Fine` if it is, else `Negative`.
    pub(crate) fn of(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::Negative }
    }

    /// 0, 1 or, as shells have it, 128 + SIGINT.
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fine => 0,
            Self::Negative => 1,
            Self::Interrupted => 130,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was given cannot be used.
    #[error("{0}")]
    Input(String),
    /// The gateway said no.
    #[error("{}", .problem.headline())]
    Rejected {
        /// What it said.
        problem: Box<Problem>,
        /// What to do about it.
        advice: Option<String>,
    },
    /// The gateway could not do its work.
    #[error("the gateway is in trouble: {}", .0.headline())]
    InTrouble(Box<Problem>),
    /// There was no answer.
    #[error("cannot reach the gateway at {url}: {reason}")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// Another address than the gateway's gave no answer.
    #[error("no answer from {url}: {reason}")]
    NoAnswer {
        /// Where something was sent.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// There was an answer, but not one of this gateway's.
    #[error("the answer is not what a gateway of this version sends: {0}")]
    NotUnderstood(String),
    /// What was found out could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The exit code, as listed in `postrider --help`.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Output(_) if self.is_broken_pipe() => 0,
            Self::Output(_) => 1,
            Self::Input(_) => 2,
            Self::Rejected { .. } => 3,
            Self::InTrouble(_)
            | Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::NotUnderstood(_) => 4,
        })
    }

    /// Says on standard error what went wrong.
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

    /// `… | head` has seen enough; that is no failure.
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
            Self::InTrouble(problem) => text.push_str(&problem.details()),
            Self::Unreachable { .. } => {
                text.push_str("\n  → is it running? `postrider serve` starts one; --url or POSTRIDER_URL names another");
            }
            Self::Input(_) | Self::NoAnswer { .. } | Self::NotUnderstood(_) | Self::Output(_) => {}
        }
        text
    }

    fn as_json(&self) -> String {
        let code = match self {
            Self::Rejected { problem, .. } | Self::InTrouble(problem) => return problem.as_json(),
            Self::Input(_) => "usage",
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
    fn a_refusal_names_every_field_and_what_to_do() {
        let body = r#"{"title":"Invalid input","status":422,"code":"invalid","detail":"two faults",
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
            "two faults",
            "name: must be 1 to 100 characters",
            "x: y",
            "→ try this",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn an_answer_cannot_steer_the_terminal() {
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
