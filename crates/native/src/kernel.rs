//! What the running kernel says of itself and of a device's queue.

use iodyno_target::{ReadClearance, TargetKind};

/// What it waits for an answer where it does not say, ms: NVMe's.
const IO_TIMEOUT_MS: u64 = 30_000;

/// 6 of Linux 6.1; 0 where it is not known.
pub(crate) fn linux_major() -> u32 {
    let uname = rustix::system::uname();
    let release = uname.release().to_str().unwrap_or_default();
    release.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
}

/// How long the kernel waits for an answer of the device, ns.
pub(crate) fn io_timeout_ns(clearance: &ReadClearance) -> u64 {
    queue_says(clearance, "io_timeout").unwrap_or(IO_TIMEOUT_MS).saturating_mul(1_000_000)
}

/// Completions of the device cannot be polled for. Older kernels (6.1) do not
/// refuse it: they wait for the interrupt, while the thread spins.
pub(crate) fn cannot_poll(clearance: &ReadClearance) -> bool {
    queue_says(clearance, "io_poll") == Some(0)
}

/// A number that the block layer tells of the device's queue, of a partition
/// its disk's.
fn queue_says(clearance: &ReadClearance, fact: &str) -> Option<u64> {
    let name = match clearance.kind() {
        TargetKind::Block { name } => name.as_str(),
        TargetKind::File { device } => device.as_deref()?,
        TargetKind::Nothing => return None,
    };
    let read =
        |of| std::fs::read_to_string(format!("/sys/class/block/{name}/{of}queue/{fact}")).ok();
    read("").or_else(|| read("../"))?.trim().parse().ok()
}
