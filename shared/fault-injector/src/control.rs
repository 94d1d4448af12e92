//! What fails now: a page of memory that the test changes.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

const FULL: u32 = 1;
const BROKEN_WRITES: u32 = 2;
const BROKEN_SYNCS: u32 = 4;

#[repr(C)]
struct Control {
    ahead_ms: AtomicI64,
    failing: AtomicU32,
    one_in: AtomicU32,
}

static CONTROL: OnceLock<Option<&'static Control>> = OnceLock::new();
static CALLS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name is terminated. No code of the gateway changes its environment, so the value stays valid.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a value that is not null is a terminated string.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

fn control() -> Option<&'static Control> {
    *CONTROL.get_or_init(map)
}

fn map() -> Option<&'static Control> {
    let path = variable(c"FAULT_INJECTOR_CONTROL")?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path is terminated.
    let opened =
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) };
    let descriptor = c_int::try_from(opened).ok().filter(|opened| *opened >= 0)?;
    // SAFETY: it maps a new range, and the file is as long as the control.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Control>(),
            libc::PROT_READ,
            libc::MAP_SHARED,
            descriptor,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the range is mapped for as long as the process lives, and a page is aligned.
    Some(unsafe { &*page.cast::<Control>() })
}

pub(crate) fn ahead_ms() -> i64 {
    control().map_or(0, |control| control.ahead_ms.load(Ordering::Relaxed))
}

/// The error that a write of now ends with.
pub(crate) fn write_error() -> Option<c_int> {
    let failing = failing();
    if failing & FULL != 0 {
        Some(libc::ENOSPC)
    } else {
        (failing & BROKEN_WRITES != 0).then_some(libc::EIO)
    }
}

/// The error that a sync of now ends with.
pub(crate) fn sync_error() -> Option<c_int> {
    (failing() & BROKEN_SYNCS != 0).then_some(libc::EIO)
}

/// Which kinds of calls fail, if it is the turn of this one.
fn failing() -> u32 {
    let Some(control) = control() else { return 0 };
    let failing = control.failing.load(Ordering::Relaxed);
    if failing == 0 {
        return 0;
    }
    let one_in = control.one_in.load(Ordering::Relaxed).max(1);
    let is_due = CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in);
    if is_due { failing } else { 0 }
}
