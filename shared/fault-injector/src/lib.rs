//! Makes the disk of a process fail and its clock jump while it runs: preload it into the process with `LD_PRELOAD`.
//!
//! | variable | meaning |
//! |---|---|
//! | `FAULT_INJECTOR_ROOT` | the directory whose files can fail |
//! | `FAULT_INJECTOR_CONTROL` | a file that says what fails now; the test changes it while the process runs |
//!
//! The control file has 16 bytes, in the machine's byte order:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0 to 7 | how many milliseconds the time of day is ahead, or behind if negative |
//! | 8 to 11 | which calls fail: 1 for writes with `ENOSPC`, 2 for writes with `EIO`, 4 for syncs with `EIO`; may be added up |
//! | 12 to 15 | one in how many of these calls fails; 0 is the same as 1 |
//!
//! `tests/chaos/mixed` uses it.
#![cfg(target_os = "linux")]

mod calls;
mod control;
mod files;
