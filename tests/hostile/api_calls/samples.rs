//! A valid body for every route that takes one, and the words that mean something to the gateway.

use serde_json::{Value, json};

use super::stage::{MARKUP, SECRETS};
use crate::hostile::json_edits::Vocabulary;

/// What exports are sealed with, in hexadecimal.
pub(super) const SEALING_KEY: &str =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// What a path can name.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) webhooks: Vec<String>,
    pub(super) sources: Vec<String>,
    pub(super) rejected: Vec<String>,
    pub(super) events: Vec<String>,
    pub(super) deliveries: Vec<String>,
    pub(super) jobs: Vec<String>,
    pub(super) erasures: Vec<String>,
    pub(super) keys: Vec<String>,
    pub(super) cursors: Vec<String>,
    pub(super) records: Vec<Value>,
    /// Has none of the events.
    pub(super) idle_webhook: String,
    /// Works once.
    pub(super) portal_link: String,
    /// A key that can log in.
    pub(super) token: String,
}

impl Objects {
    /// Those that a parameter can name after this part of a path.
    pub(super) fn of(&self, part: &str) -> Vec<&str> {
        let words = |words: &[&'static str]| words.to_vec();
        let all = match part {
            "webhooks" => &self.webhooks,
            "sources" => &self.sources,
            "refused" => &self.rejected,
            "events" => &self.events,
            "deliveries" => &self.deliveries,
            "retries" => &self.jobs,
            "erasures" => &self.erasures,
            "keys" => &self.keys,
            "tenants" => return words(&["acme", "default", "globex"]),
            "sessions" => return words(&["s-1", "s-9"]),
            "event-types" => return words(&["task.done", "task.new"]),
            "assets" => return words(&["inspector.css", "inspector.js"]),
            _ => return Vec::new(),
        };
        all.iter().map(String::as_str).collect()
    }
}

pub(super) fn webhook() -> Value {
    json!({
        "name": format!("Tasks {MARKUP}"),
        "target_url": "https://receiver.example/hooks?a=1",
        "event_types": ["task.*"],
        "filter": {"$or": [{"n": [{"numeric": [">=", 0]}]}, {"a": {"b": [{"exists": false}]}}]},
        "template": {
            "body": "{\"text\": {{ payload.text | default('none') }}, \"n\": {{ payload.n }}}",
            "content_type": "application/json",
            "query": "type={{ event.type }}",
        },
        "owner_email": "owner@example.com",
        "headers": {"Authorization": format!("Bearer {}", SECRETS[2]), "X-Env": "test"},
        "timeout_seconds": 10,
        "retry_rate": 5,
        "max_rate": 100,
        "max_in_flight": 10,
        "auto_resume": true,
        "retry": {
            "profile": "custom",
            "max_attempts": 3,
            "jitter_bps": 1000,
            "delays_seconds": [1, 60],
            "max_backoff_seconds": 600,
            "classifier": "by-status",
            "redirects": "failure",
            "retry_after": "at-least",
            "retry_ramp": "off",
            "on_exhausted": "dead-letter",
        },
    })
}

pub(super) fn plain_webhook() -> Value {
    json!({"name": "Plain", "target_url": "https://receiver.example/plain", "event_types": ["*"]})
}

pub(super) fn idle_webhook() -> Value {
    json!({"name": "Idle", "target_url": "https://receiver.example/", "event_types": ["other"]})
}

pub(super) fn event() -> Value {
    json!({"type": "task.done", "session_id": "s-1", "payload": {"n": 7, "text": MARKUP}})
}

pub(super) fn event_type() -> Value {
    json!({
        "description": format!("A task is done. {MARKUP}"),
        "group": "tasks",
        "schema": {
            "type": "object",
            "properties": {"n": {"type": "integer", "maximum": 100}, "text": {"type": "string"}},
            "required": ["n"],
        },
        "examples": [{"n": 1}],
        "deprecated": false,
    })
}

pub(super) fn route(webhook: &str) -> Value {
    json!({
        "event_type": "task.*",
        "filter": {"n": [1]},
        "intent": "code_review",
        "target_session": "reviewer",
        "webhook_id": webhook,
    })
}

/// Of a scheme, and of a custom one.
pub(super) fn sources() -> [Value; 2] {
    let custom = json!({
        "header": "X-Acme-Signature", "prefix": "v1=", "separator": ",", "encoding": "hex",
        "digest": "hmac-sha256", "key": "text", "signed": "{timestamp}.{body}",
        "timestamp": "header:x-acme-time", "timestamp_format": "seconds", "window_seconds": 60,
        "event_type": ["header:x-acme-event", "body:/type"], "delivery_id": ["body:/id"],
    });
    [
        json!({
            "name": format!("Meta {MARKUP}"), "scheme": "meta", "secret": SECRETS[3],
            "verify_token": SECRETS[4],
            "public_url": "https://hooks.example/gateway/webhooks/src_1",
        }),
        json!({"name": "Acme", "scheme": "custom", "secret": SECRETS[3], "custom": custom}),
    ]
}

fn named(name: &str, mut value: Value) -> Value {
    value["name"] = json!(name);
    value
}

/// A valid body of an operation; nothing if it takes none.
pub(super) fn of_operation(id: &str, objects: &Objects) -> Option<Value> {
    let first = |part| {
        objects
            .of(part)
            .first()
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    let webhook_id = first("webhooks");
    Some(match id {
        "publish_events" => event(),
        "deliver_event" => json!({"webhook_id": objects.idle_webhook}),
        "put_event_type" => event_type(),
        "test_filter" => json!({"filter": webhook()["filter"], "payload": {"n": 1}}),
        "test_template" => json!({
            "template": webhook()["template"], "payload": {"n": 1, "text": "a"},
        }),
        "create_webhook" => named("New", webhook()),
        "change_webhook" => named("Changed", webhook()),
        "rotate_webhook_secret" => json!({"secret": "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3"}),
        "create_source" => {
            let [_, mut source] = sources();
            source["routes"] = json!([route(&webhook_id)]);
            source
        }
        "change_source" => json!({
            "name": "Changed", "public_url": null, "custom": sources()[1]["custom"], "routes": [route(&webhook_id)],
        }),
        "rotate_source_secret" => json!({"secret": "another secret of the sender"}),
        "replace_routes" => json!({"routes": [route(&webhook_id), route(&webhook_id)]}),
        "retry_delivery" => json!({"force": true}),
        "shadow_delivery" => json!({
            "url": "https://receiver.example/next", "timeout_seconds": 5, "include_headers": true,
        }),
        "begin_retry" => json!({
            "filter": {
                "status": "dead", "webhook_id": webhook_id, "session_id": "s-1",
                "event_type": "task.done", "from": "2026-02-20T10:00:00Z",
                "to": "2026-02-22T10:00:00Z",
            },
            "dry_run": true,
        }),
        "create_key" => json!({"name": "New", "scopes": ["read", "publish"], "tenant": "acme"}),
        "create_tenant" => json!({
            "id": "globex", "name": "Globex",
            "limits": {
                "webhooks": 5, "publish_rate": 100, "max_body_bytes": 1000, "retention_days": 7,
            },
        }),
        "change_tenant" => json!({
            "name": "Changed",
            "limits": {
                "webhooks": 5, "publish_rate": 100, "max_body_bytes": 1000, "retention_days": null,
            },
        }),
        "create_portal_link" => json!({
            "tenant": "acme", "expires_in_seconds": 300, "return_url": "https://app.example/",
            "scopes": ["read", "manage"],
        }),
        "export" => json!({
            "key": SEALING_KEY, "deliveries": "open", "pause_webhooks": false, "cursor": null,
        }),
        "import" => json!({"key": SEALING_KEY, "replace": true, "records": objects.records}),
        _ => return None,
    })
}

/// The pages that read more than a path, each with its valid form. An array stands for a field that is sent several times.
pub(super) fn forms(objects: &Objects) -> Vec<(&'static str, Value)> {
    let first = |part| {
        objects
            .of(part)
            .first()
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    let webhook_id = first("webhooks");
    let webhook = json!({
        "name": "New", "target_url": "https://receiver.example/new", "event_types": "task.*, a.b",
        "filter": "{\"n\": [1]}", "template": "{\"n\": {{ payload.n }}}",
        "template_content_type": "application/json", "template_query": "a={{ event.type }}",
        "owner_email": "owner@example.com", "timeout_seconds": "10", "retry_rate": "5",
        "max_rate": "10", "max_in_flight": "3", "auto_resume": "on", "profile": "custom",
        "max_attempts": "3", "jitter_bps": "10", "delays_seconds": "1, 60",
        "max_backoff_seconds": "60", "classifier": "by-status", "redirects": "failure",
        "retry_after": "ignore", "retry_ramp": "on", "on_exhausted": "dead-letter",
        "headers[0].name": "X-More", "headers[0].value": "more",
    });
    let mut edited = webhook.clone();
    edited["headers[1].name"] = json!("Authorization");
    edited["headers[1].stored"] = json!("1");
    let mut preview = webhook.clone();
    preview["do"] = json!("render");
    let source = json!({
        "name": "New", "scheme": "meta", "secret": "a secret of the sender",
        "public_url": "https://hooks.example/a", "verify_token": "a token",
        "routes[0].event_type": "task.*", "routes[0].filter": "{\"n\": [1]}",
        "routes[0].intent": "look", "routes[0].target_session": "s-1",
        "routes[0].webhook_id": webhook_id,
    });
    let event_type = json!({
        "name": "task.new", "description": "New", "group": "tasks", "stage": "deprecated",
        "schema": "{\"type\": \"object\"}", "example": ["{}", "{\"n\": 1}"],
    });
    let filter = json!({
        "status": "dead", "webhook_id": webhook_id, "session_id": "s-1", "event_type": "task.done",
        "from": "2026-02-20T10:00", "to": "2026-02-22T10:00",
    });
    let dead: Vec<_> = objects.of("deliveries");
    vec![
        ("/webhooks/new", webhook.clone()),
        ("/webhooks/new", preview.clone()),
        ("/webhooks/{id}/edit", edited),
        ("/webhooks/{id}/edit", preview),
        ("/webhooks/{id}/pause", json!({})),
        ("/webhooks/{id}/resume", json!({})),
        ("/webhooks/{id}/rotate", json!({})),
        ("/webhooks/{id}/test", json!({})),
        ("/webhooks/{id}/delete", json!({})),
        ("/deliveries/{id}/retry", json!({"force": "delivered"})),
        (
            "/deliveries/{id}/shadow",
            json!({
                "url": "https://receiver.example/next", "timeout_seconds": "5",
                "include_headers": "on",
            }),
        ),
        (
            "/events/{id}/deliver",
            json!({"webhook_id": objects.idle_webhook}),
        ),
        ("/events/{id}/erase", json!({})),
        ("/tenants/{id}/delete", json!({"confirm": "acme"})),
        ("/dead/retry", json!({"id": dead, "status": "dead"})),
        ("/retries", filter),
        ("/retries/{id}/cancel", json!({})),
        (
            "/event-types/{name}/send",
            json!({"webhook_id": webhook_id, "example": "0"}),
        ),
        ("/event-types/{name}/edit", event_type.clone()),
        ("/event-types/{name}/delete", json!({})),
        ("/new-event-type", event_type),
        ("/sources/new", source.clone()),
        ("/sources/{id}/edit", source),
        (
            "/sources/{id}/rotate",
            json!({"secret": "another secret of the sender"}),
        ),
        ("/sources/{id}/delete", json!({})),
        ("/keys", json!({"name": "New", "scope": ["read", "manage"]})),
        ("/keys/{id}/revoke", json!({})),
        (
            "/login",
            json!({"key": objects.token, "next": "/inspector/dead", "once": objects.portal_link}),
        ),
        ("/logout", json!({})),
    ]
}

/// The pages that are only shown.
pub(super) const PAGES: [&str; 24] = [
    "",
    "/",
    "/login",
    "/session",
    "/search",
    "/stream",
    "/assets/{name}",
    "/deliveries",
    "/deliveries/{id}",
    "/deliveries/{id}/payload",
    "/deliveries/{id}/shadow",
    "/events/{id}",
    "/dead",
    "/dead/retry",
    "/usage",
    "/retries/{id}",
    "/webhooks",
    "/webhooks/{id}",
    "/event-types",
    "/event-types/{name}",
    "/sources",
    "/sources/{id}",
    "/sources/{id}/refused/{refused_id}",
    "/keys",
];

/// The names and values that requests are made of.
pub(super) fn vocabulary(objects: &Objects) -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    let query = [
        "limit",
        "cursor",
        "tenant",
        "view",
        "window",
        "done",
        "after",
        "next",
        "once",
        "q",
        "do",
        "confirmed",
        "n",
        "failed",
        "events",
        "payload_base64",
        "content_type",
        "event_id",
        "anything-but",
        "numeric",
        "exists",
        "wildcard",
        "prefix",
        "format",
        "stage",
    ];
    vocabulary.names.extend(query.map(str::to_owned));
    for (_, form) in forms(objects) {
        vocabulary.learn(&form);
    }
    for operation in OPERATIONS_WITH_BODY {
        vocabulary.learn(&of_operation(operation, objects).unwrap_or_default());
    }
    let parts = [
        "webhooks",
        "sources",
        "refused",
        "events",
        "deliveries",
        "retries",
        "erasures",
        "keys",
        "tenants",
        "sessions",
        "event-types",
    ];
    let known = parts.iter().flat_map(|part| objects.of(part));
    let words = known
        .map(str::to_owned)
        .chain(objects.cursors.iter().cloned());
    vocabulary.words.extend(words);
    let more = [
        MARKUP,
        "task.done",
        "task.*",
        "*",
        "gateway",
        "public-api",
        "standard",
        "custom",
        "read",
        "publish",
        "manage",
        "dead",
        "pending",
        "delivered",
        "all",
        "none",
        "24h",
        "7d",
        "matches",
        "render",
        "preset-slack",
        "lines",
        "raw",
        "postrider",
        "standard-webhooks",
        "slack",
        "https://receiver.example/",
        "http://127.0.0.1/",
        "https://user:pw@a.example/#x",
        "AA==",
        "2026-02-21T10:00:00Z",
        "-009999-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "0",
        "-1",
        "4294967296",
        "1e400",
        "\u{0}",
        "😀",
        "{{ payload",
        "{% for x in payload %}",
        "//evil.example",
        "/inspector/../v1",
        "javascript:alert(1)",
        "",
    ];
    vocabulary.words.extend(more.map(str::to_owned));
    vocabulary
}

/// What [`of_operation`] knows.
pub(super) const OPERATIONS_WITH_BODY: [&str; 21] = [
    "publish_events",
    "deliver_event",
    "put_event_type",
    "test_filter",
    "test_template",
    "create_webhook",
    "change_webhook",
    "rotate_webhook_secret",
    "create_source",
    "change_source",
    "rotate_source_secret",
    "replace_routes",
    "retry_delivery",
    "shadow_delivery",
    "begin_retry",
    "create_key",
    "create_tenant",
    "change_tenant",
    "create_portal_link",
    "export",
    "import",
];
