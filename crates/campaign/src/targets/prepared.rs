//! Facts about a cleared target, for the schedules.

use iodyno_job::{Job, Room};
use iodyno_load::ProbeSample;
use iodyno_model::{
    Caveat, Conditions, Drive, Host, Queue, WrittenEvidence, WrittenShare, WrittenState,
};
use iodyno_target::ReadClearance;

use super::written::Written;

/// A target that jobs may work on, without its clearance.
#[derive(Debug, Clone)]
pub(crate) struct PreparedTarget {
    /// Index among all targets of the run.
    pub(crate) index: usize,
    /// Name in results.
    pub(crate) name: String,
    /// Size and block size.
    pub(crate) room: Room,
    /// Written by background load only, not measured itself.
    pub(crate) is_neighbour: bool,
    /// Its NVMe generic character device exists and may be opened.
    pub(crate) has_character_device: bool,
    /// Block device under a file or directory, or the target itself.
    pub(crate) device: Option<String>,
    /// Whole devices at the bottom of its stack.
    pub(crate) bottom: Vec<String>,
    /// Its drive, if there is only one.
    pub(crate) drive: Option<String>,
    /// CPUs near it; empty: unknown, so any.
    pub(crate) near_cpus: Vec<u32>,
    /// Other online CPUs, if those near it are known.
    pub(crate) far_cpus: Vec<u32>,
    /// Its completions can be polled.
    pub(crate) polled: bool,
    /// Depth of its queues together.
    pub(crate) queue_depth: u32,
    /// Largest request of its queue, bytes.
    pub(crate) largest_bytes: Option<u64>,
    pub(crate) scratch: bool,
    pub(crate) remarks: Vec<Caveat>,
    pub(crate) written: Option<Written>,
    /// Samples of the whole target, from which its written blocks were inferred.
    pub(crate) samples: Vec<ProbeSample>,
    /// Its blocks were sampled.
    pub(crate) is_sampled: bool,
    /// Reason why it cannot be measured any more.
    pub(crate) lost: Option<String>,
}

impl PreparedTarget {
    /// Facts about a cleared target. `device` is the block device that it is or is stored on.
    pub(crate) fn new(
        host: &Host,
        name: &str,
        clearance: &ReadClearance,
        device: Option<&str>,
        scratch: bool,
        remarks: Vec<Caveat>,
    ) -> Self {
        let bottom: Vec<String> = device
            .map(|device| host.bottom_of(device))
            .unwrap_or_default()
            .into_iter()
            .map(|block| block.name.clone())
            .collect();
        let mut drives: Vec<&Drive> = bottom
            .iter()
            .filter_map(|block| host.namespace(block).map(|(drive, _)| drive))
            .collect();
        drives.dedup_by(|a, b| a.name == b.name);
        let drive = match drives.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let queue = device.and_then(|device| host.block(device)).map(|block| &block.queue);
        let tags = queue.and_then(|queue| queue.nr_requests.value()).unwrap_or(u32::MAX);
        let queues = queue.and_then(|queue| queue.hardware_queues.value()).unwrap_or(1).max(1);
        let written = scratch.then(|| Written {
            share: WrittenShare {
                target: name.to_owned(),
                samples: 0,
                share: iodyno_model::Estimate::bare(1.0),
                state: WrittenState::Written,
                evidence: WrittenEvidence::ScratchFile,
            },
            extents: Vec::new(),
        });
        Self {
            name: name.to_owned(),
            index: 0,
            room: room(clearance),
            is_neighbour: false,
            has_character_device: false,
            device: device.map(str::to_owned),
            drive: drive.map(|drive| drive.name.clone()),
            polled: queue.is_some_and(|queue| queue.io_poll.value() == Some(true)),
            far_cpus: far_cpus(host, drive),
            near_cpus: near_cpus(host, drive),
            queue_depth: tags.saturating_mul(queues),
            largest_bytes: queue.and_then(Queue::request_bytes),
            bottom,
            scratch,
            remarks,
            written,
            samples: Vec::new(),
            is_sampled: false,
            lost: None,
        }
    }

    /// Number of CPUs that its threads may use.
    pub(crate) fn cpu_count(&self) -> u32 {
        // Count the CPUs of this process, not of the machine.
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        let near = if self.near_cpus.is_empty() { allowed } else { self.near_cpus.len() };
        near.min(allowed) as u32
    }

    /// `job` adapted to this target: its extents and CPUs. `turn` rotates the CPUs, so that targets
    /// measured together do not all start on the same one.
    pub(crate) fn fitted(&self, job: &Job, turn: usize) -> Job {
        let mut job = job.clone();
        job.threads.cpus_allowed.clone_from(&self.near_cpus);
        if !job.threads.cpus_allowed.is_empty() {
            let length = job.threads.cpus_allowed.len();
            job.threads.cpus_allowed.rotate_left(turn % length);
        }
        if let Some(written) = &self.written {
            job.space.extents.clone_from(&written.extents);
        }
        job
    }

    /// Adds what was found out about the same target since.
    pub(crate) fn updated_from(mut self, target: &Self) -> Self {
        self.lost.clone_from(&target.lost);
        if self.written.is_none() {
            self.written.clone_from(&target.written);
        }
        self
    }

    /// Conditions known before anything runs.
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions {
            written: self.written.iter().map(|written| written.share.clone()).collect(),
            device: self.device.clone().filter(|device| *device != self.name),
            scratch: self.scratch,
            target_remarks: self.remarks.clone(),
            ..Conditions::default()
        }
    }
}

/// Key of a namespace in the store: serial number and namespace id.
pub(crate) fn key_of(name: &str, host: &Host) -> Option<(String, u32)> {
    let (drive, namespace) = host.namespace(name)?;
    Some((drive.serial.value()?, namespace.nsid.value()?))
}

/// Size and block size of a cleared target.
pub(crate) fn room(clearance: &ReadClearance) -> Room {
    Room { size_bytes: clearance.size_bytes(), block_bytes: clearance.block_bytes() }
}

/// Online CPUs near the drive; empty if unknown.
fn near_cpus(host: &Host, drive: Option<&Drive>) -> Vec<u32> {
    let near = drive.and_then(|drive| drive.local_cpus.value()).unwrap_or_default();
    match host.cpus.online.get() {
        Some(online) => near.into_iter().filter(|cpu| online.contains(cpu)).collect(),
        None => near,
    }
}

/// Online CPUs not near the drive; empty if unknown.
fn far_cpus(host: &Host, drive: Option<&Drive>) -> Vec<u32> {
    let near = near_cpus(host, drive);
    let online = host.cpus.online.get().filter(|_| !near.is_empty());
    online.into_iter().flatten().filter(|cpu| !near.contains(cpu)).copied().collect()
}
