//! What to do about a finding.

use super::rejected::Finding;

/// What to do, for the source of this id, or for a captured request without one; nothing for what is not known here.
pub(super) fn advice(finding: &Finding, source: Option<&str>) -> Option<String> {
    let id = source.unwrap_or("src_…");
    Some(match finding.kind.as_str() {
        "matches" => "ask the sender to send it again: it would be accepted now".to_owned(),
        "clock" => "set the clock that is wrong (`postrider doctor` looks at the gateway's); an old request that was \
                    sent again is rightly refused"
            .to_owned(),
        "bad_time" => "let the sender name the time of the request in the form of the scheme".to_owned(),
        "old_secret" => format!(
            "give the sender the present secret, or the source that of the sender: postrider sources rotate-secret {id}"
        ),
        "other_scheme" => {
            let scheme = finding.scheme.as_deref().unwrap_or("SCHEME");
            format!(
                "make a source of that scheme and give its address to the sender: postrider sources create --scheme {scheme}"
            )
        }
        "changed_body" => "let whatever stands between sender and gateway pass the body on byte for byte: a proxy, a \
                           function or a framework reads it and writes it anew"
            .to_owned(),
        "changed_url" => format!(
            "name the URL that the sender calls: postrider sources update {id} --public-url URL"
        ),
        "missing" => "enter the secret at the sender, so that it signs; or look for what drops the header on the way"
            .to_owned(),
        "other_form" => "look which scheme or version the sender uses: what it sends is not of this source's".to_owned(),
        "nothing" => format!(
            "compare the secrets; take the sender's anew: postrider sources rotate-secret {id}. If you do not know the \
             sender, the request is forged and rightly refused"
        ),
        "body_cut" => "the request is too long to be kept whole: capture it and try \
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
    fn there_is_something_to_do_about_every_finding() {
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
