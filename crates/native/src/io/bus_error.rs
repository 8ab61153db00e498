//! SIGBUS as an error of the I/O that met it.
//!
//! A page of a mapping that cannot be had (its file was truncated, its file system is full, its
//! sector is bad) is a signal, which by default ends the process. Here the handler puts anonymous
//! memory in its place and makes a note; the copy goes on with that, and whoever guarded it says
//! that it failed. Signals for anything else go to whoever handled them before, which is Rust's
//! runtime with its look for overflown stacks.
#![allow(unsafe_code)] // Signals and mapped memory.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence};

/// What a thread copies from or to.
struct Guarded {
    start: AtomicUsize,
    end: AtomicUsize,
    failed: AtomicBool,
}

thread_local! {
    // Constant and without a destructor: a signal's handler may look at it at any time.
    static GUARDED: Guarded = const {
        Guarded {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        }
    };
}

struct Before {
    action: libc::sigaction,
    page_bytes: usize,
}

/// What was done about SIGBUS before.
static BEFORE: OnceLock<Before> = OnceLock::new();

/// From now on a SIGBUS within [`guarded`] does not end the process.
pub(super) fn handle() {
    BEFORE.get_or_init(|| {
        // SAFETY: all zero is a valid sigaction (SIG_DFL); sigaction(2) only reads and writes the
        // two that it is given. The handler keeps to what async signals may do.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_bus_error as extern "C" fn(_, _, _) as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // It cannot fail: the signal exists and can be handled. Until `BEFORE` is set, which
            // is before any guarded copy, ours does what the kernel does by default.
            libc::sigaction(libc::SIGBUS, &ours, &mut before);
            Before { action: before, page_bytes: rustix::param::page_size() }
        }
    });
}

/// Makes `copy`, which touches memory in `range` of a mapping and no other that can fail. False:
/// some of it could not be had; anonymous memory is in its place, from there to the end of the
/// last page, until it is mapped anew.
///
/// # Safety
/// No one else uses these pages of the mapping.
#[inline]
pub(super) unsafe fn guarded(range: Range<usize>, copy: impl FnOnce()) -> bool {
    GUARDED.with(|guarded| {
        guarded.start.store(range.start, Relaxed);
        guarded.end.store(range.end, Relaxed);
        // The handler runs on this thread: only the compiler must keep the order.
        compiler_fence(SeqCst);
        copy();
        compiler_fence(SeqCst);
        guarded.end.store(0, Relaxed);
        !guarded.failed.swap(false, Relaxed)
    })
}

impl Guarded {
    /// Puts anonymous memory where `address` is, if it is in what is guarded.
    fn replace(&self, address: usize, page_bytes: usize) -> bool {
        let (start, end) = (self.start.load(Relaxed), self.end.load(Relaxed));
        if !(start..end).contains(&address) {
            return false;
        }
        let first = address / page_bytes * page_bytes;
        let length = end.next_multiple_of(page_bytes) - first;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the caller of `guarded` has these pages of the mapping for itself.
        let mapped = unsafe {
            libc::mmap(ptr::without_provenance_mut(first), length, protection, flags, -1, 0)
        };
        let done = mapped != libc::MAP_FAILED;
        self.failed.store(done, Relaxed);
        done
    }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives valid information of a SIGBUS, with its address; errno is this
    // thread's, and left as it was.
    unsafe {
        let errno = *libc::__errno_location();
        let before = BEFORE.get();
        let address = (*info).si_addr().addr();
        let replaced = before.is_some_and(|before| {
            let replace = |guarded: &Guarded| guarded.replace(address, before.page_bytes);
            GUARDED.try_with(replace).unwrap_or(false)
        });
        if !replaced {
            pass_on(before, signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

/// # Safety
/// As a handler is called.
unsafe fn pass_on(
    before: Option<&Before>,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    type Plain = extern "C" fn(c_int);
    let action = before.map(|before| before.action);
    // SAFETY: a handler that sigaction(2) gave is one, of the kind that its flags say. Without
    // one the default comes back, and what faulted faults again, which ends the process.
    unsafe {
        match action {
            Some(one) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&one.sa_sigaction) => {
                if one.sa_flags & libc::SA_SIGINFO != 0 {
                    std::mem::transmute::<usize, WithInfo>(one.sa_sigaction)(signal, info, context);
                } else {
                    std::mem::transmute::<usize, Plain>(one.sa_sigaction)(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}
