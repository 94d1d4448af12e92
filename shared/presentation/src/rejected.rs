//! What a finding about a rejected request means, and what to do about it.

use postrider_api_types::rejected::FindingView;
use postrider_domain::diagnosis::Finding;

pub struct Explained {
    pub title: String,
    pub meaning: String,
    pub advice: Vec<String>,
}

/// Explains a finding about a request to this source. A captured request has no source: then `source` is a placeholder.
#[must_use]
pub fn explain(finding: &Finding, source: &str) -> Explained {
    let (title, meaning) = meaning(finding);
    Explained {
        title,
        meaning,
        advice: advice(finding, source),
    }
}

/// The finding as the API returns it.
#[must_use]
pub fn view(finding: &Finding, source: &str) -> FindingView {
    FindingView {
        advice: advice(finding, source),
        ..FindingView::from(finding)
    }
}

fn meaning(finding: &Finding) -> (String, String) {
    let (title, meaning) = match finding {
        Finding::Matches => (
            "It would be accepted now",
            "The cause has been fixed since, for example by adding the secret.".to_owned(),
        ),
        Finding::Clock { seconds_off } => {
            let direction = if *seconds_off < 0 {
                "behind"
            } else {
                "ahead of"
            };
            let meaning = format!(
                "The signature is valid, but its timestamp is {} s {direction} the gateway's clock.",
                seconds_off.unsigned_abs()
            );
            ("Clock skew or replay", meaning)
        }
        Finding::BadTime => (
            "Missing or invalid timestamp",
            "The signature is valid, but its timestamp is missing or not in the scheme's format."
                .to_owned(),
        ),
        Finding::OldSecret => (
            "Signed with an old secret",
            "The sender still uses a previous secret, which has expired.".to_owned(),
        ),
        Finding::OtherScheme { scheme } => (
            "Signed with another scheme",
            format!(
                "The secret is correct, but the sender signs according to the scheme `{scheme}`."
            ),
        ),
        Finding::ChangedBody { change } => (
            "The body was modified in transit",
            format!("The signature is valid for a different body: {change}."),
        ),
        Finding::ChangedUrl { change } => (
            "Signed for another URL",
            format!("The signature is valid for a different URL: {change}."),
        ),
        Finding::Missing { expected } => ("Signature missing", format!("Expected {expected}.")),
        Finding::OtherForm { expected } => (
            "Signature in another format",
            format!("Expected {expected}."),
        ),
        Finding::BodyCut => (
            "Too large to diagnose",
            "The body was not stored completely, so its signature cannot be checked.".to_owned(),
        ),
        Finding::Nothing => (
            "No match found",
            "We tried old secrets, other schemes, modified bodies and other clocks; none matches."
                .to_owned(),
        ),
    };
    (title.to_owned(), meaning)
}

fn advice(finding: &Finding, source: &str) -> Vec<String> {
    let lines: &[&str] = match finding {
        Finding::Matches => &["Have the sender send it again."],
        Finding::Clock { .. } => &[
            "Correct the clock that is wrong: the sender's or the gateway's (`postrider doctor` checks it).",
            "If this is a replay of an old request, it was rejected correctly.",
        ],
        Finding::BadTime => &["Have the sender include the timestamp in the scheme's format."],
        Finding::OldSecret => &[
            "Configure the current secret at the sender.",
            &format!(
                "If you only have the sender's secret, rotate this source to it: `postrider sources rotate-secret {source}`."
            ),
        ],
        Finding::OtherScheme { scheme } => &[&format!(
            "Create a source with the scheme `{scheme}` and this secret, and give its URL to the sender: `postrider sources create --scheme {scheme}`. A source's scheme cannot be changed."
        )],
        Finding::ChangedBody { .. } => &[
            "Find the proxy, function or framework between the sender and the gateway that rewrites the body. It must forward the body byte for byte.",
        ],
        Finding::ChangedUrl { .. } => &[&format!(
            "Set the source's public URL to the one the sender calls: `postrider sources update {source} --public-url URL`."
        )],
        Finding::Missing { .. } => &[
            "Configure the secret at the sender so that it signs its requests.",
            "Check for a proxy that drops the header.",
        ],
        Finding::OtherForm { .. } => &[
            "Check which scheme and version the sender uses. It does not match this source's scheme.",
        ],
        Finding::BodyCut => &[
            "Capture the request and run `postrider sources diagnose --request FILE`.",
            "If it was too large, have the sender send less.",
        ],
        Finding::Nothing => &[
            &format!(
                "Check that both sides use the same secret, or rotate it to the sender's current secret: `postrider sources rotate-secret {source}`."
            ),
            "If you do not know the sender, the request is forged and was rejected correctly.",
        ],
    };
    lines.iter().copied().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::diagnosis::{BodyChange, UrlChange};

    #[test]
    fn every_finding_has_a_title_and_advice() {
        let expected = "header".to_owned();
        for finding in [
            Finding::Matches,
            Finding::Clock { seconds_off: -400 },
            Finding::BadTime,
            Finding::OldSecret,
            Finding::OtherScheme { scheme: "stripe" },
            Finding::ChangedBody {
                change: BodyChange::Compact,
            },
            Finding::ChangedUrl {
                change: UrlChange::PortCut,
            },
            Finding::Missing {
                expected: expected.clone(),
            },
            Finding::OtherForm { expected },
            Finding::BodyCut,
            Finding::Nothing,
        ] {
            let explained = explain(&finding, "src_1");
            assert!(!explained.title.is_empty() && !explained.advice.is_empty());
            assert_eq!(view(&finding, "src_1").advice, explained.advice);
        }
    }

    #[test]
    fn advice_names_the_scheme_and_the_source() {
        let scheme = explain(&Finding::OtherScheme { scheme: "stripe" }, "src_1");
        assert!(scheme.advice[0].contains("--scheme stripe"));
        let old = explain(&Finding::OldSecret, "src_1");
        assert!(old.advice[1].contains("rotate-secret src_1"));
    }
}
