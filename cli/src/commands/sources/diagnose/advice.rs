//! What to do about a finding.

use super::rejected::Finding;

/// What to do, for this source or for a captured request without one; none for unknown findings.
pub(super) fn advice(finding: &Finding, source: Option<&str>) -> Option<String> {
    let id = source.unwrap_or("src_…");
    Some(match finding.kind.as_str() {
        "matches" => "ask the sender to send it again; it would be accepted now".to_owned(),
        "clock" => "correct the clock that is wrong (`postrider doctor` checks the gateway's); if this is an old request \
                    sent again, it was rejected correctly"
            .to_owned(),
        "bad_time" => "have the sender include the time of the request in the format of the scheme".to_owned(),
        "old_secret" => format!(
            "give the sender the current secret, or set the sender's secret here: postrider sources rotate-secret {id}"
        ),
        "other_scheme" => {
            let scheme = finding.scheme.as_deref().unwrap_or("SCHEME");
            format!(
                "create a source with that scheme and give its address to the sender: postrider sources create --scheme {scheme}"
            )
        }
        "changed_body" => "make sure that proxies, functions and frameworks between the sender and the gateway forward the \
                           body byte for byte; one of them rewrites it"
            .to_owned(),
        "changed_url" => format!(
            "set the URL that the sender calls: postrider sources update {id} --public-url URL"
        ),
        "missing" => "configure the secret at the sender so that it signs, or find what drops the header in transit"
            .to_owned(),
        "other_form" => "check which scheme or version the sender uses; it does not match this source's".to_owned(),
        "nothing" => format!(
            "check that both sides use the same secret, or rotate it: postrider sources rotate-secret {id}. If you do \
             not know the sender, the request is forged and was rejected correctly"
        ),
        "body_cut" => "the request is too large to be stored completely; capture it and run \
                       postrider sources diagnose --request FILE"
            .to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::diagnosis::{BodyChange, Finding as Found, UrlChange};

    #[test]
    fn every_finding_has_advice() {
        let expected = "header".to_owned();
        for found in [
            Found::Matches,
            Found::Clock { seconds_off: -400 },
            Found::BadTime,
            Found::OldSecret,
            Found::OtherScheme { scheme: "stripe" },
            Found::ChangedBody {
                change: BodyChange::Compact,
            },
            Found::ChangedUrl {
                change: UrlChange::PortCut,
            },
            Found::Missing {
                expected: expected.clone(),
            },
            Found::OtherForm { expected },
            Found::BodyCut,
            Found::Nothing,
        ] {
            let finding = super::super::captured::told(&found);
            assert!(advice(&finding, Some("src_1")).is_some(), "{finding:?}");
        }
        let other = super::super::captured::told(&Found::OtherScheme { scheme: "stripe" });
        assert!(advice(&other, None).unwrap().contains("--scheme stripe"));
    }
}
