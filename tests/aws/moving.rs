//! From an embedded gateway to the stack and back, with the command.

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use postrider_tests::api::Api;
use serde_json::{Value, json};

use super::stack::Stack;
use crate::command::{Serve, TOKEN};
use crate::moving::{SECRET, assert_signed, done, webhook};

const EVENT_TYPE: &str = "/v1/event-types/moved.entry";
const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

pub(super) async fn a_gateway_moves_to_the_stack_and_back(stack: &Stack) {
    let folder = tempfile::tempdir().unwrap();
    let (there, back) = (folder.path().join("there"), folder.path().join("back"));
    let (there, back) = (there.to_str().unwrap(), back.to_str().unwrap());
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(500));
    let old = Serve::start(&[OPEN]).await;
    let id = webhook(&old, &receiver).await;
    let described =
        json!({"description": "Moved.", "schema": {"type": "object"}, "examples": [{}]});
    old.call(Method::PUT, EVENT_TYPE, Some(described.clone()))
        .await;
    let first = old.publish(&id, r#"{"n": 1}"#).await;
    receiver.received(1).await;
    let export = ["export", there, "--deliveries", "open", "--pause"];
    done(&old.url, TOKEN, &export).await;
    let sent_by_old = receiver.requests().len();

    receiver.answer(Answer::status(200));
    done(&stack.api.url, &stack.token, &["import", there]).await;
    let row = stack.ticked_until_settled(&first).await;
    assert_eq!(row["status"], "delivered", "{row}");
    let received = receiver.requests();
    assert_eq!(received.len(), sent_by_old + 1, "once");
    assert_signed(received.last().unwrap(), SECRET);

    assert_described(&stack.api, &described).await;

    let pause = format!("/v1/webhooks/{id}/pause");
    stack.api.call(Method::POST, &pause, None).await;
    let second = stack.api.publish(&id, r#"{"n": 2}"#).await;
    let export = ["export", back, "--deliveries", "open"];
    done(&stack.api.url, &stack.token, &export).await;
    let new = Serve::start(&[OPEN]).await;
    done(&new.url, TOKEN, &["import", back]).await;
    assert_described(&new, &described).await;
    let resume = format!("/v1/webhooks/{id}/resume");
    new.call(Method::POST, &resume, None).await;
    assert_eq!(new.settled(&second).await["status"], "delivered");
    let received = receiver.requests();
    assert_eq!(received.len(), sent_by_old + 2, "once");
    assert_signed(received.last().unwrap(), SECRET);
    let path = format!("/v1/webhooks/{id}");
    for path in [&path, EVENT_TYPE] {
        stack.api.call(Method::DELETE, path, None).await;
    }
}

async fn assert_described(api: &Api, expected: &Value) {
    let found = api.call(Method::GET, EVENT_TYPE, None).await;
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&found[field], value, "{field}");
    }
}
