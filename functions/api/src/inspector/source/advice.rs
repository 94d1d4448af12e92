//! What a finding means for whoever has to put it right.

use postrider_domain::diagnosis::Finding;

/// A finding with what to do about it.
pub(super) struct Explained {
    pub(super) title: String,
    pub(super) meaning: String,
    pub(super) advice: Vec<String>,
}

/// What would have matched, and what to do.
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
            "What was wrong then is right now, such as a secret that came since.".to_owned(),
        ),
        Finding::Clock { seconds_off } => {
            let way = if *seconds_off < 0 {
                "behind"
            } else {
                "ahead of"
            };
            let meaning = format!(
                "The signature is right, but its time is {} s {way} the gateway's.",
                seconds_off.unsigned_abs()
            );
            ("Wrong clock, or sent again", meaning)
        }
        Finding::BadTime => (
            "No time that can be read",
            "The signature is right, but the time is missing or not in the form of the scheme."
                .to_owned(),
        ),
        Finding::OldSecret => (
            "Signed with an old secret",
            "The sender still uses a secret that was replaced and is valid no more.".to_owned(),
        ),
        Finding::OtherScheme { scheme } => (
            "Right secret, another scheme",
            format!("The sender signs as the scheme `{scheme}` does."),
        ),
        Finding::ChangedBody { change } => (
            "The body was written anew on the way",
            format!("The signature is right for another body: {change}."),
        ),
        Finding::ChangedUrl { change } => (
            "Signed for another URL",
            format!("The signature is right for another URL: {change}."),
        ),
        Finding::Missing { expected } => {
            ("Something is missing", format!("Expected was {expected}."))
        }
        Finding::OtherForm { expected } => (
            "A signature in another form",
            format!("Expected was {expected}."),
        ),
        Finding::BodyCut => (
            "Too long to be looked at",
            "The body was not kept whole, so no signature over it can be looked at.".to_owned(),
        ),
        Finding::Nothing => (
            "Nothing that was tried matches",
            "No old secret, no other scheme, no rewritten body and no wrong clock explains it."
                .to_owned(),
        ),
    };
    (title.to_owned(), meaning)
}

fn advice(finding: &Finding) -> Vec<String> {
    let lines: &[&str] = match finding {
        Finding::Matches => &["Let the sender send it again."],
        Finding::Clock { .. } => &[
            "Set the clock that is wrong: the sender's, or this machine's (`postrider doctor` looks at it).",
            "An old request that somebody sent again is rightly refused.",
        ],
        Finding::BadTime => &["Let the sender name the time as the scheme has it."],
        Finding::OldSecret => &[
            "Enter the present secret at the sender.",
            "If only the sender's is known, make it the source's: Rotate…",
        ],
        Finding::OtherScheme { scheme } => {
            return vec![format!(
                "Make a new source with the scheme `{scheme}` and this secret, and give its address to the sender: the scheme of a source cannot be changed."
            )];
        }
        Finding::ChangedBody { .. } => &[
            "Look for what stands between sender and gateway and reads the body: a proxy, a function, a framework. It must pass the bytes on as they came.",
        ],
        Finding::ChangedUrl { .. } => {
            &["Edit the source: its public URL must be the one that the sender calls."]
        }
        Finding::Missing { .. } => &[
            "Enter the secret at the sender, so that it signs.",
            "Look for a proxy that drops the header on the way.",
        ],
        Finding::OtherForm { .. } => {
            &["See which scheme or version the sender uses: it is not this source's."]
        }
        Finding::BodyCut => &[
            "Capture the request and try `postrider sources diagnose --request FILE`.",
            "If it was too large, let the sender send less.",
        ],
        Finding::Nothing => &[
            "Compare the secrets; take the sender's anew: Rotate…",
            "If you do not know the sender, it is forged and rightly refused.",
        ],
    };
    lines.iter().copied().map(str::to_owned).collect()
}
