//! The event sources of the functions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::json::{at, list};
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsTool};
use super::known;
use crate::checks::Check;
use crate::output::plural;

const NAME: &str = "sources";

pub(super) async fn check(stack: &Stack, tool: &AwsTool) -> Vec<Check> {
    let list = AwsCall::new("lambda", "list-event-source-mappings");
    let listed = known(NAME, tool.run(&list).await);
    vec![listed.map_or_else(|check| check, |listed| judge(&listed, stack))]
}

fn judge(listed: &Value, stack: &Stack) -> Check {
    let functions: BTreeSet<&str> = stack.functions().map(|it| it.physical.as_str()).collect();
    let listed = list(listed, "/EventSourceMappings");
    let ours: Vec<Source<'_>> = listed
        .filter_map(Source::read)
        .filter(|source| functions.contains(source.function))
        .collect();
    let problem = |source: &&Source<'_>| source.result.starts_with("PROBLEM");
    if ours.is_empty() {
        return Check::bad(NAME, "no function has an event source", "deploy again");
    }
    if let Some(off) = ours.iter().find(|source| source.is_off()) {
        return Check::bad(
            NAME,
            format!("an event source of {} is {}", off.function, off.state),
            format!(
                "aws lambda update-event-source-mapping --enabled --uuid {}",
                off.id
            ),
        );
    }
    if let Some(failing) = ours.iter().find(problem) {
        return Check::bad(
            NAME,
            format!(
                "an event source of {}: {}",
                failing.function, failing.result
            ),
            "see the log of the function, and its permissions",
        );
    }
    if let Some(changing) = ours.iter().find(|source| source.state != "Enabled") {
        return Check::doubtful(
            NAME,
            format!(
                "an event source of {} is {}",
                changing.function, changing.state
            ),
            "check again in a minute",
        );
    }
    Check::good(
        NAME,
        format!("{}, enabled", plural(ours.len(), "event source")),
    )
}

struct Source<'a> {
    id: &'a str,
    function: &'a str,
    state: &'a str,
    result: &'a str,
}

impl<'a> Source<'a> {
    fn read(mapping: &'a Value) -> Option<Self> {
        let arn = at(mapping, "/FunctionArn").as_str()?;
        // The name may be followed by an alias.
        let function = arn.split_once(":function:")?.1.split(':').next()?;
        Some(Self {
            id: at(mapping, "/UUID").as_str()?,
            function,
            state: at(mapping, "/State").as_str().unwrap_or_default(),
            result: at(mapping, "/LastProcessingResult")
                .as_str()
                .unwrap_or_default(),
        })
    }

    fn is_off(&self) -> bool {
        self.state.starts_with("Disabl")
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::tests::sample;
    use super::*;
    use crate::checks::Finding;
    use serde_json::json;

    fn finding(state: &str, result: &str) -> Finding {
        let mapping = |function: &str, state: &str| {
            json!({"UUID": "u", "State": state, "LastProcessingResult": result,
                "FunctionArn": format!("arn:aws:lambda:eu-central-1:123456789012:function:{function}:live")})
        };
        let listed = json!({"EventSourceMappings": [
            mapping("postrider-publisher", state),
            mapping("of-another-stack", "Disabled"),
        ]});
        judge(&listed, &sample(&[])).finding
    }

    #[test]
    fn only_the_event_sources_of_the_stack_count() {
        assert_eq!(finding("Enabled", "OK"), Finding::Good);
        assert_eq!(finding("Enabling", "OK"), Finding::Doubtful);
        assert_eq!(finding("Disabled", "OK"), Finding::Bad);
        assert_eq!(
            finding("Enabled", "PROBLEM: Function call failed"),
            Finding::Bad
        );
        let none = json!({"EventSourceMappings": []});
        assert_eq!(judge(&none, &sample(&[])).finding, Finding::Bad);
    }
}
