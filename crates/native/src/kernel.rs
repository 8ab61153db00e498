//! Facts of the running kernel and a device's queue.

use iodyno_target::{ReadClearance, TargetKind};

/// NVMe's default I/O timeout, ms, if the kernel reports none.
const IO_TIMEOUT_MS: u64 = 30_000;

/// The kernel's major version; 0 if unknown.
pub(crate) fn linux_major() -> u32 {
    let uname = rustix::system::uname();
    let release = uname.release().to_str().unwrap_or_default();
    release.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
}

/// The kernel's I/O timeout of the device, ns.
pub(crate) fn io_timeout_ns(clearance: &ReadClearance) -> u64 {
    queue_attribute(clearance, "io_timeout").unwrap_or(IO_TIMEOUT_MS).saturating_mul(1_000_000)
}

/// True if the device does not support polling. Older kernels (6.1) accept polled I/O all the same
/// and wait for the interrupt, while the thread spins.
pub(crate) fn cannot_poll(clearance: &ReadClearance) -> bool {
    queue_attribute(clearance, "io_poll") == Some(0)
}

/// A numeric attribute of the device's queue; a partition uses its disk's.
fn queue_attribute(clearance: &ReadClearance, fact: &str) -> Option<u64> {
    let name = match clearance.kind() {
        TargetKind::Block { name } => name.as_str(),
        TargetKind::File { device } => device.as_deref()?,
        TargetKind::Nothing => return None,
    };
    let read = |parent| {
        std::fs::read_to_string(format!("/sys/class/block/{name}/{parent}queue/{fact}")).ok()
    };
    read("").or_else(|| read("../"))?.trim().parse().ok()
}
