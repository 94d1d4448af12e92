//! Test events, which an operator sends to one webhook.

use postrider_domain::event::Origin;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pattern::EventType;
use postrider_domain::test_event;

use crate::ingest::{EventDraft, Published};
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Publishes a test event for one webhook.
    pub async fn send_test(
        &self,
        tenant: &TenantId,
        id: WebhookId,
    ) -> Result<Published, GatewayError> {
        // A test names its webhook, so an unknown one is not found, as in every other request about a webhook.
        self.manage.get(tenant, id).await?;
        let draft = EventDraft {
            event_type: test_event::TYPE.to_owned(),
            body: test_event::body(id, self.ports.clock.now()),
            content_type: test_event::CONTENT_TYPE.to_owned(),
            session_id: None,
            webhook_id: Some(id.to_string()),
            origin: Origin::Test,
        };
        self.ingest.publish(tenant, draft, None).await
    }

    /// Publishes an example of the catalogue for one webhook, whatever its event types.
    pub async fn send_example(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        event_type: &EventType,
        example: usize,
    ) -> Result<Published, GatewayError> {
        self.manage.get(tenant, id).await?;
        let listed = self.catalogue.get(tenant, event_type).await?;
        let example = listed.entry.examples.get(example);
        let example = example.ok_or(GatewayError::NotFound { what: "example" })?;
        let draft = EventDraft {
            event_type: event_type.as_str().to_owned(),
            body: example.to_string().into(),
            content_type: test_event::CONTENT_TYPE.to_owned(),
            session_id: None,
            webhook_id: Some(id.to_string()),
            origin: Origin::Test,
        };
        self.ingest.publish(tenant, draft, None).await
    }
}
