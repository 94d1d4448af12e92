//! What the screen shows, and how keys change it.

use super::super::frame::{Frame, Message};
use super::super::keys::Key;
use super::super::line::{Line, Size};
use super::super::picture::Picture;
use super::super::rates::Rates;
use super::Done;
use crate::live::Heard;
use crate::output::Tone;

/// What a key press requires of the caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Quit,
    Show(String),
    Retry(String),
}

enum View {
    Overview,
    /// One delivery, scrolled down by `top` lines.
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
    /// Waits for confirmation to retry this delivery.
    retrying: Option<String>,
    /// Why the connection to the gateway is lost.
    lost: Option<String>,
    message: Option<Message>,
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
            message: None,
        }
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(super) fn lines(&self, size: Size) -> Vec<Line> {
        let message = self.message();
        if let View::Delivery { lines, top } = &self.view {
            let room = size.rows.saturating_sub(1);
            let mut shown: Vec<Line> = lines.iter().skip(*top).take(room).cloned().collect();
            shown.resize(room, Line::default());
            shown.push(message.map_or_else(
                || Line::toned(Tone::Faint, "esc back · j/k scroll · r retry · q quit"),
                |message| Line::toned(message.tone, &message.text),
            ));
            return shown;
        }
        let frame = Frame {
            picture: &self.picture,
            gateway: self.gateway,
            window: self.window,
            rates: Some(self.rates.in_words()),
            selected: self.selected.as_deref(),
            message: message.as_ref(),
        };
        frame.fitted(size)
    }

    /// The most urgent message.
    fn message(&self) -> Option<Message> {
        let say = |tone, text: String| Some(Message { tone, text });
        if let Some(id) = &self.retrying {
            return say(Tone::Strong, format!("Retry {id} now? y/n"));
        }
        if let Some(reason) = &self.lost {
            return say(
                Tone::Bad,
                format!("Lost the connection to the gateway ({reason}); reconnecting …"),
            );
        }
        if let Some(message) = &self.message {
            return say(message.tone, message.text.clone());
        }
        if self.is_paused {
            return say(Tone::Warning, "Paused; press p to continue".to_owned());
        }
        None
    }

    pub(super) fn press(&mut self, key: Key) -> Asked {
        self.message = None;
        if let Some(id) = self.retrying.take() {
            return match key {
                Key::Char('y' | 'Y') => Asked::Retry(id),
                Key::Interrupt => Asked::Quit,
                Key::Char(_)
                | Key::Up
                | Key::Down
                | Key::PageUp
                | Key::PageDown
                | Key::Enter
                | Key::Escape => Asked::Nothing,
            };
        }
        match key {
            Key::Char('q') | Key::Interrupt => return Asked::Quit,
            Key::Char('p') => self.is_paused = !self.is_paused,
            Key::Char('j') | Key::Down => self.go(1),
            Key::Char('k') | Key::Up => self.go(-1),
            Key::PageDown | Key::Char(' ') => self.go(10),
            Key::PageUp => self.go(-10),
            Key::Escape => self.view = View::Overview,
            Key::Char('r') => self.retrying.clone_from(&self.selected),
            Key::Enter => {
                if let (View::Overview, Some(id)) = (&self.view, &self.selected) {
                    return Asked::Show(id.clone());
                }
            }
            Key::Char(_) => {}
        }
        Asked::Nothing
    }

    /// Moves down, or up if negative: through the failures, or through the text of one.
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

    /// The position of the selected failure.
    fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        let mut failures = self.picture.failures.iter();
        failures.position(|row| row.id == *selected)
    }

    /// Selects the failure at this position, or the last one.
    fn select(&mut self, at: usize) {
        let failures = &self.picture.failures;
        let row = failures.get(at).or_else(|| failures.last());
        self.selected = row.map(|row| row.id.clone());
    }

    pub(super) fn take(&mut self, done: Done) {
        let say = |tone, text| Some(Message { tone, text });
        match done {
            Done::Refreshed(Ok(picture)) => {
                let at = self.position();
                self.picture = *picture;
                self.lost = None;
                // If the selected failure is gone, the next one takes its position.
                if let (Some(at), None) = (at, self.position()) {
                    self.select(at);
                }
            }
            Done::Refreshed(Err(failure)) => self.lost = Some(failure.to_string()),
            Done::Shown(Ok(text)) => {
                let lines = text.lines().map(Line::safe).collect();
                self.view = View::Delivery { lines, top: 0 };
            }
            Done::Retried(Ok(id)) => self.message = say(Tone::Good, format!("Requeued {id}")),
            Done::Shown(Err(failure)) | Done::Retried(Err(failure)) => {
                self.message = say(Tone::Bad, failure.to_string());
            }
        }
    }

    /// Counts notifications; returns whether any of them changes the picture.
    pub(super) fn hear(&mut self, heard: impl Iterator<Item = Heard>) -> bool {
        let mut has_news = false;
        for next in heard {
            match next {
                Heard::Notification(notification) => {
                    self.rates.count(&notification.kind);
                    has_news = true;
                }
                Heard::Gap => has_news = true,
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
