//! Values with sensible defaults. A test changes only what it is about.

use std::sync::Arc;

use bytes::Bytes;
use postrider_domain::attempt::Attempt;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Lease, LeaseOwner, Status};
use postrider_domain::event::{Event, Origin};
use postrider_domain::headers::CustomHeaders;
use postrider_domain::health::Health;
use postrider_domain::ids::{DeliveryId, EventId, SourceId, TenantId, WebhookId};
use postrider_domain::outcome::{Answer, Outcome, Response, Timings};
use postrider_domain::payload_filter::PayloadFilter;
use postrider_domain::retry::RetrySettings;
use postrider_domain::scheme::Scheme;
use postrider_domain::secret::{SecretRing, SharedSecret, SigningSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::template::{Template, TemplateDraft};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{
    DEFAULT_RETRY_RATE, DEFAULT_TIMEOUT_SECONDS, Webhook, WebhookSettings,
};
use postrider_ports::deliveries::{Acceptance, EventIdFrom};
use serde_json::json;
use url::Url;

/// When tests start: 2026-02-21T10:00:00Z.
pub const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

/// This many seconds after [`NOW`].
#[must_use]
pub fn after(seconds: u64) -> Timestamp {
    NOW.plus(Millis::from_seconds(seconds))
}

/// The `n`-th webhook id.
#[must_use]
pub fn webhook_id(n: u32) -> WebhookId {
    WebhookId::from_bytes((u128::from(n) + (1 << 64)).to_be_bytes())
}

/// The `n`-th event id.
#[must_use]
pub fn event_id(n: u32) -> EventId {
    EventId::from_bytes((u128::from(n) + (1 << 65)).to_be_bytes())
}

/// The `n`-th source id.
#[must_use]
pub fn source_id(n: u32) -> SourceId {
    SourceId::from_bytes((u128::from(n) + (1 << 66)).to_be_bytes())
}

/// The `n`-th source, with the scheme `postrider` and no routes.
#[must_use]
pub fn source(tenant: &TenantId, n: u32) -> Source {
    Source {
        id: source_id(n),
        tenant: tenant.clone(),
        settings: SourceSettings {
            name: format!("source {n}"),
            scheme: Scheme::named("postrider").unwrap(),
            public_url: None,
            verify_token: None,
            routes: Vec::new(),
        },
        secrets: SecretRing::new(SharedSecret::parse("It's a Secret to Everybody").unwrap()),
        created_at: NOW,
        updated_at: NOW,
    }
}

/// A filter with every kind of value that a store must keep.
#[must_use]
pub fn rich_filter() -> PayloadFilter {
    let source = json!({
        "näme": ["", null, true, -1, 0.5, 18_446_744_073_709_551_615_u64],
        "a": {"b": [{"numeric": [">", 0, "<=", 1e300]}, {"exists": false}]},
        "$or": [{"c": [{"wildcard": "x\\*y*"}]}, {"d": [{"anything-but": ["\"", "\n"]}]}],
    });
    PayloadFilter::compile("filter", source).unwrap()
}

/// A template with text that a store must keep as it is.
#[must_use]
pub fn rich_template() -> Template {
    let draft = TemplateDraft {
        body: "{\n\t\"ü\\n\": \"{{ payload.x | default('‹') }}\"\r\n}\n".to_owned(),
        content_type: Some("application/vnd.api+json; charset=utf-8".to_owned()),
        query: Some("type={{ event.type }}&a=%20".to_owned()),
    };
    draft.check("template").unwrap()
}

/// The `n`-th webhook: active, for every event type.
#[must_use]
pub fn webhook(tenant: &TenantId, n: u32) -> Webhook {
    Webhook {
        id: webhook_id(n),
        tenant: tenant.clone(),
        settings: WebhookSettings {
            name: format!("webhook {n}"),
            target_url: Url::parse(&format!("https://receiver-{n}.example/hook")).unwrap(),
            event_types: vec!["*".parse().unwrap()],
            filter: None,
            template: None,
            owner_email: None,
            headers: CustomHeaders::default(),
            timeout: Millis::from_seconds(u64::from(DEFAULT_TIMEOUT_SECONDS)),
            retry_rate: DEFAULT_RETRY_RATE,
            max_rate: None,
            max_in_flight: None,
            auto_resume: false,
            retry: RetrySettings::default(),
        },
        secrets: SecretRing::new(SigningSecret::from_key(&[7; 32])),
        created_at: NOW,
        updated_at: NOW,
        health: Health::default(),
    }
}

/// The `n`-th event, accepted at `at`, of the session `session-<n>`.
#[must_use]
pub fn event(tenant: &TenantId, n: u32, at: Timestamp) -> Event {
    Event {
        id: event_id(n),
        tenant: tenant.clone(),
        event_type: "task.completed".parse().unwrap(),
        session_id: Some(format!("session-{n}").parse().unwrap()),
        content_type: "application/json".parse().unwrap(),
        body: Bytes::from(format!("{{\"n\":{n}}}")),
        origin: Origin::Api,
        created_at: at,
    }
}

/// The row of an event for a webhook: pending, unclaimed, due when the event was accepted.
#[must_use]
pub fn row(event: &Event, webhook: WebhookId) -> Delivery {
    Delivery {
        id: DeliveryId {
            event: event.id,
            webhook,
        },
        tenant: event.tenant.clone(),
        event_type: event.event_type.clone(),
        session_id: event.session_id.clone(),
        intent: None,
        target_url: "https://receiver.example/hook".to_owned(),
        signature: "sha256=00".to_owned(),
        status: Status::Pending,
        dead_cause: None,
        attempt_count: 0,
        attempts_total: 0,
        max_attempts: 5,
        last_attempted_at: None,
        next_retry_at: Some(event.created_at),
        created_at: event.created_at,
        error_detail: None,
        last_status: None,
        generation: 0,
        in_backlog: false,
        version: 0,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
    }
}

/// An event with an unclaimed row per webhook, as a publisher sends it that repeats a call with the same key.
#[must_use]
pub fn acceptance(event: Event, webhooks: &[WebhookId], config_version: u64) -> Acceptance {
    let rows = webhooks.iter().map(|id| row(&event, *id)).collect();
    Acceptance {
        request_hash: event.request_hash(None),
        event: Arc::new(event),
        rows,
        config_version,
        event_id: EventIdFrom::Key,
    }
}

/// The lease of one claim of a process.
#[must_use]
pub fn lease(process: &str, claim: u64, until: Timestamp) -> Lease {
    Lease {
        owner: LeaseOwner {
            process: process.to_owned(),
            claim,
        },
        until,
    }
}

/// The completion of an attempt at `at`: status 200 if the row is delivered, 500 otherwise.
#[must_use]
pub fn completion(claimed: &Claimed, transition: Transition, at: Timestamp) -> Completion {
    let status = match transition {
        Transition::Deliver => 200,
        Transition::Retry { .. } | Transition::Die { .. } => 500,
    };
    let response = Response {
        status,
        retry_after: None,
        control: None,
        content_type: None,
        body: "the receiver's answer".to_owned(),
    };
    let timings = Timings {
        connect_ms: Some(3),
        first_byte_ms: Some(20),
        total_ms: 25,
        ..Timings::default()
    };
    let outcome = Outcome {
        result: Answer::Response(response),
        timings,
    };
    let number = claimed.delivery().attempts_total + 1;
    let attempt = Attempt::record(
        number,
        claimed.version(),
        at,
        &outcome,
        transition.verdict(),
    );
    Completion {
        attempt,
        transition,
        target_url: "https://receiver.example/used".to_owned(),
        signature: "sha256=11".to_owned(),
        generation: 0,
    }
}
