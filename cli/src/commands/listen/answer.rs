//! The response to a request.

use axum::body::Body;
use http::{HeaderMap, Response, StatusCode};

use super::forward::Answered;
use super::verdict::Verdict;

#[derive(Debug)]
pub(super) enum Answer {
    /// The status from the command line.
    Configured(StatusCode),
    /// The response of the program that it was forwarded to.
    Forwarded(Answered),
    /// The program did not respond; with the reason.
    Unreachable(String),
    /// It was not forwarded, because it is not verified.
    Withheld,
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Configured(status) => *status,
            Self::Forwarded(answered) => answered.status,
            Self::Unreachable(_) => StatusCode::BAD_GATEWAY,
            Self::Withheld => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let status = self.status();
        let (headers, body) = match self {
            Self::Forwarded(answered) => (answered.headers, Body::from(answered.body)),
            Self::Configured(_) | Self::Unreachable(_) | Self::Withheld => {
                (HeaderMap::new(), Body::empty())
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// Whether a request may be forwarded: the program may rely on requests having been verified.
pub(super) fn may_forward(verdict: &Verdict, unverified: Unverified) -> bool {
    match (verdict, unverified) {
        (Verdict::Genuine, _)
        | (Verdict::Unsigned | Verdict::Unverified, Unverified::Forwarded) => true,
        (Verdict::Unsigned | Verdict::Unverified, Unverified::Withheld)
        | (Verdict::Forged(_), _) => false,
    }
}

/// What to do with requests that cannot be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unverified {
    Withheld,
    Forwarded,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_requests_are_never_forwarded() {
        let forged = Verdict::Forged(String::new());
        for unverified in [Unverified::Withheld, Unverified::Forwarded] {
            assert!(may_forward(&Verdict::Genuine, unverified));
            assert!(!may_forward(&forged, unverified));
            let may = unverified == Unverified::Forwarded;
            assert_eq!(may_forward(&Verdict::Unsigned, unverified), may);
            assert_eq!(may_forward(&Verdict::Unverified, unverified), may);
        }
    }
}
