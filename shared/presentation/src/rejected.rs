//! What a finding about a rejected request means, and what to do about it.

use postrider_domain::diagnosis::Finding;

pub(super) struct Explained {
    pub(super) title: String,
    pub(super) meaning: String,
    pub(super) advice: Vec<String>,
}

pub(super) fn explain(finding: &Finding) -> Explained {
    let (title, meaning) = meaning(finding);
    Explained {
        title,
        meaning,
        advice: advice(finding),
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
            "No old secret, other scheme, modified body or wrong clock explains the signature."
                .to_owned(),
        ),
    };
    (title.to_owned(), meaning)
}

fn advice(finding: &Finding) -> Vec<String> {
    let lines: &[&str] = match finding {
        Finding::Matches => &["Have the sender send it again."],
        Finding::Clock { .. } => &[
            "Correct the clock that is wrong: the sender's or the gateway's (`postrider doctor` checks it).",
            "If this is an old request sent again, it was rejected correctly.",
        ],
        Finding::BadTime => &["Have the sender include the timestamp in the scheme's format."],
        Finding::OldSecret => &[
            "Configure the current secret at the sender.",
            "If you only have the sender's secret, rotate this source to it.",
        ],
        Finding::OtherScheme { scheme } => {
            return vec![format!(
                "Create a source with the scheme `{scheme}` and this secret, and give its URL to the sender. A source's scheme cannot be changed."
            )];
        }
        Finding::ChangedBody { .. } => &[
            "Find the proxy, function or framework between the sender and the gateway that rewrites the body. It must forward the body byte for byte.",
        ],
        Finding::ChangedUrl { .. } => &["Set the source's public URL to the one the sender calls."],
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
            "Check that both sides use the same secret, or rotate it to the sender's current secret.",
            "If you do not know the sender, the request is forged and was rejected correctly.",
        ],
    };
    lines.iter().copied().map(str::to_owned).collect()
}
