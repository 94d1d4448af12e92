//! Which descriptors are recorded, and what happens to them.

use std::ffi::{CStr, c_char, c_int, c_long};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::journal::{Kind, append, variable};

/// More than a test raises the limit of descriptors to.
const DESCRIPTORS: usize = 1 << 20;

/// The inode behind each descriptor that is recorded, else 0.
static RECORDED: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(0) }; DESCRIPTORS];
static SYNCS: AtomicU64 = AtomicU64::new(0);

fn entry(descriptor: c_int) -> Option<&'static AtomicU64> {
    RECORDED.get(usize::try_from(descriptor).ok()?)
}

pub(crate) fn inode(descriptor: c_int) -> Option<u64> {
    let inode = entry(descriptor)?.load(Ordering::Acquire);
    (inode != 0).then_some(inode)
}

pub(crate) fn forget(descriptor: c_int) {
    if let Some(entry) = entry(descriptor) {
        entry.store(0, Ordering::Release);
    }
}

/// Whether changes at this path are recorded.
pub(crate) fn is_ours(path: &[u8]) -> bool {
    let root = variable(c"DISK_RECORDER_ROOT");
    root.is_some_and(|root| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}

pub(crate) fn exists(path: &CStr) -> bool {
    // SAFETY: the path is terminated.
    let found = unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), 0, 0) };
    found == 0
}

/// The path that a call with a directory's descriptor means.
pub(crate) fn resolve(directory: c_int, path: &CStr) -> Vec<u8> {
    if directory == libc::AT_FDCWD || path.to_bytes().starts_with(b"/") {
        return path.to_bytes().to_vec();
    }
    let link = format!("/proc/self/fd/{directory}\0");
    let mut target = [0_u8; 4096];
    // SAFETY: the path is terminated, and the buffer as long as stated.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            link.as_ptr(),
            target.as_mut_ptr(),
            target.len(),
        )
    };
    let parent = usize::try_from(length).ok().and_then(|n| target.get(..n));
    [parent.unwrap_or_default(), b"/", path.to_bytes()].concat()
}

/// Records an open call that succeeded, and from now on what happens to its descriptor.
pub(crate) fn opened(descriptor: c_int, path: &CStr, flags: c_int, existed: bool) {
    forget(descriptor);
    if !is_ours(path.to_bytes()) {
        return;
    }
    let inode = inode_of(descriptor);
    if let Some(entry) = entry(descriptor) {
        entry.store(inode, Ordering::Release);
    }
    let kind = if existed { Kind::Opened } else { Kind::Created };
    append(kind, inode, 0, &[path.to_bytes()]);
    if existed && flags & libc::O_TRUNC != 0 {
        append(Kind::Resized, inode, 0, &[]);
    }
}

fn inode_of(descriptor: c_int) -> u64 {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: there is room for the result.
    unsafe { libc::fstat(descriptor, stat.as_mut_ptr()) };
    // SAFETY: it was filled, or is zero.
    unsafe { stat.assume_init() }.st_ino
}

/// Records a new directory.
pub(crate) fn made_directory(path: &CStr) {
    if is_ours(path.to_bytes()) {
        append(Kind::MadeDirectory, 0, 0, &[path.to_bytes()]);
    }
}

pub(crate) fn removed(path: &[u8]) {
    if is_ours(path) {
        append(Kind::Removed, 0, 0, &[path]);
    }
}

pub(crate) fn named(kind: Kind, from: &[u8], to: &[u8]) {
    if is_ours(from) || is_ours(to) {
        append(kind, 0, 0, &[from, b"\0", to]);
    }
}

/// Records bytes that were written and end at the current position.
pub(crate) fn wrote(descriptor: c_int, bytes: &[u8]) {
    if let Some(inode) = inode(descriptor) {
        // SAFETY: it only reads the position.
        let end = unsafe { libc::syscall(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR) };
        let start = u64::try_from(end).unwrap_or_default() - bytes.len() as u64;
        append(Kind::Wrote, inode, start, &[bytes]);
    }
}

/// Syncs with this system call.
pub(crate) fn sync(descriptor: c_int, call: c_long) -> c_int {
    let recorded = inode(descriptor).map(|inode| {
        // Processes share a journal.
        let count = SYNCS.fetch_add(1, Ordering::Relaxed);
        let id = u64::from(std::process::id()) << 32 | count;
        append(Kind::SyncBegan, inode, id, &[]);
        (inode, id)
    });
    // SAFETY: it takes any number.
    let result = unsafe { libc::syscall(call, descriptor) };
    if let (Some((inode, id)), 0) = (recorded, result) {
        append(Kind::SyncEnded, inode, id, &[]);
    }
    c_int::try_from(result).unwrap_or(-1)
}

/// Records a response with a status of success.
pub(crate) fn about_to_send(bytes: &[u8]) {
    if bytes.starts_with(b"HTTP/1.1 2") {
        append(Kind::Responded, 0, 0, &[bytes]);
    }
}

/// # Safety
/// As for the calls that take a path: it is a terminated string.
pub(crate) unsafe fn text<'a>(path: *const c_char) -> &'a CStr {
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(path) }
}
