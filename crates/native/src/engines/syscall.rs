//! System calls without the detour through the C library.
//!
//! A function that returns right after a system call is slow: the call invalidates the CPU's return
//! predictions, and slows down the kernel's own functions as well. With `libc::syscall` or pread, a
//! read that completes at once took 780 ns instead of 530 (Intel Sapphire Rapids, virtual machine);
//! with an `enter` that was not inlined into the loop, io_uring at depth 1 took 1320 ns instead of
//! 910 (AMD EPYC, virtual machine). So everything between the loop and the instruction is
//! `inline(always)`.
#![allow(unsafe_code)] // The system call instruction itself.

use std::ffi::c_long;
use std::io;
use std::time::Duration;

/// Performs system call `number`; a negative result is an errno.
///
/// # Safety
/// As the system call: the caller guarantees the memory that it reads or writes.
#[inline(always)]
pub(super) unsafe fn syscall(number: c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel's calling convention: changes rax, rcx, r11 and memory that the caller
    // guarantees, and preserves stack and flags.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; changes only x0.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number as isize,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    // SAFETY: guaranteed by the caller.
    unsafe {
        result = match libc::syscall(number, a, b, c, d, e, f) as isize {
            -1 => -(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize),
            done => done,
        };
    }
    result
}

/// Converts a result of [`syscall`].
#[inline]
pub(super) fn to_result(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

/// Converts a time limit for the kernel.
#[inline]
pub(super) fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec { tv_sec: duration.as_secs() as _, tv_nsec: duration.subsec_nanos().into() }
}
