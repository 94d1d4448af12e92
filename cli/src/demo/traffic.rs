//! Events that are published, and webhooks that arrive, for as long as the demo runs.

use std::time::Duration;

use postrider_domain::ids::EventId;
use serde_json::{Value, json};

use super::receivers::Receivers;
use super::scene::{GITHUB_SECRET, Gateway, STRIPE_SECRET, Sources};
use crate::commands::trigger::{Sample, signed_sample};
use crate::edge;
use crate::failure::Failure;

/// An inbound webhook for this many published events.
const INBOUND_EVERY: u64 = 20;
/// One of them is forged.
const FORGED_EVERY: u64 = 5;
/// Once in so many events, a burst of messages is more than their receiver takes. It drains before the next one.
const BURST_EVERY: u64 = 240;
/// The first one comes early, so it is seen.
const FIRST_BURST: u64 = 8;
const BURST_SIZE: u64 = 40;
/// After this many events, the dead deliveries are retried in bulk, once.
const BULK_RETRY_AFTER: u64 = 200;

/// Runs until it is aborted. What the gateway does with its events is the demo, so a failure is only reported.
pub(super) async fn play(gateway: Gateway, receivers: Receivers, rate: u32) {
    let sources = match gateway.set_up(receivers).await {
        Ok(sources) => sources,
        Err(failure) => return eprintln!("error: the demo could not be set up: {failure}"),
    };
    let pause = Duration::from_secs(1) / rate;
    let mut reported = false;
    for n in 0_u64.. {
        if let Err(failure) = step(&gateway, &sources, n).await
            && !reported
        {
            reported = true;
            eprintln!("warning: {failure}");
        }
        edge::pause(pause).await;
    }
}

async fn step(gateway: &Gateway, sources: &Sources, n: u64) -> Result<(), Failure> {
    gateway.client.post(&["v1", "events"], &event(n)).await?;
    if n.is_multiple_of(INBOUND_EVERY) {
        inbound(gateway, sources, n / INBOUND_EVERY).await?;
    }
    if n % BURST_EVERY == FIRST_BURST {
        let messages: Vec<_> = (n..n + BURST_SIZE).map(delayed_order).collect();
        let messages = json!({ "events": messages });
        gateway.client.post(&["v1", "events"], &messages).await?;
    }
    if n == BULK_RETRY_AFTER {
        let dead = json!({ "filter": { "status": "dead" } });
        gateway.client.post(&["v1", "retries"], &dead).await?;
    }
    Ok(())
}

/// The types take turns, as they would in a shop.
fn event(n: u64) -> Value {
    let (id, customer) = (1_000 + n, 40 + n % 7);
    let (event_type, payload) = match n % 8 {
        0 | 4 => (
            "order.created",
            json!({ "order": id, "customer": customer, "total": "49.00" }),
        ),
        1 => (
            "user.updated",
            json!({ "user": customer, "changed": ["address"] }),
        ),
        2 => (
            "message.posted",
            json!({ "channel": "sales", "text": format!("order {id} is on its way") }),
        ),
        3 => (
            "invoice.paid",
            json!({ "invoice": id, "customer": customer, "amount": 4900 }),
        ),
        5 => (
            "message.posted",
            json!({ "channel": "support", "text": format!("ticket {id} was closed") }),
        ),
        6 => (
            "build.finished",
            json!({ "build": id, "ok": !n.is_multiple_of(3) }),
        ),
        _ => ("order.shipped", json!({ "order": id, "carrier": "post" })),
    };
    json!({ "type": event_type, "payload": payload, "session_id": format!("customer-{customer}") })
}

fn delayed_order(n: u64) -> Value {
    let text = format!("order {} is delayed", 1_000 + n);
    json!({ "type": "message.posted", "payload": { "channel": "sales", "text": text } })
}

async fn inbound(gateway: &Gateway, sources: &Sources, n: u64) -> Result<(), Failure> {
    let (scheme, source, secret) = if n.is_multiple_of(2) {
        ("github", &sources.github, GITHUB_SECRET)
    } else {
        ("stripe", &sources.stripe, STRIPE_SECRET)
    };
    let is_forged = n % FORGED_EVERY == FORGED_EVERY - 1;
    let secret = if is_forged { "whsec_a_guess" } else { secret };
    let path = ["gateway", "webhooks", source.as_str()];
    let now = edge::now();
    let id = EventId::new(now, &edge::entropy()?).to_string();
    let request = signed_sample(&Sample {
        scheme,
        secret,
        id: &id,
        at: now,
    })?;
    let sent = gateway.client.request(request.method, &path)?;
    let sent = sent.headers(request.headers).body(request.body).send();
    // A forged request is rejected, as it should be.
    drop(sent.await);
    Ok(())
}
