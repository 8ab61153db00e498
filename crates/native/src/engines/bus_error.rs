//! Turns SIGBUS in a mapping into an error of the I/O that touched it.
//!
//! A page of a mapping that cannot be read (file truncated, file system full, bad sector) raises
//! SIGBUS, which by default kills the process. The handler maps anonymous memory in its place and
//! sets a flag; the copy continues, and [`guarded`] reports the failure. Other signals go to the
//! previous handler: that of Rust's runtime, which detects stack overflows.
#![allow(unsafe_code)] // Signals and mapped memory.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence};

/// The mapped range that a thread is copying from or to.
struct GuardedRange {
    start: AtomicUsize,
    end: AtomicUsize,
    failed: AtomicBool,
}

thread_local! {
    // Const-initialized and without a destructor: the signal handler may access it at any time.
    static GUARDED_RANGE: GuardedRange = const {
        GuardedRange {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        }
    };
}

struct PreviousHandler {
    action: libc::sigaction,
    page_bytes: usize,
}

/// The previous SIGBUS handler.
static PREVIOUS: OnceLock<PreviousHandler> = OnceLock::new();

/// Installs the handler, once per process.
pub(super) fn handle() {
    PREVIOUS.get_or_init(|| {
        // SAFETY: all zeros is a valid sigaction (SIG_DFL); sigaction(2) only reads and writes the
        // two structures passed. The handler is async-signal-safe.
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            let mut handler: libc::sigaction = std::mem::zeroed();
            handler.sa_sigaction = on_bus_error as extern "C" fn(_, _, _) as usize;
            handler.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // Cannot fail: the signal exists and can be handled. Until `PREVIOUS` is set, which is
            // before any guarded copy, the handler applies the default action.
            libc::sigaction(libc::SIGBUS, &handler, &mut previous);
            PreviousHandler { action: previous, page_bytes: rustix::param::page_size() }
        }
    });
}

/// Runs `copy`, which may fault only on `range` of a mapping. Returns false if a page was not
/// available: anonymous memory then replaces the mapping from there to the end of the last page,
/// until it is mapped again.
///
/// # Safety
/// No one else may use these pages of the mapping.
#[inline]
pub(super) unsafe fn guarded(range: Range<usize>, copy: impl FnOnce()) -> bool {
    GUARDED_RANGE.with(|guarded| {
        guarded.start.store(range.start, Relaxed);
        guarded.end.store(range.end, Relaxed);
        // The handler runs on this thread: a compiler fence suffices.
        compiler_fence(SeqCst);
        copy();
        compiler_fence(SeqCst);
        guarded.end.store(0, Relaxed);
        !guarded.failed.swap(false, Relaxed)
    })
}

impl GuardedRange {
    /// Maps anonymous memory at `address` if that is in the guarded range.
    fn map_anonymous(&self, address: usize, page_bytes: usize) -> bool {
        let (start, end) = (self.start.load(Relaxed), self.end.load(Relaxed));
        if !(start..end).contains(&address) {
            return false;
        }
        let first = address / page_bytes * page_bytes;
        let length = end.next_multiple_of(page_bytes) - first;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the caller of `guarded` has exclusive use of these pages.
        let mapped = unsafe {
            libc::mmap(ptr::without_provenance_mut(first), length, protection, flags, -1, 0)
        };
        let done = mapped != libc::MAP_FAILED;
        self.failed.store(done, Relaxed);
        done
    }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo of a SIGBUS, with its address; errno belongs to
    // this thread and is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let previous = PREVIOUS.get();
        let address = (*info).si_addr().addr();
        let handled = previous.is_some_and(|previous| {
            let map_anonymous =
                |guarded: &GuardedRange| guarded.map_anonymous(address, previous.page_bytes);
            GUARDED_RANGE.try_with(map_anonymous).unwrap_or(false)
        });
        if !handled {
            call_previous(previous, signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

/// # Safety
/// Only from a signal handler, with its arguments.
unsafe fn call_previous(
    previous: Option<&PreviousHandler>,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    type Plain = extern "C" fn(c_int);
    let action = previous.map(|previous| previous.action);
    // SAFETY: sigaction(2) returned this handler, of the kind that its flags state. Without one,
    // the default action is restored, and the repeated fault kills the process.
    unsafe {
        match action {
            Some(action) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) => {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    std::mem::transmute::<usize, WithInfo>(action.sa_sigaction)(
                        signal, info, context,
                    );
                } else {
                    std::mem::transmute::<usize, Plain>(action.sa_sigaction)(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}
