//! What the jobs of a script want of each file or device.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iodyno_job::script::{Script, ScriptJob};
use iodyno_job::{Fallocate, IoEngine, Job, VerifyMethod};
use iodyno_model::{Direction, Host};
use iodyno_target::{FilePlan, Fill, Target, is_sink, resolve};

use crate::error::CampaignError;

/// What a script wants of a file or device.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    pub(super) writes: bool,
    /// Reads what is there, or overwrites it.
    needs_data: bool,
    pub(super) create: bool,
    fallocate: Fallocate,
    /// What a file holds stays, and it grows behind that.
    keeps: bool,
    pub(super) size_bytes: u64,
    /// Some job works on its name, some on what is in it.
    pub(super) of_names: bool,
    pub(super) of_data: bool,
}

/// The name that a job's file is kept by. I/O that is only pretended has files of its own, beside
/// those of the same names: no path holds a NUL.
pub(crate) fn key(job: &Job, path: &str) -> String {
    match job.engine.ioengine {
        engine if engine.is_diskless() => format!("\0{path}"),
        engine if engine.works_on_names() => entry_key(path),
        _ => path.to_owned(),
    }
}

/// The keys of all files of a job.
pub(crate) fn keys(job: &Job) -> impl Iterator<Item = String> {
    job.files.paths.iter().map(|path| key(job, path))
}

/// As [`key`], of a job that works on names.
pub(super) fn entry_key(path: &str) -> String {
    format!("\0\0{path}")
}

/// What `script` wants of each file and device, by its name; sizes are not known yet.
pub(super) fn wanted(script: &Script) -> BTreeMap<String, Wanted> {
    let mut wanted: BTreeMap<String, Wanted> = BTreeMap::new();
    let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
    let is_there = |job: &&ScriptJob| {
        let engine = job.job.engine.ioengine;
        !engine.is_diskless() && !engine.creates_entries()
    };
    for ScriptJob { job, .. } in jobs.filter(is_there) {
        for path in job.files.paths.iter().filter(|path| !is_sink(path)) {
            wanted.entry(path.clone()).or_default().add(job);
        }
    }
    wanted
}

impl Wanted {
    fn add(&mut self, job: &Job) {
        let of_names = job.engine.ioengine.works_on_names();
        let reads = job.pattern.rw.has(Direction::Read) && !of_names;
        self.of_names |= of_names;
        self.of_data |= !of_names;
        let verifies = job.verify.method != VerifyMethod::None && !job.writes();
        self.writes |= job.writes() && job.engine.ioengine != IoEngine::FileStat;
        self.needs_data |= reads || verifies || job.files.overwrite;
        self.keeps |= job.space.file_append;
        self.create |= job.files.allow_file_create;
        self.fallocate = match (job.files.create_on_open, job.engine.ioengine) {
            // A mapping reaches as far as the file does.
            (true, IoEngine::Mmap) => Fallocate::Truncate,
            // The job's writes make it grow.
            (true, _) => Fallocate::None,
            (false, _) => job.files.fallocate,
        };
    }

    /// The plan of the file of this name.
    pub(super) fn plan(self, name: &str) -> FilePlan {
        FilePlan {
            path: PathBuf::from(name),
            size_bytes: self.size_bytes,
            create: self.create,
            fill: self.fill(),
            keeps: self.keeps,
            will_write: self.writes,
        }
    }

    const fn fill(self) -> Fill {
        match self.fallocate {
            _ if self.needs_data => Fill::Written,
            // A name is of a file that is there, with its size.
            Fallocate::None if self.of_names => Fill::Truncate,
            Fallocate::None => Fill::None,
            Fallocate::Native | Fallocate::Posix => Fill::Allocate,
            Fallocate::Keep => Fill::AllocateKeepingSize,
            Fallocate::Truncate => Fill::Truncate,
        }
    }
}

/// The name of a device as it can be resolved: of an NVMe character device
/// (`/dev/ng0n1`, as io_uring_cmd takes it) the block device of the same
/// namespace, which is what is claimed. `None`: it is a file.
pub(crate) fn device_of(name: &str) -> Option<String> {
    let path = Path::new(name);
    if let Some(namespace) = name.strip_prefix("/dev/ng")
        && namespace.split('n').all(|part| part.parse::<u32>().is_ok())
    {
        return Some(format!("/dev/nvme{namespace}"));
    }
    let is_file = match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        // fio would make a file of this name, in memory.
        Err(_) => path.parent() != Some(Path::new("/dev")) && !name.starts_with("/dev/disk/"),
    };
    (!is_file).then(|| name.to_owned())
}

/// A device under all names that jobs have for it.
pub(super) struct Device {
    pub(super) target: Target,
    pub(super) writes: bool,
    pub(super) names: Vec<String>,
}

/// The devices among what is wanted, each once: it is claimed once, and would
/// be in use for a second claim.
pub(super) fn devices(
    host: &Host,
    wanted: &BTreeMap<String, Wanted>,
) -> Result<Vec<Device>, CampaignError> {
    let mut devices: Vec<Device> = Vec::new();
    for (name, wanted) in wanted {
        let Some(device) = device_of(name) else { continue };
        let target = resolve(host, &device)?.remove(0);
        if target.is_directory() {
            return Err(CampaignError::DirectoryAsFile(name.clone()));
        }
        match devices.iter_mut().find(|known| known.target.is_same(&target)) {
            Some(known) => {
                known.writes |= wanted.writes;
                known.names.push(name.clone());
            }
            None => {
                let names = vec![name.clone()];
                devices.push(Device { target, writes: wanted.writes, names });
            }
        }
    }
    Ok(devices)
}
