//! Names of a block device that do not depend on the order of detection at boot.

use std::path::Path;

use iodyno_host::Source;
use iodyno_model::{BlockDevice, BlockKind, Drive, Fact, Host, Namespace};

use crate::{Lost, TargetError};

/// The words that name a block device for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    number: (u32, u32),
    /// Best one first.
    words: Vec<String>,
    /// Name and size if `NAME:SIZE` names it.
    sized: Option<(String, u64)>,
    /// One of several devices for one volume, or a partition of such a device.
    is_one_path: bool,
}

impl Identity {
    /// Identifies `device`, one of `host`'s, which was read from `source`.
    pub(crate) fn of(source: &dyn Source, host: &Host, device: &BlockDevice) -> Self {
        let number = (device.major, device.minor);
        let is_one_path = is_one_path(source, host, device);
        let mut identity = Self { number, words: Vec::new(), sized: None, is_one_path };
        if is_one_path {
            return identity;
        }
        identity.words = match &device.kind {
            BlockKind::Nvme => namespace_words(host, device),
            BlockKind::Partition => partition_words(source, host, device),
            BlockKind::DeviceMapper(_) => sysfs_attribute(source, device, "dm/uuid"),
            BlockKind::Md(_) => sysfs_attribute(source, device, "md/uuid"),
            BlockKind::Scsi | BlockKind::Virtual => {
                let mut words = unique_attribute(source, host, device, "device/wwid");
                words.extend(unique_attribute(source, host, device, "serial"));
                words
            }
            BlockKind::Loop { .. } | BlockKind::Zram | BlockKind::Other => Vec::new(),
        };
        let name = match &device.kind {
            // dm-0 is whichever was set up first.
            BlockKind::DeviceMapper(mapped) => Some(mapped.name.clone()),
            BlockKind::Md(_) | BlockKind::Loop { .. } | BlockKind::Zram | BlockKind::Other => {
                Some(device.name.clone())
            }
            BlockKind::Virtual if identity.words.is_empty() => Some(device.name.clone()),
            BlockKind::Virtual | BlockKind::Scsi | BlockKind::Nvme | BlockKind::Partition => None,
        };
        if let (Some(name), Some(size)) = (name, device.size.get()) {
            identity.words.push(format!("{name}:{}", exact_size(size.0)));
            identity.sized = Some((name, size.0));
        }
        let by_id = links_to(source, "/dev/disk/by-id", number);
        identity.words.extend(by_id);
        identity
    }

    /// Returns the word to type.
    pub(crate) fn best(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    /// Refusal of the device, `name`, that no word names for writing; `typed`: its kernel name.
    pub(crate) fn refusal(
        &self,
        name: String,
        typed: Option<String>,
        lost: Vec<Lost>,
    ) -> TargetError {
        match self.is_one_path {
            true => TargetError::OnePath { name },
            false => {
                TargetError::NotAllowed { name, word: self.best().map(str::to_owned), typed, lost }
            }
        }
    }

    /// True if `word` names it.
    pub(crate) fn is_named_by(&self, source: &dyn Source, word: &str) -> bool {
        if self.words.iter().any(|known| known == word || same_uuid(known, word)) {
            return true;
        }
        if let Some((name, size)) = &self.sized
            && let Some((typed, typed_size)) = word.rsplit_once(':')
            && typed == name
            && is_size(typed_size, *size)
        {
            return true;
        }
        if self.is_one_path {
            return false;
        }
        let word = word.strip_prefix("PARTUUID=").unwrap_or(word);
        ["/dev/disk/by-id", "/dev/disk/by-partuuid"].iter().any(|folder| {
            let name = Path::new(word).strip_prefix(folder).unwrap_or(Path::new(word));
            // A single component: not a path to another folder.
            let plain = name.file_name().is_some_and(|file| file == name.as_os_str());
            let path = format!("{folder}/{}", name.display());
            plain && source.block_number(&path).is_ok_and(|number| number == self.number)
        })
    }
}

/// Reads a sysfs attribute as a word; none if missing or empty.
fn sysfs_attribute(source: &dyn Source, device: &BlockDevice, file: &str) -> Vec<String> {
    let path = format!("/sys/class/block/{}/{file}", device.name);
    let bytes = source.read(&path, 4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    typable(&text).into_iter().collect()
}

/// As [`sysfs_attribute`], unless another device has the same value, as virtual disks do.
fn unique_attribute(
    source: &dyn Source,
    host: &Host,
    device: &BlockDevice,
    file: &str,
) -> Vec<String> {
    let mut words = sysfs_attribute(source, device, file);
    let others = host.blocks.iter().filter(|other| other.name != device.name);
    if others.into_iter().any(|other| sysfs_attribute(source, other, file) == words) {
        words.clear();
    }
    words
}

/// True if another device leads to the same SCSI volume, without dm-multipath to join them: udev's
/// links lead to any of them, and a use of one is not visible on the others.
fn is_one_path(source: &dyn Source, host: &Host, device: &BlockDevice) -> bool {
    let disk = match device.kind {
        BlockKind::Partition => device.stands_on.first().and_then(|disk| host.block(disk)),
        _ => Some(device),
    };
    disk.filter(|disk| disk.kind == BlockKind::Scsi).is_some_and(|disk| {
        !sysfs_attribute(source, disk, "device/wwid").is_empty()
            && unique_attribute(source, host, disk, "device/wwid").is_empty()
    })
}

/// Trims a word for typing; `None` if it cannot be typed.
fn typable(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

/// Returns serial number and world-wide id, if they are unique to this namespace.
fn namespace_words(host: &Host, device: &BlockDevice) -> Vec<String> {
    let Some((drive, namespace)) = host.namespace(&device.name) else { return Vec::new() };
    let known = |fact: &Fact<String>| fact.get().and_then(|text| typable(text));
    let mut words = Vec::new();
    // Emulated drives, and a few real ones, share their serial number.
    let shares_serial = |other: &&Drive| {
        known(&other.serial) == known(&drive.serial) && !is_same_drive(other, drive)
    };
    if let Some(serial) = known(&drive.serial)
        && !host.drives.iter().any(|other| shares_serial(&other))
    {
        if let Some(nsid) = namespace.nsid.get() {
            words.push(format!("{serial}:{nsid}"));
        }
        // For a drive with one namespace the serial number is enough to type; for a drive with
        // several it names them all.
        let place = if drive.namespaces.len() == 1 { 0 } else { words.len() };
        words.insert(place, serial);
    }
    let all = host.drives.iter().flat_map(|drive| &drive.namespaces);
    let shares_wwid = |other: &&Namespace| {
        known(&other.wwid) == known(&namespace.wwid) && other.name != namespace.name
    };
    words.extend(known(&namespace.wwid).filter(|_| !all.into_iter().any(|n| shares_wwid(&n))));
    words
}

/// True if both are controllers of one drive: the same one, or of one NVM subsystem.
pub(crate) fn is_same_drive(a: &Drive, b: &Drive) -> bool {
    let nqn = a.subsystem_nqn.get();
    a.name == b.name || nqn.is_some() && nqn == b.subsystem_nqn.get()
}

/// Returns the PARTUUID, and the words of its disk with `-partN`.
fn partition_words(source: &dyn Source, host: &Host, device: &BlockDevice) -> Vec<String> {
    let mut words = links_to(source, "/dev/disk/by-partuuid", (device.major, device.minor));
    let disk = device.stands_on.first().and_then(|disk| host.block(disk));
    if let (Some(disk), Some(number)) = (disk, sysfs_attribute(source, device, "partition").first())
    {
        let disk = Identity::of(source, host, disk).words;
        words.extend(disk.iter().map(|word| format!("{word}-part{number}")));
    }
    words
}

/// Returns the names in a folder of udev links that lead to this device.
fn links_to(source: &dyn Source, folder: &str, number: (u32, u32)) -> Vec<String> {
    let names = source.list(folder).unwrap_or_default();
    let leads_here = |name: &String| {
        source.block_number(&format!("{folder}/{name}")).is_ok_and(|found| found == number)
    };
    names.iter().filter(|name| leads_here(name)).filter_map(|name| typable(name)).collect()
}

/// True if both are the same UUID, however the digits are grouped: mdadm writes four groups with
/// colons, sysfs five with hyphens.
fn same_uuid(a: &str, b: &str) -> bool {
    let digits = |text: &str| -> Option<String> {
        let digits = text.replace([':', '-'], "").to_ascii_lowercase();
        let is_uuid = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_uuid.then_some(digits)
    };
    digits(a).is_some_and(|a| Some(a) == digits(b))
}

const UNITS: &[(char, u32)] = &[('P', 50), ('T', 40), ('G', 30), ('M', 20), ('K', 10)];

/// Formats a size as the shortest exact word: `64M`, `1000204886016`.
fn exact_size(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match unit {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// True if a typed size, in bytes or with a binary unit, is `bytes` rounded to the typed digits; if
/// these are two at least: a single one, or a zero, fits too many devices.
fn is_size(typed: &str, bytes: u64) -> bool {
    let typed = typed.trim_end_matches(['B', 'b', 'i']);
    let last = typed.chars().last().map(|last| last.to_ascii_uppercase());
    let Some((unit, shift)) = UNITS.iter().find(|(unit, _)| Some(*unit) == last) else {
        return typed.parse() == Ok(bytes);
    };
    let figure = typed.trim_end_matches([*unit, unit.to_ascii_lowercase()]);
    let (whole, decimals) = figure.split_once('.').unwrap_or((figure, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 3 {
        return false;
    }
    // In units of the last typed digit, in integers: sizes have more digits than an f64.
    let scale = 10_u128.pow(u32::try_from(decimals.len()).expect("at most 3"));
    let unit_bytes = 1_u128 << shift;
    let rounded = (u128::from(bytes) * scale + unit_bytes / 2) / unit_bytes;
    let is_exact = rounded * unit_bytes == u128::from(bytes) * scale;
    format!("{whole}{decimals}").parse() == Ok(rounded)
        && rounded > 0
        && (rounded >= 10 || is_exact)
}

/// Returns `ng0n1` of `nvme0n1`; `None` for a partition and anything else.
pub(crate) fn generic_of(block: &str) -> Option<String> {
    let rest = block.strip_prefix("nvme")?;
    let (instance, namespace) = rest.split_once('n')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(instance) && number(namespace)).then(|| format!("ng{rest}"))
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
