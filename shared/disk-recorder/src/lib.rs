//! Records what a process does to the files below one directory: preload it into the process with `LD_PRELOAD`.
//!
//! | variable | meaning |
//! |---|---|
//! | `DISK_RECORDER_ROOT` | the directory whose files are recorded |
//! | `DISK_RECORDER_JOURNAL` | the file that the records are appended to; outside of the directory |
//!
//! Every call is carried out as usual. Its record follows it, so a change that is recorded was made. A sync has two
//! records, because it covers only what was written before it began. Responses of an HTTP server are recorded before
//! they are sent: what they acknowledge must be on disk at that point.
//!
//! `tests/chaos/power_loss` reads the journal and derives the states that a power loss could leave.
#![cfg(target_os = "linux")]

mod calls;
mod files;
mod journal;
