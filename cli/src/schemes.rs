//! Looks up schemes, and derives the keys that sign samples.

use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use postrider_domain::scheme::{CUSTOM, CustomDraft, Digest, Scheme, Way};
use postrider_domain::secret::SharedSecret;
use postrider_samples::{self as sample, SampleKeys};

use crate::failure::Failure;
use crate::hidden::Hidden;

const PRIVATE_PREFIX: &str = "whsk_";
const SEED_BYTES: usize = 32;

/// The scheme of this name; `custom` is defined by the draft.
pub(crate) fn scheme(name: &str, custom: Option<CustomDraft>) -> Result<Arc<Scheme>, Failure> {
    match custom {
        Some(draft) if name == CUSTOM => draft
            .check()
            .map(Arc::new)
            .map_err(|faults| Failure::Input(faults.to_string())),
        Some(_) | None => Scheme::named(name)
            .map_err(|error| Failure::Input(format!("the scheme `{name}` {error}"))),
    }
}

/// Whether the sender signs with a private key that the source does not know.
pub(crate) fn has_key_pair(way: &Way) -> bool {
    matches!(way.digest, Digest::Ed25519 | Digest::EcdsaP256)
}

/// The keys for one way of signing, from this secret or private key.
pub(crate) fn keys(way: &Way, secret: &Hidden) -> Option<SampleKeys> {
    if has_key_pair(way) {
        return sample::keys_for(way, &private_key(secret.expose())?);
    }
    SharedSecret::parse(secret.expose())
        .ok()
        .map(SampleKeys::of)
}

/// What a secret for this scheme must be, if this one cannot be used.
pub(crate) fn misfit(scheme: &Scheme, secret: &Hidden) -> Option<String> {
    if scheme.ways.iter().any(|way| is_usable(way, secret)) {
        return None;
    }
    if scheme.ways.iter().all(has_key_pair) {
        let name = scheme.name;
        return Some(format!(
            "must be the private key to sign as `{name}`: 32 bytes in hexadecimal or base64"
        ));
    }
    match SharedSecret::parse(secret.expose()) {
        Ok(shared) => scheme.check_secret(&shared).err().map(|e| e.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

fn is_usable(way: &Way, secret: &Hidden) -> bool {
    let alone = Scheme {
        ways: vec![way.clone()],
        ..Scheme::default()
    };
    keys(way, secret).is_some_and(|keys| alone.check_secret(&keys.secret).is_ok())
}

/// 32 bytes in hexadecimal or base64, or in the form of Standard Webhooks: `whsk_` and base64, optionally with the public
/// key appended.
fn private_key(text: &str) -> Option<[u8; SEED_BYTES]> {
    let text = text.trim();
    let bytes = match text.strip_prefix(PRIVATE_PREFIX) {
        Some(encoded) => BASE64.decode(encoded.as_bytes()).ok()?,
        None => HEXLOWER_PERMISSIVE
            .decode(text.as_bytes())
            .or_else(|_| BASE64.decode(text.as_bytes()))
            .ok()?,
    };
    let seed = match bytes.len() {
        SEED_BYTES => Some(bytes.as_slice()),
        64 if text.starts_with(PRIVATE_PREFIX) => bytes.get(..SEED_BYTES),
        _ => None,
    };
    seed?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Hidden {
        text.to_owned().into()
    }

    #[test]
    fn a_private_key_has_32_bytes_in_any_supported_form() {
        let seed = [7_u8; SEED_BYTES];
        let long = [seed, [9; SEED_BYTES]].concat();
        for text in [
            "07".repeat(SEED_BYTES),
            BASE64.encode(&seed),
            format!("{PRIVATE_PREFIX}{}", BASE64.encode(&seed)),
            format!("{PRIVATE_PREFIX}{}\n", BASE64.encode(&long)),
        ] {
            assert_eq!(private_key(&text), Some(seed), "{text}");
        }
        for bad in ["", "07", "whsk_", "x", &BASE64.encode(&long)] {
            assert_eq!(private_key(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_unusable_secret_is_explained_without_being_quoted() {
        for (name, secret, part) in [
            ("standard", "canary!", "whsec_"),
            ("discord", "canary!", "the private key"),
            ("github", "", "1 to 1024 bytes"),
        ] {
            let scheme = scheme(name, None).unwrap();
            let reason = misfit(&scheme, &hidden(secret)).unwrap();
            assert!(
                reason.contains(part) && !reason.contains("canary"),
                "{reason}"
            );
        }
        let private = "07".repeat(SEED_BYTES);
        for (name, secret) in [("github", "anything"), ("discord", private.as_str())] {
            let scheme = scheme(name, None).unwrap();
            assert_eq!(misfit(&scheme, &hidden(secret)), None, "{name}");
        }
    }
}
