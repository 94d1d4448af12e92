//! The functions of the C library that the gateway, SQLite and Rust's standard library call. Each makes the system call
//! itself: the original would have to be looked up at run time.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::slice;

use libc::{iovec, msghdr, off64_t, size_t, ssize_t};

use crate::files::{self, text};
use crate::journal::{Kind, append};

fn int(result: c_long) -> c_int {
    c_int::try_from(result).unwrap_or(-1)
}

/// The bytes of a write that succeeded.
unsafe fn written<'a>(bytes: *const c_void, result: c_long) -> Option<&'a [u8]> {
    let length = usize::try_from(result).ok().filter(|length| *length > 0)?;
    // SAFETY: the call has read as many bytes from there.
    Some(unsafe { slice::from_raw_parts(bytes.cast(), length) })
}

unsafe fn joined(parts: *const iovec, count: usize) -> Vec<u8> {
    // SAFETY: the caller passes an array of this length.
    let parts = unsafe { slice::from_raw_parts(parts, count) };
    let bytes = parts.iter().flat_map(|part| {
        // SAFETY: each element names readable memory.
        unsafe { slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) }
    });
    bytes.copied().collect()
}

// The C functions have a variable number of arguments. On the platforms that Postrider supports, the third is passed like
// any other.
#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller keeps the contract of `open`.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: see `open`.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: see `open`.
    let name = unsafe { text(path) };
    let creates = flags & libc::O_CREAT != 0;
    let existed = !creates || files::exists(name);
    // SAFETY: see `open`.
    let result = unsafe { libc::syscall(libc::SYS_openat, directory, path, flags, mode) };
    // What is opened relative to a directory's descriptor is a directory that is about to be deleted.
    if result >= 0 && directory == libc::AT_FDCWD {
        files::opened(int(result), name, flags, existed);
    }
    int(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: see `open`.
    unsafe { openat(directory, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    files::forget(descriptor);
    // SAFETY: the caller owns the descriptor.
    int(unsafe { libc::syscall(libc::SYS_close, descriptor) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    if files::inode(descriptor).is_none() && count > 0 {
        // SAFETY: the caller passes as many readable bytes.
        files::about_to_send(unsafe { slice::from_raw_parts(bytes.cast(), count) });
    }
    // SAFETY: the caller keeps the contract of `write`.
    let result = unsafe { libc::syscall(libc::SYS_write, descriptor, bytes, count) };
    // SAFETY: it is this call's result.
    if let Some(bytes) = unsafe { written(bytes, result) } {
        files::wrote(descriptor, bytes);
    }
    result as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(
    descriptor: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the caller keeps the contract of `pwrite`.
    let result = unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, bytes, count, offset) };
    // SAFETY: it is this call's result.
    let bytes = unsafe { written(bytes, result) };
    if let (Some(inode), Some(bytes)) = (files::inode(descriptor), bytes) {
        append(Kind::Wrote, inode, offset.unsigned_abs(), &[bytes]);
    }
    result as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller keeps the contract of `writev`.
    let bytes = unsafe { joined(parts, usize::try_from(count).unwrap_or_default()) };
    if files::inode(descriptor).is_none() {
        files::about_to_send(&bytes);
    }
    // SAFETY: see above.
    let result = unsafe { libc::syscall(libc::SYS_writev, descriptor, parts, count) };
    if let Some(bytes) = usize::try_from(result).ok().and_then(|n| bytes.get(..n)) {
        files::wrote(descriptor, bytes);
    }
    result as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(
    socket: c_int,
    bytes: *const c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    if count > 0 {
        // SAFETY: the caller passes as many readable bytes.
        files::about_to_send(unsafe { slice::from_raw_parts(bytes.cast(), count) });
    }
    let nowhere: *const c_void = std::ptr::null();
    // SAFETY: without an address, `sendto` is `send`.
    let result =
        unsafe { libc::syscall(libc::SYS_sendto, socket, bytes, count, flags, nowhere, 0) };
    result as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller passes a valid message.
    let bytes = unsafe { joined((*message).msg_iov, (*message).msg_iovlen) };
    files::about_to_send(&bytes);
    // SAFETY: see above.
    (unsafe { libc::syscall(libc::SYS_sendmsg, socket, message, flags) }) as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(descriptor: c_int, length: off64_t) -> c_int {
    // SAFETY: it takes any numbers.
    let result = unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, length) };
    if let (Some(inode), 0) = (files::inode(descriptor), result) {
        append(Kind::Resized, inode, length.unsigned_abs(), &[]);
    }
    int(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(descriptor: c_int, length: off64_t) -> c_int {
    // SAFETY: they are the same.
    unsafe { ftruncate64(descriptor, length) }
}

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    files::sync(descriptor, libc::SYS_fsync)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    files::sync(descriptor, libc::SYS_fdatasync)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let here = libc::AT_FDCWD;
    // SAFETY: the caller keeps the contract of `rename`.
    let result = unsafe { libc::syscall(libc::SYS_renameat2, here, from, here, to, 0) };
    if result == 0 {
        // SAFETY: see above.
        let (from, to) = unsafe { (text(from), text(to)) };
        files::named(Kind::Renamed, from.to_bytes(), to.to_bytes());
    }
    int(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn linkat(
    from_directory: c_int,
    from: *const c_char,
    to_directory: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller keeps the contract of `linkat`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_linkat,
            from_directory,
            from,
            to_directory,
            to,
            flags,
        )
    };
    if result == 0 {
        // SAFETY: see above.
        let (from, to) = unsafe { (text(from), text(to)) };
        let from = files::resolve(from_directory, from);
        files::named(Kind::Linked, &from, &files::resolve(to_directory, to));
    }
    int(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(directory: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller keeps the contract of `unlinkat`.
    let result = unsafe { libc::syscall(libc::SYS_unlinkat, directory, path, flags) };
    if result == 0 {
        // SAFETY: see above.
        files::removed(&files::resolve(directory, unsafe { text(path) }));
    }
    int(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller keeps the contract of `unlink`.
    unsafe { unlinkat(libc::AT_FDCWD, path, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: the caller keeps the contract of `rmdir`.
    unsafe { unlinkat(libc::AT_FDCWD, path, libc::AT_REMOVEDIR) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller keeps the contract of `mkdir`.
    let result = unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode) };
    if result == 0 {
        // SAFETY: see above.
        files::made_directory(unsafe { text(path) });
    }
    int(result)
}
