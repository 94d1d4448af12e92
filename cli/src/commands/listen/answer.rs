//! What a request is answered, and why.

use axum::body::Body;
use http::{HeaderMap, Response, StatusCode};

use super::forward::Answered;
use super::verdict::Verdict;

/// The answer to one request.
#[derive(Debug)]
pub(super) enum Answer {
    /// As told on the command line.
    Told(StatusCode),
    /// What the program said that it was passed on to.
    Forwarded(Answered),
    /// The program did not say anything; with the reason.
    Unreachable(String),
    /// It was not passed on, because it is not known to be genuine.
    Withheld,
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Told(status) => *status,
            Self::Forwarded(answered) => answered.status,
            Self::Unreachable(_) => StatusCode::BAD_GATEWAY,
            Self::Withheld => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let status = self.status();
        let (headers, body) = match self {
            Self::Forwarded(answered) => (answered.headers, Body::from(answered.body)),
            Self::Told(_) | Self::Unreachable(_) | Self::Withheld => {
                (HeaderMap::new(), Body::empty())
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// Whether a request may be passed on: a program behind this one may rely on its having been verified.
pub(super) fn may_pass(verdict: &Verdict, unverified: Unverified) -> bool {
    match (verdict, unverified) {
        (Verdict::Genuine, _) | (Verdict::Unsigned | Verdict::Unverified, Unverified::Passed) => {
            true
        }
        (Verdict::Unsigned | Verdict::Unverified, Unverified::Withheld)
        | (Verdict::Forged(_), _) => false,
    }
}

/// What becomes of requests that cannot be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unverified {
    Withheld,
    Passed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forged_never_passes() {
        let forged = Verdict::Forged(String::new());
        for unverified in [Unverified::Withheld, Unverified::Passed] {
            assert!(may_pass(&Verdict::Genuine, unverified));
            assert!(!may_pass(&forged, unverified));
            let passes = unverified == Unverified::Passed;
            assert_eq!(may_pass(&Verdict::Unsigned, unverified), passes);
            assert_eq!(may_pass(&Verdict::Unverified, unverified), passes);
        }
    }
}
