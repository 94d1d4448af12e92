//! The view while somebody looks at it.

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

/// How much may wait to be counted before the gateway is read no further.
const WAITING: usize = 10_000;
/// The picture is taken anew after so many ticks: two seconds.
const TICKS: u32 = 4;
/// When there is news, after so many: a second. A busy gateway always has some.
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
        looking: Work::default(),
        acting: Work::default(),
        ticks_since: 0,
        has_news: false,
    };
    // In this order: a signal is waited for before the terminal is taken over. Whatever ends it, the terminal is given back
    // before anything else is said.
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
    /// The next picture, while it is taken.
    looking: Work<'a>,
    /// What a key asked for, while it is done.
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
                done = self.looking.done() => self.state.take(done),
                done = self.acting.done() => {
                    self.has_news |= matches!(done, Done::Retried(Ok(_)));
                    self.state.take(done);
                }
                _ = ticks.tick() => {
                    // All that came since is counted at once: drawing for each would be slower than they come.
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
        if is_time && !self.state.is_paused() && !self.looking.is_under_way() {
            self.ticks_since = 0;
            self.has_news = false;
            self.looking.begin(work::look(self.client, self.window));
        }
    }
}
