//! The records, appended to a file by one write each.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

/// The values are the first byte of a record.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A file was created: `file`, path.
    Created = 1,
    /// A file or directory that exists was opened: `file`, path.
    Opened = 2,
    /// `file`, the offset as `value`, the bytes.
    Wrote = 3,
    /// `file`, the new length as `value`.
    Resized = 4,
    /// `file`, the id of the sync as `value`.
    SyncBegan = 5,
    SyncEnded = 6,
    /// Both paths, with a zero byte between.
    Linked = 7,
    Renamed = 8,
    /// The path of a file or directory.
    Removed = 9,
    /// `file`, path.
    MadeDirectory = 10,
    /// The start of a response with a status of success.
    Responded = 11,
}

static JOURNAL: OnceLock<c_int> = OnceLock::new();

pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name is terminated. No code of the gateway changes its environment, so the value stays valid.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a value that is not null is a terminated string.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Appends a record: kind, file and value of 8 bytes each, the length of the rest in 4 bytes, the rest. A process that cannot
/// record ends: a journal with a gap would prove nothing.
pub(crate) fn append(kind: Kind, file: u64, value: u64, rest: &[&[u8]]) {
    let length: usize = rest.iter().map(|part| part.len()).sum();
    let mut record = Vec::with_capacity(21 + length);
    record.push(kind as u8);
    record.extend(file.to_le_bytes());
    record.extend(value.to_le_bytes());
    record.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    for part in rest {
        record.extend_from_slice(part);
    }
    let journal = *JOURNAL.get_or_init(open);
    // SAFETY: the buffer is as long as stated.
    let written = unsafe { libc::syscall(libc::SYS_write, journal, record.as_ptr(), record.len()) };
    if usize::try_from(written) != Ok(record.len()) {
        // SAFETY: it has no conditions.
        unsafe { libc::abort() };
    }
}

fn open() -> c_int {
    let path = variable(c"DISK_RECORDER_JOURNAL").unwrap_or_default();
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    let terminated = [path, b"\0"].concat();
    // SAFETY: the path is terminated.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            terminated.as_ptr(),
            flags,
            0o600,
        )
    };
    c_int::try_from(opened).unwrap_or(-1)
}
