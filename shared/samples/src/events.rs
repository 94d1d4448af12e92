//! A few events of every scheme, as small as possible while still realistic.

use postrider_domain::scheme::Scheme;

/// One event that a provider may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleEvent {
    /// The event type that the gateway reads from it.
    pub name: &'static str,
    /// Headers in addition to the signature headers.
    pub headers: &'static [(&'static str, &'static str)],
    pub content_type: &'static str,
    /// The body; its ids and timestamps are replaced when it is signed.
    pub body: &'static str,
}

type Headers = &'static [(&'static str, &'static str)];

const fn json(name: &'static str, headers: Headers, body: &'static str) -> SampleEvent {
    SampleEvent {
        name,
        headers,
        content_type: "application/json",
        body,
    }
}

const fn form(name: &'static str, body: &'static str) -> SampleEvent {
    SampleEvent {
        name,
        headers: &[],
        content_type: "application/x-www-form-urlencoded",
        body,
    }
}

/// The events of a scheme; for a custom scheme, one minimal event.
#[must_use]
pub fn events(scheme: &Scheme) -> &'static [SampleEvent] {
    let found = EVENTS.iter().find(|(name, _)| *name == scheme.name);
    found.map_or(&[ANY], |(_, events)| events)
}

const ANY: SampleEvent = json(
    "unknown",
    &[],
    r#"{"message":"Hello from postrider trigger"}"#,
);

const STANDARD: &[SampleEvent] = &[
    json(
        "contact.created",
        &[],
        r#"{"type":"contact.created","timestamp":"2026-02-21T10:00:00Z","data":{"id":"con_1","email":"ada@example.com"}}"#,
    ),
    json(
        "invoice.paid",
        &[],
        r#"{"type":"invoice.paid","timestamp":"2026-02-21T10:00:00Z","data":{"id":"inv_1","amount":4200,"currency":"EUR"}}"#,
    ),
];

const EVENTS: [(&str, &[SampleEvent]); 25] = [
    ("standard", STANDARD),
    ("svix", STANDARD),
    (
        "postrider",
        &[
            json(
                "task.completed",
                &[("x-webhook-event", "task.completed")],
                r#"{"type":"task.completed","task_id":"task_1","session_id":"sess_1"}"#,
            ),
            json(
                "task.failed",
                &[("x-webhook-event", "task.failed")],
                r#"{"type":"task.failed","task_id":"task_1","reason":"timed out"}"#,
            ),
        ],
    ),
    (
        "github",
        &[
            json(
                "pull_request.opened",
                &[("x-github-event", "pull_request")],
                r#"{"action":"opened","number":7,"pull_request":{"number":7,"title":"Add a door","state":"open","head":{"ref":"door","sha":"6dcb09b5b57875f334f61aebed695e2e4193db5e"},"base":{"ref":"main"}},"repository":{"full_name":"octocat/Hello-World"},"sender":{"login":"octocat"}}"#,
            ),
            json(
                "push",
                &[("x-github-event", "push")],
                r#"{"ref":"refs/heads/main","before":"6113728f27ae82c7b1a177c8d03f9e96e0adf246","after":"59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5","commits":[],"repository":{"full_name":"octocat/Hello-World"},"pusher":{"name":"octocat"}}"#,
            ),
            json(
                "issues.opened",
                &[("x-github-event", "issues")],
                r#"{"action":"opened","issue":{"number":3,"title":"The door squeaks"},"repository":{"full_name":"octocat/Hello-World"},"sender":{"login":"octocat"}}"#,
            ),
            json(
                "ping",
                &[("x-github-event", "ping")],
                r#"{"zen":"Design for failure.","hook_id":1}"#,
            ),
        ],
    ),
    (
        "bitbucket",
        &[
            json(
                "repo:push",
                &[("x-event-key", "repo:push")],
                r#"{"repository":{"full_name":"team/door"},"push":{"changes":[{"new":{"name":"main","type":"branch"}}]}}"#,
            ),
            json(
                "pullrequest:created",
                &[("x-event-key", "pullrequest:created")],
                r#"{"pullrequest":{"id":7,"title":"Add a door"},"repository":{"full_name":"team/door"}}"#,
            ),
        ],
    ),
    (
        "jira",
        &[
            json(
                "jira:issue_created",
                &[],
                r#"{"timestamp":1771668000000,"webhookEvent":"jira:issue_created","issue":{"key":"DOOR-1","fields":{"summary":"The door squeaks"}}}"#,
            ),
            json(
                "jira:issue_updated",
                &[],
                r#"{"timestamp":1771668000000,"webhookEvent":"jira:issue_updated","issue":{"key":"DOOR-1","fields":{"status":{"name":"Done"}}}}"#,
            ),
        ],
    ),
    (
        "gitlab",
        &[
            json(
                "Push_Hook",
                &[("x-gitlab-event", "Push Hook")],
                r#"{"object_kind":"push","ref":"refs/heads/main","project":{"path_with_namespace":"team/door"},"commits":[]}"#,
            ),
            json(
                "Merge_Request_Hook",
                &[("x-gitlab-event", "Merge Request Hook")],
                r#"{"object_kind":"merge_request","object_attributes":{"iid":7,"title":"Add a door","action":"open"}}"#,
            ),
        ],
    ),
    (
        "stripe",
        &[
            json(
                "payment_intent.succeeded",
                &[],
                r#"{"id":"evt_1","object":"event","type":"payment_intent.succeeded","livemode":false,"data":{"object":{"id":"pi_1","object":"payment_intent","amount":2000,"currency":"eur","status":"succeeded"}}}"#,
            ),
            json(
                "invoice.paid",
                &[],
                r#"{"id":"evt_1","object":"event","type":"invoice.paid","livemode":false,"data":{"object":{"id":"in_1","object":"invoice","amount_paid":2000,"currency":"eur"}}}"#,
            ),
            json(
                "customer.subscription.deleted",
                &[],
                r#"{"id":"evt_1","object":"event","type":"customer.subscription.deleted","livemode":false,"data":{"object":{"id":"sub_1","object":"subscription","status":"canceled"}}}"#,
            ),
        ],
    ),
    (
        "slack",
        &[
            json(
                "message",
                &[],
                r#"{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"message","channel":"C1","user":"U1","text":"Hello"}}"#,
            ),
            json(
                "app_mention",
                &[],
                r#"{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"app_mention","channel":"C1","user":"U1","text":"<@U2> hello"}}"#,
            ),
            form(
                "/weather",
                "token=x&team_id=T1&command=%2Fweather&text=94070&user_id=U1",
            ),
        ],
    ),
    (
        "shopify",
        &[
            json(
                "orders/create",
                &[
                    ("x-shopify-topic", "orders/create"),
                    ("x-shopify-shop-domain", "door.myshopify.com"),
                ],
                r#"{"id":820982911946154508,"email":"ada@example.com","total_price":"42.00","currency":"EUR","line_items":[]}"#,
            ),
            json(
                "products/update",
                &[
                    ("x-shopify-topic", "products/update"),
                    ("x-shopify-shop-domain", "door.myshopify.com"),
                ],
                r#"{"id":788032119674292922,"title":"Door","status":"active"}"#,
            ),
        ],
    ),
    (
        "twilio",
        &[
            form(
                "unknown",
                "MessageSid=SM1234567890&From=%2B14158675309&To=%2B18005551212&Body=Hello+there",
            ),
            form(
                "unknown",
                "CallSid=CA1234567890&From=%2B14158675309&To=%2B18005551212&CallStatus=ringing",
            ),
        ],
    ),
    (
        "square",
        &[json(
            "payment.updated",
            &[],
            r#"{"merchant_id":"M1","type":"payment.updated","event_id":"e1","data":{"type":"payment","id":"p1","object":{"payment":{"id":"p1","status":"COMPLETED"}}}}"#,
        )],
    ),
    (
        "hubspot",
        &[
            json(
                "contact.creation",
                &[],
                r#"[{"eventId":100,"subscriptionId":1,"portalId":2,"subscriptionType":"contact.creation","objectId":123}]"#,
            ),
            json(
                "deal.propertyChange",
                &[],
                r#"[{"eventId":100,"subscriptionId":1,"portalId":2,"subscriptionType":"deal.propertyChange","objectId":123,"propertyName":"amount","propertyValue":"42"}]"#,
            ),
        ],
    ),
    (
        "paddle",
        &[
            json(
                "transaction.completed",
                &[],
                r#"{"event_id":"evt_1","event_type":"transaction.completed","occurred_at":"2026-02-21T10:00:00Z","data":{"id":"txn_1","status":"completed"}}"#,
            ),
            json(
                "subscription.canceled",
                &[],
                r#"{"event_id":"evt_1","event_type":"subscription.canceled","occurred_at":"2026-02-21T10:00:00Z","data":{"id":"sub_1","status":"canceled"}}"#,
            ),
        ],
    ),
    (
        "sendgrid",
        &[
            json(
                "delivered",
                &[],
                r#"[{"email":"ada@example.com","timestamp":1771668000,"event":"delivered","sg_event_id":"sg1","sg_message_id":"m1"}]"#,
            ),
            json(
                "bounce",
                &[],
                r#"[{"email":"ada@example.com","timestamp":1771668000,"event":"bounce","sg_event_id":"sg1","sg_message_id":"m1","reason":"550 No such user"}]"#,
            ),
        ],
    ),
    (
        "discord",
        &[json(
            "APPLICATION_AUTHORIZED",
            &[],
            r#"{"version":1,"application_id":"1","type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"2026-02-21T10:00:00","data":{"user":{"id":"2"}}}}"#,
        )],
    ),
    (
        "zoom",
        &[
            json(
                "meeting.started",
                &[],
                r#"{"event":"meeting.started","event_ts":1771668000000,"payload":{"account_id":"a1","object":{"id":"123","topic":"Door"}}}"#,
            ),
            json(
                "meeting.ended",
                &[],
                r#"{"event":"meeting.ended","event_ts":1771668000000,"payload":{"account_id":"a1","object":{"id":"123","topic":"Door"}}}"#,
            ),
        ],
    ),
    (
        "meta",
        &[json(
            "whatsapp_business_account",
            &[],
            r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"messages":[{"from":"14158675309","type":"text","text":{"body":"Hello"}}]}}]}]}"#,
        )],
    ),
    (
        "linear",
        &[
            json(
                "Issue.create",
                &[("linear-event", "Issue")],
                r#"{"action":"create","type":"Issue","data":{"id":"i1","title":"The door squeaks"},"webhookTimestamp":1771668000000,"webhookId":"w1"}"#,
            ),
            json(
                "Comment.update",
                &[("linear-event", "Comment")],
                r#"{"action":"update","type":"Comment","data":{"id":"c1","body":"Oiled"},"webhookTimestamp":1771668000000,"webhookId":"w1"}"#,
            ),
        ],
    ),
    (
        "zendesk",
        &[json(
            "zen:event-type:ticket.created",
            &[],
            r#"{"type":"zen:event-type:ticket.created","id":"t1","detail":{"id":"35436","subject":"The door squeaks"}}"#,
        )],
    ),
    (
        "intercom",
        &[
            json(
                "conversation.user.created",
                &[],
                r#"{"type":"notification_event","id":"notif_1","topic":"conversation.user.created","app_id":"a1","data":{"item":{"type":"conversation","id":"123"}}}"#,
            ),
            json(
                "contact.created",
                &[],
                r#"{"type":"notification_event","id":"notif_1","topic":"contact.created","app_id":"a1","data":{"item":{"type":"contact","id":"456"}}}"#,
            ),
        ],
    ),
    (
        "typeform",
        &[json(
            "form_response",
            &[],
            r#"{"event_id":"e1","event_type":"form_response","form_response":{"form_id":"f1","token":"t1","answers":[]}}"#,
        )],
    ),
    (
        "calendly",
        &[
            json(
                "invitee.created",
                &[],
                r#"{"event":"invitee.created","created_at":"2026-02-21T10:00:00Z","payload":{"email":"ada@example.com","name":"Ada"}}"#,
            ),
            json(
                "invitee.canceled",
                &[],
                r#"{"event":"invitee.canceled","created_at":"2026-02-21T10:00:00Z","payload":{"email":"ada@example.com","name":"Ada"}}"#,
            ),
        ],
    ),
    (
        "docusign",
        &[json(
            "envelope-completed",
            &[],
            r#"{"event":"envelope-completed","apiVersion":"v2.1","data":{"accountId":"a1","envelopeId":"e1"}}"#,
        )],
    ),
    (
        "mailgun",
        &[
            json(
                "delivered",
                &[],
                r#"{"signature":{"token":"t","timestamp":"1771668000","signature":""},"event-data":{"event":"delivered","recipient":"ada@example.com","id":"m1"}}"#,
            ),
            json(
                "failed",
                &[],
                r#"{"signature":{"token":"t","timestamp":"1771668000","signature":""},"event-data":{"event":"failed","severity":"permanent","recipient":"ada@example.com","id":"m1"}}"#,
            ),
        ],
    ),
];
