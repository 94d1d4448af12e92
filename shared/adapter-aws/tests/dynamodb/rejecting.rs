//! The calls of a rejection: the same for every reason and for a source that does not exist, and cheap in a flood.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::get_item::GetItemInput;
use aws_sdk_dynamodb::operation::put_item::PutItemInput;
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use parking_lot::Mutex;
use postrider_domain::inbound::{Inbound, Rejection};
use postrider_domain::rejected::{PER_MINUTE, RejectedRequest};
use postrider_ports::rejected::RejectedRequests;
use postrider_ports::sources::Sources;
use postrider_testkit::builders::{self, NOW, after};

use crate::support::{Meter, fixture};

/// Records the calls, with the size of what is put.
#[derive(Clone, Debug, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Intercept for Calls {
    fn name(&self) -> &'static str {
        "Calls"
    }

    fn read_before_serialization(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let input = context.input();
        let call = if input.downcast_ref::<GetItemInput>().is_some() {
            "get".to_owned()
        } else if input.downcast_ref::<UpdateItemInput>().is_some() {
            "update".to_owned()
        } else if let Some(put) = input.downcast_ref::<PutItemInput>() {
            let sealed = put.item().and_then(|item| item.get("sealed"));
            let sealed = sealed.and_then(|sealed| sealed.as_b().ok());
            format!("put {:?}", sealed.map(|sealed| sealed.as_ref().len()))
        } else {
            format!("{input:?}")
        };
        self.0.lock().push(call);
        Ok(())
    }
}

#[tokio::test]
async fn every_rejection_makes_the_same_calls() {
    let tables = fixture().await;
    let source = builders::source(&"default".parse().unwrap(), 1);
    tables.store.create_source(source.clone()).await.unwrap();
    let calls = Calls::default();
    let config = tables.config().interceptor(calls.clone());
    let store = tables.store_with(Client::from_conf(config.build()));
    // The data key is read once, with the source itself.
    store.source_by_id(source.id).await.unwrap().unwrap();
    calls.take();
    let request = || Inbound {
        path: "/gateway/webhooks/src_1".to_owned(),
        body: vec![b'x'; 20_000].into(),
        ..Inbound::default()
    };
    let mut seen = Vec::new();
    for n in 0..u64::from(PER_MINUTE) + 3 {
        for reason in [Rejection::NoMatch, Rejection::OutOfWindow] {
            let rejected = RejectedRequest::of(&source, request(), reason, after(n));
            store.store_rejected(rejected).await.unwrap();
            seen.push(calls.take());
        }
        let sourceless =
            RejectedRequest::to_unknown_source(request(), Rejection::UnknownSource, NOW);
        store.store_rejected(sourceless).await.unwrap();
        seen.push(calls.take());
    }
    let stored = &seen[0];
    assert!(stored[2].starts_with("put"), "{stored:?}");
    let counted = ["get", "update", "get"];
    assert!(
        seen.iter()
            .all(|calls| calls == stored || *calls == counted),
        "{seen:?}"
    );
    let counts = store.rejection_counts(&source.tenant, source.id).await;
    assert_eq!(counts.unwrap().counted, 16, "most were only counted");
}

#[tokio::test]
async fn a_rejected_request_that_is_only_counted_costs_one_write_unit() {
    let tables = fixture().await;
    let source = builders::source(&"default".parse().unwrap(), 1);
    tables.store.create_source(source.clone()).await.unwrap();
    let meter = Meter::default();
    let config = tables.config().interceptor(meter.clone());
    let store = tables.store_with(Client::from_conf(config.build()));
    let request = || Inbound {
        path: "/gateway/webhooks/src_1".to_owned(),
        body: vec![b'x'; 40_000].into(),
        ..Inbound::default()
    };
    for _ in 0..PER_MINUTE {
        let of_source = RejectedRequest::of(&source, request(), Rejection::NoMatch, NOW);
        let unknown = RejectedRequest::to_unknown_source(request(), Rejection::UnknownSource, NOW);
        for rejected in [of_source, unknown] {
            store.store_rejected(rejected).await.unwrap().unwrap();
        }
    }
    for _ in 0..5 {
        let of_source = RejectedRequest::of(&source, request(), Rejection::NoMatch, NOW);
        let unknown = RejectedRequest::to_unknown_source(request(), Rejection::UnknownSource, NOW);
        for rejected in [of_source, unknown] {
            meter.take();
            assert_eq!(store.store_rejected(rejected).await, Ok(None));
            let spent = meter.take();
            assert_eq!((spent.writes, spent.reads), (1.0, 2.0));
        }
    }
}
