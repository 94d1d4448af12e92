//! The functions of the C library that can fail. Each makes the system call itself: the original would have to be looked up
//! at run time.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};

use libc::{clockid_t, iovec, off64_t, size_t, ssize_t, timespec};

use crate::{control, files};

const MS_PER_S: i64 = 1_000;
const NS_PER_MS: i64 = 1_000_000;
const NS_PER_S: i64 = 1_000_000_000;

fn int(result: c_long) -> c_int {
    c_int::try_from(result).unwrap_or(-1)
}

/// Ends a call with this error.
fn fail(error: c_int) -> c_int {
    // SAFETY: it is this thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn error_of_write(descriptor: c_int) -> Option<c_int> {
    files::can_fail(descriptor).then(control::write_error)?
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
    let result = unsafe { libc::syscall(libc::SYS_openat, directory, path, flags, mode) };
    if result >= 0 {
        // SAFETY: the path is a terminated string.
        files::opened(int(result), unsafe { CStr::from_ptr(path) });
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
    files::closed(descriptor);
    // SAFETY: the caller owns the descriptor.
    int(unsafe { libc::syscall(libc::SYS_close, descriptor) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    if let Some(error) = error_of_write(descriptor) {
        return fail(error) as ssize_t;
    }
    // SAFETY: the caller keeps the contract of `write`.
    (unsafe { libc::syscall(libc::SYS_write, descriptor, bytes, count) }) as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if let Some(error) = error_of_write(descriptor) {
        return fail(error) as ssize_t;
    }
    // SAFETY: the caller keeps the contract of `writev`.
    (unsafe { libc::syscall(libc::SYS_writev, descriptor, parts, count) }) as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(
    descriptor: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    if let Some(error) = error_of_write(descriptor) {
        return fail(error) as ssize_t;
    }
    // SAFETY: the caller keeps the contract of `pwrite`.
    (unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, bytes, count, offset) }) as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(descriptor: c_int, length: off64_t) -> c_int {
    if let Some(error) = error_of_write(descriptor) {
        return fail(error);
    }
    // SAFETY: it takes any numbers.
    int(unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(descriptor: c_int, length: off64_t) -> c_int {
    // SAFETY: they are the same.
    unsafe { ftruncate64(descriptor, length) }
}

fn sync(descriptor: c_int, call: c_long) -> c_int {
    if files::can_fail(descriptor)
        && let Some(error) = control::sync_error()
    {
        return fail(error);
    }
    // SAFETY: it takes any number.
    int(unsafe { libc::syscall(call, descriptor) })
}

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    sync(descriptor, libc::SYS_fsync)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    sync(descriptor, libc::SYS_fdatasync)
}

/// Only the time of day jumps: the kernel promises that the other clocks do not.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: the caller keeps the contract of `clock_gettime`.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if result == 0 && clock == libc::CLOCK_REALTIME {
        let ahead_ms = control::ahead_ms();
        // SAFETY: the call has filled it.
        let time = unsafe { &mut *time };
        let ns = time.tv_nsec + ahead_ms.rem_euclid(MS_PER_S) * NS_PER_MS;
        time.tv_sec += ahead_ms.div_euclid(MS_PER_S) + ns / NS_PER_S;
        time.tv_nsec = ns % NS_PER_S;
    }
    int(result)
}
