//! The functions: active, not stopped, and of the architecture that was built.

use super::super::functions::{self, Deployed};
use super::super::stack::Stack;
use super::super::tool::AwsTool;
use super::built::Built;
use super::unknown;
use crate::checks::Check;
use crate::output::plural;

const NAME: &str = "functions";

pub(super) async fn check(stack: &Stack, built: &[Built], tool: &AwsTool) -> Vec<Check> {
    match functions::all(stack, tool).await {
        Ok(deployed) => {
            let mut checks = vec![running(&deployed)];
            checks.extend(code(&deployed, built));
            checks
        }
        Err(error) => vec![unknown(NAME, &error)],
    }
}

fn running(deployed: &[Deployed]) -> Check {
    let stopped: Vec<&str> = deployed
        .iter()
        .filter(|function| function.reserved == Some(0))
        .map(|function| function.name.as_str())
        .collect();
    if let [first, ..] = stopped.as_slice() {
        return Check::bad(
            NAME,
            format!(
                "stopped, with a reserved concurrency of 0: {}",
                stopped.join(", ")
            ),
            format!(
                "if a restore was interrupted, run it again; otherwise: aws lambda delete-function-concurrency \
                 --function-name {first}"
            ),
        );
    }
    // An idle function is inactive until its next invocation.
    let failed = deployed
        .iter()
        .find(|function| !["Active", "Inactive", ""].contains(&function.state.as_str()));
    if let Some(failed) = failed {
        return Check::bad(
            NAME,
            format!("{} is {}: {}", failed.name, failed.state, failed.reason),
            "deploy again",
        );
    }
    let mut architectures: Vec<&str> = deployed
        .iter()
        .map(|function| function.architecture.as_str())
        .collect();
    architectures.sort_unstable();
    architectures.dedup();
    Check::good(
        NAME,
        format!(
            "{}, active, {}",
            plural(deployed.len(), "function"),
            architectures.join(" and ")
        ),
    )
}

/// `None` if nothing is built.
fn code(deployed: &[Deployed], built: &[Built]) -> Option<Check> {
    const NAME: &str = "code";
    let first = built.first()?;
    let differing = built.iter().find_map(|built| {
        let mut functions = deployed.iter();
        let function = functions.find(|function| function.logical == built.function)?;
        (function.architecture != built.architecture).then_some((function, built))
    });
    Some(match differing {
        None => Check::good(
            NAME,
            format!("built for {}, as deployed", first.architecture),
        ),
        Some((function, built)) => Check::bad(
            NAME,
            format!(
                "{} is {}, but {} is deployed for {}: it would not start",
                built.path.display(),
                built.architecture,
                function.name,
                function.architecture
            ),
            format!(
                "build with POSTRIDER_ARCHITECTURE={}, or deploy with Architecture={}",
                function.architecture, built.architecture
            ),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::tests::sample;
    use super::*;
    use crate::checks::Finding;
    use serde_json::{Value, json};

    fn deployed(answer: &Value) -> Vec<Deployed> {
        let stack = sample(&[]);
        stack
            .functions()
            .map(|it| Deployed::read(it, answer))
            .collect()
    }

    fn active() -> Value {
        json!({"Configuration": {"Architectures": ["arm64"], "State": "Active"}})
    }

    #[test]
    fn active_functions_are_good_and_stopped_or_failed_ones_bad() {
        let check = running(&deployed(&active()));
        assert_eq!(check.finding, Finding::Good);
        assert_eq!(check.detail, "3 functions, active, arm64");
        let mut stopped = active();
        stopped["Concurrency"]["ReservedConcurrentExecutions"] = 0.into();
        let check = running(&deployed(&stopped));
        assert_eq!(check.finding, Finding::Bad);
        assert!(check.detail.contains("postrider-poller"), "{check:?}");
        let mut failed = active();
        failed["Configuration"]["State"] = "Failed".into();
        assert_eq!(running(&deployed(&failed)).finding, Finding::Bad);
    }

    #[test]
    fn code_for_another_architecture_is_bad() {
        let built = |architecture: &str| {
            vec![Built {
                function: "ApiFunction".to_owned(),
                path: "ApiFunction/bootstrap".into(),
                architecture: architecture.to_owned(),
            }]
        };
        let deployed = deployed(&active());
        assert_eq!(code(&deployed, &[]), None);
        assert_eq!(
            code(&deployed, &built("arm64")).unwrap().finding,
            Finding::Good
        );
        let check = code(&deployed, &built("x86_64")).unwrap();
        assert_eq!(check.finding, Finding::Bad);
        assert!(
            check.advice.unwrap().contains("Architecture=x86_64"),
            "it says how to fix it"
        );
    }
}
