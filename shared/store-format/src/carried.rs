//! Sealed texts that clients carry and send back, such as session cookies and cursors.

use data_encoding::BASE64URL_NOPAD;
use postrider_domain::ids::TenantId;
use postrider_ports::Result;

use crate::Vault;

pub fn seal_text(vault: &Vault, tenant: &TenantId, purpose: &str, text: &str) -> Result<String> {
    let sealed = vault.seal(&about(tenant, purpose), text.as_bytes())?;
    Ok(BASE64URL_NOPAD.encode(&sealed))
}

/// The text that was sealed for this tenant and purpose. A client may present a forged one, so a text that does not open
/// is not an error.
#[must_use]
pub fn unseal_text(
    vault: &Vault,
    tenant: &TenantId,
    purpose: &str,
    sealed: &str,
) -> Option<String> {
    let sealed = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?;
    let text = vault.unseal(&about(tenant, purpose), &sealed).ok()?;
    String::from_utf8(text.to_vec()).ok()
}

/// Stored values are sealed for an item whose name has no zero byte, so the two cannot be confused.
fn about(tenant: &TenantId, purpose: &str) -> Vec<u8> {
    ["carried", tenant.as_str(), purpose]
        .join("\0")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carried_text_opens_for_its_tenant_and_purpose_alone() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        let (ours, theirs) = (TenantId::default(), "other".parse().unwrap());
        let sealed = seal_text(&vault, &ours, "session", "text").unwrap();
        let open = |tenant: &TenantId, purpose: &str, sealed: &str| {
            unseal_text(&vault, tenant, purpose, sealed)
        };
        assert_eq!(open(&ours, "session", &sealed).as_deref(), Some("text"));
        assert_eq!(open(&theirs, "session", &sealed), None);
        assert_eq!(open(&ours, "other", &sealed), None);
        for made_up in ["", "x", "!", &sealed[1..], &sealed.to_uppercase()] {
            assert_eq!(open(&ours, "session", made_up), None, "{made_up}");
        }
    }
}
