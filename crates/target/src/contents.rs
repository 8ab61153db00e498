//! Finds data on a device that is about to be written.
//!
//! Signatures identify most of it. The rest is sampled: encrypted disks (plain dm-crypt), raw
//! databases and the like show as blocks that are neither zeros nor a pattern. Random bytes count
//! as encrypted data, unless they carry the stamps of a benchmark.

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::signatures;

/// Read size, bytes.
const CHUNK: u64 = 64 << 10;
/// Chunks at either end that are searched for data without a signature: 2 MiB, since partitions
/// begin at 1 MiB.
const ENDS: u64 = 32;
/// Equal parts of the device; the two chunks that meet at each of their borders are sampled.
const PARTS: u64 = 128;
/// Size of a sampled block, bytes.
const BLOCK: usize = 4096;
/// Test data has one stamp in each sector of this size, bytes.
const SECTOR: usize = 512;
/// Stamps begin at a cache line, bytes.
const CACHE_LINE: usize = 64;

/// The bytes of a device, read on demand.
pub(crate) struct Bytes<'d> {
    device: &'d OwnedFd,
    size_bytes: u64,
    /// Chunks by their number; `None` if one cannot be read.
    chunks: Vec<(u64, Option<Vec<u8>>)>,
}

impl<'d> Bytes<'d> {
    /// `device` must be open without O_DIRECT.
    pub(crate) const fn of(device: &'d OwnedFd, size_bytes: u64) -> Self {
        Self { device, size_bytes, chunks: Vec::new() }
    }

    pub(crate) const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns `length` bytes at `offset`; `None` past the end and if they cannot be read.
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

    /// True if `magic` is at `offset`.
    pub(crate) fn has(&mut self, offset: u64, magic: &[u8]) -> bool {
        self.get(offset, magic.len()).is_some_and(|found| found == magic)
    }

    /// Returns the little-endian number at `offset`.
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
            match rustix::io::pread(self.device, rest, at) {
                Ok(0) => return Err(Errno::IO),
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(bytes)
    }
}

/// Data that writing a device would destroy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// A file system, a partition table, an array member ...
    Signature {
        /// Its name.
        name: &'static str,
        /// Its offset, bytes.
        offset: u64,
    },
    /// Blocks that are not zeros, a pattern or known test data, and carry no known signature: an
    /// encrypted disk looks like that, or a raw database.
    Unknown {
        /// Number of such blocks among those sampled.
        blocks: usize,
        /// Number of blocks sampled.
        sampled: usize,
        /// Offset of the first one, bytes.
        offset: u64,
    },
    /// Unreadable data.
    Unreadable {
        /// Offset of the first unreadable chunk, bytes.
        offset: u64,
    },
    /// Data on a partition.
    OnPartition {
        /// Name of the partition.
        name: String,
        /// The data.
        lost: Box<Lost>,
    },
    /// A partition that cannot be examined.
    NotLookedAt {
        /// The reason, beginning with its name.
        why: String,
    },
}

impl Lost {
    /// True if no signature identifies it.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown { .. } => true,
            Self::OnPartition { lost, .. } => lost.is_unknown(),
            Self::Signature { .. } | Self::Unreadable { .. } | Self::NotLookedAt { .. } => false,
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature { name, offset } => write!(f, "{name} (at {offset:#x})"),
            Self::Unknown { blocks, sampled, offset } => {
                let hold = if *blocks == 1 { "holds" } else { "hold" };
                write!(
                    f,
                    "{blocks} of {sampled} sampled blocks {hold} unknown data, which \
                     may be encrypted (the first at {offset:#x})"
                )
            }
            Self::Unreadable { offset } => write!(f, "unreadable data (at {offset:#x})"),
            Self::OnPartition { name, lost } => write!(f, "{name}: {lost}"),
            Self::NotLookedAt { why } => f.write_str(why),
        }
    }
}

/// Returns the data that writing the device would destroy: signatures, and data without one in the
/// sampled blocks. Empty if these hold zeros, a pattern, or test data as iodyno and fio write it by
/// default: the content of a new, trimmed or benchmarked drive; or one of
/// `own_blocks`.
pub(crate) fn lost(device: &OwnedFd, size_bytes: u64, own_blocks: &[Vec<u8>]) -> Vec<Lost> {
    let mut bytes = Bytes::of(device, size_bytes);
    let found = signatures::find(&mut bytes).into_iter();
    let mut lost: Vec<Lost> =
        found.map(|(name, offset)| Lost::Signature { name, offset }).collect();
    let mut unreadable = None;
    let (mut blocks, mut sampled, mut first) = (0, 0, None);
    for number in sampled_chunks(size_bytes) {
        let start = number * CHUNK;
        let Some(chunk) = bytes.chunk(number) else {
            unreadable = unreadable.or(Some(start));
            continue;
        };
        for (block, offset) in chunk.chunks(BLOCK).zip((start..).step_by(BLOCK)) {
            sampled += 1;
            if !is_disposable(block, offset) && !own_blocks.iter().any(|own| own == block) {
                blocks += 1;
                first = first.or(Some(offset));
            }
        }
    }
    lost.extend(unreadable.map(|offset| Lost::Unreadable { offset }));
    // Next to a signature, unknown data belongs to what the signature names.
    let unknown = first.filter(|_| lost.is_empty());
    lost.extend(unknown.map(|offset| Lost::Unknown { blocks, sampled, offset }));
    lost
}

/// Returns the numbers of the chunks to sample: the first and the last ones, those at the borders of
/// equal parts, and those at each power of two from either end. Partitions and allocation groups
/// begin at such offsets, and file systems keep copies of their superblocks there.
fn sampled_chunks(size_bytes: u64) -> BTreeSet<u64> {
    let all = size_bytes.div_ceil(CHUNK);
    let powers = (0..u64::BITS).map(|n| 1_u64 << n).flat_map(|power| [power - 1, power]);
    let from_ends = (0..ENDS).chain(powers).flat_map(|n| [Some(n), all.checked_sub(n + 1)]);
    let borders = (1..PARTS).flat_map(|n| {
        let border = u64::try_from(u128::from(all) * u128::from(n) / u128::from(PARTS)).ok();
        [border, border.and_then(|border| border.checked_sub(1))]
    });
    from_ends.chain(borders).flatten().filter(|n| *n < all).collect()
}

/// True if a block holds nothing of value: in each sector a repeated pattern of up to 8 bytes, such
/// as zeros, or test data. Random bytes alone do not qualify: encrypted data looks the same.
fn is_disposable(block: &[u8], offset: u64) -> bool {
    let sectors: Vec<(&[u8], u64)> = block.chunks(SECTOR).zip((offset..).step_by(SECTOR)).collect();
    let is_pattern =
        |sector: &[u8]| sector.len() >= 8 && sector.chunks(8).all(|part| sector.starts_with(part));
    sectors.iter().enumerate().all(|(n, (sector, at))| {
        // Zeros at the very beginning of a device do not prove a stamp: its offset is 0.
        let proof = if *at == 0 { sectors.get(n + 1).copied() } else { Some((*sector, *at)) };
        is_pattern(sector)
            || is_dense(sector)
                && is_stamped(sector, *at)
                && proof.is_some_and(|(sector, at)| is_stamped(sector, at))
    })
}

/// True if a sector has the stamp of test data: iodyno, like fio, writes the offset of each sector
/// at the beginning of one of its cache lines (`scramble_buffers`, on by default; fio:
/// `small_content_scramble`). Other random bytes match once in 2^61 sectors.
fn is_stamped(sector: &[u8], offset: u64) -> bool {
    sector.chunks(CACHE_LINE).any(|line| line.starts_with(&offset.to_le_bytes()))
}

/// True if a sector has nearly as many distinct bytes as a random one, which has 221 ± 5; with old
/// stamps in each of its cache lines it has some 200. Text has fewer than 100, a table that
/// contains its own offset hardly any.
fn is_dense(sector: &[u8]) -> bool {
    const LEAST: usize = 150;
    let mut seen = [false; 256];
    sector.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() >= LEAST
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::random::Random;

    const MIB: usize = 1 << 20;
    const ALL: usize = 5 * MIB + 512;

    fn lost_of(fill: impl FnOnce(&File)) -> Vec<Lost> {
        let file = tempfile::tempfile().unwrap();
        file.set_len(ALL as u64).unwrap();
        fill(&file);
        lost(&file.into(), ALL as u64, &[])
    }

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut noise = vec![0; length];
        Random::new(seed).fill(&mut noise);
        noise
    }

    /// Noise as a benchmark writes it: the offset of each sector in one of its cache lines,
    /// followed by the time.
    fn stamped(seed: u64) -> Vec<u8> {
        let mut bytes = noise(seed, ALL);
        for (n, sector) in bytes.chunks_mut(SECTOR).enumerate() {
            let line = (n / 8 + seed as usize) % 8 * CACHE_LINE;
            sector[line..line + 8].copy_from_slice(&((n * SECTOR) as u64).to_le_bytes());
            sector[line + 8..line + 16].copy_from_slice(&123_456_789_u64.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn zeros_patterns_and_test_data_are_disposable() {
        assert!(lost_of(|_| {}).is_empty());
        assert!(lost_of(|file| file.write_all_at(&vec![0xff; ALL], 0).unwrap()).is_empty());
        let pattern: Vec<u8> = [0xde, 0xad, 0xbe, 0xef].into_iter().cycle().take(ALL).collect();
        assert!(lost_of(|file| file.write_all_at(&pattern, 0).unwrap()).is_empty());
        for seed in 0..20 {
            let found = lost_of(|file| file.write_all_at(&stamped(seed), 0).unwrap());
            assert!(found.is_empty(), "seed {seed}: {found:?}");
        }
        // A single sector of it among zeros.
        let bytes = stamped(1);
        let one = |file: &File| file.write_all_at(&bytes[5120..5632], 5120).unwrap();
        assert!(lost_of(one).is_empty());
    }

    #[test]
    fn noise_may_be_an_encrypted_disk() {
        for seed in 0..20 {
            let found = lost_of(|file| file.write_all_at(&noise(seed, ALL), 0).unwrap());
            let [Lost::Unknown { blocks, sampled, offset: 0 }] = found[..] else {
                panic!("seed {seed}: {found:?}")
            };
            assert_eq!((blocks, sampled), (1281, 1281));
        }
        // A single block of it, as in a closed volume where little was written.
        let found = lost_of(|file| file.write_all_at(&noise(1, 4096), 8192).unwrap());
        let said = found.iter().map(ToString::to_string).collect::<Vec<_>>();
        let sentence = "1 of 1281 sampled blocks holds unknown data, which may be \
                        encrypted (the first at 0x2000)";
        assert_eq!(said, [sentence]);
        // Test data that was moved, or changed since.
        let bytes = stamped(1);
        let moved = |file: &File| file.write_all_at(&bytes[8192..16384], 4096).unwrap();
        assert!(matches!(lost_of(moved)[..], [Lost::Unknown { blocks: 2, offset: 4096, .. }]));
        let mut bytes = bytes;
        bytes[70_000..74_000].copy_from_slice(&noise(5, 4000));
        let overwritten = |file: &File| file.write_all_at(&bytes, 0).unwrap();
        assert!(matches!(lost_of(overwritten)[..], [Lost::Unknown { blocks: 2, .. }]));
    }

    #[test]
    fn own_blocks_are_disposable() {
        let blocks = [noise(1, BLOCK), noise(2, BLOCK)];
        let with_first = |own_blocks: &[Vec<u8>]| {
            let file = tempfile::tempfile().unwrap();
            file.set_len(ALL as u64).unwrap();
            file.write_all_at(&blocks[0], 0).unwrap();
            lost(&file.into(), ALL as u64, own_blocks)
        };
        assert_eq!(with_first(&blocks), []);
        assert!(matches!(with_first(&blocks[1..])[..], [Lost::Unknown { blocks: 1, .. }]));
    }

    #[test]
    fn a_number_equal_to_its_offset_is_not_a_stamp() {
        // The page size of some format, in the page at 4096.
        let page = |file: &File| file.write_all_at(&4096_u64.to_le_bytes(), 4096).unwrap();
        assert!(matches!(lost_of(page)[..], [Lost::Unknown { blocks: 1, offset: 4096, .. }]));
        // Zeros in a header at the beginning of an encrypted device.
        let mut head = noise(3, 4096);
        head[64..128].fill(0);
        let found = lost_of(|file| file.write_all_at(&head, 0).unwrap());
        assert!(matches!(found[..], [Lost::Unknown { blocks: 1, offset: 0, .. }]), "{found:?}");
    }

    #[test]
    fn data_at_the_ends_and_between_them_is_found() {
        let text = b"account;owner;balance\n".repeat(40);
        let at = |offset| match lost_of(|file| file.write_all_at(&text, offset).unwrap())[..] {
            [Lost::Unknown { offset, .. }] => Some(offset),
            _ => None,
        };
        assert_eq!(at(0), Some(0));
        assert_eq!(at(0x9_0000), Some(0x9_0000));
        assert_eq!(at(0x20_0000), Some(0x20_0000));
        assert_eq!(at(ALL as u64 - 880), Some(0x4f_f000));
    }

    #[test]
    fn samples_are_spread_over_the_whole_device() {
        for size in [0, 1, CHUNK, 2 * MIB as u64, 3 * MIB as u64 + 1, 1 << 30, u64::MAX] {
            let chunks = sampled_chunks(size);
            assert!(chunks.len() as u64 <= 2 * (ENDS + PARTS) + 4 * u64::from(u64::BITS));
            assert_eq!(
                chunks.last().map(|last| last + 1),
                Some(size.div_ceil(CHUNK)).filter(|n| *n > 0)
            );
        }
        // All of a small device.
        assert_eq!(sampled_chunks(PARTS * CHUNK).len() as u64, PARTS);
        let chunks: Vec<u64> = sampled_chunks(1 << 40).into_iter().collect();
        let gap = chunks.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(gap <= (1 << 40) / CHUNK / PARTS, "{gap}");
    }

    #[test]
    fn data_is_found_where_a_lost_table_or_superblock_leaves_it() {
        const GIB: u64 = 1 << 30;
        let found = |size: u64, offset: u64| {
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            file.write_all_at(b"records of somebody", offset).unwrap();
            let lost = lost(&file.into(), size, &[]);
            matches!(lost[..], [Lost::Unknown { blocks: 1, .. }])
        };
        let mib = MIB as u64;
        for size in [100 * GIB, 100 * GIB + 2048] {
            // A volume group or file system in the first partition, a volume in the group.
            assert!(found(size, mib + 512) && found(size, mib + (64 << 10) + 64));
            assert!(found(size, 2 * mib));
            // Copies of ext4's superblock, and the partition behind one of 16 MiB or 1 GiB.
            assert!(found(size, 128 * mib) && found(size, 16 * mib) && found(size, GIB));
            // The allocation groups of XFS.
            assert!((1..4).all(|n| found(size, n * (size / 4).next_multiple_of(4096))));
            // A backup table where a volume ended before it doubled.
            assert!(found(size, size / 2 - 512));
            // What ends 8 MiB before the end.
            assert!(found(size, size - 8 * mib - 512));
        }
    }

    #[test]
    fn unreadable_blocks_may_be_data() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        // A device that claims to be longer than it is.
        assert_eq!(lost(&file.into(), 8192, &[]), [Lost::Unreadable { offset: 0 }]);
    }
}
