//! Requests signed by the providers' own libraries, posted to the real gateway: accepted unchanged, rejected when
//! anything is changed.

use http::Method;
use postrider_testkit::receiver::Receiver;
use serde_json::{Value, json};

use super::libraries::{Library, Order, Request, node, now, python};
use crate::command::{PATIENCE, Serve};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
/// Longer than any time window.
const TEN_MINUTES: i64 = 600;

/// A provider, and what it sends. `ID` stands for the id of the delivery.
#[derive(Clone, Copy)]
struct Provider {
    library: Library,
    scheme: &'static str,
    secret: &'static str,
    next_secret: &'static str,
    /// The URL it believes it calls.
    url: &'static str,
    /// In addition to those of the signature.
    headers: &'static [(&'static str, &'static str)],
    content_type: &'static str,
    body: &'static str,
    event_type: &'static str,
    signs_time: bool,
}

const STRIPE: Provider = Provider {
    library: python("stripe"),
    scheme: "stripe",
    secret: "whsec_5f3b7b1c4e2d4a6f8091a2b3c4d5e6f7",
    next_secret: "whsec_next",
    url: "https://hooks.example.com/in",
    headers: &[],
    content_type: JSON,
    body: r#"{"id": "ID", "object": "event", "type": "invoice.paid", "data": {"object": {"name": "grüße 🚀"}}}"#,
    event_type: "invoice.paid",
    signs_time: true,
};

const SLACK: Provider = Provider {
    library: python("slack_sdk"),
    scheme: "slack",
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    next_secret: "next",
    body: r#"{"type":"event_callback","event_id":"ID","event":{"type":"app_mention","text":"grüße"}}"#,
    event_type: "app_mention",
    ..STRIPE
};

const TWILIO: Provider = Provider {
    library: python("twilio"),
    scheme: "twilio",
    secret: "12345",
    next_secret: "67890",
    url: "https://hooks.example.com/in?foo=1&bar=2",
    headers: &[("i-twilio-idempotency-token", "ID")],
    content_type: FORM,
    body: "To=%2B18005551212&From=%2B14158675309&Body=gr%C3%BC%C3%9Fe+%26+more&Media=b&Media=a&Media=b&Empty=",
    event_type: "unknown",
    signs_time: false,
};

const STANDARD: Provider = Provider {
    library: python("standardwebhooks"),
    scheme: "standard",
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    next_secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    body: r#"{"type":"contact.created","data":{"name":"grüße"}}"#,
    event_type: "contact.created",
    ..STRIPE
};

const GITHUB: Provider = Provider {
    library: node("@octokit/webhooks"),
    scheme: "github",
    secret: "It's a Secret to Everybody",
    next_secret: "next",
    headers: &[
        ("x-github-event", "pull_request"),
        ("x-github-delivery", "ID"),
    ],
    body: r#"{"action":"opened","pull_request":{"title":"grüße"}}"#,
    event_type: "pull_request.opened",
    signs_time: false,
    ..STRIPE
};

impl Provider {
    fn order(self, id: &str, secret: &str, at: i64) -> Order {
        Order {
            request: Request {
                url: self.url.to_owned(),
                content_type: self.content_type,
                body: self.body.replace("ID", id),
                ..Request::default()
            },
            secret: secret.to_owned(),
            id: id.to_owned(),
            at,
        }
    }

    /// Signed by the library, each with its id, secret and time, and with the headers that the library does not add.
    async fn signed<const N: usize>(self, orders: [(&str, &str, i64); N]) -> [Request; N] {
        let ids = orders.map(|(id, ..)| id);
        let orders = orders.map(|(id, secret, at)| self.order(id, secret, at));
        let mut signed = self.library.sign(orders.into()).await.into_iter();
        ids.map(|id| {
            let mut request = signed.next().unwrap();
            let others = self.headers.iter();
            let others = others.map(|(name, value)| ((*name).to_owned(), value.replace("ID", id)));
            request.headers.extend(others);
            request
        })
    }

    /// Requests that the provider would not sign, each with what is wrong.
    async fn forged(self) -> Vec<(&'static str, Request)> {
        let [genuine, another, late, early] = self
            .signed([
                ("forged", self.secret, now()),
                ("forged", "whsec_b3RoZXI=", now()),
                ("forged", self.secret, now() - TEN_MINUTES),
                ("forged", self.secret, now() + TEN_MINUTES),
            ])
            .await;
        let with_body = |body| Request {
            body,
            ..genuine.clone()
        };
        let mut forged = vec![
            ("another secret", another),
            ("a changed body", with_body(format!("{} ", genuine.body))),
            (
                "a changed signature",
                with_signature(&genuine, |text| Some(changed(text))),
            ),
            ("no signature", with_signature(&genuine, |_| None)),
        ];
        if self.signs_time {
            forged.extend([("a late time", late), ("an early time", early)]);
        }
        if genuine.url.contains('?') {
            let url = format!("{}&more=1", genuine.url);
            forged.push(("a changed URL", Request { url, ..genuine }));
        }
        forged
    }
}

/// The request with its signature replaced, or without it.
fn with_signature(genuine: &Request, change: impl Fn(&str) -> Option<String>) -> Request {
    let headers = genuine.headers.iter().cloned();
    let headers = headers.filter_map(|(name, value)| match name.contains("signature") {
        true => change(&value).map(|value| (name, value)),
        false => Some((name, value)),
    });
    Request {
        headers: headers.collect(),
        ..genuine.clone()
    }
}

/// The signature with one digit replaced, not so close to the end that it could be padding.
fn changed(signature: &str) -> String {
    let at = signature.len() - 8;
    let other = if &signature[at..=at] == "0" { "1" } else { "0" };
    format!("{}{other}{}", &signature[..at], &signature[at + 1..])
}

/// A gateway with a source for a provider, with all events routed to one receiver.
struct Stage {
    gateway: Serve,
    receiver: Receiver,
    source: Value,
}

impl Stage {
    async fn of(provider: Provider) -> Self {
        let receiver = Receiver::start().await;
        let gateway = Serve::start(&[("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")]).await;
        let webhook = gateway.webhook(&receiver.url(), &json!({})).await;
        let public_url = provider.url.split('?').next();
        let route = json!({"event_type": "*", "intent": "take", "webhook_id": webhook});
        let draft = json!({
            "name": "provider", "scheme": provider.scheme, "secret": provider.secret,
            "public_url": public_url, "routes": [route],
        });
        let source = gateway.call(Method::POST, "/v1/sources", Some(draft)).await;
        Self {
            gateway,
            receiver,
            source,
        }
    }

    async fn post(&self, request: &Request) -> (u16, Value) {
        let path = self.source["url"].as_str().unwrap();
        let query = request.url.split_once('?');
        let query = query.map_or_else(String::new, |(_, query)| format!("?{query}"));
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
        let mut post = client
            .build()
            .unwrap()
            .post(format!("{}{path}{query}", self.gateway.url))
            .header("content-type", request.content_type)
            .body(request.body.clone());
        for (name, value) in &request.headers {
            post = post.header(name, value);
        }
        let answer = post.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    /// Posts a request that must be accepted and reach the receiver unchanged; returns the event's id.
    async fn accepted(&self, provider: Provider, request: &Request) -> Value {
        let (status, answer) = self.post(request).await;
        assert_eq!(status, 202, "{}: {answer}", provider.scheme);
        let delivery = answer["deliveries"][0]["id"].as_str().unwrap();
        let row = self.gateway.settled(delivery).await;
        assert_eq!(row["status"], "delivered");
        assert_eq!(row["event_type"], provider.event_type);
        assert_eq!(row["payload"], request.body.as_str());
        answer["id"].clone()
    }

    async fn rotate(&self, secret: &str) {
        let path = format!(
            "/v1/sources/{}/rotate-secret",
            self.source["id"].as_str().unwrap()
        );
        let body = json!({ "secret": secret });
        self.gateway.call(Method::POST, &path, Some(body)).await;
    }
}

async fn check(provider: Provider) {
    let stage = Stage::of(provider).await;
    let (old, new) = (provider.secret, provider.next_secret);
    let [first, with_old, with_new] = provider
        .signed([
            ("first", old, now()),
            ("old", old, now()),
            ("new", new, now()),
        ])
        .await;
    let id = stage.accepted(provider, &first).await;
    let (status, again) = stage.post(&first).await;
    assert_eq!((status, &again["id"]), (200, &id), "it was sent twice");

    for (what, request) in provider.forged().await {
        let (status, answer) = stage.post(&request).await;
        assert_eq!(status, 401, "{what}: {answer}");
        assert_eq!(answer["code"], "invalid_signature", "{what}");
    }

    stage.rotate(new).await;
    for request in [with_old, with_new] {
        stage.accepted(provider, &request).await;
    }
    assert_eq!(stage.receiver.requests().len(), 3, "nothing else arrived");
}

#[tokio::test]
async fn requests_signed_by_stripe_for_python_are_accepted() {
    check(STRIPE).await;
}

#[tokio::test]
async fn requests_signed_by_stripe_for_node_are_accepted() {
    check(Provider {
        library: node("stripe"),
        ..STRIPE
    })
    .await;
}

#[tokio::test]
async fn requests_signed_by_slack_sdk_are_accepted() {
    check(SLACK).await;
}

#[tokio::test]
async fn requests_signed_by_twilio_are_accepted_as_a_form() {
    check(TWILIO).await;
}

#[tokio::test]
async fn requests_signed_by_twilio_are_accepted_as_json() {
    check(Provider {
        content_type: JSON,
        body: r#"{"MessageSid":"SM1","Body":"grüße"}"#,
        ..TWILIO
    })
    .await;
}

#[tokio::test]
async fn requests_signed_by_twilio_are_accepted_with_a_port_that_the_source_does_not_name() {
    let stage = Stage::of(TWILIO).await;
    let ported = Provider {
        url: "https://hooks.example.com:443/in?foo=1&bar=2",
        ..TWILIO
    };
    let [request] = ported.signed([("ported", TWILIO.secret, now())]).await;
    stage.accepted(TWILIO, &request).await;
}

#[tokio::test]
async fn requests_signed_by_standardwebhooks_are_accepted() {
    check(STANDARD).await;
    check(Provider {
        library: node("standardwebhooks"),
        ..STANDARD
    })
    .await;
}

#[tokio::test]
async fn requests_signed_by_svix_are_accepted() {
    check(Provider {
        library: python("svix"),
        scheme: "svix",
        ..STANDARD
    })
    .await;
}

#[tokio::test]
async fn requests_signed_by_octokit_are_accepted() {
    check(GITHUB).await;
}
