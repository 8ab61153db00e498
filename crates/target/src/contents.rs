//! What is on a device that is to be written.

use std::os::fd::OwnedFd;

use iodyno_host::{Asked, asking_open};
use rustix::io::Errno;

use crate::signatures;

/// Data that has no signature is looked for in the first and the last so many
/// bytes.
const LOOKED_AT: u64 = 1 << 20;
/// Read at once, bytes.
const CHUNK: u64 = 64 << 10;
/// Data is told from noise so many bytes at a time.
const SECTOR: usize = 512;

/// The bytes of a device, read where they are needed.
pub(crate) struct Bytes<'d> {
    device: &'d OwnedFd,
    size_bytes: u64,
    /// Chunks by their number; `None` where one cannot be read.
    chunks: Vec<(u64, Option<Vec<u8>>)>,
}

impl<'d> Bytes<'d> {
    /// Of a device that is open without O_DIRECT.
    pub(crate) const fn of(device: &'d OwnedFd, size_bytes: u64) -> Self {
        Self { device, size_bytes, chunks: Vec::new() }
    }

    pub(crate) const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// `length` bytes at `offset`; `None` past the end and where they cannot
    /// be read.
    pub(crate) fn get(&mut self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(length as u64).filter(|end| *end <= self.size_bytes)?;
        let mut bytes = Vec::with_capacity(length);
        let mut at = offset;
        while at < end {
            let chunk = self.chunk(at / CHUNK)?;
            let from = usize::try_from(at % CHUNK).ok()?;
            let to = chunk.len().min(from + (length - bytes.len()));
            bytes.extend_from_slice(chunk.get(from..to).filter(|part| !part.is_empty())?);
            at = offset + bytes.len() as u64;
        }
        Some(bytes)
    }

    /// Whether `magic` is at `offset`.
    pub(crate) fn has(&mut self, offset: u64, magic: &[u8]) -> bool {
        self.get(offset, magic.len()).is_some_and(|found| found == magic)
    }

    /// The little-endian number at `offset`.
    pub(crate) fn u32_le(&mut self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.get(offset, 4)?.try_into().ok()?))
    }

    fn chunk(&mut self, number: u64) -> Option<&[u8]> {
        let place = match self.chunks.iter().position(|(known, _)| *known == number) {
            Some(place) => place,
            None => {
                self.chunks.push((number, self.read(number * CHUNK).ok()));
                self.chunks.len() - 1
            }
        };
        self.chunks[place].1.as_deref()
    }

    fn read(&self, offset: u64) -> Result<Vec<u8>, Errno> {
        let length = CHUNK.min(self.size_bytes.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::OVERFLOW)?];
        let mut done = 0;
        while done < bytes.len() {
            let (rest, at) = (&mut bytes[done..], offset + done as u64);
            let read =
                asking_open(self.device, Asked::Read, || rustix::io::pread(self.device, rest, at));
            match read {
                Ok(0) => return Err(Errno::IO),
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(bytes)
    }
}

/// How a line of data without a signature begins.
pub(crate) const UNKNOWN: &str = "data of unknown kind";

/// What writing the device would destroy, a line each: signatures, and data
/// without one in the first and last MiB. None where these are zeros, a
/// pattern or noise: what a new, a trimmed or a benchmarked drive holds.
pub(crate) fn lost(device: &OwnedFd, size_bytes: u64) -> Vec<String> {
    let mut bytes = Bytes::of(device, size_bytes);
    let mut lines: Vec<String> = signatures::find(&mut bytes)
        .into_iter()
        .map(|(name, offset)| format!("{name} (at {offset:#x})"))
        .collect();
    let mut data = None;
    let mut unreadable = None;
    let tail = size_bytes.saturating_sub(LOOKED_AT) / CHUNK;
    let head = LOOKED_AT.min(size_bytes).div_ceil(CHUNK);
    let all = size_bytes.div_ceil(CHUNK);
    for number in (0..head).chain(tail.max(head)..all) {
        match bytes.chunk(number) {
            None => unreadable = unreadable.or(Some(number * CHUNK)),
            Some(chunk) => {
                let sector = chunk.chunks(SECTOR).position(|sector| !says_nothing(sector));
                let at = sector.map(|sector| number * CHUNK + (sector * SECTOR) as u64);
                data = data.or(at);
            }
        }
    }
    if let Some(offset) = unreadable {
        lines.push(format!("what cannot be read (at {offset:#x})"));
    }
    if let Some(offset) = data.filter(|_| lines.is_empty()) {
        lines.push(format!("{UNKNOWN} (at {offset:#x})"));
    }
    lines
}

/// Whether a sector holds what nobody misses: a repeated pattern of up to 8
/// bytes, zeros among them, or noise.
fn says_nothing(sector: &[u8]) -> bool {
    let pattern = sector.len() >= 8 && sector.chunks(8).all(|part| sector.starts_with(part));
    pattern || is_noise(sector)
}

/// Whether bytes are as evenly distributed as random ones, by Pearson's
/// chi-squared with 255 degrees of freedom: random bytes give 255 ± 23, and a
/// few hundred more with the header of a verifying job among them; base64,
/// the densest text, gives over 1500 in 512 bytes, machine code more.
fn is_noise(sector: &[u8]) -> bool {
    const MOST: f64 = 800.0;
    let mut counts = [0_u32; 256];
    for byte in sector {
        counts[usize::from(*byte)] += 1;
    }
    let expected = sector.len() as f64 / 256.0;
    let chi_squared: f64 =
        counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    chi_squared < MOST
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::random::Random;

    const MIB: usize = 1 << 20;

    fn lost_of(fill: impl FnOnce(&File)) -> Vec<String> {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 * MIB as u64 + 512).unwrap();
        fill(&file);
        lost(&file.into(), 5 * MIB as u64 + 512)
    }

    #[test]
    fn zeros_patterns_and_noise_are_nothing_to_lose() {
        assert!(lost_of(|_| {}).is_empty());
        let all = 5 * MIB + 512;
        assert!(lost_of(|file| file.write_all_at(&vec![0xff; all], 0).unwrap()).is_empty());
        let pattern: Vec<u8> = [0xde, 0xad, 0xbe, 0xef].into_iter().cycle().take(all).collect();
        assert!(lost_of(|file| file.write_all_at(&pattern, 0).unwrap()).is_empty());
        for seed in 0..20 {
            let mut noise = vec![0; all];
            Random::new(seed).fill(&mut noise);
            // As fio's verify header and its like: numbers with zeros in them.
            for block in noise.chunks_mut(4096) {
                block[2..8].fill(0);
                block[20..34].fill(0);
            }
            let found = lost_of(|file| file.write_all_at(&noise, 0).unwrap());
            assert!(found.is_empty(), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn data_at_either_end_is_found() {
        let text = b"account;owner;balance\n".repeat(40);
        let at = |offset| lost_of(|file| file.write_all_at(&text, offset).unwrap());
        assert_eq!(at(0), ["data of unknown kind (at 0x0)"]);
        assert_eq!(at(0x9_0000), ["data of unknown kind (at 0x90000)"]);
        assert_eq!(at(0x50_0000 - 880), ["data of unknown kind (at 0x4ffc00)"]);
        // Nobody looks at the middle of a drive.
        assert!(at(0x20_0000).is_empty());
    }

    #[test]
    fn what_cannot_be_read_may_be_data() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        // Says that it is longer than it is.
        assert_eq!(lost(&file.into(), 8192), ["what cannot be read (at 0x0)"]);
    }
}
