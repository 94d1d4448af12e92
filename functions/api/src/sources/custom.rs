//! A scheme that its owner describes.

use postrider_domain::scheme::CustomDraft;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::json::Whole;

/// How a sender signs, in the fields of the table of schemes. Places are `header:<name>`, `body:<JSON pointer>` or
/// `form:<field>`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CustomScheme)]
pub(crate) struct CustomInput {
    /// The header that holds signatures.
    #[schema(example = "x-acme-signature")]
    header: String,
    /// What stands before each of them, such as `sha256=`; at most 32 visible ASCII characters.
    #[serde(default)]
    prefix: Option<String>,
    /// What parts several of them: `,` unless set, `;` or a space.
    #[serde(default)]
    separator: Option<String>,
    /// `hex` unless set, `base64` or, for the digest `token`, `text`.
    #[serde(default)]
    encoding: Option<String>,
    /// `hmac-sha256` unless set, `hmac-sha1`, `hmac-sha512`, `sha256`, `ed25519`, `ecdsa-p256` or `token`.
    #[serde(default)]
    digest: Option<String>,
    /// The secret's form: `text` unless set, `base64`, `hex`, `whsec` or `whpk`.
    #[serde(default)]
    key: Option<String>,
    /// What is signed; `{body}` unless set.
    #[serde(default)]
    #[schema(example = "{timestamp}.{body}")]
    signed: Option<String>,
    /// The place of the time.
    #[serde(default)]
    timestamp: Option<String>,
    /// What stands before the time in a header that is a list, such as `t=`.
    #[serde(default)]
    timestamp_prefix: Option<String>,
    /// `seconds` unless set, `milliseconds` or `rfc3339`.
    #[serde(default)]
    timestamp_format: Option<String>,
    /// How far the time may lie from now, in seconds; 300 unless set.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 3600)]
    window_seconds: Option<Whole>,
    /// The place of the id that is signed.
    #[serde(default)]
    id: Option<String>,
    /// The places of the event's type; at most 4.
    #[serde(default)]
    event_type: Option<Vec<String>>,
    /// The places of the sender's id of a delivery; at most 4.
    #[serde(default)]
    delivery_id: Option<Vec<String>>,
}

impl From<CustomInput> for CustomDraft {
    fn from(given: CustomInput) -> Self {
        Self {
            header: given.header,
            prefix: given.prefix,
            separator: given.separator,
            encoding: given.encoding,
            digest: given.digest,
            key: given.key,
            signed: given.signed,
            timestamp: given.timestamp,
            timestamp_prefix: given.timestamp_prefix,
            timestamp_format: given.timestamp_format,
            window_seconds: given.window_seconds.map(|Whole(seconds)| seconds),
            id: given.id,
            event_type: given.event_type.unwrap_or_default(),
            delivery_id: given.delivery_id.unwrap_or_default(),
        }
    }
}
