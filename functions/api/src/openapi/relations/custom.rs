//! How the fields of a custom scheme depend on each other.

use postrider_api_types::schema::{BodyPlace, Signing, ValuePlace, one_of, signed_template};
use postrider_domain::scheme::{Digest, Encoding, KeyForm};
use utoipa::PartialSchema;
use utoipa::openapi::schema::{AllOfBuilder, Schema};

use super::{Variant, one_of_variants, or_null, reference};

/// The digest decides about key and encoding. What is signed has a place, and what is not signed has none: a header that
/// is not signed can be forged.
pub(super) fn scheme(mut all: Variant) -> Schema {
    let description = all.take_description();
    let narrowed = ["digest", "encoding", "key", "signed", "timestamp", "id"];
    let Variant(fields) = narrowed.into_iter().fold(all, Variant::with_any_text);
    AllOfBuilder::new()
        .description(description)
        .item(fields)
        .item(one_of_variants(by_digest()))
        .item(one_of_variants(by_signing()))
        .into()
}

const SHARED_DIGESTS: [Digest; 4] = [
    Digest::HmacSha256,
    Digest::HmacSha1,
    Digest::HmacSha512,
    Digest::Sha256,
];
const SHARED_KEYS: [KeyForm; 4] = [KeyForm::Text, KeyForm::Base64, KeyForm::Hex, KeyForm::Whsec];
const ED25519_KEYS: [KeyForm; 3] = [KeyForm::Hex, KeyForm::Base64, KeyForm::Whpk];

fn by_digest() -> [Variant; 4] {
    let shared_keys = || or_null(one_of(SHARED_KEYS.map(KeyForm::name)));
    let one = |name: &str| Schema::from(one_of([name]));
    let encodings = [Encoding::Hex, Encoding::Base64].map(Encoding::name);
    let encoded = Variant::default().with("encoding", or_null(one_of(encodings)));
    let token = Variant::default()
        .with("digest", one(Digest::Token.name()))
        .with("encoding", one(Encoding::Text.name()))
        .with("key", shared_keys())
        .without("signed")
        .require(["digest", "encoding"]);
    let shared = encoded
        .clone()
        .with("digest", or_null(one_of(SHARED_DIGESTS.map(Digest::name))))
        .with("key", shared_keys());
    let ed25519 = encoded
        .clone()
        .with("digest", one(Digest::Ed25519.name()))
        .with("key", Schema::from(one_of(ED25519_KEYS.map(KeyForm::name))))
        .require(["digest", "key"]);
    let ecdsa = encoded
        .with("digest", one(Digest::EcdsaP256.name()))
        .with("key", one(KeyForm::Base64.name()))
        .require(["digest", "key"]);
    [token, shared, ed25519, ecdsa]
}

fn by_signing() -> [Variant; 4] {
    let template = |timestamp, id| signed_template(Signing { timestamp, id });
    let place = reference::<ValuePlace>;
    let unsigned_time = || or_null(BodyPlace::schema());
    let body = Variant::default()
        .with("signed", or_null(template(false, false)))
        .with("timestamp", unsigned_time())
        .without("id");
    let id = Variant::default()
        .with("signed", Schema::from(template(false, true)))
        .with("timestamp", unsigned_time())
        .with("id", place())
        .require(["signed", "id"]);
    let timestamp = Variant::default()
        .with("signed", Schema::from(template(true, false)))
        .with("timestamp", place())
        .without("id")
        .require(["signed", "timestamp"]);
    let both = Variant::default()
        .with("signed", Schema::from(template(true, true)))
        .with("timestamp", place())
        .with("id", place())
        .require(["signed", "timestamp", "id"]);
    [body, id, timestamp, both]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use postrider_domain::scheme::{CustomDraft, Digest, Encoding, KeyForm};
    use serde_json::Value;

    use super::super::tests::requires;
    use super::{by_digest, by_signing};

    #[test]
    fn the_key_of_a_custom_scheme_fits_its_digest() {
        for digest in Digest::names() {
            let fits = by_digest()
                .map(|variant| serde_json::to_value(variant.0).unwrap())
                .into_iter()
                .filter(|variant| choices(variant, "digest").contains(digest));
            let [variant] = fits.collect::<Vec<_>>().try_into().unwrap();
            for (encoding, key) in
                Encoding::names().flat_map(|e| KeyForm::names().map(move |k| (e, k)))
            {
                let documented = choices(&variant, "encoding").contains(encoding)
                    && choices(&variant, "key").contains(key);
                let draft = CustomDraft {
                    header: "x-signature".to_owned(),
                    digest: Some(digest.to_owned()),
                    encoding: Some(encoding.to_owned()),
                    key: Some(key.to_owned()),
                    ..CustomDraft::default()
                };
                let accepted = draft.check().is_ok();
                assert_eq!(documented, accepted, "{digest}, {encoding}, {key}");
            }
        }
    }

    fn choices(variant: &Value, field: &str) -> BTreeSet<String> {
        let schema = &variant["properties"][field];
        let lists = [&schema["enum"], &schema["oneOf"][0]["enum"]];
        let names = lists.into_iter().filter_map(Value::as_array).flatten();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_a_custom_scheme_signs_has_a_place() {
        let signed = by_signing()
            .map(|variant| serde_json::to_value(variant.0).unwrap())
            .map(|variant| (requires(&variant, "timestamp"), requires(&variant, "id")));
        let expected = [(false, false), (false, true), (true, false), (true, true)];
        assert_eq!(signed, expected);
    }
}
