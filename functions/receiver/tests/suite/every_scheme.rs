//! A request of every scheme, sent again.

use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::{Scheme, Way};
use postrider_domain::time::Millis;
use postrider_samples::{self as sample, SampleKeys, Unsigned};

use crate::stage::{Stage, URL};

fn signed(stage: &Stage, scheme: &Scheme, way: &Way, keys: &SampleKeys) -> Inbound {
    let event = &sample::events(scheme)[0];
    let unsigned = Unsigned {
        url: URL,
        query: None,
        id: "4711",
        headers: event.headers,
        content_type: event.content_type,
        body: event.body.as_bytes(),
    };
    sample::sign_in(way, scheme, keys, unsigned, stage.now()).unwrap()
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_is_rejected_after_its_window() {
    let stage = Stage::new();
    let ways = Scheme::all().flat_map(|scheme| scheme.ways.iter().map(move |way| (scheme, way)));
    let mut tried = 0;
    for (scheme, way) in ways {
        let keys = sample::keys_for(way, &[3; 32]).unwrap();
        let source = stage.source_of(scheme.name, keys.secret.expose()).await;
        let inbound = signed(&stage, scheme, way, &keys);
        let first = stage.relay(&source, &inbound).await.expect(202);
        let again = stage.relay(&source, &inbound).await;
        let name = scheme.name;
        if scheme.delivery_id.is_empty() && way.time.is_none() {
            // A replay cannot be distinguished from an identical event.
            assert_ne!(again.expect(202)["id"], first["id"], "{name}");
        } else {
            let again = again.expect(200);
            assert_eq!(
                (&again["id"], &again["duplicate"]),
                (&first["id"], &true.into()),
                "{name}"
            );
        }
        if let Some(window) = way.time.as_ref().and_then(|time| time.window_seconds) {
            stage
                .clock
                .advance(Millis::from_seconds(u64::from(window) + 1));
            let late = stage.relay(&source, &inbound).await;
            late.problem(401, "invalid_signature");
            let (kind, data) = stage.notifications().await.pop().unwrap();
            assert_eq!(kind, "inbound.signature_failed", "{name}");
            assert_eq!(data["reason"], "out_of_window", "{name}");
        }
        tried += 1;
    }
    assert!(tried > 25, "{tried}");
}
