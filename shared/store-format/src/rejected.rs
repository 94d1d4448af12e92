//! What a refused request said, sealed: it may hold tokens, signatures and what somebody did not want to be read.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::inbound::Inbound;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Vault;

/// Everything but the body, as JSON. A header's value is any bytes but those that end it; each stands here as the
/// character of its number.
#[derive(Serialize, Deserialize)]
struct Head {
    method: String,
    path: String,
    query: Option<String>,
    headers: Vec<(String, String)>,
}

/// How many bytes say how long the head is.
const LENGTH: usize = 4;

/// Seals a request to a source: the length of its head, the head, the body.
///
/// # Errors
/// When it could not be sealed.
pub fn seal_request(
    vault: &Vault,
    tenant: &TenantId,
    source: SourceId,
    request: &Inbound,
) -> Result<Vec<u8>> {
    let text = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect();
    let headers = request.headers.iter();
    let head = Head {
        method: request.method.to_string(),
        path: request.path.clone(),
        query: request.query.clone(),
        headers: headers
            .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
            .collect(),
    };
    let head = Zeroizing::new(serde_json::to_vec(&head).map_err(|_| unreadable())?);
    let length = u32::try_from(head.len()).map_err(|_| unreadable())?;
    let parts = [&length.to_be_bytes()[..], &head, &request.body];
    let plain = Zeroizing::new(parts.concat());
    vault.seal(item(tenant, source).as_bytes(), &plain)
}

/// The request again.
///
/// # Errors
/// When it was not sealed for this source, or cannot be understood.
pub fn unseal_request(
    vault: &Vault,
    tenant: &TenantId,
    source: SourceId,
    sealed: &[u8],
) -> Result<Inbound> {
    let plain = vault.unseal(item(tenant, source).as_bytes(), sealed)?;
    let (length, rest) = plain.split_first_chunk::<LENGTH>().ok_or_else(unreadable)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| unreadable())?;
    let (head, body) = rest.split_at_checked(length).ok_or_else(unreadable)?;
    let head: Head = serde_json::from_slice(head).map_err(|_| unreadable())?;
    Ok(Inbound {
        method: Method::from_bytes(head.method.as_bytes()).map_err(|_| unreadable())?,
        path: head.path,
        query: head.query,
        headers: headers(head.headers).ok_or_else(unreadable)?,
        body: Bytes::copy_from_slice(body),
    })
}

fn headers(written: Vec<(String, String)>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(written.len());
    for (name, value) in written {
        let value: Option<Vec<u8>> = value.chars().map(|char| u8::try_from(char).ok()).collect();
        headers.append(
            HeaderName::try_from(name).ok()?,
            HeaderValue::from_bytes(&value?).ok()?,
        );
    }
    Some(headers)
}

/// What a sealed value is bound to: moved to another source it does not open.
fn item(tenant: &TenantId, source: SourceId) -> String {
    format!("{tenant}/{source}/refused")
}

fn unreadable() -> Error {
    Error::Broken("a refused request that was kept cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_byte_for_byte() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        let mut sent = Inbound::post(HeaderMap::new(), Bytes::from_static(b"\xff\x00{}"));
        sent.path = "/gateway/webhooks/src_1".to_owned();
        sent.query = Some("a=%22\"".to_owned());
        for value in [&b"sha256=00"[..], b"second", b"\xff\t\"\xe4"] {
            let value = HeaderValue::from_bytes(value).unwrap();
            sent.headers.append("x-hub-signature-256", value);
        }
        let (tenant, source) = (TenantId::default(), SourceId::from_bytes([1; 16]));
        let sealed = seal_request(&vault, &tenant, source, &sent).unwrap();
        let opened = unseal_request(&vault, &tenant, source, &sealed).unwrap();
        assert_eq!(opened, sent);
        let other = SourceId::from_bytes([2; 16]);
        assert!(unseal_request(&vault, &tenant, other, &sealed).is_err());
    }
}
