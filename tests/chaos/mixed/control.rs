//! What goes wrong with a running gateway: its disk, its clock, its processor.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Serve, binary};

const INJECTOR: &str = "libpostrider_fault_injector.so";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskFault {
    Full,
    BrokenWrites,
    BrokenSyncs,
}

/// The control file of the injector.
pub(super) struct Control {
    path: PathBuf,
    file: File,
}

impl Control {
    pub(super) fn new(path: PathBuf) -> Self {
        let file = File::create(&path).unwrap();
        file.write_all_at(&[0; 16], 0).unwrap();
        Self { path, file }
    }

    /// The variables that load the injector into a gateway on this directory.
    pub(super) fn variables(&self, data: &Path) -> Vec<(&'static str, String)> {
        let injector = binary().with_file_name(INJECTOR);
        assert!(
            injector.is_file(),
            "build the injector first: cargo build --workspace"
        );
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        vec![
            ("LD_PRELOAD", text(&injector)),
            ("FAULT_INJECTOR_ROOT", text(data)),
            ("FAULT_INJECTOR_CONTROL", text(&self.path)),
        ]
    }

    /// Lets one in so many calls fail.
    pub(super) fn fail(&self, fault: DiskFault, one_in: u32) {
        let bits: u32 = match fault {
            DiskFault::Full => 1,
            DiskFault::BrokenWrites => 2,
            DiskFault::BrokenSyncs => 4,
        };
        self.file.write_all_at(&one_in.to_ne_bytes(), 12).unwrap();
        self.file.write_all_at(&bits.to_ne_bytes(), 8).unwrap();
    }

    pub(super) fn recover(&self) {
        self.file.write_all_at(&[0; 4], 8).unwrap();
    }

    /// Sets how far the gateway's clock is ahead of the true time.
    pub(super) fn set_clock(&self, ahead_ms: i64) {
        self.file.write_all_at(&ahead_ms.to_ne_bytes(), 0).unwrap();
    }
}

/// A gateway that gets no processor time.
pub(super) struct Stopped(Pid);

impl Stopped {
    pub(super) fn new(gateway: &Serve) -> Self {
        let pid = Pid::from_raw(gateway.pid().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been killed.
        let _ = kill_process(self.0, Signal::CONT);
    }
}
