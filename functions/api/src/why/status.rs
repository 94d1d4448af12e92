//! The receiver answered, and its answer was not the one hoped for.

use postrider_domain::delivery::Delivery;
use url::Url;

use super::Told;

/// Explains an answer with this status.
pub(super) fn told(status: u16, row: &Delivery) -> Told {
    let path =
        Url::parse(&row.target_url).map_or_else(|_| "/".to_owned(), |url| url.path().to_owned());
    let (meaning, advice): (String, &[&str]) = match status {
        300..=399 => (
            "The receiver sends us elsewhere. Redirects are never followed: the request is signed for this URL.".to_owned(),
            &["Set the webhook's URL to where the redirect leads; often only https or a slash at the end is missing."],
        ),
        401 | 403 => (
            "The receiver does not let us in.".to_owned(),
            &[
                "Check that it verifies with this webhook's present secret; after a rotation the old one is valid for a day only.",
                "If it wants a credential, check the webhook's own headers.",
            ],
        ),
        404 | 405 => (
            format!("The receiver runs, but nothing takes a POST at {path}."),
            &["Check the path of the webhook's URL; perhaps a deployment moved it."],
        ),
        408 => (
            "The receiver waited too long for our request.".to_owned(),
            &["It may be overloaded. If it stays so, look at what stands before it."],
        ),
        409 => (
            "The receiver says that this contradicts what it has.".to_owned(),
            &["Receivers should answer 2xx for a `webhook-id` that they have seen already."],
        ),
        410 => (
            "The receiver says that it is gone for good and wants no more.".to_owned(),
            &["Ask its owner. If it has moved, set the new URL and resume the webhook."],
        ),
        413 => (
            "The payload is larger than the receiver takes.".to_owned(),
            &["Raise its limit, or publish less: a reference instead of the whole."],
        ),
        400 | 415 | 422 => (
            "The receiver understood the request and does not like what is in it.".to_owned(),
            &[
                "Read its answer below: it usually names the field.",
                "If it computes the signature over parsed and rewritten JSON, it must use the raw bytes instead.",
            ],
        ),
        429 => (
            "The receiver is told too much at once and asks for a pause.".to_owned(),
            &["Lower the webhook's rate of retries; `by-status` policies honour its Retry-After."],
        ),
        500 => (
            "The receiver tried and failed: an error of its own.".to_owned(),
            &["Look into its log at this time, with the `webhook-id` below.", "When it is mended, retry."],
        ),
        502..=504 => (
            "Something before the receiver answered: the receiver itself is down, restarting or overloaded.".to_owned(),
            &["Check its deployment and health checks. Retries bridge a short outage by themselves."],
        ),
        501 | 505..=599 => (
            "The receiver has an error of its own.".to_owned(),
            &["Look into its log at this time."],
        ),
        200..=299 => (
            "The answer itself is a good one.".to_owned(),
            &["Look at the attempts below for what happened."],
        ),
        _ => (
            "The receiver does not take the request.".to_owned(),
            &["Read its answer below, and look into its log at this time."],
        ),
    };
    let title = format!("The receiver answered {status}{}", phrase(status));
    (
        title,
        meaning,
        advice.iter().map(|text| (*text).to_owned()).collect(),
    )
}

/// The status in words, where it has some.
fn phrase(status: u16) -> String {
    let known = http::StatusCode::from_u16(status).ok();
    let reason = known.and_then(|status| status.canonical_reason());
    reason.map_or_else(String::new, |reason| format!(" {reason}"))
}
