//! The receiver responded with an error.

use postrider_domain::delivery::Delivery;
use postrider_domain::retry::{OnRetryAfter, RuntimeRetry};
use postrider_domain::webhook::Webhook;
use url::Url;

use super::Explanation;

pub(super) fn explain(status: u16, row: &Delivery, webhook: Option<&Webhook>) -> Explanation {
    let path =
        Url::parse(&row.target_url).map_or_else(|_| "/".to_owned(), |url| url.path().to_owned());
    let (meaning, advice): (String, &[&str]) = match status {
        300..=399 => (
            "The receiver redirected the request. Redirects are never followed, because the request is signed for this URL.".to_owned(),
            &["Set the webhook's URL to the redirect target. Often only https or a trailing slash is missing."],
        ),
        401 | 403 => (
            "The receiver rejected the request as unauthorized.".to_owned(),
            &[
                "Check that it verifies with this webhook's current secret. After a rotation the previous secret is valid for one day.",
                "If it requires a credential, check the webhook's custom headers.",
            ],
        ),
        404 | 405 => (
            format!("The receiver is running, but does not accept POST at {path}."),
            &["Check the path in the webhook's URL. A deployment may have moved it."],
        ),
        408 => (
            "The receiver timed out waiting for the request.".to_owned(),
            &["It may be overloaded. If this continues, check the proxies in front of it."],
        ),
        409 => (
            "The receiver reports a conflict with its current state.".to_owned(),
            &["Receivers should respond 2xx to a `webhook-id` they have already processed."],
        ),
        410 => (
            "The receiver says this endpoint is permanently gone.".to_owned(),
            &["Ask the receiver's owner. If it has moved, set the new URL, and resume the webhook if it is stopped."],
        ),
        413 => (
            "The payload is larger than the receiver accepts.".to_owned(),
            &["Raise the receiver's limit, or publish a reference instead of the full data."],
        ),
        400 | 415 | 422 => (
            "The receiver understood the request but rejected its content.".to_owned(),
            &[
                "Read its response below: it usually names the field.",
                "If it verifies the signature over re-serialised JSON, change it to use the raw body.",
            ],
        ),
        429 => (
            "The receiver is rate-limiting the gateway.".to_owned(),
            &["Set the webhook's `max_rate` to what the receiver takes.", "If only retries are too fast, lower its `retry_rate`."],
        ),
        500 => (
            "The receiver failed with an internal error.".to_owned(),
            &["Check its log at this time for the `webhook-id` below.", "Retry once it is fixed."],
        ),
        502..=504 => (
            "The receiver, or a proxy in front of it, is down, restarting or overloaded.".to_owned(),
            &["Check its deployment and health checks. Automatic retries cover a short outage."],
        ),
        501 | 505..=599 => (
            "The receiver has an internal error.".to_owned(),
            &["Check its log at this time."],
        ),
        200..=299 => (
            "The response itself is a success.".to_owned(),
            &["Check the attempts below for what happened."],
        ),
        _ => (
            "The receiver rejected the request.".to_owned(),
            &["Read its response below, and check its log at this time."],
        ),
    };
    let title = format!("The receiver returned {status}{}", phrase(status));
    let about_header = webhook
        .filter(|_| matches!(status, 429 | 503))
        .map(on_retry_after);
    let advice = advice.iter().copied().chain(about_header);
    (title, meaning, advice.map(str::to_owned).collect())
}

fn on_retry_after(webhook: &Webhook) -> &'static str {
    let policy = webhook.settings.retry.policy(RuntimeRetry::default());
    match policy.retry_after {
        OnRetryAfter::Instead => {
            "If the response has a Retry-After header, its delay replaces the scheduled one. A receiver that asks for short delays uses up the attempts early: set `retry_after` to `at-least` to keep the schedule."
        }
        OnRetryAfter::AtLeast => {
            "If the response has a Retry-After header, the next attempt waits at least that long, and never less than scheduled."
        }
        OnRetryAfter::Ignore => {
            "The retry policy ignores the receiver's Retry-After header. To respect it, set `retry_after` to `at-least`."
        }
    }
}

/// The standard reason phrase, if there is one.
fn phrase(status: u16) -> String {
    let known = http::StatusCode::from_u16(status).ok();
    let reason = known.and_then(|status| status.canonical_reason());
    reason.map_or_else(String::new, |reason| format!(" {reason}"))
}
