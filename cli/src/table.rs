//! Text tables without lines: two spaces between columns, a coloured mark before a row.

use comfy_table::ContentArrangement;
use comfy_table::presets::NOTHING;

use crate::output::{Output, Tone, printable_line};

/// Wider cells are truncated; ids and usual URLs fit.
const MAX_CELL_CHARS: usize = 120;

/// The symbol before a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    Good,
    /// Failed, will be retried.
    Retrying,
    /// Not attempted yet.
    Waiting,
    /// Failed permanently.
    Bad,
}

impl Mark {
    /// The coloured symbol, one character wide.
    pub(crate) fn show(self, out: Output) -> String {
        match self {
            Self::None => " ".to_owned(),
            Self::Good => out.paint(Tone::Good, "✓"),
            Self::Retrying => out.paint(Tone::Warning, "↻"),
            Self::Waiting => out.paint(Tone::Faint, "·"),
            Self::Bad => out.paint(Tone::Bad, "✗"),
        }
    }
}

/// Rows under a heading. comfy-table does the layout; marks and colours are added to the finished lines, because it
/// would count escape codes as text.
#[derive(Debug)]
pub(crate) struct Table {
    layout: comfy_table::Table,
    marks: Vec<Mark>,
}

impl Table {
    pub(crate) fn new<const N: usize>(heading: [&str; N]) -> Self {
        let mut layout = comfy_table::Table::new();
        layout
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(heading);
        Self {
            layout,
            marks: Vec::new(),
        }
    }

    /// Adds a row. Cells are untrusted and are made safe to print.
    pub(crate) fn row<const N: usize>(&mut self, mark: Mark, cells: [String; N]) {
        self.layout
            .add_row(cells.map(|cell| printable_line(&cell, MAX_CELL_CHARS)));
        self.marks.push(mark);
    }

    pub(crate) fn show(mut self, out: Output) -> String {
        for column in self.layout.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let marked = self.marks.iter().any(|mark| *mark != Mark::None);
        let mut shown = Vec::new();
        for (n, line) in self.layout.lines().enumerate() {
            let line = line.trim_end();
            let mark = n
                .checked_sub(1)
                .and_then(|row| self.marks.get(row))
                .copied()
                .unwrap_or(Mark::None);
            let line = if n == 0 {
                out.paint(Tone::Strong, line)
            } else {
                line.to_owned()
            };
            shown.push(if marked {
                format!("{} {line}", mark.show(out))
            } else {
                line
            });
        }
        shown.join("\n")
    }
}

/// `label  value` lines with aligned labels; missing values are omitted.
pub(crate) fn facts<'a>(
    out: Output,
    facts: impl IntoIterator<Item = (&'a str, Option<String>)>,
) -> String {
    let known: Vec<(&str, String)> = facts
        .into_iter()
        .filter_map(|(label, value)| Some((label, printable_line(&value?, usize::MAX))))
        .collect();
    let width = known
        .iter()
        .map(|(label, _)| label.len())
        .max()
        .unwrap_or(0);
    let lines = known.iter().map(|(label, value)| {
        let label = out.paint(Tone::Faint, format!("{label:width$}"));
        format!("{label}  {value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn columns_align_and_marks_precede_their_rows() {
        let out = Output::new(Format::People, true);
        let mut table = Table::new(["ID", "STATUS"]);
        table.row(Mark::Good, ["dlv_long".to_owned(), "delivered".to_owned()]);
        table.row(Mark::Bad, ["x".to_owned(), "de\nad".to_owned()]);
        assert_eq!(
            table.show(out),
            "  ID        STATUS\n✓ dlv_long  delivered\n✗ x         de ad"
        );
    }

    #[test]
    fn facts_omit_missing_values() {
        let out = Output::new(Format::People, true);
        let shown = facts(
            out,
            [
                ("a", Some("1".to_owned())),
                ("gone", None),
                ("bcd", Some("2".to_owned())),
            ],
        );
        assert_eq!(shown, "a    1\nbcd  2");
    }
}
