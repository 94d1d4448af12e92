//! Takes over the terminal and restores it.

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

/// The terminal in raw mode, on the alternate screen. Dropping it restores the terminal.
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
        restore_before_a_panic();
        terminal::enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    pub(super) fn size(&mut self) -> io::Result<Size> {
        let size = size()?;
        if size != self.size {
            self.size = size;
            self.shown.clear();
        }
        Ok(size)
    }

    /// Draws the lines, and writes only those that changed.
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
        restore();
    }
}

fn size() -> io::Result<Size> {
    let (columns, rows) = terminal::size()?;
    Ok(Size {
        columns: usize::from(columns),
        rows: usize::from(rows),
    })
}

/// Errors are ignored: nothing can be done about a terminal that cannot be restored.
fn restore() {
    let _ = execute!(stdout(), EndSynchronizedUpdate, LeaveAlternateScreen, Show);
    let _ = terminal::disable_raw_mode();
}

/// Otherwise the panic message would be written to the alternate screen and disappear with it.
fn restore_before_a_panic() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        default_hook(panic);
    }));
}
