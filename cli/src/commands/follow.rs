//! `--wait`: watches deliveries until each is delivered or dead.

use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget};
use postrider_api_types::Word;
use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::event::{DeliveryAnswer, EventAnswer};
use postrider_domain::delivery::Status;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, printable_line};
use crate::table::{Mark, Table};
use crate::views::{ShowDelivery, WebhookNames};
use crate::when::{Span, until};

const FIRST_POLL: Duration = Duration::from_millis(150);
const SLOWEST_POLL: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// Wait until each delivery is delivered or dead; exit code 1 if one is dead, or if only deliveries on hold are left
    #[arg(long)]
    pub(super) wait: bool,

    /// Wait no longer than this, such as 30s or 5m; exit code 1 if a delivery is still open then
    #[arg(long, requires = "wait", value_name = "DURATION")]
    pub(super) timeout: Option<Span>,
}

/// Shows what was accepted and, with --wait, watches it.
pub(crate) async fn show_published(
    client: &Client,
    answer: &str,
    wait: WaitArgs,
    out: Output,
) -> Result<Ending, Failure> {
    let published: EventAnswer = crate::client::read(answer)?;
    if !wait.wait {
        if out.wants_json() {
            out.document(answer)?;
        } else {
            out.line(plan(&published, out))?;
        }
        return Ok(Ending::Fine);
    }
    out.note(headline(&published));
    let mut watch = Watch::new(client, &published.deliveries, out);
    let settled = watch.within(&wait).await;
    watch.show(answer)?;
    watch.ending(settled)
}

/// Watches one requeued delivery.
pub(crate) async fn show_retried(
    client: &Client,
    delivery: DeliveryAnswer,
    wait: &WaitArgs,
    out: Output,
) -> Result<Ending, Failure> {
    let mut watch = Watch::new(client, &[delivery], out);
    let settled = watch.within(wait).await;
    let seen = watch
        .watched
        .iter()
        .find_map(|watched| watched.seen.as_ref());
    match seen {
        Some((_, raw)) if out.wants_json() => out.document(raw.get())?,
        Some(_) | None => watch.show_table()?,
    }
    watch.ending(settled)
}

enum Settled {
    Yes(Result<(), Failure>),
    Interrupted,
    TooLate,
}

fn headline(published: &EventAnswer) -> String {
    let known = if published.duplicate {
        " (duplicate; nothing new was stored)"
    } else {
        ""
    };
    format!("Event {}{known}", published.id)
}

fn plan(published: &EventAnswer, out: Output) -> String {
    let headline = headline(published);
    if published.deliveries.is_empty() {
        return format!("{headline}\nNo webhook subscribes to it. It is stored but not sent.");
    }
    let mut table = Table::new(["DELIVERY", "WEBHOOK"]);
    for delivery in &published.deliveries {
        table.row(
            Mark::None,
            [delivery.id.clone(), delivery.webhook_id.clone()],
        );
    }
    format!("{headline}\n{}", table.show(out))
}

/// One delivery and its last known state.
struct Watched {
    id: String,
    webhook_id: String,
    seen: Option<(DeliveryView, Box<RawValue>)>,
}

impl Watched {
    fn is_settled(&self) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|(delivery, _)| delivery.is_settled())
    }

    fn is_on_hold(&self) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|(delivery, _)| delivery.is_on_hold())
    }
}

/// The JSON output: the response to the event, then the last known state of each delivery.
#[derive(Serialize)]
struct Followed<'a> {
    event: &'a RawValue,
    deliveries: Vec<&'a RawValue>,
}

struct Watch<'a> {
    client: &'a Client,
    out: Output,
    bar: ProgressBar,
    names: WebhookNames,
    watched: Vec<Watched>,
}

impl<'a> Watch<'a> {
    fn new(client: &'a Client, deliveries: &[DeliveryAnswer], out: Output) -> Self {
        let target = if out.wants_json() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let watched = deliveries.iter().map(|planned| Watched {
            id: planned.id.clone(),
            webhook_id: planned.webhook_id.clone(),
            seen: None,
        });
        Self {
            client,
            out,
            bar: ProgressBar::with_draw_target(None, target),
            names: WebhookNames::default(),
            watched: watched.collect(),
        }
    }

    /// Watches until all deliveries are settled, Ctrl-C is pressed, or the timeout expires.
    async fn within(&mut self, wait: &WaitArgs) -> Settled {
        let settling = edge::unless_interrupted(self.until_settled());
        let ended = match wait.timeout {
            Some(Span(span)) => tokio::time::timeout(span.into(), settling).await.ok(),
            None => Some(settling.await),
        };
        self.bar.finish_and_clear();
        match ended {
            Some(Some(result)) => Settled::Yes(result),
            Some(None) => Settled::Interrupted,
            None => Settled::TooLate,
        }
    }

    fn ending(&self, settled: Settled) -> Result<Ending, Failure> {
        let goes_on = "the gateway continues. To see the result: postrider show ID";
        match settled {
            Settled::Yes(result) => {
                result?;
                let held = self.watched.iter().filter(|one| one.is_on_hold()).count();
                if held > 0 {
                    self.out.note(format!(
                        "Stopped waiting: {held} on hold until the webhook is resumed."
                    ));
                }
                Ok(Ending::of(self.all_delivered()))
            }
            Settled::Interrupted => {
                self.out.note(format!("Stopped watching; {goes_on}"));
                Ok(Ending::Interrupted)
            }
            Settled::TooLate => {
                self.out.note(format!("Still open; {goes_on}"));
                Ok(Ending::Unsuccessful)
            }
        }
    }

    /// Ends when each delivery is settled, or on hold: an operator decides when those continue.
    async fn until_settled(&mut self) -> Result<(), Failure> {
        if !self.out.wants_json() && !self.watched.is_empty() {
            self.names = WebhookNames::read(self.client).await;
        }
        let mut wait = FIRST_POLL;
        loop {
            self.poll().await?;
            let open = self
                .watched
                .iter()
                .filter(|watched| !watched.is_settled())
                .count();
            let held = self.watched.iter().filter(|one| one.is_on_hold()).count();
            if open == held {
                return Ok(());
            }
            self.bar
                .set_message(format!("{open} of {} open", self.watched.len()));
            self.bar.tick();
            edge::pause(wait).await;
            wait = (wait * 3 / 2).min(SLOWEST_POLL);
        }
    }

    async fn poll(&mut self) -> Result<(), Failure> {
        for watched in self
            .watched
            .iter_mut()
            .filter(|watched| !watched.is_settled())
        {
            let answer = self.client.get(&["v1", "deliveries", &watched.id]).await?;
            let delivery: DeliveryView = answer.read()?;
            let before = watched.seen.as_ref().map(|(delivery, _)| state(delivery));
            if before != Some(state(&delivery)) {
                let progress = progress(&delivery, &self.names, self.out);
                self.bar.suspend(|| self.out.note(progress));
            }
            watched.seen = Some((delivery, answer.read()?));
        }
        Ok(())
    }

    fn all_delivered(&self) -> bool {
        self.watched.iter().all(|watched| {
            watched
                .seen
                .as_ref()
                .is_some_and(|(delivery, _)| delivery.is_delivered())
        })
    }

    fn show(&self, answer: &str) -> Result<(), Failure> {
        if self.out.wants_json() {
            let event: Box<RawValue> = crate::client::read(answer)?;
            let seen = self
                .watched
                .iter()
                .filter_map(|watched| watched.seen.as_ref());
            return self.out.value(&Followed {
                event: &event,
                deliveries: seen.map(|(_, raw)| &**raw).collect(),
            });
        }
        if self.watched.is_empty() {
            return self
                .out
                .line("No webhook subscribes to it. It is stored but not sent.");
        }
        self.show_table()
    }

    fn show_table(&self) -> Result<(), Failure> {
        let mut table = Table::new(["DELIVERY", "WEBHOOK", "STATUS", "ATTEMPTS", "ERROR"]);
        for Watched {
            id,
            webhook_id,
            seen,
        } in &self.watched
        {
            let (mark, status, tries, error) = match seen {
                Some((delivery, _)) => {
                    let error = delivery
                        .error_detail
                        .clone()
                        .filter(|_| !delivery.is_delivered());
                    let held = delivery.is_on_hold();
                    let error = held.then(|| delivery.next(edge::now())).flatten().or(error);
                    (
                        delivery.mark(),
                        delivery.status.to_string(),
                        delivery.tries(),
                        error.unwrap_or_default(),
                    )
                }
                None => (
                    Mark::Waiting,
                    "unknown".to_owned(),
                    String::new(),
                    String::new(),
                ),
            };
            let webhook = printable_line(self.names.of(webhook_id), 30);
            table.row(mark, [id.clone(), webhook, status, tries, error]);
        }
        self.out.line(table.show(self.out))
    }
}

/// What a line of progress is printed for.
fn state(delivery: &DeliveryView) -> (&Word<Status>, u32, bool) {
    (
        &delivery.status,
        delivery.attempt_count,
        delivery.is_on_hold(),
    )
}

fn progress(delivery: &DeliveryView, names: &WebhookNames, out: Output) -> String {
    let mut line = format!(
        "{} {} {}",
        delivery.mark().show(out),
        printable_line(names.of(&delivery.webhook_id), 30),
        delivery.status
    );
    if delivery.attempt_count > 0 {
        line.push_str(&format!(", attempt {}", delivery.tries()));
    }
    if let (false, Some(error)) = (delivery.is_delivered(), &delivery.error_detail) {
        line.push_str(&format!(": {}", printable_line(error, 100)));
    }
    if delivery.is_on_hold() {
        let webhook = &delivery.webhook_id;
        line.push_str(&format!(
            "; on hold until the webhook is resumed → postrider webhooks resume {webhook}"
        ));
        return line;
    }
    let next = delivery.next_retry_at;
    if let Some(next) = next.filter(|_| delivery.status == Status::Failed) {
        line.push_str(&format!("; next {}", until(next, edge::now())));
    }
    line
}
