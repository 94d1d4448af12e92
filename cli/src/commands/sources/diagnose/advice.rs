//! What to do about a finding.

use postrider_api_types::rejected::FindingKind;

/// What to do, for this source or for a captured request without one; none for unknown findings.
pub(super) fn advice(finding: &FindingKind, source: Option<&str>) -> Option<String> {
    let id = source.unwrap_or("src_…");
    Some(match finding {
        FindingKind::Matches => "ask the sender to send it again; it would be accepted now".to_owned(),
        FindingKind::Clock { .. } => "correct the clock that is wrong (`postrider doctor` checks the gateway's); if this is an old request \
                    sent again, it was rejected correctly"
            .to_owned(),
        FindingKind::BadTime => "have the sender include the time of the request in the format of the scheme".to_owned(),
        FindingKind::OldSecret => format!(
            "give the sender the current secret, or set the sender's secret here: postrider sources rotate-secret {id}"
        ),
        FindingKind::OtherScheme { scheme } => format!(
            "create a source with that scheme and give its address to the sender: postrider sources create --scheme {scheme}"
        ),
        FindingKind::ChangedBody { .. } => "make sure that proxies, functions and frameworks between the sender and the gateway forward the \
                           body byte for byte; one of them rewrites it"
            .to_owned(),
        FindingKind::ChangedUrl { .. } => format!(
            "set the URL that the sender calls: postrider sources update {id} --public-url URL"
        ),
        FindingKind::Missing { .. } => "configure the secret at the sender so that it signs, or find what drops the header in transit"
            .to_owned(),
        FindingKind::OtherForm { .. } => "check which scheme or version the sender uses; it does not match this source's".to_owned(),
        FindingKind::Nothing => format!(
            "check that both sides use the same secret, or rotate it: postrider sources rotate-secret {id}. If you do \
             not know the sender, the request is forged and was rejected correctly"
        ),
        FindingKind::BodyCut => "the request is too large to be stored completely; capture it and run \
                       postrider sources diagnose --request FILE"
            .to_owned(),
        FindingKind::Unknown => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_scheme_and_the_source() {
        let scheme = "stripe".to_owned();
        let other = advice(&FindingKind::OtherScheme { scheme }, None);
        assert!(other.unwrap().contains("--scheme stripe"));
        let old = advice(&FindingKind::OldSecret, Some("src_1"));
        assert!(old.unwrap().contains("rotate-secret src_1"));
        assert_eq!(advice(&FindingKind::Unknown, None), None);
    }
}
