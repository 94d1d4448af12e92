//! The first API key, which comes with a deployment.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_ports::Result;
use postrider_ports::first_key::FirstKey;

use crate::stage::Stage;

const TOKEN: &str = "the key that came with the deployment";

/// A deployment with this key.
struct Deployment(&'static str);

#[async_trait]
impl FirstKey for Deployment {
    async fn is_first(&self, token: &str) -> Result<bool> {
        Ok(token == self.0)
    }
}

#[tokio::test]
async fn the_first_key_is_stored_with_all_scopes_on_first_use() {
    let stage = Stage::set().await;
    let keyring = &stage.gateway.keyring;
    assert!(keyring.recognise(TOKEN).await.unwrap().is_none());
    keyring.welcome(Arc::new(Deployment(TOKEN)));
    assert!(keyring.recognise("another key").await.unwrap().is_none());
    let key = keyring.recognise(TOKEN).await.unwrap().unwrap();
    assert_eq!(
        (&key.tenant, key.scopes.as_slice()),
        (&TenantId::default(), Scope::ALL.as_slice())
    );
    stage.clock.advance(Millis::from_seconds(60));
    assert!(keyring.recognise(TOKEN).await.unwrap().is_some());
    assert_eq!(keyring.list(&key.tenant).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_new_first_key_replaces_the_old_one() {
    let stage = Stage::set().await;
    let keyring = &stage.gateway.keyring;
    let tenant = TenantId::default();
    let old = keyring.replace(&tenant, "POSTRIDER_FIRST_KEY_SECRET", "old".to_owned());
    old.await.unwrap();
    let other = keyring.create(&tenant, "another key", vec![Scope::Read]);
    let other = other.await.unwrap();
    keyring.welcome(Arc::new(Deployment(TOKEN)));
    assert!(keyring.recognise(TOKEN).await.unwrap().is_some());
    assert!(keyring.recognise("old").await.unwrap().is_none());
    assert!(keyring.recognise(&other.token).await.unwrap().is_some());
}

#[tokio::test]
async fn a_first_key_that_was_revoked_stays_revoked_until_there_is_another() {
    let stage = Stage::set().await;
    let keyring = &stage.gateway.keyring;
    keyring.welcome(Arc::new(Deployment(TOKEN)));
    let key = keyring.recognise(TOKEN).await.unwrap().unwrap();
    keyring.revoke(&key.tenant, key.id).await.unwrap();
    assert!(keyring.recognise(TOKEN).await.unwrap().is_none());
    stage.clock.advance(Millis::from_seconds(60));
    assert!(keyring.recognise(TOKEN).await.unwrap().is_none());
    assert!(keyring.list(&key.tenant).await.unwrap().is_empty());
    assert!(keyring.revoke(&key.tenant, key.id).await.is_err());
    let next = keyring.replace(&key.tenant, "POSTRIDER_FIRST_KEY_SECRET", "next".to_owned());
    next.await.unwrap();
    assert!(keyring.recognise("next").await.unwrap().is_some());
    assert_eq!(keyring.list(&key.tenant).await.unwrap().len(), 1);
}
