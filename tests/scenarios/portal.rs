use postrider_domain::ids::TenantId;
use postrider_domain::key::{ApiKey, Scope};
use postrider_domain::portal::PortalLinkDraft;
use postrider_domain::time::Millis;
use postrider_gateway::GatewayError;
use postrider_gateway::portal_links::{create, redeem};

use super::world::World;

async fn key(world: &World) -> ApiKey {
    let (keyring, tenant) = (&world.gateway().keyring, TenantId::default());
    let made = keyring.create(&tenant, "product", vec![Scope::Manage]);
    made.await.unwrap().key
}

fn draft() -> PortalLinkDraft {
    PortalLinkDraft {
        tenant: "acme".parse().unwrap(),
        expires_in_seconds: 300,
        return_url: None,
        scopes: Some(vec![Scope::Read]),
    }
}

#[tokio::test]
async fn a_portal_link_works_once() {
    let world = World::new().await;
    let ports = &world.gateway().ports;
    let made = create(ports, &key(&world).await, draft()).await.unwrap();
    let (one, other) = tokio::join!(redeem(ports, &made.token), redeem(ports, &made.token));
    let used: Vec<_> = [one.unwrap(), other.unwrap()]
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(used, [made.link]);
    assert_eq!(used[0].tenant.as_str(), "acme");
    assert_eq!(used[0].scopes, [Scope::Read]);
    assert_eq!(redeem(ports, &made.token).await.unwrap(), None);
}

#[tokio::test]
async fn a_portal_link_expires() {
    let world = World::new().await;
    let ports = &world.gateway().ports;
    let made = create(ports, &key(&world).await, draft()).await.unwrap();
    world.clock.advance(Millis::from_seconds(300));
    assert_eq!(redeem(ports, &made.token).await.unwrap(), None);
}

#[tokio::test]
async fn a_portal_link_is_short_lived() {
    let world = World::new().await;
    let (ports, key) = (&world.gateway().ports, key(&world).await);
    for expires_in_seconds in [59, 86_401] {
        let given = PortalLinkDraft {
            expires_in_seconds,
            ..draft()
        };
        let refused = create(ports, &key, given).await;
        let Err(GatewayError::Invalid(errors)) = refused else {
            panic!("{refused:?}")
        };
        assert!(errors.to_string().contains("60 to 86400"), "{errors}");
    }
}
