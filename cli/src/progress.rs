//! A progress bar for copies that take a while; nothing without a terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use postrider_adapter_local::backup::CopyProgress;

use crate::output::Output;

pub(crate) struct CopyBar(ProgressBar);

impl CopyBar {
    pub(crate) fn new(out: Output) -> Self {
        let shown = std::io::stderr().is_terminal() && !out.wants_json();
        let target = if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("Copying {bar:30} {percent} %") {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(crate) fn set(&self, at: CopyProgress) -> ControlFlow<()> {
        self.0.set_length(at.total);
        self.0.set_position(at.done);
        ControlFlow::Continue(())
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
