//! Which descriptors belong to files that can fail.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::control::variable;

/// More than a test raises the limit of descriptors to.
const DESCRIPTORS: usize = 1 << 20;

static OURS: [AtomicBool; DESCRIPTORS] = [const { AtomicBool::new(false) }; DESCRIPTORS];

fn entry(descriptor: c_int) -> Option<&'static AtomicBool> {
    OURS.get(usize::try_from(descriptor).ok()?)
}

pub(crate) fn can_fail(descriptor: c_int) -> bool {
    entry(descriptor).is_some_and(|entry| entry.load(Ordering::Acquire))
}

pub(crate) fn opened(descriptor: c_int, path: &CStr) {
    if let Some(entry) = entry(descriptor) {
        entry.store(is_ours(path.to_bytes()), Ordering::Release);
    }
}

pub(crate) fn closed(descriptor: c_int) {
    if let Some(entry) = entry(descriptor) {
        entry.store(false, Ordering::Release);
    }
}

fn is_ours(path: &[u8]) -> bool {
    let root = variable(c"FAULT_INJECTOR_ROOT").map(CStr::to_bytes);
    let rest = root.and_then(|root| path.strip_prefix(root));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
