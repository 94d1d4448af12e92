//! The alarms, and who gets them.

use serde_json::Value;

use super::super::json::{at, list};
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsTool};
use super::known;
use crate::checks::Check;
use crate::output::plural;

pub(super) async fn check(stack: &Stack, tool: &AwsTool) -> Vec<Check> {
    let (alarms, subscribers) = tokio::join!(alarms(stack, tool), subscribers(stack, tool));
    vec![alarms, subscribers]
}

async fn alarms(stack: &Stack, tool: &AwsTool) -> Check {
    const NAME: &str = "alarms";
    let Some(prefix) = nested_prefix(stack) else {
        return Check::bad(NAME, "the stack has no alarms", "deploy again");
    };
    let describe =
        AwsCall::new("cloudwatch", "describe-alarms").option("--alarm-name-prefix", &prefix);
    let described = known(NAME, tool.run(&describe).await);
    described.map_or_else(|check| check, |described| judge(&described, &prefix))
}

/// The names of the alarms begin with the name of the nested stack that creates them.
fn nested_prefix(stack: &Stack) -> Option<String> {
    let nested = stack.resource("Alarms").ok()?;
    let name = nested.physical.split('/').nth(1)?;
    Some(format!("{name}-"))
}

fn judge(described: &Value, prefix: &str) -> Check {
    const NAME: &str = "alarms";
    let alarms: Vec<&Value> = list(described, "/MetricAlarms").collect();
    if alarms.is_empty() {
        return Check::bad(NAME, "the stack has no alarms", "deploy again");
    }
    let firing: Vec<&str> = alarms
        .iter()
        .filter(|alarm| at(alarm, "/StateValue") == "ALARM")
        .filter_map(|alarm| Some(short(at(alarm, "/AlarmName").as_str()?, prefix)))
        .collect();
    if firing.is_empty() {
        Check::good(
            NAME,
            format!("{}, none in alarm", plural(alarms.len(), "alarm")),
        )
    } else {
        Check::bad(
            NAME,
            format!("in alarm: {}", firing.join(", ")),
            "docs/operations.md says what each means and what to do",
        )
    }
}

/// The name in the template: `Late` for `postrider-Alarms-1A2B-Late-3C4D`.
fn short<'a>(name: &'a str, prefix: &str) -> &'a str {
    let name = name.strip_prefix(prefix).unwrap_or(name);
    name.rsplit_once('-').map_or(name, |(name, _)| name)
}

async fn subscribers(stack: &Stack, tool: &AwsTool) -> Check {
    const NAME: &str = "alerts";
    let topic = match stack.resource("AlarmTopic") {
        Ok(topic) => &topic.physical,
        Err(failure) => return Check::bad(NAME, failure.to_string(), "deploy again"),
    };
    let list = AwsCall::new("sns", "list-subscriptions-by-topic").option("--topic-arn", topic);
    let listed = known(NAME, tool.run(&list).await);
    listed.map_or_else(|check| check, |listed| confirmed(&listed))
}

fn confirmed(listed: &Value) -> Check {
    const NAME: &str = "alerts";
    let (confirmed, pending): (Vec<&Value>, Vec<&Value>) = list(listed, "/Subscriptions")
        .partition(|it| at(it, "/SubscriptionArn") != "PendingConfirmation");
    if confirmed.is_empty() && pending.is_empty() {
        return Check::doubtful(
            NAME,
            "no one receives the alarms",
            "deploy with AlertAddress=…, or subscribe to the topic AlarmTopic",
        );
    }
    if confirmed.is_empty() {
        return Check::doubtful(
            NAME,
            "no one receives the alarms: the subscription is not confirmed",
            "follow the link in the e-mail from SNS",
        );
    }
    Check::good(NAME, plural(confirmed.len(), "subscriber"))
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::tests::sample;
    use super::*;
    use crate::checks::Finding;
    use serde_json::json;

    #[test]
    fn an_alarm_is_shown_by_its_name_in_the_template() {
        let prefix = nested_prefix(&sample(&[])).unwrap();
        assert_eq!(prefix, "postrider-Alarms-1A-");
        let alarm = |name: &str, state: &str| json!({"AlarmName": format!("{prefix}{name}-XYZ"), "StateValue": state});
        let described = json!({"MetricAlarms": [alarm("Late", "ALARM"), alarm("HintsOld", "OK")]});
        let check = judge(&described, &prefix);
        assert_eq!(check.finding, Finding::Bad);
        assert_eq!(check.detail, "in alarm: Late");
        let fine = json!({"MetricAlarms": [alarm("Late", "INSUFFICIENT_DATA")]});
        assert_eq!(judge(&fine, &prefix).detail, "1 alarm, none in alarm");
        assert_eq!(judge(&json!({}), &prefix).finding, Finding::Bad);
    }

    #[test]
    fn a_topic_without_a_confirmed_subscriber_is_doubtful() {
        let listed = |arns: &[&str]| {
            let list: Vec<_> = arns
                .iter()
                .map(|arn| json!({"SubscriptionArn": arn}))
                .collect();
            confirmed(&json!({"Subscriptions": list})).finding
        };
        assert_eq!(listed(&[]), Finding::Doubtful);
        assert_eq!(listed(&["PendingConfirmation"]), Finding::Doubtful);
        assert_eq!(
            listed(&["PendingConfirmation", "arn:aws:sns:x"]),
            Finding::Good
        );
    }
}
