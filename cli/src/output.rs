//! Output: text with marks and colours for people, JSON for programs.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use crate::edge;
use crate::failure::Failure;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    format: Format,
    colour_out: bool,
    colour_err: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables and sentences, for people.
    People,
    /// The API's JSON, for programs.
    Json,
}

/// What a colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    /// A permanent failure.
    Bad,
    /// A failure that may still be resolved.
    Warning,
    Faint,
    Strong,
}

impl Tone {
    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Faint => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
        }
    }
}

impl Output {
    /// Uses colours only on a terminal, and only if they are not turned off.
    pub(crate) fn new(format: Format, no_color: bool) -> Self {
        let wanted = !no_color && !edge::asks_for_plain_text();
        Self {
            format,
            colour_out: wanted && io::stdout().is_terminal(),
            colour_err: wanted && io::stderr().is_terminal(),
        }
    }

    pub(crate) fn wants_json(self) -> bool {
        self.format == Format::Json
    }

    /// Colours a text for standard output.
    pub(crate) fn paint(self, tone: Tone, text: impl Display) -> String {
        paint(self.colour_out, tone, text)
    }

    /// Colours a text for standard error.
    pub(crate) fn paint_error(self, tone: Tone, text: impl Display) -> String {
        paint(self.colour_err, tone, text)
    }

    /// Writes one or more lines in one piece.
    pub(crate) fn line(self, text: impl Display) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Writes exactly these bytes, without a line break.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        Ok(stdout.flush()?)
    }

    /// Writes a JSON document of the API unchanged, except that control characters are escaped.
    pub(crate) fn document(self, json: &str) -> Result<(), Failure> {
        self.line(harmless_json(json.trim_end()))
    }

    /// Writes a value as JSON.
    pub(crate) fn value(self, value: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(harmless_json(&json))
    }

    /// Writes a remark to standard error; nothing with --json.
    pub(crate) fn note(self, text: impl Display) {
        if !self.wants_json() {
            self.complain(text);
        }
    }

    /// Writes to standard error. A failed write is ignored.
    pub(crate) fn complain(self, text: impl Display) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

fn paint(colour: bool, tone: Tone, text: impl Display) -> String {
    if colour {
        let style = tone.style();
        format!("{style}{text}{style:#}")
    } else {
        text.to_string()
    }
}

/// Escapes the control characters that JSON allows, DEL and U+0080 to U+009F, because some terminals execute them.
fn harmless_json(json: &str) -> Cow<'_, str> {
    let is_control = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !json.contains(is_control) {
        return Cow::Borrowed(json);
    }
    let mut harmless = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) {
            harmless.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            harmless.push(c);
        }
    }
    Cow::Owned(harmless)
}

/// An untrusted text, safe to print: characters that control the terminal or the writing direction are escaped. Line
/// breaks and tabs stay.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' => {}
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.extend(c.escape_unicode()),
            c if c.is_control() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// `1 attempt`, `2 attempts`.
pub(crate) fn plural(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// The same on one line, truncated to `max` characters.
pub(crate) fn printable_line(text: &str, max: usize) -> String {
    let joined = printable(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if joined.chars().count() <= max {
        return joined;
    }
    joined
        .chars()
        .take(max.saturating_sub(1))
        .chain(['…'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_json_are_escaped_without_changing_its_meaning() {
        let hostile = "{\"body\":\"a\u{9b}2Jb\u{7f}ü\"}";
        let harmless = harmless_json(hostile);
        assert_eq!(harmless, r#"{"body":"a\u009b2Jb\u007fü"}"#);
        let (before, after): (serde_json::Value, serde_json::Value) = (
            serde_json::from_str(hostile).unwrap(),
            serde_json::from_str(&harmless).unwrap(),
        );
        assert_eq!(before, after);
    }

    #[test]
    fn a_hostile_text_cannot_control_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[2Jb\r\n\tc\u{202e}d\u{9b}"),
            "a\\u{1b}[2Jb\n\tc\\u{202e}d\\u{9b}"
        );
        assert_eq!(printable_line("one\ntwo   three", 99), "one two three");
        assert_eq!(printable_line("abcdef", 4), "abc…");
    }

    #[test]
    fn text_is_unchanged_without_colour() {
        assert_eq!(paint(false, Tone::Bad, "x"), "x");
        assert!(paint(true, Tone::Bad, "x").starts_with('\u{1b}'));
    }
}
