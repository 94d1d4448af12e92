//! Links that log a customer in to the portal: created with an API key, used once.

use postrider_domain::key::{ApiKey, KeyDigest};
use postrider_domain::portal::{PortalLink, PortalLinkDraft};

use crate::error::Conflict;
use crate::keyring::hex;
use crate::{GatewayError, Ports};

/// A created link with its token, which is shown only once.
#[derive(Debug)]
pub struct IssuedPortalLink {
    pub link: PortalLink,
    pub token: String,
}

/// Creates a link with the rights of `issuer`, as far as the draft wants them.
pub async fn create(
    ports: &Ports,
    issuer: &ApiKey,
    draft: PortalLinkDraft,
) -> Result<IssuedPortalLink, GatewayError> {
    let tenant = ports.store.tenant(&draft.tenant).await?;
    if tenant.is_some_and(|tenant| tenant.deletion.is_some()) {
        return Err(Conflict::TenantDeleted.into());
    }
    let token = hex(&ports.entropy.bytes::<32>());
    let link = draft.check(KeyDigest::of(&token), issuer.digest, ports.clock.now())?;
    ports.store.add_portal_link(link.clone()).await?;
    Ok(IssuedPortalLink { link, token })
}

/// Uses the link with this token: `None` if it is unknown, was used or has expired.
pub async fn redeem(ports: &Ports, token: &str) -> Result<Option<PortalLink>, GatewayError> {
    let (digest, now) = (KeyDigest::of(token), ports.clock.now());
    Ok(ports.store.use_portal_link(digest, now).await?)
}
