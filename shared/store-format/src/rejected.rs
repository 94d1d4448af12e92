//! The content of a rejected request, sealed: it may contain tokens, signatures and private data.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::inbound::Inbound;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Vault;

/// Everything except the body, as JSON. A header value can contain almost any byte; each is stored as the character with
/// that number.
#[derive(Serialize, Deserialize)]
struct Head {
    method: String,
    path: String,
    query: Option<String>,
    headers: Vec<(String, String)>,
}

/// The size of the length prefix.
const LENGTH: usize = 4;

/// Seals a request: the length of its head, the head, the body.
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

/// Opens a sealed request.
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

/// The item that a sealed value is bound to.
fn item(tenant: &TenantId, source: SourceId) -> String {
    format!("{tenant}/{source}/refused")
}

fn unreadable() -> Error {
    Error::Broken("a stored rejected request cannot be read".to_owned())
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
