//! Runs the steps of a restore. Each first looks at what is done already, so that all of them can be run again.

use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::Value;

use super::super::functions;
use super::super::json::at;
use super::super::stack::{self, Stack};
use super::super::sweep;
use super::super::tool::{AwsCall, AwsError, AwsTool};
use super::names::Table;
use super::plan::{
    CONFIGS_TABLE, DELIVERIES_STREAM, DELIVERIES_TABLE, Plan, Setting, Step, TableArns, describe,
    tag,
};
use super::{Asks, Finished};
use crate::edge;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Waiting;

const POLL_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) stack: &'a Stack,
    pub(super) tool: &'a AwsTool,
    pub(super) out: Output,
    pub(super) asks: Asks,
}

impl Run<'_> {
    pub(super) async fn all(&self) -> Result<Finished, Failure> {
        for (n, step) in Step::ALL.into_iter().enumerate() {
            let title = format!("{}/{} {}", n + 1, Step::ALL.len(), step.title());
            self.out.note(format!("{title}."));
            if self.asks == Asks::EachStep && !confirmed()? {
                return Ok(Finished::Declined);
            }
            match step {
                Step::Stop => self.stop().await?,
                Step::Restore => self.restore().await?,
                Step::SetUp => self.set_up().await?,
                Step::Switch => self.switch().await?,
                Step::Start => self.start().await?,
                Step::Sweep => self.sweep().await?,
            }
        }
        Ok(Finished::Complete)
    }

    async fn stop(&self) -> Result<(), Failure> {
        let running = self.plan.functions.iter();
        let running = running.filter(|function| function.reserved != Some(0));
        try_join_all(running.map(|function| self.run_each(Plan::stop(function)))).await?;
        Ok(())
    }

    async fn restore(&self) -> Result<(), Failure> {
        for table in self.plan.restored.both() {
            match self.tool.run(&describe(&table.target)).await {
                Ok(_) => self.out.note(format!("  {} exists already.", table.target)),
                Err(error) if error.is_not_found() => {
                    self.tool.run(&self.plan.restore(table)).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        for table in self.plan.restored.both() {
            self.until_active(&table.target).await?;
        }
        Ok(())
    }

    async fn set_up(&self) -> Result<(), Failure> {
        let restored = &self.plan.restored;
        let (of_deliveries, of_configs) = (Setting::of_deliveries(), Setting::of_configs());
        tokio::try_join!(
            self.set_up_table(&restored.deliveries, &of_deliveries),
            self.set_up_table(&restored.configs, &of_configs),
        )?;
        Ok(())
    }

    async fn set_up_table(&self, table: &Table, settings: &[Setting]) -> Result<(), Failure> {
        let before = self.tool.run(&describe(&table.source)).await?;
        for setting in settings {
            let is_wanted = *setting != Setting::Protection || setting.is_set(&before);
            let looked = self.tool.run(&setting.look(&table.target)).await?;
            if is_wanted && !setting.is_set(&looked) {
                self.tool.run(&setting.set(&table.target)).await?;
                // The next change is refused while this one is made.
                self.until_active(&table.target).await?;
            }
        }
        let tags = AwsCall::new("dynamodb", "list-tags-of-resource")
            .option("--resource-arn", text(at(&before, "/Table/TableArn"))?);
        let tags = self.tool.run(&tags).await?;
        let target = self.tool.run(&describe(&table.target)).await?;
        if let Some(tag) = tag(text(at(&target, "/Table/TableArn"))?, &tags) {
            self.tool.run(&tag).await?;
        }
        Ok(())
    }

    async fn switch(&self) -> Result<(), Failure> {
        let tables = self.table_arns().await?;
        let current = |name| self.stack.parameter(name).unwrap_or_default();
        if current(DELIVERIES_TABLE) == tables.deliveries
            && current(DELIVERIES_STREAM) == tables.stream
            && current(CONFIGS_TABLE) == tables.configs
        {
            self.out.note("  The stack uses them already.");
            return Ok(());
        }
        match self.tool.run(&self.plan.switch(&tables)).await {
            Ok(_) => {}
            Err(error) if error.is_unchanged() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.until_updated(&tables).await
    }

    async fn table_arns(&self) -> Result<TableArns, Failure> {
        let restored = &self.plan.restored;
        let deliveries = self
            .tool
            .run(&describe(&restored.deliveries.target))
            .await?;
        let configs = self.tool.run(&describe(&restored.configs.target)).await?;
        Ok(TableArns {
            deliveries: text(at(&deliveries, "/Table/TableArn"))?.to_owned(),
            stream: text(at(&deliveries, "/Table/LatestStreamArn"))?.to_owned(),
            configs: text(at(&configs, "/Table/TableArn"))?.to_owned(),
        })
    }

    async fn start(&self) -> Result<(), Failure> {
        // With the tags that the stop has set.
        let all = functions::all(self.stack, self.tool).await?;
        let stopped = all.iter().filter(|function| function.reserved == Some(0));
        try_join_all(stopped.map(|function| self.run_each(Plan::start(function)))).await?;
        Ok(())
    }

    async fn sweep(&self) -> Result<(), Failure> {
        let swept = sweep::sweep(self.stack, self.plan.period(), self.tool, self.out).await?;
        self.out.note(format!("  {swept}"));
        Ok(())
    }

    async fn run_each(&self, calls: Vec<AwsCall>) -> Result<(), AwsError> {
        for call in &calls {
            self.tool.run(call).await?;
        }
        Ok(())
    }

    async fn until_active(&self, table: &str) -> Result<(), Failure> {
        let waiting = Waiting::new(self.out, table);
        loop {
            let described = self.tool.run(&describe(table)).await?;
            let status = text(at(&described, "/Table/TableStatus"))?;
            if status == "ACTIVE" {
                waiting.finish();
                return Ok(());
            }
            waiting.set(status);
            edge::pause(POLL_EVERY).await;
        }
    }

    async fn until_updated(&self, tables: &TableArns) -> Result<(), Failure> {
        let waiting = Waiting::new(self.out, &self.plan.stack);
        loop {
            let described = self.tool.run(&stack::describe(&self.plan.stack)).await?;
            let status = text(at(&described, "/Stacks/0/StackStatus"))?;
            waiting.set(status);
            match status {
                "UPDATE_COMPLETE" | "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
                    // Just after the call, the state may still be that of the update before.
                    if stack::parameters(&described).get(DELIVERIES_TABLE)
                        == Some(&tables.deliveries) =>
                {
                    waiting.finish();
                    return Ok(());
                }
                "UPDATE_COMPLETE" | "CREATE_COMPLETE" => edge::pause(POLL_EVERY).await,
                status if status.ends_with("_IN_PROGRESS") => edge::pause(POLL_EVERY).await,
                status => {
                    return Err(Failure::Aws(AwsError::Rejected {
                        call: "cloudformation update-stack".to_owned(),
                        code: String::new(),
                        detail: format!("it ended as {status}; see the stack's events"),
                    }));
                }
            }
        }
    }
}

fn confirmed() -> Result<bool, Failure> {
    edge::ask_yes("Continue?")?.ok_or_else(|| {
        Failure::Input(
            "needs confirmation: pass --yes, or --print to see the commands first".to_owned(),
        )
    })
}

fn text(value: &Value) -> Result<&str, AwsError> {
    let text = value.as_str();
    text.ok_or_else(|| AwsError::Unreadable("dynamodb describe-table".to_owned()))
}
