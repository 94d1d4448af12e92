//! Dead-letter queues.

use futures_util::future::join_all;

use super::super::redrive::queues::{DeadLetters, look};
use super::super::stack::Stack;
use super::super::tool::{AwsError, AwsTool};
use super::unknown;
use crate::checks::Check;
use crate::output::plural;

const NAME: &str = "queues";

pub(super) async fn check(stack: &Stack, tool: &AwsTool) -> Vec<Check> {
    let looks = stack.dead_letter_queues().map(|queue| look(queue, tool));
    let looked: Result<Vec<_>, AwsError> = join_all(looks).await.into_iter().collect();
    vec![match looked {
        Ok(queues) => judge(&queues),
        Err(error) => unknown(NAME, &error),
    }]
}

fn judge(queues: &[DeadLetters]) -> Check {
    let filled: Vec<String> = queues
        .iter()
        .filter(|queue| queue.messages > 0)
        .map(|queue| format!("{} ({})", queue.name, plural(queue.messages, "message")))
        .collect();
    if filled.is_empty() {
        Check::good(
            NAME,
            format!("{}, empty", plural(queues.len(), "dead-letter queue")),
        )
    } else {
        Check::doubtful(
            NAME,
            format!("dead letters in {}", filled.join(", ")),
            "fix the cause (docs/operations.md, Alarms), then: postrider aws redrive",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Finding;

    #[test]
    fn dead_letters_are_counted_per_queue() {
        let queue = |messages| DeadLetters {
            name: "HintDeadLetters".to_owned(),
            arn: String::new(),
            messages,
        };
        assert_eq!(judge(&[queue(0)]).finding, Finding::Good);
        let check = judge(&[queue(2)]);
        assert_eq!(check.finding, Finding::Doubtful);
        assert_eq!(check.detail, "dead letters in HintDeadLetters (2 messages)");
    }
}
