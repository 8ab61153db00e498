//! Chunks: up to 64 Ki I/Os as columns, with the names they use, decodable alone.

use serde::{Deserialize, Serialize};

use super::column::{self, signed, take, unsigned};
use crate::{Actor, Device, Flags, Io, Latency, Names, Operation};

/// I/Os in a full chunk.
pub const CHUNK_IOS: usize = 1 << 16;
/// Count, first and last time, lost events: at the front, so that an index can be built from it
/// alone.
pub(super) const HEAD_BYTES: usize = 28;
/// Maximum size of a chunk's names, bytes: 64 Ki devices and actors with long names.
const MOST_NAME_BYTES: usize = 24 << 20;

/// I/Os stored together in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    /// In order of time.
    pub ios: Vec<Io>,
    /// Events that the kernel dropped since the previous chunk.
    pub lost: u64,
}

/// Head of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) count: u32,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) lost: u64,
}

/// Devices and actors of a chunk's I/Os, which refer to them by index.
#[derive(Debug, Default, Serialize, Deserialize)]
struct UsedNames {
    devices: Vec<Device>,
    actors: Vec<Actor>,
}

impl Head {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (mut bytes, mut words) = (bytes, [0_u64; 3]);
        let count = u32::from_le_bytes(take(&mut bytes, 4)?.try_into().ok()?);
        for word in &mut words {
            *word = u64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?);
        }
        let [first_ns, last_ns, lost] = words;
        let is_plausible = (1..=CHUNK_IOS).contains(&(count as usize)) && first_ns <= last_ns;
        is_plausible.then_some(Self { count, first_ns, last_ns, lost })
    }

    fn write(self, to: &mut Vec<u8>) {
        to.extend(self.count.to_le_bytes());
        [self.first_ns, self.last_ns, self.lost]
            .iter()
            .for_each(|word| to.extend(word.to_le_bytes()));
    }
}

/// Numbers in order of first use.
#[derive(Default)]
struct LocalNumbers {
    of: Vec<Option<u64>>,
    used: Vec<usize>,
}

impl LocalNumbers {
    fn number(&mut self, global: usize) -> u64 {
        if self.of.len() <= global {
            self.of.resize(global + 1, None);
        }
        *self.of[global].get_or_insert_with(|| {
            self.used.push(global);
            self.used.len() as u64 - 1
        })
    }

    fn names<T: Clone + Default>(&self, all: &[T]) -> Vec<T> {
        self.used.iter().map(|one| all.get(*one).cloned().unwrap_or_default()).collect()
    }
}

/// Returns what is known of a latency, as a number, and its parts before and after dispatch, ns.
const fn parts(latency: Latency) -> (u64, [u64; 2]) {
    match latency {
        Latency::Unknown => (0, [0, 0]),
        Latency::Whole(ns) => (1, [0, ns]),
        Latency::Device(ns) => (2, [0, ns]),
        Latency::Split { queue, device } => (3, [queue, device]),
    }
}

impl Chunk {
    /// Encodes the contents of a block. There must be at least one I/O.
    pub(super) fn encode(&self, names: &Names) -> Vec<u8> {
        let (mut devices, mut actors) = (LocalNumbers::default(), LocalNumbers::default());
        for io in &self.ios {
            devices.number(io.device.into());
            if let Some(actor) = io.actor {
                actors.number(actor as usize);
            }
        }
        let used = UsedNames {
            devices: devices.names(names.devices()),
            actors: actors.names(names.actors()),
        };
        let used = serde_json::to_vec(&used).unwrap_or_default();
        let used = ruzstd::encoding::compress_to_vec(
            &used[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let first_ns = self.ios.first().map_or(0, |io| io.at_ns);
        let last_ns = self.ios.last().map_or(0, |io| io.at_ns);
        let mut bytes = Vec::new();
        let count = self.ios.len() as u32;
        Head { count, first_ns, last_ns, lost: self.lost }.write(&mut bytes);
        bytes.extend((used.len() as u32).to_le_bytes());
        bytes.extend(used);
        // One after the other, in the same memory, which the kernel then provides once.
        let mut values = Vec::with_capacity(self.ios.len());
        let mut column = |value: &mut dyn FnMut(&Io) -> u64| {
            values.clear();
            values.extend(self.ios.iter().map(value));
            column::write(&mut bytes, &values);
        };
        let mut before_ns = first_ns;
        column(&mut |io| io.at_ns.saturating_sub(std::mem::replace(&mut before_ns, io.at_ns)));
        column(&mut |io| {
            let (form, _) = parts(io.latency);
            io.operation as u64 | u64::from(io.flags.bits()) << 3 | form << (3 + Flags::BITS)
        });
        column(&mut |io| devices.number(io.device.into()));
        column(&mut |io| io.actor.map_or(0, |actor| actors.number(actor as usize) + 1));
        column(&mut |io| io.length.into());
        column(&mut |io| parts(io.latency).1[0]);
        column(&mut |io| parts(io.latency).1[1]);
        let mut ends = vec![0_u64; devices.used.len()];
        let jumps = self.ios.iter().filter(|io| io.operation != Operation::Flush).map(|io| {
            let end = &mut ends[devices.number(io.device.into()) as usize];
            let jump = io.offset.wrapping_sub(*end) as i64;
            *end = io.offset.wrapping_add(io.length.into());
            jump
        });
        let (divisor, jumps) = unsigned(&jumps.collect::<Vec<_>>());
        bytes.extend(divisor.to_le_bytes());
        bytes.extend((jumps.len() as u32).to_le_bytes());
        column::write(&mut bytes, &jumps);
        bytes
    }

    /// Decodes the contents of a block, and numbers devices and actors in `names`; `None` if they
    /// are not a chunk.
    pub(super) fn decode(mut bytes: &[u8], names: &mut Names) -> Option<Self> {
        let bytes = &mut bytes;
        let head = Head::parse(take(bytes, HEAD_BYTES)?)?;
        let count = head.count as usize;
        let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
        let used = inflate(take(bytes, length as usize)?)?;
        let used: UsedNames = serde_json::from_slice(&used).ok()?;
        let devices: Vec<u16> =
            used.devices.iter().map(|one| names.device(one)).collect::<Option<_>>()?;
        let actors: Vec<Option<u32>> = used.actors.iter().map(|one| names.actor(one)).collect();
        let mut columns: [Vec<u64>; 7] = Default::default();
        for column in &mut columns {
            *column = column::read(bytes, count)?;
        }
        let divisor = u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?);
        let placed = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?) as usize;
        if placed > count {
            return None;
        }
        let mut jumps = column::read(bytes, placed)?.into_iter();
        let [gaps, kinds, of_device, by, lengths, queue, service] = columns;
        let mut ends = vec![0_u64; devices.len()];
        let mut ios = Vec::with_capacity(count);
        let mut at_ns = head.first_ns;
        for n in 0..count {
            at_ns = at_ns.checked_add(gaps[n])?;
            let operation = *Operation::ALL.get((kinds[n] & 7) as usize)?;
            let latency = match kinds[n] >> (3 + Flags::BITS) {
                0 => Latency::Unknown,
                1 => Latency::Whole(service[n]),
                2 => Latency::Device(service[n]),
                3 => Latency::Split { queue: queue[n], device: service[n] },
                _ => return None,
            };
            let local = usize::try_from(of_device[n]).ok()?;
            let device = *devices.get(local)?;
            let actor = match by[n].checked_sub(1) {
                None => None,
                Some(actor) => *actors.get(usize::try_from(actor).ok()?)?,
            };
            let length = u32::try_from(lengths[n]).ok()?;
            let mut offset = 0;
            if operation != Operation::Flush {
                offset = ends[local].wrapping_add_signed(signed(divisor, jumps.next()?));
                ends[local] = offset.wrapping_add(length.into());
            }
            let flags = Flags::from_bits((kinds[n] >> 3) as u8);
            ios.push(Io { at_ns, device, operation, flags, offset, length, latency, actor });
        }
        (at_ns == head.last_ns && jumps.next().is_none() && bytes.is_empty())
            .then_some(Self { ios, lost: head.lost })
    }
}

/// Decompresses data, up to a maximum length.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
    let read = decoder.take(MOST_NAME_BYTES as u64).read_to_end(&mut bytes).ok()?;
    (read < MOST_NAME_BYTES).then_some(bytes)
}
