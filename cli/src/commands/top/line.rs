//! A line of a frame: coloured pieces of text, truncated to the width of the terminal.

use unicode_width::UnicodeWidthChar;

use crate::output::{Output, Tone, printable_line};
use crate::table::Mark;

/// Longer texts do not fit any terminal.
const MAX_CHARS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Option<Tone>, String)>);

impl Line {
    /// Plain text. It is untrusted and is made safe to print.
    pub(super) fn text(text: &str) -> Self {
        Self::default().then(None, text)
    }

    /// Text that is already safe to print.
    pub(super) fn safe(text: &str) -> Self {
        // The terminal decides how wide a tab is, but the width of a line must be known.
        Self(vec![(None, text.replace('\t', "    "))])
    }

    pub(super) fn toned(tone: Tone, text: &str) -> Self {
        Self::default().then(Some(tone), text)
    }

    /// Appends text. Leading spaces are preserved, because columns need them.
    pub(super) fn then(mut self, tone: Option<Tone>, text: &str) -> Self {
        let lead = text.len() - text.trim_start_matches(' ').len();
        let printable = printable_line(text, MAX_CHARS);
        self.0
            .push((tone, format!("{}{printable}", " ".repeat(lead))));
        self
    }

    /// Appends text of exactly this width, truncated or padded.
    pub(super) fn column(mut self, tone: Option<Tone>, text: &str, columns: usize) -> Self {
        let text = cut(&printable_line(text, MAX_CHARS), columns);
        let fill = columns.saturating_sub(width(&text));
        self.0.push((tone, format!("{text}{} ", " ".repeat(fill))));
        self
    }

    /// Appends a mark.
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

    /// The line with colour codes, truncated to this width.
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

/// The text truncated to this width; ends with `…` if truncated.
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
    fn columns_align_and_lines_are_truncated() {
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
