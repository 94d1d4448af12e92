//! A restore as a shell script, for review or for a terminal without this command.

use std::fmt::Write as _;

use super::super::tool::{
    AwsCall, AwsTool, CONFIGS_VARIABLE, DELIVERIES_VARIABLE, STREAM_VARIABLE,
};
use super::plan::{Plan, Setting, Step, TableArns, describe};

pub(super) fn of(plan: &Plan, tool: &AwsTool) -> String {
    let mut script = format!(
        "#!/bin/sh\n# Restores the stack {} to {}.\nset -eu\n",
        plan.stack, plan.at
    );
    for (n, step) in Step::ALL.into_iter().enumerate() {
        let _ = writeln!(script, "\n# {}. {}.", n + 1, step.title());
        for line in lines(plan, step, tool) {
            let _ = writeln!(script, "{line}");
        }
    }
    script.truncate(script.trim_end().len());
    script
}

fn lines(plan: &Plan, step: Step, tool: &AwsTool) -> Vec<String> {
    let each = |calls: Vec<AwsCall>| calls.iter().map(|call| tool.line(call)).collect();
    match step {
        Step::Stop => each(plan.functions.iter().flat_map(Plan::stop).collect()),
        Step::Restore => {
            let tables = plan.restored.both();
            let restores = tables.map(|table| tool.line(&plan.restore(table)));
            let waits = tables.map(|table| until_active(&table.target, tool));
            restores.into_iter().chain(waits).collect()
        }
        Step::SetUp => {
            let set = |setting: Setting, table: &str| {
                [tool.line(&setting.set(table)), until_active(table, tool)]
            };
            let (deliveries, configs) = (&plan.restored.deliveries, &plan.restored.configs);
            let deliveries = Setting::of_deliveries()
                .into_iter()
                .flat_map(|setting| set(setting, &deliveries.target));
            let configs = Setting::of_configs()
                .into_iter()
                .flat_map(|setting| set(setting, &configs.target));
            let tags = "# Also set the tags of the old tables, if they have any: aws dynamodb tag-resource.";
            deliveries.chain(configs).chain([tags.to_owned()]).collect()
        }
        Step::Switch => switch(plan, tool),
        Step::Start => each(plan.functions.iter().flat_map(Plan::start).collect()),
        Step::Sweep => {
            let period = plan.period();
            vec![format!(
                "postrider aws sweep --stack {} --from {} --to {}",
                plan.stack, period.from, period.to
            )]
        }
    }
}

fn switch(plan: &Plan, tool: &AwsTool) -> Vec<String> {
    let ask = |variable: &str, table: &str, attribute: &str| {
        let describe = describe(table)
            .option("--query", format!("Table.{attribute}"))
            .option("--output", "text");
        let name = variable.trim_start_matches('$');
        format!("{name}=$({})", tool.line(&describe))
    };
    let (deliveries, configs) = (
        &plan.restored.deliveries.target,
        &plan.restored.configs.target,
    );
    let tables = TableArns {
        deliveries: DELIVERIES_VARIABLE.to_owned(),
        stream: STREAM_VARIABLE.to_owned(),
        configs: CONFIGS_VARIABLE.to_owned(),
    };
    let wait = AwsCall::new("cloudformation", "wait")
        .value("stack-update-complete")
        .option("--stack-name", &plan.stack);
    vec![
        ask(DELIVERIES_VARIABLE, deliveries, "TableArn"),
        ask(STREAM_VARIABLE, deliveries, "LatestStreamArn"),
        ask(CONFIGS_VARIABLE, configs, "TableArn"),
        tool.line(&plan.switch(&tables)),
        tool.line(&wait),
    ]
}

/// The tool's own `wait table-exists` gives up after eight minutes.
fn until_active(table: &str, tool: &AwsTool) -> String {
    let describe = describe(table)
        .option("--query", "Table.TableStatus")
        .option("--output", "text");
    format!(
        "until [ \"$({})\" = ACTIVE ]; do sleep 15; done",
        tool.line(&describe)
    )
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    #[test]
    fn the_script_has_every_step_in_order() {
        let script = of(&plan(), &AwsTool::plain());
        let mut at = 0;
        for part in [
            "--reserved-concurrent-executions 0",
            "restore-table-to-point-in-time",
            "until [",
            "--stream-specification",
            "--use-previous-template",
            "wait stack-update-complete",
            "delete-function-concurrency",
            "postrider aws sweep",
        ] {
            let found = script[at..].find(part);
            at += found.unwrap_or_else(|| panic!("{part} in its place in {script}"));
        }
        assert!(
            script
                .contains("\"ParameterKey=DeliveriesStreamArn,ParameterValue=$DELIVERIES_STREAM\""),
            "the shell fills in the variable: {script}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_can_read_the_script() {
        let script = of(&plan(), &AwsTool::plain());
        let checked = std::process::Command::new("/bin/sh")
            .args(["-n", "-c", &script])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}\n{script}");
    }
}
