//! The event sources: the queue feeds the dispatcher, the schedule ticks the poller.

use std::sync::Arc;

use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;

use super::function::{Answer, Function};
use super::queue::{Message, Messages, Returned};
use super::{Stop, events, say};

/// As many messages as the template's event source hands over at once.
const BATCH: usize = 10;

/// Hands batches of hints to the dispatcher, one after the other, until told to stop.
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
        let size = plural(batch.len(), "hint");
        let event = events::sqs(&batch);
        let Some(answer) = dispatcher.invoke(&event, &mut stop).await else {
            return;
        };
        let (left, said) = match answer {
            Answer::Done(answer) => {
                let left = events::not_done(batch, &answer);
                let said = match left.len() {
                    0 => "done".to_owned(),
                    some => format!("{some} not done"),
                };
                (left, said)
            }
            Answer::Failed(why) => (batch, why),
        };
        report(dispatcher.name(), &size, &said, began, clock.now());
        give_back(&messages, left);
    }
}

fn give_back(messages: &Messages, left: Vec<Message>) {
    for message in left {
        let (body, receives) = (message.body.clone(), message.receives);
        match messages.give_back(message) {
            Returned::Kept => {}
            Returned::SetAside => say(format_args!(
                "dropped the queue message for {body}: it failed {receives} times. The poller sends another one when \
                 the work is overdue."
            )),
        }
    }
}

/// Ticks the poller at once and then at this interval, until told to stop.
pub(super) async fn tick(poller: Function, every: Millis, clock: Arc<dyn Clock>, mut stop: Stop) {
    loop {
        let began = clock.now();
        let event = events::schedule(began);
        let Some(answer) = poller.invoke(&event, &mut stop).await else {
            return;
        };
        let said = match answer {
            Answer::Done(_) => "done".to_owned(),
            Answer::Failed(why) => why,
        };
        report(poller.name(), "tick", &said, began, clock.now());
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopped| *stopped) => return,
            () = clock.sleep_until(began.plus(every)) => {}
        }
    }
}

/// One line for each invocation.
fn report(name: &str, about: &str, said: &str, began: Timestamp, ended: Timestamp) {
    let took = ended.since(began);
    say(format_args!(
        "{ended}  {name:<20}  {about:<8}  {said}  {took}"
    ));
}

fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}
