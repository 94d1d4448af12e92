//! When an API key was last used.

use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_gateway::keyring::LAST_USE_PRECISION;
use postrider_ports::clock::Clock;

use crate::stage::Stage;

#[tokio::test]
async fn the_use_of_a_key_is_noted_once_in_ten_minutes() {
    let stage = Stage::set().await;
    let (keyring, tenant) = (&stage.gateway.keyring, TenantId::default());
    let created = keyring.create(&tenant, "publisher", vec![Scope::Publish]);
    let token = created.await.unwrap().token;
    let use_key = async || {
        keyring.recognise(&token).await.unwrap().unwrap();
        keyring.list(&tenant).await.unwrap()[0].last_used_at
    };
    let first = Some(stage.clock.now());
    assert_eq!(use_key().await, first);
    let almost = Millis::new(LAST_USE_PRECISION.get() - 1);
    stage.clock.advance(almost);
    assert_eq!(use_key().await, first, "not for every request");
    // Longer than a key is cached.
    stage.clock.advance(Millis::from_seconds(10));
    assert_eq!(use_key().await, Some(stage.clock.now()));
}
