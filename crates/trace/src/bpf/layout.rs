//! Tables that the programs fill, and where the kernel keeps what they read.

use std::io;

use iodyno_model::Histogram;

use super::btf::{Btf, Field};
use super::system::{Kind, Map};
use crate::Operation;

/// Maximum of devices: keys have four bits for them.
pub(super) const MOST_DEVICES: usize = 16;
/// Sets of [`Maps::arrivals`], as bits of their number. With [`WAYS`] they are below 32 KiB, which
/// the kernel has in large pages: elsewhere a search takes 65 ns longer (x86_64, in a guest).
pub(super) const ARRIVAL_BITS: u32 = 7;
/// Arrivals of a set.
pub(super) const WAYS: i16 = 7;
/// Size of an arrival, bytes.
pub(super) const ARRIVAL_BYTES: i16 = 32;
/// Maximum of combinations of operation and length that are counted separately; beyond them are
/// those of all other lengths, one for each operation.
pub(super) const MOST_LENGTHS: u32 = 128;
/// Copies of each length's latencies, so that CPUs seldom wait for each other.
pub(super) const COPIES: u32 = 4;
/// Maximum of names of processes.
const MOST_ACTORS: u32 = 1 << 10;
/// Milliseconds that are kept: they are read once a second.
pub(super) const MILLISECONDS: u32 = 1 << 12;
/// Zones of a device, for each of reads and writes.
pub(super) const ZONES: u32 = 1 << 8;
/// Bins of a histogram: latencies up to 2^40 ns.
pub(super) const BINS: u32 = Histogram::index(1 << 40) as u32;
/// Numbers before the counts of a histogram.
pub(super) const TIMES_HEADER: usize = 3;
const TIMES_BYTES: u32 = 8 * (TIMES_HEADER as u32 + BINS);
const OPERATIONS: u32 = Operation::ALL.len() as u32;

/// Entries of [`Maps::counts`].
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(super) enum Count {
    Metadata,
    Fua,
    /// Issued with a tag that is not known.
    Untracked,
    /// Completed and not seen before, or not seen complete.
    Unmatched,
    /// Those of the first operation; others follow.
    Ios,
    Bytes = Self::Ios as i32 + OPERATIONS as i32,
    Sequential = Self::Bytes as i32 + OPERATIONS as i32,
}

/// Part of an I/O's time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    BeforeDispatch,
    AfterDispatch,
    Both,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::BeforeDispatch, Self::AfterDispatch, Self::Both];
}

/// Tables in the kernel. Numbers have 8 bytes.
#[derive(Debug)]
pub(super) struct Maps {
    /// By a hash of device, operation and sector, several of them: key, time (odd: of an I/O that was
    /// issued and put back), name of the process.
    pub(super) arrivals: Map,
    /// By hardware queue and tag: address of the request, time of issue, of arrival, length,
    /// operation.
    pub(super) in_flight: Map,
    /// By device and operation: end of the last I/O, bytes, plus 1.
    pub(super) ends: Map,
    /// By length (4 bytes) and operation (4): its number.
    pub(super) lengths: Map,
    /// Lengths that got a number.
    pub(super) length_count: Map,
    /// By number of the length and copy: histogram of the latencies, of which sums are in ns.
    pub(super) latencies: Map,
    /// By operation and [`Part`]: histogram, with maximum and complement of the minimum.
    pub(super) parts: Map,
    /// By [`Count`].
    pub(super) counts: Map,
    /// Ring of milliseconds: which one, number of I/Os.
    pub(super) milliseconds: Map,
    /// By device, operation (read, write) and zone: number, bytes.
    pub(super) zones: Map,
    /// By name of the process: number, bytes.
    pub(super) actors: Map,
}

impl Maps {
    pub(super) fn new(devices: usize, tags: u32, cpus: usize) -> io::Result<Self> {
        let devices = devices as u32;
        let array = |value, entries| Map::new(Kind::Array, 4, value, entries, cpus);
        let each = |value, entries| Map::new(Kind::EachArray, 4, value, entries, cpus);
        Ok(Self {
            arrivals: array((WAYS * ARRIVAL_BYTES) as u32, 1 << ARRIVAL_BITS)?,
            in_flight: array(40, tags)?,
            ends: array(8, devices * 8)?,
            lengths: Map::new(Kind::Hash, 8, 8, MOST_LENGTHS * 2, cpus)?,
            length_count: array(8, 1)?,
            latencies: array(TIMES_BYTES, (MOST_LENGTHS + OPERATIONS) * COPIES)?,
            parts: each(TIMES_BYTES, OPERATIONS * Part::ALL.len() as u32)?,
            counts: each(8, Count::Sequential as u32 + OPERATIONS)?,
            milliseconds: each(16, MILLISECONDS)?,
            zones: each(16, devices * 2 * ZONES)?,
            actors: Map::new(Kind::EachHash, 16, 16, MOST_ACTORS, cpus)?,
        })
    }
}

/// Fields of the kernel's structures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) request_queue: Field,
    pub(super) queue_disk: Field,
    pub(super) major: Field,
    pub(super) minor: Field,
    pub(super) request_flags: Field,
    pub(super) request_bytes: Field,
    pub(super) request_sector: Field,
    pub(super) request_tag: Field,
    pub(super) request_hardware_queue: Field,
    pub(super) hardware_queue_number: Field,
    pub(super) bio_device: Field,
    pub(super) device_disk: Field,
    pub(super) bio_flags: Field,
    pub(super) bio_sector: Field,
    pub(super) bio_bytes: Field,
    /// Place of 16 characters.
    pub(super) task_name: i16,
    /// Flags, as masks.
    pub(super) metadata: i32,
    pub(super) fua: i32,
    pub(super) preflush: i32,
}

impl Fields {
    /// Finds the fields; if one is missing, its name.
    pub(super) fn find(btf: &Btf) -> Result<Self, &'static str> {
        let field = |structure, path: &'static str| btf.field(structure, path).ok_or(path);
        let flags = btf.enumerators("__REQ_");
        let flag = |name: &'static str| {
            let bit = flags.get(name).filter(|bit| **bit < 31).ok_or(name)?;
            Ok::<_, &str>(1_i32 << bit)
        };
        Ok(Self {
            request_queue: field("request", "q")?,
            queue_disk: field("request_queue", "disk")?,
            major: field("gendisk", "major")?,
            minor: field("gendisk", "first_minor")?,
            request_flags: field("request", "cmd_flags")?,
            request_bytes: field("request", "__data_len")?,
            request_sector: field("request", "__sector")?,
            request_tag: field("request", "tag")?,
            request_hardware_queue: field("request", "mq_hctx")?,
            hardware_queue_number: field("blk_mq_hw_ctx", "queue_num")?,
            bio_device: field("bio", "bi_bdev")?,
            device_disk: field("block_device", "bd_disk")?,
            bio_flags: field("bio", "bi_opf")?,
            bio_sector: field("bio", "bi_iter.bi_sector")?,
            bio_bytes: field("bio", "bi_iter.bi_size")?,
            task_name: btf.place("task_struct", "comm").ok_or("comm")?,
            metadata: flag("__REQ_META")?,
            fua: flag("__REQ_FUA")?,
            preflush: flag("__REQ_PREFLUSH")?,
        })
    }
}
