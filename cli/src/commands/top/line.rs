//! A line of a frame: pieces of text with their tones, cut to the width of the terminal.

use unicode_width::UnicodeWidthChar;

use crate::output::{Output, Tone, printable_line};
use crate::table::Mark;

/// Longer texts fit no terminal.
const MAX_CHARS: usize = 1000;

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Option<Tone>, String)>);

impl Line {
    /// Plain text. It may come from anywhere and is made harmless.
    pub(super) fn text(text: &str) -> Self {
        Self::default().then(None, text)
    }

    /// Text that was made harmless before, as it is.
    pub(super) fn harmless(text: &str) -> Self {
        // A tab is as wide as the terminal likes, and a line must not be wider than it is counted.
        Self(vec![(None, text.replace('\t', "    "))])
    }

    /// Text in a tone.
    pub(super) fn toned(tone: Tone, text: &str) -> Self {
        Self::default().then(Some(tone), text)
    }

    /// With more text behind it. Its spaces stay, as the columns of a table need it.
    pub(super) fn then(mut self, tone: Option<Tone>, text: &str) -> Self {
        let lead = text.len() - text.trim_start_matches(' ').len();
        let harmless = printable_line(text, MAX_CHARS);
        self.0
            .push((tone, format!("{}{harmless}", " ".repeat(lead))));
        self
    }

    /// With text behind it that takes so many columns: cut, or filled up.
    pub(super) fn column(mut self, tone: Option<Tone>, text: &str, columns: usize) -> Self {
        let text = cut(&printable_line(text, MAX_CHARS), columns);
        let fill = columns.saturating_sub(width(&text));
        self.0.push((tone, format!("{text}{} ", " ".repeat(fill))));
        self
    }

    /// With a mark behind it.
    pub(super) fn mark(self, mark: Mark) -> Self {
        let (tone, sign) = match mark {
            Mark::None => (None, " "),
            Mark::Good => (Some(Tone::Good), "✓"),
            Mark::Retrying => (Some(Tone::Warning), "↻"),
            Mark::Waiting => (Some(Tone::Faint), "·"),
            Mark::Bad => (Some(Tone::Bad), "✗"),
        };
        self.column(tone, sign, 1)
    }

    /// The line as a terminal gets it, at most so wide.
    pub(super) fn paint(&self, columns: usize, out: Output) -> String {
        let mut left = columns;
        let mut painted = String::new();
        for (tone, text) in &self.0 {
            let text = cut(text, left);
            left = left.saturating_sub(width(&text));
            match tone {
                Some(tone) if !text.is_empty() => painted.push_str(&out.paint(*tone, text)),
                Some(_) | None => painted.push_str(&text),
            }
        }
        painted
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The start of a text, at most so wide; what is cut ends with `…`.
fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let mut start: String = text.chars().take_while(fits).collect();
    if columns > 0 {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn columns_align_and_lines_end_at_the_edge() {
        let out = Output::new(Format::People, true);
        let line = |name: &str| {
            Line::default()
                .mark(Mark::Bad)
                .column(None, name, 6)
                .then(Some(Tone::Faint), "the rest")
        };
        assert_eq!(line("ab").paint(80, out), "✗ ab     the rest");
        assert_eq!(line("会议室x").paint(80, out), "✗ 会议…  the rest");
        assert_eq!(line("ab").paint(12, out), "✗ ab     th…");
        assert_eq!(line("ab").paint(0, out), "");
        assert_eq!(line("\u{1b}[2J").paint(80, out), "✗ \\u{1b… the rest");
    }
}
