//! The terminal, taken over and given back as it was.

use std::io::{self, Write, stdout};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::Print;
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{execute, queue};

use super::line::{Line, Size};
use crate::output::Output;

/// The terminal in raw mode, on its other screen. Dropping it gives it back.
pub(super) struct Screen {
    out: Output,
    shown: Vec<String>,
    size: Size,
}

impl Screen {
    pub(super) fn enter(out: Output) -> io::Result<Self> {
        let screen = Self {
            out,
            shown: Vec::new(),
            size: size()?,
        };
        give_back_before_a_panic();
        terminal::enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// How large it is now.
    pub(super) fn size(&mut self) -> io::Result<Size> {
        let size = size()?;
        if size != self.size {
            self.size = size;
            self.shown.clear();
        }
        Ok(size)
    }

    /// Shows these lines, and writes only those that differ from what is there.
    pub(super) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        let lines: Vec<String> = lines
            .iter()
            .take(self.size.rows)
            .map(|line| line.paint(self.size.columns, self.out))
            .collect();
        if lines == self.shown {
            return Ok(());
        }
        let mut stdout = stdout().lock();
        queue!(stdout, BeginSynchronizedUpdate)?;
        if self.shown.is_empty() {
            queue!(stdout, Clear(ClearType::All))?;
        }
        for (row, line) in (0..).zip(&lines) {
            if self.shown.get(usize::from(row)) != Some(line) {
                queue!(
                    stdout,
                    MoveTo(0, row),
                    Print(line),
                    Clear(ClearType::UntilNewLine)
                )?;
            }
        }
        if lines.len() < self.shown.len() {
            let after = u16::try_from(lines.len()).unwrap_or(u16::MAX);
            queue!(stdout, MoveTo(0, after), Clear(ClearType::FromCursorDown))?;
        }
        queue!(stdout, EndSynchronizedUpdate)?;
        stdout.flush()?;
        self.shown = lines;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn size() -> io::Result<Size> {
    let (columns, rows) = terminal::size()?;
    Ok(Size {
        columns: usize::from(columns),
        rows: usize::from(rows),
    })
}

/// That it cannot be given back any more is nothing that anybody could mend.
fn give_back() {
    let _ = execute!(stdout(), EndSynchronizedUpdate, LeaveAlternateScreen, Show);
    let _ = terminal::disable_raw_mode();
}

/// What a panic says would else be written to a screen that is gone the moment after.
fn give_back_before_a_panic() {
    let said = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        said(panic);
    }));
}
