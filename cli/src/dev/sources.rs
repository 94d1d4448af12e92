//! The event sources: the queue feeds the dispatcher, the schedule ticks the poller.

use std::sync::Arc;

use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;

use super::function::{Answer, Function};
use super::queue::{Message, Messages, Returned};
use super::{Stop, events, say};
use crate::output::plural;

/// The batch size of the template's event source.
const BATCH: usize = 10;

/// Passes batches of queue messages to the dispatcher, one at a time, until stopped.
pub(super) async fn feed(
    messages: Arc<Messages>,
    dispatcher: Function,
    clock: Arc<dyn Clock>,
    mut stop: Stop,
) {
    loop {
        let batch = tokio::select! {
            biased;
            _ = stop.wait_for(|stopped| *stopped) => return,
            batch = messages.take(BATCH) => batch,
        };
        let began = clock.now();
        let size = plural(batch.len(), "message");
        let event = events::sqs(&batch);
        let Some(answer) = dispatcher.invoke(&event, &mut stop).await else {
            return;
        };
        let (failed, result) = match answer {
            Answer::Done(answer) => {
                let failed = events::not_done(batch, &answer);
                let result = match failed.len() {
                    0 => "done".to_owned(),
                    some => format!("{some} failed"),
                };
                (failed, result)
            }
            Answer::Failed(why) => (batch, why),
        };
        report(dispatcher.name(), &size, &result, began, clock.now());
        give_back(&messages, failed);
    }
}

fn give_back(messages: &Messages, failed: Vec<Message>) {
    for message in failed {
        let (body, receives) = (message.body.clone(), message.receives);
        match messages.give_back(message) {
            Returned::Requeued => {}
            Returned::Dropped => say(format_args!(
                "dropped the queue message for {body}, which failed {receives} times. The delivery is still stored; \
                 the poller sends a new message when it is overdue."
            )),
        }
    }
}

/// Invokes the poller immediately and then at this interval, until stopped.
pub(super) async fn tick(poller: Function, every: Millis, clock: Arc<dyn Clock>, mut stop: Stop) {
    loop {
        let began = clock.now();
        let event = events::schedule(began);
        let Some(answer) = poller.invoke(&event, &mut stop).await else {
            return;
        };
        let result = match answer {
            Answer::Done(_) => "done".to_owned(),
            Answer::Failed(why) => why,
        };
        report(poller.name(), "tick", &result, began, clock.now());
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopped| *stopped) => return,
            () = clock.sleep_until(began.plus(every)) => {}
        }
    }
}

/// Prints one line per invocation.
fn report(name: &str, event: &str, result: &str, began: Timestamp, ended: Timestamp) {
    let took = ended.since(began);
    say(format_args!(
        "{ended}  {name:<20}  {event:<11}  {result}  {took}"
    ));
}
