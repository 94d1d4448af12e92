//! Signatures: Standard Webhooks (`webhook-signature`) and the plain HMAC of the body.

use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use crate::secret::SigningSecret;
use crate::time::Timestamp;

/// How far a timestamp may be from now.
pub const TOLERANCE_SECONDS: i64 = 300;
/// Further signatures of a request are ignored.
pub const MAX_SIGNATURES: usize = 10;

/// HMAC-SHA256 of the concatenated parts.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// `sha256=<hex>` of the body, keyed with the whole secret string.
#[must_use]
pub fn plain(secret: &SigningSecret, body: &[u8]) -> String {
    format!(
        "sha256={}",
        HEXLOWER.encode(&hmac(secret.expose().as_bytes(), &[body]))
    )
}

/// `v1,<base64>` per secret, separated by spaces.
#[must_use]
pub fn standard<'a>(
    secrets: impl Iterator<Item = &'a SigningSecret>,
    id: &str,
    timestamp_seconds: i64,
    body: &[u8],
) -> String {
    let timestamp = timestamp_seconds.to_string();
    let mut header = String::with_capacity(48);
    for secret in secrets {
        let mac = hmac(
            secret.key(),
            &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body],
        );
        if !header.is_empty() {
            header.push(' ');
        }
        header.push_str("v1,");
        BASE64.encode_append(&mac, &mut header);
    }
    header
}

/// Why a request is not genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forged {
    #[error("the timestamp is not a whole number of seconds")]
    BadTimestamp,
    #[error("the timestamp is more than {TOLERANCE_SECONDS} s from now")]
    OutOfWindow,
    #[error("no signature matches")]
    NoMatch,
}

/// A signed request, as received.
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signatures: &'a str,
    pub body: &'a [u8],
}

/// Checks a Standard Webhooks request against every live secret. All signatures are evaluated, and compared in
/// constant time.
pub fn verify_standard<'a>(
    request: SignedRequest<'_>,
    secrets: impl Iterator<Item = &'a SigningSecret> + Clone,
    now: Timestamp,
) -> Result<(), Forged> {
    let strict =
        !request.timestamp.is_empty() && request.timestamp.bytes().all(|b| b.is_ascii_digit());
    let seconds: i64 = request
        .timestamp
        .parse()
        .ok()
        .filter(|_| strict)
        .ok_or(Forged::BadTimestamp)?;
    if seconds.abs_diff(now.as_seconds()) > TOLERANCE_SECONDS.unsigned_abs() {
        return Err(Forged::OutOfWindow);
    }
    let signatures: Vec<Vec<u8>> = request
        .signatures
        .split(' ')
        .filter_map(|signature| {
            BASE64
                .decode(signature.strip_prefix("v1,")?.as_bytes())
                .ok()
        })
        .take(MAX_SIGNATURES)
        .collect();
    let mut matched = Choice::from(0);
    for secret in secrets {
        let parts: [&[u8]; 5] = [
            request.id.as_bytes(),
            b".",
            request.timestamp.as_bytes(),
            b".",
            request.body,
        ];
        let expected = hmac(secret.key(), &parts);
        for signature in &signatures {
            matched |= expected.as_slice().ct_eq(signature);
        }
    }
    if matched.into() {
        Ok(())
    } else {
        Err(Forged::NoMatch)
    }
}

/// Checks a `sha256=<hex>` header over the body.
pub fn verify_plain(header: &str, secret: &SigningSecret, body: &[u8]) -> Result<(), Forged> {
    let given = header
        .strip_prefix("sha256=")
        .and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok());
    let expected = hmac(secret.expose().as_bytes(), &[body]);
    let matched = given.is_some_and(|given| bool::from(expected.as_slice().ct_eq(&given)));
    if matched {
        Ok(())
    } else {
        Err(Forged::NoMatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::iter::once;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const AT: i64 = 1_614_265_330;

    fn secret() -> SigningSecret {
        SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(AT * 1000)
    }

    #[test]
    fn the_published_signature_of_standard_webhooks() {
        let header = standard(once(&secret()), ID, AT, BODY);
        assert_eq!(header, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let request = SignedRequest {
            id: ID,
            timestamp: "1614265330",
            signatures: &header,
            body: BODY,
        };
        assert_eq!(verify_standard(request, once(&secret()), now()), Ok(()));
    }

    #[test]
    fn both_secrets_of_a_rotation_verify() {
        let next = SigningSecret::from_key(&[3; 32]);
        let header = standard([&next, &secret()].into_iter(), ID, AT, BODY);
        let request = SignedRequest {
            id: ID,
            timestamp: "1614265330",
            signatures: &header,
            body: BODY,
        };
        assert_eq!(verify_standard(request, once(&secret()), now()), Ok(()));
        assert_eq!(verify_standard(request, once(&next), now()), Ok(()));
        assert_eq!(
            verify_standard(request, once(&SigningSecret::from_key(&[4; 32])), now()),
            Err(Forged::NoMatch)
        );
    }

    #[test]
    fn timestamps_are_strict_integers_within_the_window() {
        let check = |timestamp: &str, offset: i64| {
            let seconds = timestamp
                .trim()
                .trim_start_matches('+')
                .parse()
                .unwrap_or(0);
            let header = standard(once(&secret()), ID, seconds, BODY);
            let request = SignedRequest {
                id: ID,
                timestamp,
                signatures: &header,
                body: BODY,
            };
            verify_standard(
                request,
                once(&secret()),
                Timestamp::from_millis((AT + offset) * 1000),
            )
        };
        assert_eq!(check("1614265330", 300), Ok(()));
        assert_eq!(check("1614265330", -300), Ok(()));
        assert_eq!(check("1614265330", 301), Err(Forged::OutOfWindow));
        assert_eq!(check("1614265330", -301), Err(Forged::OutOfWindow));
        for bad in [
            "",
            "+1614265330",
            " 1614265330",
            "1614265330.0",
            "0x6037bf32",
            "-1",
        ] {
            assert_eq!(check(bad, 0), Err(Forged::BadTimestamp), "{bad}");
        }
    }

    #[test]
    fn the_plain_signature_is_keyed_with_the_whole_string() {
        let header = plain(&secret(), b"Hello");
        assert_eq!(verify_plain(&header, &secret(), b"Hello"), Ok(()));
        assert_eq!(
            verify_plain(&header, &secret(), b"Hellp"),
            Err(Forged::NoMatch)
        );
        assert_eq!(
            verify_plain("sha256=", &secret(), b"Hello"),
            Err(Forged::NoMatch)
        );
    }

    proptest! {
        #[test]
        fn one_flipped_bit_breaks_a_signature(body in proptest::collection::vec(any::<u8>(), 1..64), bit: usize) {
            let header = standard(once(&secret()), ID, AT, &body);
            let verify = |id: &str, signatures: &str, body: &[u8]| {
                let request = SignedRequest { id, timestamp: "1614265330", signatures, body };
                verify_standard(request, once(&secret()), now())
            };
            prop_assert_eq!(verify(ID, &header, &body), Ok(()));

            let mut other_body = body.clone();
            let at = bit % (body.len() * 8);
            other_body[at / 8] ^= 1 << (at % 8);
            prop_assert_eq!(verify(ID, &header, &other_body), Err(Forged::NoMatch));

            let mut mac = BASE64.decode(&header.as_bytes()[3..]).unwrap();
            mac[bit % 32] ^= 1 << (bit % 8);
            prop_assert_eq!(verify(ID, &format!("v1,{}", BASE64.encode(&mac)), &body), Err(Forged::NoMatch));

            let mut other_id = ID.as_bytes().to_vec();
            let at = bit % ID.len();
            other_id[at] ^= 1;
            prop_assert_eq!(verify(&String::from_utf8(other_id).unwrap(), &header, &body), Err(Forged::NoMatch));
        }
    }
}
