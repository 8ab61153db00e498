//! A target made ready for measuring: cleared, with what is known of it.

use iodyno_job::Job;
use iodyno_load::{ClearedJob, ProbeSample};
use iodyno_model::{Caveat, Conditions, Drive, Host, WrittenShare, WrittenState};
use iodyno_target::{Access, ReadClearance};

use crate::written::Written;

/// A target on the bench.
#[derive(Clone)]
pub(crate) struct Ready<'a> {
    /// Its name in results.
    pub(crate) name: String,
    pub(crate) clearance: &'a ReadClearance,
    /// What its jobs may do with it.
    access: Access<'a>,
    /// The block device under a file or directory, or the target itself.
    pub(crate) device: Option<String>,
    /// Whole devices at the bottom of it.
    pub(crate) bottom: Vec<String>,
    /// The drive, where it is just one.
    pub(crate) drive: Option<String>,
    /// CPUs near it; empty: unknown, so any.
    pub(crate) near_cpus: Vec<u32>,
    /// The other ones that are online, where those near it are known.
    pub(crate) far_cpus: Vec<u32>,
    /// Its completions can be polled for.
    pub(crate) polled: bool,
    /// I/Os that its queue holds.
    pub(crate) queue_depth: u32,
    /// Largest request that its queue makes, bytes.
    pub(crate) largest_bytes: Option<u64>,
    pub(crate) scratch: bool,
    pub(crate) remarks: Vec<Caveat>,
    pub(crate) written: Option<Written>,
    /// Samples of all of it, by which its written blocks were told.
    pub(crate) samples: Vec<ProbeSample>,
    /// Outstanding I/Os that a search found, by step.
    pub(crate) found: Vec<(String, u32)>,
    /// It cannot be measured any more: why.
    pub(crate) lost: Option<String>,
}

impl<'a> Ready<'a> {
    /// Puts a cleared target on the bench. `device` is the block device that
    /// it is or stands on.
    pub(crate) fn new(
        host: &Host,
        name: &str,
        access: Access<'a>,
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
                evidence: "the scratch file was written just before".into(),
            },
            extents: Vec::new(),
        });
        Self {
            name: name.to_owned(),
            clearance: access.read(),
            access,
            device: device.map(str::to_owned),
            drive: drive.map(|drive| drive.name.clone()),
            polled: queue.is_some_and(|queue| queue.io_poll.value() == Some(true)),
            far_cpus: far_cpus(host, drive),
            near_cpus: near_cpus(host, drive),
            queue_depth: tags.saturating_mul(queues),
            largest_bytes: queue
                .and_then(|queue| queue.max_sectors_kib.value())
                .map(|kib| u64::from(kib) << 10),
            bottom,
            scratch,
            remarks,
            written,
            samples: Vec::new(),
            found: Vec::new(),
            lost: None,
        }
    }

    /// CPUs that its threads may use: how many.
    pub(crate) fn cpu_count(&self) -> u32 {
        // What this process may use counts, not what the machine has.
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        let near = if self.near_cpus.is_empty() { allowed } else { self.near_cpus.len() };
        near.min(allowed) as u32
    }

    /// Its NVMe generic character device is there, and may be opened.
    pub(crate) fn has_character_device(&self) -> bool {
        self.access.open_character().is_ok()
    }

    /// The step's job made for this target: where to stay, on which CPUs.
    /// `turn` moves the first CPU on, so that targets measured together do not
    /// all start on the same one.
    pub(crate) fn cleared(
        &self,
        job: &Job,
        outstanding: Option<(u32, u32)>,
        turn: usize,
    ) -> ClearedJob<'a> {
        let mut job = job.clone();
        if let Some((threads, depth)) = outstanding {
            job.threads.shared_by = threads;
            job.depth.iodepth = depth;
        }
        job.threads.cpus_allowed.clone_from(&self.near_cpus);
        if !job.threads.cpus_allowed.is_empty() {
            let length = job.threads.cpus_allowed.len();
            job.threads.cpus_allowed.rotate_left(turn % length);
        }
        if let Some(written) = &self.written {
            job.space.extents.clone_from(&written.extents);
        }
        ClearedJob { job, files: vec![self.access] }
    }

    /// What is known of the conditions before anything runs.
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions {
            ranges: self
                .written
                .iter()
                .flat_map(|written| &written.extents)
                .map(|extent| (extent.offset, extent.length))
                .collect(),
            written: self.written.iter().map(|written| written.share.clone()).collect(),
            device: self.device.clone().filter(|device| *device != self.name),
            scratch: self.scratch,
            target_remarks: self.remarks.clone(),
            ..Conditions::default()
        }
    }
}

/// CPUs near the drive that are online; empty where nothing is known.
fn near_cpus(host: &Host, drive: Option<&Drive>) -> Vec<u32> {
    let near = drive.and_then(|drive| drive.local_cpus.value()).unwrap_or_default();
    match host.cpus.online.get() {
        Some(online) => near.into_iter().filter(|cpu| online.contains(cpu)).collect(),
        None => near,
    }
}

/// CPUs that are online and not near the drive; empty where that is not known.
fn far_cpus(host: &Host, drive: Option<&Drive>) -> Vec<u32> {
    let near = near_cpus(host, drive);
    let online = host.cpus.online.get().filter(|_| !near.is_empty());
    online.into_iter().flatten().filter(|cpu| !near.contains(cpu)).copied().collect()
}
