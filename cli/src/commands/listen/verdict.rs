//! Verifies every signature of a request.

use http::HeaderMap;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature::{SignedRequest, verify_plain, verify_standard};
use postrider_domain::time::Timestamp;
use serde::Serialize;

const PLAIN_HEADERS: [&str; 2] = ["x-observatory-signature", "x-webhook-signature"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "reason")]
pub(super) enum Verdict {
    /// Every signature is valid.
    Genuine,
    /// It has no signature.
    Unsigned,
    /// There is no secret to verify with.
    Unverified,
    /// A signature is not valid; with the header and the reason.
    Forged(String),
}

pub(super) fn verify(
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[SigningSecret],
    now: Timestamp,
) -> Verdict {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let standard = text("webhook-signature");
    let plain: Vec<(&str, &str)> = PLAIN_HEADERS
        .into_iter()
        .filter_map(|name| Some((name, text(name)?)))
        .collect();
    if standard.is_none() && plain.is_empty() {
        return Verdict::Unsigned;
    }
    if secrets.is_empty() {
        return Verdict::Unverified;
    }
    if let Some(signatures) = standard {
        let (Some(id), Some(timestamp)) = (text("webhook-id"), text("webhook-timestamp")) else {
            return Verdict::Forged("webhook-id or webhook-timestamp is missing".to_owned());
        };
        let request = SignedRequest {
            id,
            timestamp,
            signatures,
            body,
        };
        if let Err(forged) = verify_standard(request, secrets.iter(), now) {
            return Verdict::Forged(format!("webhook-signature: {forged}"));
        }
    }
    let invalid = plain.iter().find(|(_, header)| {
        !secrets
            .iter()
            .any(|secret| verify_plain(header, secret, body).is_ok())
    });
    match invalid {
        Some((name, _)) => Verdict::Forged(format!("{name}: no signature matches")),
        None => Verdict::Genuine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::signature::{plain, standard};

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn signed(secret: &SigningSecret, body: &[u8]) -> HeaderMap {
        let seconds = NOW.as_seconds();
        let mut headers = HeaderMap::new();
        let signature = standard(std::iter::once(secret), "dlv_1", seconds, body);
        headers.insert("webhook-id", "dlv_1".parse().unwrap());
        headers.insert("webhook-timestamp", seconds.to_string().parse().unwrap());
        headers.insert("webhook-signature", signature.parse().unwrap());
        headers.insert(
            "x-observatory-signature",
            plain(secret, body).parse().unwrap(),
        );
        headers
    }

    #[test]
    fn every_signature_must_be_valid() {
        let secrets = [SigningSecret::from_key(&[1; 32])];
        let headers = signed(&secrets[0], b"x");
        assert_eq!(verify(&headers, b"x", &secrets, NOW), Verdict::Genuine);
        assert!(
            matches!(verify(&headers, b"y", &secrets, NOW), Verdict::Forged(why) if why.contains("no signature"))
        );
        let mut only_plain_wrong = headers.clone();
        only_plain_wrong.insert("x-observatory-signature", "sha256=00".parse().unwrap());
        let verdict = verify(&only_plain_wrong, b"x", &secrets, NOW);
        assert!(matches!(verdict, Verdict::Forged(why) if why.starts_with("x-observatory")));
        let mut without_id = headers;
        without_id.remove("webhook-id");
        assert!(
            matches!(verify(&without_id, b"x", &secrets, NOW), Verdict::Forged(why) if why.contains("missing"))
        );
    }

    #[test]
    fn a_request_without_signature_or_secret_is_not_verified() {
        let secrets = [SigningSecret::from_key(&[1; 32])];
        assert_eq!(
            verify(&HeaderMap::new(), b"x", &secrets, NOW),
            Verdict::Unsigned
        );
        assert_eq!(
            verify(&signed(&secrets[0], b"x"), b"x", &[], NOW),
            Verdict::Unverified
        );
    }
}
