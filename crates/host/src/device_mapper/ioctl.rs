//! Reads the table of a device-mapper device through the kernel's ioctl, read-only.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct dm_ioctl` of linux/dm-ioctl.h; the answer is written after it.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Copy)]
#[repr(C)]
struct Header {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_number: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

/// `struct dm_target_spec`, each followed by the target's text.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Segment {
    start: u64,
    length: u64,
    status: i32,
    /// Offset of the next segment, from the first.
    next: u32,
    target: [u8; 16],
}

const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(HEADER_BYTES == 312 && size_of::<Segment>() == 40);

/// `_IOWR(0xfd, 12, struct dm_ioctl)`: `DM_TABLE_STATUS`.
const TABLE_STATUS: u64 = 3 << 30 | (HEADER_BYTES as u64) << 16 | 0xfd << 8 | 12;

/// `DM_STATUS_TABLE_FLAG`: the table's arguments, not the targets' state.
const ARGUMENTS: u32 = 1 << 4;
/// `DM_BUFFER_FULL_FLAG`: the answer did not fit.
const BUFFER_FULL: u32 = 1 << 8;
/// `DM_NOFLUSH_FLAG`: the query flushes nothing.
const NO_FLUSH: u32 = 1 << 11;

/// Targets whose arguments are only devices and offsets.
const WITHOUT_KEYS: [&str; 2] = ["linear", "striped"];
/// Targets whose state is read: what they have allocated.
const WITH_STATE: [&str; 2] = ["thin", "thin-pool"];

/// Limit of a table, bytes.
const MOST_BYTES: usize = 1 << 20;

/// Returns the table of the device with this number, as described at
/// [`crate::Source::dm_table`].
pub(crate) fn table(control: &File, number: (u32, u32)) -> io::Result<String> {
    // Arguments of others may contain keys: query the types first.
    let kinds = ask(control, number, 0)?;
    let without_keys = kinds.iter().all(|(_, target, _)| WITHOUT_KEYS.contains(&target.as_str()));
    let segments = if without_keys { ask(control, number, ARGUMENTS)? } else { kinds };
    let lines = segments.into_iter().map(|((start, length), target, text)| {
        // The text is the target's state, or its arguments.
        match without_keys || WITH_STATE.contains(&target.as_str()) {
            true => format!("{start} {length} {target} {text}\n"),
            false => format!("{start} {length} {target}\n"),
        }
    });
    Ok(lines.collect())
}

/// Segments: start and length (sectors), type, text.
type Segments = Vec<((u64, u64), String, String)>;

fn ask(control: &File, (major, minor): (u32, u32), flags: u32) -> io::Result<Segments> {
    let mut room = 16 << 10;
    loop {
        let header = Header {
            version: [4, 0, 0],
            data_size: room as u32,
            data_start: HEADER_BYTES as u32,
            target_count: 0,
            open_count: 0,
            flags: flags | NO_FLUSH,
            event_number: 0,
            padding: 0,
            device: rustix::fs::makedev(major, minor),
            name: [0; 128],
            uuid: [0; 129],
            data: [0; 7],
        };
        let mut buffer = header.as_bytes().to_vec();
        buffer.resize(room, 0);
        // SAFETY: the descriptor is open; the kernel reads and writes at most
        // `data_size` bytes, the length of `buffer`, which lives and is not
        // touched until the call returns.
        let status =
            unsafe { libc::ioctl(control.as_raw_fd(), TABLE_STATUS as _, buffer.as_mut_ptr()) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        let header = Header::read_from_prefix(&buffer).map(|(header, _)| header);
        let header = header.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        if header.flags & BUFFER_FULL == 0 {
            let answer = buffer.get(header.data_start as usize..).unwrap_or_default();
            return segments(answer, header.target_count)
                .ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        room *= 4;
        if room > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

/// Parses the segments in an answer; `None` if invalid.
fn segments(answer: &[u8], count: u32) -> Option<Segments> {
    let (mut at, mut found) = (0, Vec::new());
    for _ in 0..count {
        let (segment, rest) = Segment::read_from_prefix(answer.get(at..)?).ok()?;
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0)?;
            Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
        };
        found.push(((segment.start, segment.length), text(&segment.target)?, text(rest)?));
        // Offsets must grow, which excludes loops.
        at = Some(segment.next as usize).filter(|next| *next > at)?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_number_is_the_kernels() {
        assert_eq!(TABLE_STATUS, 0xc138_fd0c);
    }

    #[test]
    fn other_files_are_no_control_node() {
        let null = File::open("/dev/null").unwrap();
        assert!(table(&null, (253, 0)).is_err());
    }

    #[test]
    fn answers_are_read_segment_by_segment() {
        let mut answer = vec![0_u8; 128];
        answer[8] = 16;
        answer[20] = 64;
        answer[24..30].copy_from_slice(b"linear");
        answer[40..46].copy_from_slice(b"8:16 0");
        answer[64] = 16;
        answer[84] = 112;
        answer[88..93].copy_from_slice(b"error");
        let segments = segments(&answer, 2).unwrap();
        assert_eq!(segments[0], ((0, 16), "linear".into(), "8:16 0".into()));
        assert_eq!((segments[1].0, segments[1].1.as_str()), ((16, 0), "error"));
        assert_eq!(super::segments(&answer, 9), None, "the next one is beyond the end");
        assert_eq!(super::segments(&answer[..30], 1), None);
        answer[84] = 64;
        assert_eq!(super::segments(&answer, 3), None, "a circle");
    }
}
