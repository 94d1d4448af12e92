//! Progress of work that takes a while; nothing without a terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use postrider_adapter_local::backup::CopyProgress;

use crate::output::Output;

pub(crate) struct CopyBar(ProgressBar);

impl CopyBar {
    pub(crate) fn new(out: Output) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target(out));
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

/// How many records were moved so far; the total is not known.
pub(crate) struct RecordCount(ProgressBar);

impl RecordCount {
    pub(crate) fn new(out: Output, verb: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(out));
        if let Ok(style) = ProgressStyle::with_template("{prefix} {pos} records") {
            bar.set_style(style);
        }
        bar.set_prefix(verb);
        Self(bar)
    }

    pub(crate) fn set(&self, records: u64) {
        self.0.set_position(records);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Something that another system does, and its state there.
pub(crate) struct Waiting(ProgressBar);

impl Waiting {
    pub(crate) fn new(out: Output, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(out));
        if let Ok(style) = ProgressStyle::with_template("  {prefix}: {msg}, {elapsed}") {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        Self(bar)
    }

    pub(crate) fn set(&self, state: &str) {
        self.0.set_message(state.to_owned());
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn target(out: Output) -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() && !out.wants_json() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}
