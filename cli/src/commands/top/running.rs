//! The live view.

mod state;
mod work;

use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior};

use self::state::{Asked, State};
use self::work::{Done, Work};
use super::keys;
use super::picture::Picture;
use super::rates::TICK;
use super::screen::Screen;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::live::{Heard, Live};
use crate::output::Output;

/// How many notifications may wait to be counted before reading from the gateway pauses.
const WAITING: usize = 10_000;
/// Refresh after this many ticks: 2 s.
const TICKS: u32 = 4;
/// Refresh after this many ticks when there is news: 1 s. A busy gateway always has some.
const TICKS_WITH_NEWS: u32 = 2;

pub(super) async fn run(
    picture: Picture,
    window: &str,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    let live = Live::open(client).await?;
    let (sender, heard) = mpsc::channel(WAITING);
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let running = Running {
        state: State::new(picture, client.base().as_str(), window),
        client,
        window,
        refreshing: Work::default(),
        acting: Work::default(),
        ticks_since: 0,
        has_news: false,
    };
    // The order matters: the signal handler is installed before the terminal is taken over. However it ends, the terminal
    // is restored before anything else is printed.
    tokio::select! {
        biased;
        () = edge::stop_signal() => {}
        ended = running.until_quit(out, heard, ticks) => ended?,
        ended = live.tell(sender) => ended?,
    }
    Ok(Ending::Fine)
}

struct Running<'a> {
    state: State<'a>,
    client: &'a Client,
    window: &'a str,
    /// The request for the next picture.
    refreshing: Work<'a>,
    /// The request that a key started.
    acting: Work<'a>,
    ticks_since: u32,
    has_news: bool,
}

impl Running<'_> {
    async fn until_quit(
        mut self,
        out: Output,
        mut heard: mpsc::Receiver<Heard>,
        mut ticks: Interval,
    ) -> Result<(), Failure> {
        let mut screen = Screen::enter(out)?;
        let mut keys = keys::listen();
        let mut notifications = Vec::new();
        loop {
            let size = screen.size()?;
            screen.draw(&self.state.lines(size))?;
            tokio::select! {
                key = keys.recv() => match key {
                    // The terminal is gone.
                    None => return Ok(()),
                    Some(key) => match self.state.press(key) {
                        Asked::Nothing => {}
                        Asked::Quit => return Ok(()),
                        Asked::Show(id) => self.acting.begin(work::show(self.client, id)),
                        Asked::Retry(id) => self.acting.begin(work::retry(self.client, id)),
                    },
                },
                done = self.refreshing.done() => self.state.take(done),
                done = self.acting.done() => {
                    self.has_news |= matches!(done, Done::Retried(Ok(_)));
                    self.state.take(done);
                }
                _ = ticks.tick() => {
                    // Counts all notifications since the last tick at once; drawing after each one would be too slow.
                    while let Ok(next) = heard.try_recv() {
                        notifications.push(next);
                    }
                    self.tick(notifications.drain(..));
                }
                () = edge::resized() => {}
            }
        }
    }

    fn tick(&mut self, heard: impl Iterator<Item = Heard>) {
        self.has_news |= self.state.hear(heard);
        self.ticks_since += 1;
        let wait = if self.has_news {
            TICKS_WITH_NEWS
        } else {
            TICKS
        };
        let is_time = self.ticks_since >= wait;
        if is_time && !self.state.is_paused() && !self.refreshing.is_running() {
            self.ticks_since = 0;
            self.has_news = false;
            self.refreshing
                .begin(work::refresh(self.client, self.window));
        }
    }
}
