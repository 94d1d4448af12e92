//! Links to the portal: one item each. A used one is marked, by a conditional write, and stays until it expires.

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use postrider_domain::ids::TenantId;
use postrider_domain::key::{KeyDigest, Scope};
use postrider_domain::portal::{LONGEST_ACCESS, PortalLink};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::portal_links::PortalLinks;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::item::{from_item, ms, seconds, to_item};
use super::keys::Key;
use crate::fault::unreadable;

#[derive(Serialize, Deserialize)]
struct Stored {
    tenant: String,
    scopes: Vec<Scope>,
    issuer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    created_at: Timestamp,
    /// To the millisecond, unlike `expires_at`, which is for time to live.
    valid_until: Timestamp,
}

#[derive(Deserialize)]
struct Ended {
    ended_at: Timestamp,
}

#[async_trait]
impl PortalLinks for DynamoStore {
    async fn add_portal_link(&self, link: PortalLink) -> Result<()> {
        let mut item = to_item(&Stored {
            tenant: link.tenant.as_str().to_owned(),
            scopes: link.scopes,
            issuer: HEXLOWER.encode(&link.issuer.0),
            return_url: link.return_url,
            created_at: link.created_at,
            valid_until: link.expires_at,
        })?;
        item.extend(Key::portal_link(link.digest).item());
        item.insert("expires_at".to_owned(), seconds(link.expires_at));
        self.put(Table::Configs, item, None).await?;
        Ok(())
    }

    async fn use_portal_link(
        &self,
        digest: KeyDigest,
        now: Timestamp,
    ) -> Result<Option<PortalLink>> {
        let unused = "attribute_not_exists(#used_at) AND #valid_until > :now";
        let unused = Condition::new(unused).with("now", ms(now));
        let change = Change::of(Table::Configs, Key::portal_link(digest))
            .set("used_at", ms(now))
            .only_if(unused);
        let Some(item) = self.change(change).await? else {
            return Ok(None);
        };
        let stored: Stored = from_item(item, "a link to the portal")?;
        read(digest, stored)
            .map(Some)
            .ok_or_else(|| unreadable("a link to the portal"))
    }

    async fn end_portal(&self, tenant: &TenantId, at: Timestamp) -> Result<()> {
        let ended = Change::of(Table::Configs, Key::ended_portal(tenant))
            .set("ended_at", ms(at))
            .set("expires_at", seconds(at.plus(LONGEST_ACCESS)));
        self.change(ended).await?;
        Ok(())
    }

    async fn portal_ended_at(&self, tenant: &TenantId) -> Result<Option<Timestamp>> {
        let found = self.get(Table::Configs, &Key::ended_portal(tenant)).await?;
        let ended = found.map(|item| from_item::<Ended>(item, "an ended portal"));
        Ok(ended.transpose()?.map(|ended| ended.ended_at))
    }
}

fn read(digest: KeyDigest, stored: Stored) -> Option<PortalLink> {
    let issuer = HEXLOWER.decode(stored.issuer.as_bytes()).ok()?;
    Some(PortalLink {
        digest,
        tenant: stored.tenant.parse().ok()?,
        scopes: stored.scopes,
        issuer: KeyDigest(issuer.try_into().ok()?),
        return_url: stored.return_url,
        created_at: stored.created_at,
        expires_at: stored.valid_until,
    })
}
