//! Requirements of a script's jobs for each file or device.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iodyno_job::script::{Script, ScriptJob};
use iodyno_job::{Fallocate, IoEngine, Job, VerifyMethod};
use iodyno_model::{Direction, Host};
use iodyno_target::{FilePlan, Fill, Target, is_sink, resolve};

use crate::error::CampaignError;

/// Requirements for a file or device.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Requirements {
    pub(super) writes: bool,
    /// Jobs read its data, or overwrite it.
    needs_data: bool,
    pub(super) create: bool,
    fallocate: Fallocate,
    /// Jobs map it, and a mapping extends only as far as the file.
    maps: bool,
    /// Its content is kept, and it grows at its end.
    keeps: bool,
    pub(super) size_bytes: u64,
    /// Some job works on its name, some on its data.
    pub(super) of_names: bool,
    pub(super) of_data: bool,
}

/// Key of a job's file. Files of diskless jobs are distinct from real files of the same name: no
/// path contains a NUL.
pub(crate) fn key(job: &Job, path: &str) -> String {
    match job.engine.ioengine {
        engine if engine.is_diskless() => format!("\0{path}"),
        engine if engine.works_on_names() => entry_key(path),
        _ => path.to_owned(),
    }
}

/// Keys of all files of a job.
pub(crate) fn keys(job: &Job) -> impl Iterator<Item = String> {
    job.files.paths.iter().map(|path| key(job, path))
}

/// As [`key`], for a job that works on names.
pub(super) fn entry_key(path: &str) -> String {
    format!("\0\0{path}")
}

/// Requirements of `script` for each file and device, by name; without sizes, which are not known
/// yet.
pub(super) fn wanted(script: &Script) -> BTreeMap<String, Requirements> {
    let mut wanted: BTreeMap<String, Requirements> = BTreeMap::new();
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

impl Requirements {
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
        self.maps |= job.engine.ioengine == IoEngine::Mmap;
        // With `create_on_open`, the job's writes make it grow.
        self.fallocate =
            if job.files.create_on_open { Fallocate::None } else { job.files.fallocate };
    }

    /// Plan of the file of this name.
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
            // Jobs on names expect an existing file of its size.
            Fallocate::None if self.of_names || self.maps => Fill::Truncate,
            Fallocate::None => Fill::None,
            Fallocate::Native | Fallocate::Posix | Fallocate::Keep if self.maps => {
                Fill::AllocateAndTruncate
            }
            Fallocate::Native | Fallocate::Posix => Fill::Allocate,
            Fallocate::Keep => Fill::AllocateKeepingSize,
            Fallocate::Truncate => Fill::Truncate,
        }
    }
}

/// Name of a device to resolve; for an NVMe character device (`/dev/ng0n1`, as for io_uring_cmd)
/// the block device of the same namespace, which is the one claimed. `None` for a file.
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
        Err(_) => !is_in_dev(path),
    };
    (!is_file).then(|| name.to_owned())
}

/// True for a missing name in /dev or a folder of it, such as /dev/mapper, but not in what is mounted
/// there, such as /dev/shm.
fn is_in_dev(path: &Path) -> bool {
    const DEV: &str = "/dev";
    let file_system = |path: &Path| Some(std::fs::metadata(path).ok()?.dev());
    let parent = path.ancestors().skip(1).find_map(file_system);
    path.starts_with(DEV) && parent == file_system(Path::new(DEV))
}

/// A device with all names that jobs use for it.
pub(super) struct Device {
    pub(super) target: Target,
    pub(super) writes: bool,
    pub(super) names: Vec<String>,
}

/// Devices in `wanted`, each once: a second claim would find the device in use.
pub(super) fn devices(
    host: &Host,
    wanted: &BTreeMap<String, Requirements>,
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
