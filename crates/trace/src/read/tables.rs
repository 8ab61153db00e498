//! Parses published traces with a row for each I/O, and biosnoop's output.

use super::Format;
use crate::event::{SECTOR_BYTES, parse_rwbs};
use crate::{Actor, Io, Latency, Operation};

/// From 1601 to 1970, in units of 100 ns (FILETIME).
const FILETIME_OF_1970: u64 = 116_444_736_000_000_000;

/// An I/O as parsed from a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Its time is as in the file, ns.
    pub(super) io: Io,
    pub(super) device: String,
    pub(super) actor: Option<Actor>,
}

/// True for a line that belongs to the format and is no I/O: ETW lists events of all kinds, below a
/// header that names their columns.
pub(super) fn is_other(format: Format, line: &str) -> bool {
    let mut words = line.split(',').map(str::trim);
    let is_disk = matches!(words.next(), Some("DiskRead" | "DiskWrite"));
    format == Format::Etw && (!is_disk || words.next() == Some("TimeStamp"))
}

/// Parses a row of a published trace; `None` if it is not one.
pub(super) fn row(format: Format, line: &str) -> Option<Row> {
    let mut words = [""; 16];
    let is_blank = format == Format::Fiu;
    let mut count = 0;
    let mut take = |word| -> Option<()> {
        *words.get_mut(count)? = word;
        count += 1;
        Some(())
    };
    match is_blank {
        true => line.split_ascii_whitespace().try_for_each(&mut take)?,
        false => line.split(',').map(str::trim).try_for_each(&mut take)?,
    }
    let words = &words[..count];
    match format {
        Format::Msr => msr(words),
        Format::Etw => etw(words),
        Format::Fiu => fiu(words),
        Format::Systor => systor(words),
        Format::Alibaba => alibaba(words),
        Format::Tencent => tencent(words),
        _ => None,
    }
}

fn plain(at_ns: u64, operation: Operation, offset: u64, length: u32) -> Io {
    Io { at_ns, operation, offset, length, ..Io::default() }
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

/// Parses seconds with up to nine decimals as ns.
pub(super) fn seconds(word: &str) -> Option<u64> {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = &part[..part.len().min(9)];
    let part_ns = match part.is_empty() {
        true => 0,
        false => number::<u64>(part)? * 10_u64.pow(9 - part.len() as u32),
    };
    number::<u64>(whole)?.checked_mul(1_000_000_000)?.checked_add(part_ns)
}

/// Parses milliseconds with decimals as ns.
fn milliseconds(word: &str) -> Option<u64> {
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    let part_ns = seconds(&format!("0.{part}"))? / 1000;
    number::<u64>(whole)?.checked_mul(1_000_000)?.checked_add(part_ns)
}

fn letter(word: &str) -> Option<Operation> {
    match word {
        "R" | "r" => Some(Operation::Read),
        "W" | "w" => Some(Operation::Write),
        _ => None,
    }
}

/// `FILETIME,host,disk,Type,Offset,Size,ResponseTime`.
fn msr(words: &[&str]) -> Option<Row> {
    let [time, host, disk, kind, offset, size, response] = *words else { return None };
    let operation = match kind.to_ascii_lowercase().as_str() {
        "read" => Operation::Read,
        "write" => Operation::Write,
        _ => return None,
    };
    let at_ns = number::<u64>(time)?.checked_sub(FILETIME_OF_1970)?.checked_mul(100)?;
    let latency = Latency::Whole(number::<u64>(response)?.checked_mul(100)?);
    let io = Io { latency, ..plain(at_ns, operation, number(offset)?, number(size)?) };
    Some(Row { io, device: format!("{host}.{disk}"), actor: None })
}

/// `DiskWrite, us, process (pid), tid, irp, offset, size, elapsed us, disk, flags, service us, …`;
/// the time is that of completion.
fn etw(words: &[&str]) -> Option<Row> {
    let [kind, time, process, _, _, offset, size, elapsed, disk, _, service, ..] = *words else {
        return None;
    };
    let operation = match kind {
        "DiskRead" => Operation::Read,
        "DiskWrite" => Operation::Write,
        _ => return None,
    };
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let us = |word| number::<u64>(word)?.checked_mul(1000);
    let (done_ns, elapsed_ns) = (us(time)?, us(elapsed)?);
    let device = us(service)?.min(elapsed_ns);
    let latency = Latency::Split { queue: elapsed_ns - device, device };
    let at_ns = done_ns.saturating_sub(elapsed_ns);
    let length = u32::try_from(hex(size)?).ok()?;
    let (name, pid) = process.rsplit_once('(')?;
    let actor = Actor {
        pid: number(pid.trim_end_matches(')').trim()),
        process: Some(name.trim().to_owned()),
        cgroup: None,
    };
    let io = Io { latency, ..plain(at_ns, operation, hex(offset)?, length) };
    Some(Row { io, device: format!("disk{disk}"), actor: Some(actor) })
}

/// `ns pid process lba size R/W major minor MD5`.
fn fiu(words: &[&str]) -> Option<Row> {
    let [time, pid, process, lba, size, kind, major, minor, _] = *words else { return None };
    let offset = number::<u64>(lba)?.checked_mul(SECTOR_BYTES)?;
    let length = number::<u32>(size)?.checked_mul(SECTOR_BYTES as u32)?;
    let actor = Actor { pid: Some(number(pid)?), process: Some(process.to_owned()), cgroup: None };
    let [major, minor] = [number::<u32>(major)?, number::<u32>(minor)?];
    let io = plain(number(time)?, letter(kind)?, offset, length);
    Some(Row { io, device: format!("{major}:{minor}"), actor: Some(actor) })
}

/// `Timestamp,Response,IOType,LUN,Offset,Size`; without a type there was no answer.
fn systor(words: &[&str]) -> Option<Row> {
    let [time, response, kind, lun, offset, size] = *words else { return None };
    if !time.contains('.') {
        return None;
    }
    let operation = if kind.is_empty() { Operation::Other } else { letter(kind)? };
    let latency = seconds(response).map_or(Latency::Unknown, Latency::Whole);
    let io = Io { latency, ..plain(seconds(time)?, operation, number(offset)?, number(size)?) };
    Some(Row { io, device: format!("lun{}", number::<u32>(lun)?), actor: None })
}

/// `device,R/W,offset,length,us`.
fn alibaba(words: &[&str]) -> Option<Row> {
    let [device, kind, offset, length, time] = *words else { return None };
    let at_ns = number::<u64>(time)?.checked_mul(1000)?;
    let io = plain(at_ns, letter(kind)?, number(offset)?, number(length)?);
    Some(Row { io, device: format!("volume{}", number::<u64>(device)?), actor: None })
}

/// `seconds,offset,size,0/1,volume`, offset and size in sectors; fio's logs have similar columns,
/// but no times since 1970.
fn tencent(words: &[&str]) -> Option<Row> {
    let [time, offset, size, kind, volume] = *words else { return None };
    let time = number::<u64>(time).filter(|seconds| *seconds >= 1_000_000_000)?;
    let operation = match kind {
        "0" => Operation::Read,
        "1" => Operation::Write,
        _ => return None,
    };
    let offset = number::<u64>(offset)?.checked_mul(SECTOR_BYTES)?;
    let length = number::<u32>(size)?.checked_mul(SECTOR_BYTES as u32)?;
    let io = plain(time.checked_mul(1_000_000_000)?, operation, offset, length);
    Some(Row { io, device: format!("volume{}", number::<u64>(volume)?), actor: None })
}

/// The columns of biosnoop of bcc and libbpf-tools; bpftrace's is not supported, since it has no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Biosnoop {
    has_queue: bool,
}

impl Biosnoop {
    /// Parses the heading.
    pub(super) fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (front, back) = words.split_at_checked(7)?;
        let is_front = front == ["TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"];
        let has_queue = match back {
            ["LAT(ms)"] => false,
            ["QUE(ms)", "LAT(ms)"] => true,
            _ => return None,
        };
        is_front.then_some(Self { has_queue })
    }

    /// Parses a line; process names may contain blanks, and times are those of completion.
    pub(super) fn row(self, line: &str) -> Option<Row> {
        let mut words = line.split_ascii_whitespace().rev();
        let device = milliseconds(words.next()?)?;
        let queue = match self.has_queue.then(|| words.next()) {
            // libbpf-tools has -1 for what was dispatched at once.
            None => None,
            Some(word) if word?.starts_with('-') => None,
            Some(word) => Some(milliseconds(word?)?),
        };
        let length = number(words.next()?)?;
        let sector = words.next()?;
        // A flush has sector -1.
        let offset = number::<u64>(sector).unwrap_or(0).checked_mul(SECTOR_BYTES).unwrap_or(0);
        let kind = words.next()?;
        let (disk, pid) = (words.next()?, number(words.next()?));
        let mut name: Vec<&str> = words.collect();
        let done_ns = seconds(name.pop()?)?;
        name.reverse();
        let process = Some(name.join(" ")).filter(|name| !name.is_empty());
        // bcc prints only the first letter of those.
        let (operation, flags) = parse_rwbs(kind.as_bytes());
        let offset = if operation == Operation::Flush { 0 } else { offset };
        let latency = match queue {
            None => Latency::Device(device),
            Some(queue) => Latency::Split { queue, device },
        };
        let at_ns = done_ns.saturating_sub(latency.total().unwrap_or(0));
        let io = Io { latency, flags, ..plain(at_ns, operation, offset, length) };
        Some(Row { io, device: disk.to_owned(), actor: Some(Actor { pid, process, cgroup: None }) })
    }
}
