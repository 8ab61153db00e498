//! Compares streams with the I/Os that fio logs (`write_iolog`) for the same jobs. Needs the `fio`
//! that `make deps` installs.

use std::path::PathBuf;
use std::process::Command;

use iodyno_model::{Direction, PerDirection};

use super::super::rng::Rng;
use super::super::{Request, Room, Stream};
use crate::{Amount, BlockSize, IoEngine, Job, Operation, Pattern};

/// The property that must be equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Equal {
    /// Every request, in order.
    Order,
    /// Every request, in any order.
    Set,
    /// Every file, offset and length, in any order; directions are random.
    Places,
    /// Number and bytes of all requests.
    Counts,
    /// Bytes of all requests.
    Bytes,
    /// Bytes of all requests, within the largest block.
    NearlyBytes,
}

use Equal::{Bytes, Counts, NearlyBytes, Order, Places, Set};

/// A job as fio's options, its files' sizes in KiB, and the same as a change of a `Job`.
pub(super) type Case = (&'static str, &'static [u64], Equal, fn(&mut Job));

pub(super) const K: u64 = 1024;
/// Number of random jobs.
const CASES: u64 = 24;

/// A directory that is removed on drop.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("iodyno-stream-{}-{next}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The requests that fio issues.
fn by_fio(options: &str, files_kib: &[u64]) -> Vec<Request> {
    let directory = Directory::new();
    let names: Vec<_> = (0..files_kib.len()).map(|n| format!("f{n}")).collect();
    for (name, kib) in names.iter().zip(files_kib) {
        let file = std::fs::File::create(directory.0.join(name)).unwrap();
        file.set_len(kib * K).unwrap();
    }
    let engine = match options {
        _ if options.contains("trim") => "null",
        _ if options.contains("libaio") => "libaio",
        _ => "psync",
    };
    let output = Command::new("fio")
        .current_dir(&directory.0)
        .args(["--name=case", "--write_iolog=log", "--thread", "--invalidate=0", "--runtime=2"])
        .arg(format!("--filename={}", names.join(":")))
        .arg(format!("--ioengine={engine}"))
        .args(options.split(' ').map(|option| format!("--{option}")))
        .output()
        .expect("this test compares with fio, which is not installed: see `make deps`");
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(directory.0.join("log")).unwrap();
    let requests = log.lines().skip(1).filter_map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let [_, name, action, offset, length] = words[..] else {
            return None;
        };
        let operation = match action {
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Trim,
            other => panic!("{options}: fio logged {other}"),
        };
        let file = names.iter().position(|n| n == name).unwrap() as u16;
        let (offset, length) = (offset.parse().unwrap(), length.parse().unwrap());
        Some(Request { offset, length, file, operation })
    });
    requests.collect()
}

/// Files of these sizes, grown to the size that the job needs.
fn laid_out(job: &Job, files_kib: &[u64]) -> Vec<Room> {
    let mut rooms: Vec<_> =
        files_kib.iter().map(|kib| Room { size_bytes: kib * K, block_bytes: 1 }).collect();
    for region in Stream::layout(job, &rooms).unwrap_or_default() {
        let room = &mut rooms[usize::from(region.file)];
        room.size_bytes = room.size_bytes.max(region.offset + region.length);
    }
    rooms
}

/// The requests of a stream, in small and large batches.
fn by_stream(job: &Job, files_kib: &[u64]) -> Vec<Request> {
    let rooms = laid_out(job, files_kib);
    let mut stream = Stream::new(job, &rooms, 0, 1).unwrap();
    let regions = stream.regions().to_vec();
    let none = Request::default();
    let mut all = Vec::new();
    for batch in [1, 2, 3, 5, 32].into_iter().cycle() {
        let mut requests = vec![none; batch];
        let made = stream.fill(&mut requests);
        all.extend_from_slice(&requests[..made]);
        assert!(all.len() < 1_000_000, "it does not end");
        if made < batch {
            break;
        }
    }
    assert_eq!(stream.fill(&mut [none]), 0);
    for request in &all {
        let region = regions[usize::from(request.file)];
        let end = request.offset + u64::from(request.length);
        assert!(
            request.offset >= region.offset && end <= region.offset + region.length,
            "{request:?} is not in {region:?}"
        );
    }
    all
}

fn bytes(requests: &[Request]) -> u64 {
    requests.iter().map(|request| u64::from(request.length)).sum()
}

/// True if fio exceeds the range of the job, as its last sequential block does if the file is
/// larger than `size`. A stream never does, so the two cannot be equal.
fn exceeds_range(theirs: &[Request], job: &Job, files_kib: &[u64]) -> bool {
    let stream = Stream::new(job, &laid_out(job, files_kib), 0, 1).unwrap();
    theirs.iter().any(|request| {
        let region = stream.regions()[usize::from(request.file)];
        request.offset + u64::from(request.length) > region.offset + region.length
    })
}

/// Describes the difference between fio and the stream, if there is any.
fn difference(options: &str, job: &Job, files_kib: &[u64], equal: Equal) -> Option<String> {
    let (mut theirs, mut ours) = (by_fio(options, files_kib), by_stream(job, files_kib));
    if exceeds_range(&theirs, job, files_kib) {
        return None;
    }
    let counts = |requests: &[Request]| (requests.len(), bytes(requests));
    let (their_counts, our_counts) = (counts(&theirs), counts(&ours));
    let same = match equal {
        Counts => their_counts == our_counts,
        Bytes => their_counts.1 == our_counts.1,
        NearlyBytes => their_counts.1.abs_diff(our_counts.1) < 64 * K,
        Order | Set | Places => {
            if equal == Places {
                for request in theirs.iter_mut().chain(&mut ours) {
                    request.operation = Operation::Read;
                }
            }
            if equal != Order {
                theirs.sort_unstable();
                ours.sort_unstable();
            }
            theirs == ours
        }
    };
    let show = |requests: &[Request]| {
        let list = requests.iter().take(60).map(|request| {
            let Request { offset, length, file, operation } = request;
            format!("{operation:?} {file}:{offset}+{length}")
        });
        list.collect::<Vec<_>>().join(", ")
    };
    (!same).then(|| {
        format!(
            "{options} on {files_kib:?}: fio {their_counts:?}, ours {our_counts:?}\n  fio: {}\n \
             ours: {}",
            show(&theirs),
            show(&ours)
        )
    })
}

pub(super) fn compare(cases: &[Case]) {
    let differences = cases.iter().filter_map(|(options, files_kib, equal, change)| {
        let mut job = Job::default();
        change(&mut job);
        difference(options, &job, files_kib, *equal)
    });
    let differences: Vec<_> = differences.collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

pub(super) fn rw(job: &mut Job, rw: Pattern, bs_kib: u64) {
    job.pattern.rw = rw;
    job.pattern.bs = PerDirection::all(BlockSize::Fixed(bs_kib * K));
}

pub(super) fn size(job: &mut Job, kib: u64) {
    job.space.size = Some(Amount::Bytes(kib * K));
}

/// Random jobs from a fixed seed.
#[test]
fn random_jobs_match_fio() {
    let mut rng = Rng::new(21);
    let mut found = Vec::new();
    for _ in 0..CASES {
        let mut job = Job::default();
        let names = ["read", "write", "trim", "rw", "trimwrite", "randread", "randrw", "randtrim"];
        let name = names[rng.below(8) as usize];
        let (_, pattern) = Pattern::ALL.into_iter().find(|(n, _)| *n == name).unwrap();
        let bs = [4, 8, 12, 16][rng.below(4) as usize];
        rw(&mut job, pattern, bs);
        // Trims go to fio's null engine, whose files have no size.
        let trims = pattern.has(Direction::Trim);
        let files: Vec<_> =
            (0..=rng.below(3)).map(|_| if trims { 0 } else { 4 + 2 * rng.below(100) }).collect();
        let mut options = format!("bs={bs}k");
        let mut step = String::new();
        let mut whole = true;
        let mut one_in = |n: u64| rng.below(n) == 0;
        let (sized, more, offset) = (one_in(2), one_in(3), one_in(4));
        let (loops, ios, stepped, zones, open) =
            (one_in(4), one_in(5), one_in(5), one_in(6), one_in(3));
        if sized || trims {
            let kib = files.len() as u64 * (16 + 2 * rng.below(80));
            size(&mut job, kib);
            options += &format!(" size={kib}k");
        }
        if more {
            let kib = 16 + 2 * rng.below(300);
            job.space.io_size = Some(Amount::Bytes(kib * K));
            options += &format!(" io_size={kib}k");
            whole = false;
        }
        if offset && sized {
            let kib = 2 * rng.below(20);
            job.space.offset = Amount::Bytes(kib * K);
            options += &format!(" offset={kib}k");
        } else if offset && !trims {
            let percent = rng.below(40);
            job.space.offset = Amount::Percent(percent as f64);
            options += &format!(" offset={percent}%");
        }
        if !trims && rng.below(2) == 0 {
            job.engine.ioengine = IoEngine::Libaio;
            options += " ioengine=libaio";
        }
        if loops {
            job.space.loops = 1 + rng.below(3);
            options += &format!(" loops={}", job.space.loops);
        }
        if ios && pattern != Pattern::TrimWrite {
            let n = 1 + rng.below(40);
            job.space.number_ios = Some(n);
            options += &format!(" number_ios={n}");
            whole = false;
        }
        if stepped && !pattern.is_random() && pattern != Pattern::ReadWrite {
            let n = 2 * (rng.below(17) as i64 - 8);
            job.pattern.rw_step = Some(n * 1024);
            step = format!(":{n}k");
        }
        if zones && files.len() == 1 && !pattern.is_random() {
            let (size, range) = (bs * (1 + rng.below(5)), bs * (1 + rng.below(5)));
            let skip = bs * rng.below(4);
            job.pattern.zonemode = crate::ZoneMode::Strided;
            job.pattern.zonesize = Some(size * K);
            job.pattern.zonerange = Some(range * K);
            job.pattern.zoneskip = skip * K;
            options +=
                &format!(" zonemode=strided zonesize={size}k zonerange={range}k zoneskip={skip}k");
        }
        if open {
            job.files.openfiles = Some(1 + rng.below(3) as u32);
            options += &format!(" openfiles={}", job.files.openfiles.unwrap());
        }
        let options = format!("rw={name}{step} {options}");
        let equal = match (pattern, pattern.is_random()) {
            (Pattern::ReadWrite, _) => Counts,
            (Pattern::RandRw, _) if whole => Places,
            (_, false) => Order,
            _ if whole => Set,
            _ => Counts,
        };
        if Stream::new(&job, &laid_out(&job, &files), 0, 1).is_ok() {
            found.extend(difference(&options, &job, &files, equal));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
