//! A scheme in words: what is signed, how, and where the signature is.

use postrider_domain::scheme::{Digest, Encoding, Part, Scheme, Way};

/// One sentence per signature, and one on the timestamp.
pub(super) fn of(scheme: &Scheme) -> Vec<String> {
    let mut sentences: Vec<_> = scheme.ways.iter().map(way).collect();
    let mut windows = scheme.ways.iter().filter_map(|way| way.time.as_ref());
    if let Some(seconds) = windows.find_map(|time| time.window_seconds) {
        sentences.push(format!("The timestamp may differ by up to {seconds} s."));
    }
    sentences.dedup();
    sentences
}

fn way(way: &Way) -> String {
    let written = match way.encoding {
        Encoding::Hex => "lowercase hex",
        Encoding::Base64 => "base64",
        Encoding::Text => "secret",
    };
    let places: Vec<_> = way
        .signature
        .iter()
        // The page shows this as plain text, without code style.
        .map(|field| field.shape(written).replace('`', ""))
        .collect();
    let places = places.join(" or ");
    match digest(way.digest) {
        Some(digest) => format!("{digest} over {}, in {places}.", covered(&way.signed)),
        None => format!("The secret itself, in {places}."),
    }
}

const fn digest(digest: Digest) -> Option<&'static str> {
    Some(match digest {
        Digest::HmacSha1 => "HMAC-SHA1",
        Digest::HmacSha256 => "HMAC-SHA256",
        Digest::HmacSha512 => "HMAC-SHA512",
        Digest::Sha256 => "SHA-256 with the secret",
        Digest::Ed25519 => "Ed25519",
        Digest::EcdsaP256 => "ECDSA P-256",
        Digest::Token => return None,
    })
}

fn covered(parts: &[Part]) -> String {
    let named = parts.iter().filter_map(|part| match part {
        Part::Text(_) => None,
        Part::Time => Some("time"),
        Part::Id => Some("id"),
        Part::Method => Some("method"),
        Part::Url(_) => Some("URL"),
        Part::Body => Some("body"),
        Part::SortedForm => Some("form fields"),
        Part::HashedBody => Some("body digest"),
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_described() {
        for scheme in Scheme::all() {
            let sentences = of(scheme);
            assert!(!sentences.is_empty(), "{}", scheme.name);
            for sentence in sentences {
                assert!(!sentence.contains("over ,"), "{}: {sentence}", scheme.name);
            }
        }
        let github = Scheme::named("github").unwrap();
        let sentence =
            "HMAC-SHA256 over body, in header x-hub-signature-256: sha256=<lowercase hex>.";
        assert_eq!(of(&github), [sentence]);
    }
}
