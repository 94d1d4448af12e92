//! KMS, without which the store has no data keys.

use serde_json::{Value, json};

use super::calls::Reply;

/// The only data key, which is its own ciphertext.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Answers a request to KMS.
///
/// # Panics
/// If the operation is unknown.
#[must_use]
pub fn key_service(operation: &str, request: &Value) -> Reply {
    let body = match operation {
        "GenerateDataKey" => json!({ "CiphertextBlob": KEY, "KeyId": "key", "Plaintext": KEY }),
        "Decrypt" => json!({ "KeyId": "key", "Plaintext": request["CiphertextBlob"] }),
        unknown => panic!("an unknown operation of KMS: {unknown}"),
    };
    Reply { status: 200, body }
}
