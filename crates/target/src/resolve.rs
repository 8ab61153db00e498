//! Resolves names to targets.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use iodyno_files::{open_real, real_path};
use iodyno_model::{BlockDevice, Drive, Fact, Host};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use crate::target::{block_of, printable};
use crate::{BlockTarget, PathTarget, Target, TargetError};

/// Resolves `name`: a controller's namespaces (`nvme0`, its PCI address, `/dev/nvme0`), a namespace
/// (`nvme0n1`, `ng0n1`), any block device by kernel name or by a path to it, or a file or
/// directory. A name without `/` is a device first, so `./nvme0` is the file. For a multipath drive
/// it is the head device, even if one of its paths (`nvme0c1n1`) was named.
///
/// # Errors
/// No such name, not storage, a dead controller, or a place where measuring reveals nothing about
/// storage.
pub fn resolve(host: &Host, name: &str) -> Result<Vec<Target>, TargetError> {
    let targets = resolve_even_in_memory(host, name)?;
    let refusal = |target: &Target| {
        let why = target.file_system()?.refusal()?;
        Some(TargetError::Refused { name: target.name().into(), why })
    };
    match targets.iter().find_map(refusal) {
        Some(error) => Err(error),
        None => Ok(targets),
    }
}

/// Returns the path without links, and refuses one over a link by which somebody else chooses what
/// `name` is; `None` if only the kernel knows where it leads.
pub(crate) fn judged(path: &Path, name: &str) -> Result<Option<PathBuf>, TargetError> {
    real_path(path).map_err(|link| {
        let why = format!("it leads over {}", printable(&link.to_string()));
        TargetError::Refused { name: name.into(), why }
    })
}

/// Path without links of a word that names a file; `None` if it leads over a planted one.
pub(crate) fn path_of_word(word: &Path) -> Option<PathBuf> {
    real_path(word).ok()?.or_else(|| word.canonicalize().ok())
}

/// As [`resolve`], but also in file systems in memory: a job may have its files there on purpose.
///
/// # Errors
/// As [`resolve`], except for memory.
pub fn resolve_even_in_memory(host: &Host, name: &str) -> Result<Vec<Target>, TargetError> {
    if !name.contains('/')
        && let Some(targets) = device(host, name)
    {
        return targets;
    }
    let path = Path::new(name);
    let canonical = match path.canonicalize() {
        Ok(canonical) => canonical,
        Err(error) => {
            return Err(match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::NOTDIR) => not_found(host, name),
                errno => TargetError::of(name, "look it up", errno.unwrap_or(Errno::IO)),
            });
        }
    };
    let real = judged(path, name)?;
    // What was judged, or a refusal: no other file that is there by now.
    let stat = open_real(&canonical, real.as_deref(), OFlags::PATH).and_then(rustix::fs::fstat);
    let stat = stat.map_err(|errno| TargetError::of(name, "look at it", errno))?;
    let canonical = real.unwrap_or(canonical);
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => {
            let device = block_of(host, stat.st_rdev).ok_or_else(|| TargetError::Refused {
                name: name.into(),
                why: "no such block device: it is empty, or appeared just now".into(),
            })?;
            return block(host, device, Some(canonical)).map(|target| vec![target]);
        }
        FileType::RegularFile => {
            return Ok(vec![Target::File(PathTarget::new(host, canonical, &stat)?)]);
        }
        FileType::Directory => {
            return Ok(vec![Target::Directory(PathTarget::new(host, canonical, &stat)?)]);
        }
        FileType::CharacterDevice => {
            // /dev/nvme0 and /dev/ng0n1: the kernel names both after the device they belong to.
            let node = canonical.file_name().and_then(|node| node.to_str());
            let in_dev = canonical.parent() == Some(Path::new("/dev"));
            if let Some(targets) = node.filter(|_| in_dev).and_then(|node| device(host, node)) {
                return targets;
            }
            "a character device of no NVMe drive"
        }
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        _ => "of an unknown type",
    };
    Err(TargetError::NotStorage { name: name.into(), what })
}

/// Resolves all `names`, in order.
///
/// # Errors
/// The first error of [`resolve`], or two names of the same target.
pub fn resolve_all(host: &Host, names: &[String]) -> Result<Vec<Target>, TargetError> {
    let mut found: Vec<(&str, Target)> = Vec::new();
    for name in names {
        let targets = resolve(host, name)?;
        refuse_two_meanings(name, &targets)?;
        found.extend(targets.into_iter().map(|target| (name.as_str(), target)));
    }
    refuse_given_twice(found.iter().map(|(name, target)| (*name, target.path())))?;
    Ok(found.into_iter().map(|(_, target)| target).collect())
}

/// Refuses two names of one file or device: it would count as two.
///
/// # Errors
/// There are two, each with its path.
pub fn refuse_given_twice<'n>(
    named: impl IntoIterator<Item = (&'n str, &'n Path)>,
) -> Result<(), TargetError> {
    // A file that is still to be made has no identity.
    let same = |path: &Path| match std::fs::metadata(path) {
        Ok(of) if of.file_type().is_block_device() => ((0, of.rdev()), None),
        Ok(of) => ((of.dev(), of.ino()), None),
        Err(_) => ((0, 0), std::path::absolute(path).ok()),
    };
    let mut known = BTreeMap::new();
    for (name, path) in named {
        if let Some(first) = known.insert(same(path), name) {
            let path = path.canonicalize().unwrap_or_else(|_| path.into());
            let node = path.file_name().filter(|_| path.parent() == Some(Path::new("/dev")));
            let common = node.map_or(path.as_path(), Path::new).display().to_string();
            let (first, second) = (first.to_owned(), name.to_owned());
            return Err(TargetError::GivenTwice { first, second, name: common });
        }
    }
    Ok(())
}

/// Refuses a name without `/` that is a device, and a file or link in the working directory, too:
/// `fio` and `run` take it for the file.
fn refuse_two_meanings(name: &str, targets: &[Target]) -> Result<(), TargetError> {
    let here = Path::new(name);
    if name.contains('/') || here.symlink_metadata().is_err() {
        return Ok(());
    }
    let real = here.canonicalize().ok();
    let is_it = |path: &Path| real.as_deref() == Some(path);
    match is_it(&Path::new("/dev").join(name)) || targets.iter().any(|of| is_it(of.path())) {
        true => Ok(()),
        false => Err(TargetError::TwoMeanings { name: name.into() }),
    }
}

/// Returns the namespaces of every NVMe drive, each once, even if several controllers reach it; an
/// error for each drive without a usable one.
pub fn every_drive(host: &Host) -> (Vec<Target>, Vec<TargetError>) {
    let (mut targets, mut errors) = (Vec::<Target>::new(), Vec::new());
    for drive in &host.drives {
        match namespaces(host, drive) {
            Ok(found) => {
                for target in found {
                    if !targets.iter().any(|known| known.is_same(&target)) {
                        targets.push(target);
                    }
                }
            }
            Err(error) => errors.push(error),
        }
    }
    (targets, errors)
}

/// Resolves a kernel name or PCI address; `None` if there is none.
fn device(host: &Host, name: &str) -> Option<Result<Vec<Target>, TargetError>> {
    let at = |fact: &Fact<String>| fact.get().is_some_and(|address| address == name);
    let drive = host.drives.iter().find(|drive| drive.name == name || at(&drive.address));
    if let Some(drive) = drive {
        return Some(namespaces(host, drive));
    }
    let function = host.nvme_functions.iter().find(|function| function.address == name);
    if let Some(function) = function {
        let driver = function.driver.value();
        return Some(Err(TargetError::Detached { address: name.into(), driver }));
    }
    let kernel_name = match name.strip_prefix("ng") {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("nvme{rest}"),
        _ => name.to_owned(),
    };
    let known = host.block(&kernel_name).or_else(|| host.block(&head_of(&kernel_name)?))?;
    Some(block(host, known, None).map(|target| vec![target]))
}

fn namespaces(host: &Host, drive: &Drive) -> Result<Vec<Target>, TargetError> {
    let controller = drive.name.clone();
    if let Some(state) = drive.state.get().filter(|state| *state != "live") {
        return Err(TargetError::ControllerNotLive { controller, state: state.clone() });
    }
    let known: Vec<&BlockDevice> =
        drive.namespaces.iter().filter_map(|namespace| host.block(&namespace.name)).collect();
    if known.is_empty() {
        return Err(TargetError::NoNamespace { controller });
    }
    known.into_iter().map(|device| block(host, device, None)).collect()
}

/// Makes a target of a block device, or of the multipath head if it is one of its paths. `path` is
/// the one the user gave.
fn block(host: &Host, device: &BlockDevice, path: Option<PathBuf>) -> Result<Target, TargetError> {
    let head = head_of(&device.name).and_then(|head| host.block(&head));
    let (device, path) = match head {
        Some(head) => (head, None),
        None => (device, path),
    };
    // A `/` in a device's name is a `!` in sysfs (cciss!c0d0).
    let path = path.unwrap_or_else(|| Path::new("/dev").join(device.name.replace('!', "/")));
    BlockTarget::new(host, device, path).map(Target::Block)
}

/// Returns the multipath head of a path: `nvme0c1n2`, the path to subsystem 0's namespace 2 through
/// controller 1, belongs to `nvme0n2` (drivers/nvme/host/multipath.c, nvme_mpath_set_disk_name).
fn head_of(name: &str) -> Option<String> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let is_path = number(subsystem) && number(controller) && number(namespace);
    is_path.then(|| format!("nvme{subsystem}n{namespace}"))
}

fn not_found(host: &Host, name: &str) -> TargetError {
    if let Ok(to) = std::fs::read_link(name) {
        return TargetError::DanglingLink { name: name.into(), to };
    }
    let detached = host
        .nvme_functions
        .iter()
        .filter(|function| function.controller.is_none())
        .map(|function| match function.driver.get() {
            Some(driver) => format!("{} ({driver})", function.address),
            None => format!("{} (no driver)", function.address),
        })
        .collect();
    TargetError::NotFound { name: name.into(), nearest: nearest(host, name), detached }
}

/// Returns the existing name that is most similar to `name`: of a device, or in the directory of
/// the missing file.
fn nearest(host: &Host, name: &str) -> Option<String> {
    let (parent, last) = name
        .rsplit_once('/')
        .map_or((None, name), |(parent, last)| (Some(format!("{parent}/")), last));
    let mut candidates: Vec<String> = Vec::new();
    if parent.as_deref().is_none_or(|parent| parent == "/dev/") {
        candidates.extend(host.drives.iter().map(|drive| drive.name.clone()));
        candidates.extend(host.blocks.iter().map(|block| block.name.clone()));
    }
    let beside = std::fs::read_dir(parent.as_deref().unwrap_or(".")).into_iter().flatten();
    // Limit the work in large directories.
    candidates.extend(
        beside.flatten().take(10_000).filter_map(|entry| entry.file_name().into_string().ok()),
    );
    let length = last.chars().count();
    let allowed = length.div_ceil(4).min(length.saturating_sub(1));
    candidates
        .into_iter()
        .filter(|candidate| !candidate.contains(char::is_control))
        .map(|candidate| (strsim::levenshtein(last, &candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        // Among equals the one with the longest common prefix: nvme1n1 for nvme1n2, not nvme0n2.
        // Then the first: devices come before files.
        .min_by_key(|(distance, candidate)| {
            let alike = last.bytes().zip(candidate.bytes()).take_while(|(a, b)| a == b).count();
            (*distance, Reverse(alike))
        })
        .map(|(_, candidate)| format!("{}{candidate}", parent.as_deref().unwrap_or_default()))
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
