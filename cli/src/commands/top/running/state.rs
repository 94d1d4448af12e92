//! What is shown, and what keys do to it.

use super::super::frame::{Frame, Notification};
use super::super::keys::Key;
use super::super::line::{Line, Size};
use super::super::picture::Picture;
use super::super::rates::Rates;
use super::Done;
use crate::live::Heard;
use crate::output::Tone;

/// What a key asks for that only the gateway can do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Quit,
    Show(String),
    Retry(String),
}

/// What is on the screen.
enum View {
    Overview,
    /// One delivery, scrolled down by so many lines.
    Delivery {
        lines: Vec<Line>,
        top: usize,
    },
}

pub(super) struct State<'a> {
    picture: Picture,
    gateway: &'a str,
    window: &'a str,
    rates: Rates,
    selected: Option<String>,
    view: View,
    is_paused: bool,
    /// Asked whether to retry this one.
    retrying: Option<String>,
    /// The way to the gateway is lost.
    lost: Option<String>,
    said: Option<Notification>,
}

impl<'a> State<'a> {
    pub(super) fn new(picture: Picture, gateway: &'a str, window: &'a str) -> Self {
        Self {
            picture,
            gateway,
            window,
            rates: Rates::default(),
            selected: None,
            view: View::Overview,
            is_paused: false,
            retrying: None,
            lost: None,
            said: None,
        }
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(super) fn lines(&self, size: Size) -> Vec<Line> {
        let notification = self.notification();
        if let View::Delivery { lines, top } = &self.view {
            let room = size.rows.saturating_sub(1);
            let mut shown: Vec<Line> = lines.iter().skip(*top).take(room).cloned().collect();
            shown.resize(room, Line::default());
            shown.push(notification.map_or_else(
                || Line::toned(Tone::Faint, "esc back · j/k scroll · r retry · q quit"),
                |notification| Line::toned(notification.tone, &notification.text),
            ));
            return shown;
        }
        let frame = Frame {
            picture: &self.picture,
            gateway: self.gateway,
            window: self.window,
            rates: Some(self.rates.in_words()),
            selected: self.selected.as_deref(),
            notification: notification.as_ref(),
        };
        frame.fitted(size)
    }

    /// The most urgent thing there is to say.
    fn notification(&self) -> Option<Notification> {
        let say = |tone, text: String| Some(Notification { tone, text });
        if let Some(id) = &self.retrying {
            return say(Tone::Strong, format!("Retry {id} now? y/n"));
        }
        if let Some(reason) = &self.lost {
            return say(
                Tone::Bad,
                format!("Lost the gateway ({reason}); trying again …"),
            );
        }
        if let Some(said) = &self.said {
            return say(said.tone, said.text.clone());
        }
        if self.is_paused {
            return say(Tone::Warning, "Paused; p goes on".to_owned());
        }
        None
    }

    pub(super) fn press(&mut self, key: Key) -> Asked {
        self.said = None;
        if let Some(id) = self.retrying.take() {
            return match key {
                Key::Email('y' | 'Y') => Asked::Retry(id),
                Key::Interrupt => Asked::Quit,
                Key::Email(_)
                | Key::Up
                | Key::Down
                | Key::PageUp
                | Key::PageDown
                | Key::Enter
                | Key::Escape => Asked::Nothing,
            };
        }
        match key {
            Key::Email('q') | Key::Interrupt => return Asked::Quit,
            Key::Email('p') => self.is_paused = !self.is_paused,
            Key::Email('j') | Key::Down => self.go(1),
            Key::Email('k') | Key::Up => self.go(-1),
            Key::PageDown | Key::Email(' ') => self.go(10),
            Key::PageUp => self.go(-10),
            Key::Escape => self.view = View::Overview,
            Key::Email('r') => self.retrying.clone_from(&self.selected),
            Key::Enter => {
                if let (View::Overview, Some(id)) = (&self.view, &self.selected) {
                    return Asked::Show(id.clone());
                }
            }
            Key::Email(_) => {}
        }
        Asked::Nothing
    }

    /// Down, or up if it is negative: through the failures, or through the text of one.
    fn go(&mut self, by: isize) {
        if let View::Delivery { lines, top } = &mut self.view {
            *top = top
                .saturating_add_signed(by)
                .min(lines.len().saturating_sub(1));
            return;
        }
        let at = self.position();
        self.select(at.map_or(0, |at| at.saturating_add_signed(by)));
    }

    /// Where the selected one stands.
    fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        let mut failures = self.picture.failures.iter();
        failures.position(|row| row.id == *selected)
    }

    /// Selects the one at this place, or the last.
    fn select(&mut self, at: usize) {
        let failures = &self.picture.failures;
        let row = failures.get(at).or_else(|| failures.last());
        self.selected = row.map(|row| row.id.clone());
    }

    pub(super) fn take(&mut self, done: Done) {
        let say = |tone, text| Some(Notification { tone, text });
        match done {
            Done::Looked(Ok(picture)) => {
                let at = self.position();
                self.picture = *picture;
                self.lost = None;
                // One that has failed no longer leaves its place to the next.
                if let (Some(at), None) = (at, self.position()) {
                    self.select(at);
                }
            }
            Done::Looked(Err(failure)) => self.lost = Some(failure.to_string()),
            Done::Shown(Ok(text)) => {
                let lines = text.lines().map(Line::harmless).collect();
                self.view = View::Delivery { lines, top: 0 };
            }
            Done::Retried(Ok(id)) => self.said = say(Tone::Good, format!("{id} is put back")),
            Done::Shown(Err(failure)) | Done::Retried(Err(failure)) => {
                self.said = say(Tone::Bad, failure.to_string());
            }
        }
    }

    /// Counts what was heard; whether any of it changes the picture.
    pub(super) fn hear(&mut self, heard: impl Iterator<Item = Heard>) -> bool {
        let mut has_news = false;
        for next in heard {
            match next {
                Heard::StoredNotification(notification) => {
                    self.rates.count(&notification.kind);
                    has_news = true;
                }
                Heard::Lost(reason) => self.lost = Some(reason),
                Heard::Back => {
                    self.lost = None;
                    has_news = true;
                }
            }
        }
        self.rates.tick();
        has_news
    }
}
