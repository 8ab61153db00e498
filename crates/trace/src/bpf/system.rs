//! The system call bpf(2): maps, programs and their links.

#![allow(unsafe_code)] // bpf(2) takes memory by address; no library offers it without a compiler.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_LOOKUP_BATCH: libc::c_int = 24;
const PROGRAM_LOAD: libc::c_int = 5;
const TRACEPOINT_OPEN: libc::c_int = 17;
const OBJECT_INFORMATION: libc::c_int = 15;
/// `BPF_PROG_TYPE_TRACING`, `BPF_TRACE_RAW_TP`.
const TRACING: u32 = 26;
const TRACEPOINT: u32 = 23;
/// The kernel lets only such programs follow its pointers. The instructions are iodyno's own, which
/// is licensed under MIT, too.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// Place in `struct bpf_prog_info`, in units of 8 bytes.
const RECURSION_MISSES: usize = 26;

/// Attributes of a call, `union bpf_attr`, of which each call fills a part.
#[repr(C, align(8))]
struct Attributes([u8; 128]);

impl Attributes {
    const fn new() -> Self {
        Self([0; 128])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn wide(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn descriptor(self, at: usize, descriptor: &OwnedFd) -> Self {
        self.word(at, descriptor.as_raw_fd() as u32)
    }

    fn get(&self, at: usize) -> u32 {
        u32::from_ne_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    /// # Safety
    /// Addresses among the attributes are of live memory, as large as the command expects.
    unsafe fn call(&mut self, command: libc::c_int) -> io::Result<libc::c_int> {
        let length = size_of::<Self>();
        // SAFETY: the attributes are live, and the caller vouches for what they point to.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), length) };
        match libc::c_int::try_from(result) {
            Ok(result @ 0..) => Ok(result),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// # Safety
    /// As of [`Self::call`]; the command returns a new descriptor.
    unsafe fn open(&mut self, command: libc::c_int) -> io::Result<OwnedFd> {
        // SAFETY: the caller vouches.
        let descriptor = unsafe { self.call(command) }?;
        // SAFETY: the kernel just gave it to us.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

/// Type of a map. Of `Each`, each CPU has its own values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Hash = 1,
    Array = 2,
    EachHash = 5,
    EachArray = 6,
}

/// A table in the kernel.
#[derive(Debug)]
pub(super) struct Map {
    descriptor: OwnedFd,
    key: usize,
    /// Size of a value as it is read, of one CPU, bytes.
    value: usize,
    entries: u32,
    cpus: usize,
}

impl Map {
    /// Makes a table of `entries` values of `value` bytes. Keys of arrays have 4 bytes.
    pub(super) fn new(
        kind: Kind,
        key: u32,
        value: u32,
        entries: u32,
        cpus: usize,
    ) -> io::Result<Self> {
        let mut attributes =
            Attributes::new().word(0, kind as u32).word(4, key).word(8, value).word(12, entries);
        // SAFETY: no attribute is an address.
        let descriptor = unsafe { attributes.open(MAP_CREATE) }?;
        let cpus = if matches!(kind, Kind::Array | Kind::Hash) { 1 } else { cpus };
        let value = (value as usize).next_multiple_of(8);
        Ok(Self { descriptor, key: key as usize, value, entries, cpus })
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Returns the numbers of an entry of an array, of each CPU after the other.
    pub(super) fn get(&self, index: u32) -> io::Result<Vec<u64>> {
        let key = index.to_ne_bytes();
        let mut values = vec![0_u64; self.value / 8 * self.cpus];
        let mut attributes = Attributes::new()
            .descriptor(0, &self.descriptor)
            .wide(8, key.as_ptr() as u64)
            .wide(16, values.as_mut_ptr() as u64);
        // SAFETY: both are live; the key has 4 bytes, and there is space for all CPUs' values.
        unsafe { attributes.call(MAP_LOOKUP) }?;
        Ok(values)
    }

    /// Returns all entries: keys, and numbers as of [`Self::get`].
    pub(super) fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u64>)>> {
        let words = self.value / 8 * self.cpus;
        let entries = self.entries as usize;
        let mut keys = vec![0_u8; self.key * entries];
        let mut values = vec![0_u64; words * entries];
        let mut next = [0_u64; 4];
        let mut attributes = Attributes::new()
            .wide(8, next.as_mut_ptr() as u64)
            .wide(16, keys.as_mut_ptr() as u64)
            .wide(24, values.as_mut_ptr() as u64)
            .word(32, self.entries)
            .descriptor(36, &self.descriptor);
        // SAFETY: all are live; keys and values have space for the whole map, and `next` for a key.
        match unsafe { attributes.call(MAP_LOOKUP_BATCH) } {
            // All have been returned.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let found = (attributes.get(32) as usize).min(entries);
        let keys = keys.chunks_exact(self.key).map(<[u8]>::to_vec);
        Ok(keys.zip(values.chunks_exact(words).map(<[u64]>::to_vec)).take(found).collect())
    }
}

/// A program that runs at a tracepoint until it is dropped.
#[derive(Debug)]
pub(super) struct Attached {
    program: OwnedFd,
    _link: OwnedFd,
}

/// Loads a program, for the tracepoint whose type has this id in the kernel's BTF.
pub(super) fn load(code: &[u64], tracepoint: u32) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new()
        .word(0, TRACING)
        .word(4, code.len() as u32)
        .wide(8, code.as_ptr() as u64)
        .wide(16, LICENSE.as_ptr() as u64)
        .word(68, TRACEPOINT)
        .word(108, tracepoint);
    // SAFETY: code and license are live; the kernel checks the code.
    unsafe { attributes.open(PROGRAM_LOAD) }
}

impl Attached {
    pub(super) fn new(program: OwnedFd) -> io::Result<Self> {
        let mut attributes = Attributes::new().descriptor(8, &program);
        // SAFETY: no attribute is an address.
        let link = unsafe { attributes.open(TRACEPOINT_OPEN) }?;
        Ok(Self { program, _link: link })
    }

    /// Returns how often the program did not run, since it ran already on that CPU.
    pub(super) fn misses(&self) -> io::Result<u64> {
        let mut information = [0_u64; 32];
        let mut attributes = Attributes::new()
            .descriptor(0, &self.program)
            .word(4, size_of_val(&information) as u32)
            .wide(8, information.as_mut_ptr() as u64);
        // SAFETY: there is space for what the length says.
        unsafe { attributes.call(OBJECT_INFORMATION) }?;
        Ok(information[RECURSION_MISSES])
    }
}
