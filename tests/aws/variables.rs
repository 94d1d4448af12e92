//! The variables of each function in `template.yaml` and the settings it reads.

use std::cell::RefCell;
use std::collections::BTreeSet;

use postrider_gateway::settings::BadSettings;
use postrider_wiring::settings::{
    ApiSettings, BridgeSettings, DispatcherSettings, Lookup, NotifierSettings, PollerSettings,
    PublisherSettings, ReceiverSettings, WatcherSettings,
};
use serde_json::Value;

use super::stack::FUNCTIONS;
use super::template::template;

/// Read only by functions built for `postrider dev`.
const DEV_ONLY: &str = "POSTRIDER_DEV_URL";
/// Settings that receiver and bridge read along with their limits but do not use: they create no webhooks and send nothing
/// to them.
const NOT_FOR_ACCEPTING: [&str; 7] = [
    "POSTRIDER_DRAIN_QUEUE_URL",
    "POSTRIDER_EGRESS_ALLOW",
    "POSTRIDER_EGRESS_DENY",
    "POSTRIDER_EGRESS_HTTP",
    "POSTRIDER_EGRESS_PORTS",
    "POSTRIDER_RETRY_BUDGET",
    "POSTRIDER_RETRY_JITTER_BPS",
];

type Names = BTreeSet<String>;

/// The names that a function looks up when it reads its settings.
fn looked_up<T>(read: fn(Lookup<'_>) -> Result<T, BadSettings>) -> Names {
    let names = RefCell::new(Names::new());
    let lookup = |name: &str| {
        names.borrow_mut().insert(name.to_owned());
        None
    };
    // Without any setting it reports the missing ones; which ones it looked for is what counts.
    let _ = read(&lookup);
    let mut names = names.into_inner();
    names.retain(|name| name.starts_with("POSTRIDER_") && name != DEV_ONLY);
    names
}

fn read_by(function: &str) -> Names {
    match function {
        "receiver" => looked_up(ReceiverSettings::read),
        "api" => looked_up(ApiSettings::read),
        "poller" => looked_up(PollerSettings::read),
        "dispatcher" => looked_up(DispatcherSettings::read),
        "publisher" => looked_up(PublisherSettings::read),
        "bridge" => looked_up(BridgeSettings::read),
        "watcher" => looked_up(WatcherSettings::read),
        "notifier" => looked_up(NotifierSettings::read),
        other => panic!("{other} is not a function"),
    }
}

/// The variables that the template passes to a function: those of all functions and its own.
fn passed_to(function: &str, template: &Value) -> Names {
    let initial = function[..1].to_uppercase();
    let resource = format!("{initial}{}Function", &function[1..]);
    let own = &template["Resources"][&resource]["Properties"];
    [own, &template["Globals"]["Function"]]
        .into_iter()
        .filter_map(|properties| properties["Environment"]["Variables"].as_object())
        .flat_map(|variables| variables.keys().cloned())
        .filter(|name| name.starts_with("POSTRIDER_") && name != DEV_ONLY)
        .collect()
}

#[tokio::test]
async fn the_drainer_has_the_variables_of_the_dispatcher() {
    let template = template("template.yaml").await;
    let drainer = passed_to("drainer", &template);
    assert_eq!(drainer, passed_to("dispatcher", &template));
}

#[tokio::test]
async fn every_variable_of_a_function_is_one_that_it_reads() {
    let template = template("template.yaml").await;
    for function in FUNCTIONS {
        let (passed, read) = (passed_to(function, &template), read_by(function));
        let unread: Vec<_> = passed.difference(&read).collect();
        assert!(
            !passed.is_empty() && unread.is_empty(),
            "{function}: {unread:?}"
        );
    }
}

#[tokio::test]
async fn every_setting_that_a_function_reads_is_passed_to_it() {
    let template = template("template.yaml").await;
    for function in FUNCTIONS {
        let passed = passed_to(function, &template);
        let mut read = read_by(function);
        if ["receiver", "bridge"].contains(&function) {
            read.retain(|name| !NOT_FOR_ACCEPTING.contains(&name.as_str()));
        }
        let missing: Vec<_> = read.difference(&passed).collect();
        assert!(missing.is_empty(), "{function}: {missing:?}");
    }
}
