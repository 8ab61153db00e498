//! Finds processes that have a device or a file open, by any file that leads to it.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use iodyno_host::{FileId, Source};
use iodyno_model::{BlockDevice, Host, add_missing};

use crate::BlindSpot;
use crate::identity::{generic_of, is_same_drive};
use crate::lease::OpenElsewhere;
use crate::sharing::devices_to_watch;

/// Grace period for a process that only probes a device, as udev does on every change.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Interval of checking whether it has closed the device.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Findings that forbid writing.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Each use, a line.
    pub(crate) uses: Vec<String>,
    /// Checks that could not be made.
    pub(crate) blind: Vec<BlindSpot>,
}

impl Usage {
    /// Adds a use, once.
    pub(crate) fn add_use(&mut self, line: String) {
        add_missing(&mut self.uses, [line]);
    }

    /// Adds blind spots, once each.
    pub(crate) fn add_blind(&mut self, spots: impl IntoIterator<Item = BlindSpot>) {
        add_missing(&mut self.blind, spots);
    }

    /// Adds all findings of `other`.
    pub(crate) fn merge(&mut self, other: Self) {
        other.uses.into_iter().for_each(|line| self.add_use(line));
        self.add_blind(other.blind);
    }
}

/// Returns the devices through which the data of `block` can be reached, with names: the device
/// itself, every other device that shares bytes with it, and the character devices of the drives
/// under it, whose commands bypass the block layer.
pub(crate) fn entry_points_to(
    source: &dyn Source,
    host: &Host,
    block: &str,
) -> Vec<(String, FileId)> {
    let blocks = devices_to_watch(host, block);
    let mut entry_points: Vec<(String, FileId)> =
        blocks.iter().map(|device| entry_point(device)).collect();
    // Without native multipath a drive has a name for each path.
    let drives = blocks.into_iter().filter(|device| host.namespace(&device.name).is_some());
    for drive in host.bottom_of(block).into_iter().chain(drives) {
        add_missing(&mut entry_points, character_devices(source, host, drive));
    }
    entry_points
}

/// Returns name and number of a block device.
pub(crate) fn entry_point(device: &BlockDevice) -> (String, FileId) {
    (device.name.clone(), FileId::Block(device.major, device.minor))
}

/// Returns the character devices that accept commands for a drive: for NVMe those of the namespace
/// and of all its controllers, for SCSI `sg` and `bsg`.
fn character_devices(
    source: &dyn Source,
    host: &Host,
    drive: &BlockDevice,
) -> Vec<(String, FileId)> {
    let mut folders: Vec<(String, String)> = Vec::new();
    if let Some(generic) = generic_of(&drive.name) {
        folders.push((format!("/sys/class/nvme-generic/{generic}"), generic));
    }
    let controllers = controllers_of(host, &drive.name).into_iter();
    folders.extend(controllers.map(|name| (format!("/sys/class/nvme/{name}"), name)));
    for class in ["scsi_generic", "bsg"] {
        let folder = format!("/sys/class/block/{}/device/{class}", drive.name);
        let names = source.list(&folder).unwrap_or_default().into_iter();
        folders.extend(names.map(|name| (format!("{folder}/{name}"), name)));
    }
    let number = |folder: &str| {
        let text = source.read(&format!("{folder}/dev"), 64).ok()?;
        let text = String::from_utf8(text).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some(FileId::Character(major.parse().ok()?, minor.parse().ok()?))
    };
    folders.into_iter().filter_map(|(folder, name)| Some((name, number(&folder)?))).collect()
}

/// Returns the controllers of a namespace's drive, administrative ones included.
pub(crate) fn controllers_of(host: &Host, namespace: &str) -> Vec<String> {
    let Some((drive, _)) = host.namespace(namespace) else { return Vec::new() };
    let same = host.drives.iter().filter(|other| is_same_drive(other, drive));
    let mut names: Vec<String> = same.map(|other| other.name.clone()).collect();
    let of_subsystem = host.subsystems.iter().map(|subsystem| &subsystem.controllers);
    let of_subsystem = of_subsystem.filter(|controllers| controllers.contains(&drive.name));
    add_missing(&mut names, of_subsystem.flatten().cloned());
    names
}

/// Finds the processes that have one of `entry_points` open, and keep it open.
pub(crate) fn find(source: &dyn Source, entry_points: &[(String, FileId)]) -> Usage {
    let wanted: Vec<FileId> = entry_points.iter().map(|(_, id)| *id).collect();
    let start = Instant::now();
    loop {
        let openers = iodyno_host::openers(source, &wanted);
        let line = |(id, by): &(FileId, iodyno_model::Use)| {
            let name =
                entry_points.iter().find(|(_, known)| known == id).map_or("", |(name, _)| name);
            if name.is_empty() { by.label() } else { format!("{name}: {}", by.label()) }
        };
        let uses: Vec<String> = openers.found.iter().map(line).collect();
        if uses.is_empty() || start.elapsed() > GRACE_PERIOD {
            let unreadable = openers.unreadable;
            let processes = (unreadable > 0).then_some(BlindSpot::Processes { unreadable });
            let hidden = openers.hidden.then_some(BlindSpot::HiddenProcesses);
            return Usage { uses, blind: processes.into_iter().chain(hidden).collect() };
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Finds who has a file open, by all numbers that it has (`file` is this process's own descriptor
/// of it), and returns whether that explains what the kernel says; `None` if nobody has it open. A
/// use that no process shows counts, unless some cannot be seen: a mount, a descriptor on its way
/// through a socket.
pub(crate) fn of_file(
    source: &dyn Source,
    file: &OwnedFd,
    ids: &[FileId],
) -> Option<(Usage, bool)> {
    let entry_points: Vec<(String, FileId)> = ids.iter().map(|id| (String::new(), *id)).collect();
    let start = Instant::now();
    loop {
        let mut usage = find(source, &entry_points);
        let elsewhere = OpenElsewhere::check(file);
        match elsewhere {
            OpenElsewhere::No => return None,
            _ if !usage.uses.is_empty() => return Some((usage, true)),
            OpenElsewhere::Yes if !is_open_twice(ids) => {}
            OpenElsewhere::Yes | OpenElsewhere::Unknown => return Some((usage, true)),
        }
        // The kernel closes the files of an io_uring a moment late.
        if start.elapsed() > GRACE_PERIOD {
            let unseen = usage.blind.is_empty().then(|| elsewhere.to_string());
            usage.uses.extend(unseen);
            return Some((usage, false));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// True if this process itself has a file open more than once.
fn is_open_twice(ids: &[FileId]) -> bool {
    let live = iodyno_host::Live::new();
    let folder = "/proc/self/fd";
    let names = live.list(folder).unwrap_or_default();
    let is_it = |name: &&String| {
        live.file_id(&format!("{folder}/{name}")).is_ok_and(|found| ids.contains(&found))
    };
    names.iter().filter(is_it).count() > 1
}
