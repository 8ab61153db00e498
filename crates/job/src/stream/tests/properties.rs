//! Properties of all jobs.

use std::collections::HashSet;

use iodyno_model::{Direction, PerDirection};
use proptest::prelude::*;

use super::super::{PlannedWork, Region, Request, Room, Stream};
use crate::{Amount, BlockSize, Distribution, Extent, Job, Operation, Pattern, Zone};

pub(super) fn room(size_bytes: u64) -> [Room; 1] {
    [Room { size_bytes, block_bytes: 512 }]
}

pub(super) fn job(rw: Pattern, bs: u64) -> Job {
    let mut job = Job::default();
    job.pattern.rw = rw;
    job.pattern.bs = PerDirection::all(BlockSize::Fixed(bs));
    job
}

/// The next `count` requests, or all that are left.
pub(super) fn take(stream: &mut Stream, count: usize) -> Vec<Request> {
    let mut requests = vec![Request::default(); count];
    let made = stream.fill(&mut requests);
    requests.truncate(made);
    requests
}

pub(super) fn all(job: &Job, rooms: &[Room]) -> Vec<Request> {
    let mut stream = Stream::new(job, rooms, 0, 0).unwrap();
    let requests = take(&mut stream, 1_000_000);
    assert!(requests.len() < 1_000_000, "it does not end");
    requests
}

fn bytes(requests: &[Request]) -> u64 {
    requests.iter().map(|request| u64::from(request.length)).sum()
}

const EVERY: [Pattern; 10] = [
    Pattern::Read,
    Pattern::Write,
    Pattern::Trim,
    Pattern::ReadWrite,
    Pattern::RandRead,
    Pattern::RandWrite,
    Pattern::RandTrim,
    Pattern::RandRw,
    Pattern::TrimWrite,
    Pattern::RandTrimWrite,
];

fn any_pattern() -> impl Strategy<Value = Pattern> {
    prop::sample::select(&EVERY[..])
}

fn any_bs() -> impl Strategy<Value = BlockSize> {
    prop_oneof![
        (1u64..9).prop_map(|n| BlockSize::Fixed(n * 512)),
        (1u64..5, 1u64..9)
            .prop_map(|(low, n)| BlockSize::Range { low: low * 512, high: low * n * 512 }),
        (1u64..9, 1u64..9, 1u32..100).prop_map(|(a, b, p)| {
            let p = f64::from(p);
            BlockSize::Split(vec![(a * 512, p), (b * 512, 100.0 - p)])
        }),
    ]
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    let center = || prop::option::of(0.0..1.0);
    let zones =
        vec![Zone { access_percent: 60.0, size: 10.0 }, Zone { access_percent: 40.0, size: 90.0 }];
    prop_oneof![
        4 => Just(Distribution::Random),
        1 => (0.1..0.95, center()).prop_map(|(theta, center)| Distribution::Zipf { theta, center }),
        1 => (0.01..0.99, center()).prop_map(|(h, center)| Distribution::Pareto { h, center }),
        1 => (0.0..100.0, center())
            .prop_map(|(deviation, center)| Distribution::Normal { deviation, center }),
        1 => Just(Distribution::Zoned(zones)),
    ]
}

prop_compose! {
    pub(super) fn any_job()(
        rw in any_pattern(), bs in any_bs(), unlike in prop::option::of(any_bs()),
        distribution in any_distribution(), norandommap: bool, lfsr: bool,
        size in prop::option::of(10u64..400), io_size in prop::option::of(1u64..800),
        offset in 0u64..50, percent in 0u32..=100, random_percent in 0u32..=100,
        step in prop::option::of(-8i64..8), seed: u64, loops in 1u64..4,
        number_ios in prop::option::of(1u64..300), zone in prop::option::of((1u64..60, 1u64..60, 0u64..9)),
        time_based: bool, align in prop::option::of(1u64..20),
    ) -> Job {
        let mut job = Job::default();
        job.pattern.rw = rw;
        job.pattern.bs = PerDirection::all(bs);
        if let Some(unlike) = unlike {
            job.pattern.bs.write = unlike;
        }
        job.pattern.random_distribution = PerDirection::all(distribution);
        job.pattern.norandommap = norandommap;
        if lfsr {
            job.pattern.random_generator = crate::RandomGenerator::Lfsr;
        }
        job.space.size = size.map(|n| Amount::Bytes(n * 512));
        job.space.io_size = io_size.map(|n| Amount::Bytes(n * 512));
        job.space.offset = Amount::Bytes(offset * 512);
        job.space.loops = loops;
        job.space.number_ios = number_ios;
        job.pattern.rwmixread_percent = percent;
        job.pattern.percentage_random = PerDirection::all(random_percent);
        job.pattern.rw_step = step.map(|n| if rw.is_random() { n.abs() } else { n * 512 });
        job.pattern.randseed = seed;
        if let Some((size, range, skip)) = zone {
            job.pattern.zonemode = crate::ZoneMode::Strided;
            job.pattern.zonesize = Some(size * 512);
            job.pattern.zonerange = Some(range * 512);
            job.pattern.zoneskip = skip * 512;
        }
        job.pattern.blockalign = align.map(|n| PerDirection::all(n * 512));
        job.time.time_based = time_based;
        job
    }
}

/// More requests than any job has: 3 files of 500 blocks 3 times, with a trim before each write.
const MOST: usize = 10_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_job_stays_in_its_region_and_ends_when_asked(
        job in any_job(), files in 1usize..4, file_blocks in 1u64..500,
    ) {
        let rooms = vec![Room { size_bytes: file_blocks * 512 + 100, block_bytes: 512 }; files];
        let Ok(mut stream) = Stream::new(&job, &rooms, 0, 0) else {
            return Ok(());
        };
        let regions = stream.regions().to_vec();
        let requests = take(&mut stream, MOST);
        for request in &requests {
            let Region { offset, length, .. } = regions[usize::from(request.file)];
            prop_assert!(request.length > 0);
            prop_assert!(request.offset.is_multiple_of(512));
            prop_assert!(request.length.is_multiple_of(512));
            let direction = request.operation.direction().unwrap();
            prop_assert!(job.pattern.rw.has(direction), "{:?}", request);
            prop_assert!(
                request.offset >= offset
                    && request.offset + u64::from(request.length) <= offset + length,
                "{:?} is not in {}+{}", request, offset, length
            );
        }
        if !job.time.time_based {
            let largest = job.pattern.bs.iter().map(|(_, bs)| bs.largest()).max().unwrap();
            let whole = 512 * (file_blocks + 1) * files as u64;
            let size = job.space.size.map_or(whole, |size| size.of(0));
            let most = job.space.io_size.map_or(size, |size| size.of(0)) * job.space.loops + largest;
            prop_assert!(requests.len() < MOST, "it does not end");
            // Trims before writes are extra.
            let pairs = matches!(job.pattern.rw, Pattern::TrimWrite | Pattern::RandTrimWrite);
            let counted: Vec<_> = requests
                .iter()
                .filter(|request| !(pairs && request.operation == Operation::Trim))
                .copied()
                .collect();
            prop_assert!(bytes(&counted) <= most);
            let twice = if pairs { 2 } else { 1 };
            let ios = job.space.number_ios.map_or(u64::MAX, |n| n * job.space.loops * twice);
            prop_assert!(requests.len() as u64 <= ios);
        }
    }

    #[test]
    fn every_block_is_visited_once_before_any_repeats(
        blocks in 1u64..3000, seed: u64, batch in 1usize..70, rounds in 1usize..4,
        rw in prop::sample::select(&[Pattern::RandWrite, Pattern::RandTrim, Pattern::RandRw][..]),
    ) {
        let mut job = job(rw, 4096);
        job.pattern.randseed = seed;
        job.time.time_based = true;
        let mut stream = Stream::new(&job, &room(blocks * 4096 + 1000), 0, 0).unwrap();
        prop_assert_eq!(stream.planned(), None);
        let mut requests = Vec::new();
        while requests.len() < blocks as usize * rounds {
            requests.extend(take(&mut stream, batch));
        }
        for round in requests.chunks_exact(blocks as usize) {
            let seen: HashSet<_> = round.iter().map(|request| request.offset).collect();
            prop_assert_eq!(seen.len() as u64, blocks);
            prop_assert!(seen.iter().all(|offset| offset % 4096 == 0 && offset / 4096 < blocks));
        }
    }

    #[test]
    fn blocks_of_all_sizes_cover_the_region_once(
        bs in any_bs(), seed: u64, bytes_asked in 40_000u64..200_000,
    ) {
        let mut job = Job::default();
        job.pattern.rw = Pattern::RandWrite;
        job.pattern.bs = PerDirection::all(bs.clone());
        job.pattern.randseed = seed;
        let requests = all(&job, &room(bytes_asked));
        let smallest = bs.smallest();
        let mut had = HashSet::new();
        for request in &requests {
            for block in 0..u64::from(request.length) / smallest {
                prop_assert!(had.insert(request.offset / smallest + block));
            }
        }
        prop_assert_eq!(had.len() as u64, bytes_asked / smallest);
    }

    #[test]
    fn threads_together_cover_what_one_does(
        blocks in 8u64..3000, threads in 1u32..8, seed: u64, random: bool, cut: bool,
    ) {
        let mut job = job(if random { Pattern::RandRead } else { Pattern::Read }, 4096);
        job.pattern.randseed = seed;
        job.threads.shared_by = threads;
        let half = blocks / 2;
        let mut size = blocks * 4096 + 100;
        if cut {
            job.space.extents = vec![
                Extent { offset: 4096, length: half * 4096 },
                Extent { offset: (half + 3) * 4096, length: (blocks - half) * 4096 + 100 },
            ];
            size += 3 * 4096;
        }
        let mut seen = HashSet::new();
        for thread in 0..threads {
            let mut stream = Stream::new(&job, &room(size), thread, 9).unwrap();
            let regions = stream.regions().to_vec();
            for request in take(&mut stream, 10_000) {
                prop_assert!(seen.insert(request.offset), "{}", request.offset);
                let inside = regions.iter().any(|region| {
                    request.offset >= region.offset
                        && request.offset + 4096 <= region.offset + region.length
                });
                prop_assert!(inside);
            }
        }
        prop_assert_eq!(seen.len() as u64, blocks);
    }

    #[test]
    fn plans_are_kept(
        rw in any_pattern(), size in 1u64..400, io_size in prop::option::of(1u64..900),
        loops in 1u64..4, number_ios in prop::option::of(1u64..500), file in 200u64..900,
    ) {
        let mut job = job(rw, 4096);
        job.space.size = Some(Amount::Bytes(size * 4096));
        if !rw.has(Direction::Trim) {
            job.space.io_size = io_size.map(|n| Amount::Bytes(n * 4096));
        }
        job.space.loops = loops;
        job.space.number_ios = number_ios;
        let stream = Stream::new(&job, &room(file * 4096), 0, 0).unwrap();
        let made = all(&job, &room(file * 4096));
        if let Some(PlannedWork { ios, bytes: planned }) = stream.planned() {
            prop_assert_eq!((ios, planned), (made.len() as u64, bytes(&made)));
        } else {
            prop_assert_eq!(rw, Pattern::ReadWrite);
        }
    }
}

#[test]
fn mixes_are_as_asked() {
    // 100 000 draws: six standard deviations are at most 950.
    for percent in [0u32, 1, 30, 50, 70, 99, 100] {
        for rw in [Pattern::RandRw, Pattern::ReadWrite] {
            let mut job = job(rw, 4096);
            job.pattern.rwmixread_percent = percent;
            job.time.time_based = true;
            let mut stream = Stream::new(&job, &room(1 << 40), 0, 0).unwrap();
            let requests = take(&mut stream, 100_000);
            let reads = requests.iter().filter(|r| r.operation == Operation::Read).count();
            let p = f64::from(percent) / 100.0;
            let bound = 6.0 * (100_000.0 * p * (1.0 - p)).sqrt() + 0.5;
            assert!((reads as f64 - 100_000.0 * p).abs() < bound, "{percent}: {reads}");
        }
    }
}

/// Another run of limited time reads the blocks that a run of limited time wrote, and no others.
#[test]
fn rounds_of_verifying_jobs_repeat() {
    let rounds = |change: &dyn Fn(&mut Job)| {
        let mut job = job(Pattern::RandWrite, 4096);
        job.engine.ioengine = crate::IoEngine::Libaio;
        job.time.time_based = true;
        change(&mut job);
        let mut stream = Stream::new(&job, &room(500 * 4096), 0, 1).unwrap();
        [(); 3].map(|()| take(&mut stream, 500))
    };
    for norandommap in [false, true] {
        let verifies = |job: &mut Job| {
            job.verify.method = crate::VerifyMethod::Md5;
            job.pattern.norandommap = norandommap;
        };
        let [first, second, third] = rounds(&verifies);
        assert!(first == second && second == third, "{norandommap}");
        let [first, second, _] = rounds(&|job| job.pattern.norandommap = norandommap);
        assert_ne!(first, second, "{norandommap}");
        let [first, second, _] = rounds(&|job| {
            verifies(job);
            job.pattern.randrepeat = false;
        });
        assert_ne!(first, second, "{norandommap}");
    }
}

#[test]
fn equal_seeds_repeat_and_others_differ() {
    let offsets = |change: fn(&mut Job), entropy| {
        let mut job = job(Pattern::RandRead, 4096);
        change(&mut job);
        let mut stream = Stream::new(&job, &room(1 << 40), 0, entropy).unwrap();
        take(&mut stream, 1000)
    };
    let first = offsets(|_| {}, 1);
    assert_eq!(first, offsets(|_| {}, 2));
    let same = |other: Vec<Request>| first.iter().zip(other).filter(|(a, b)| **a == *b).count();
    assert!(same(offsets(|job| job.threads.number = 1, 1)) < 5);
    assert!(same(offsets(|job| job.pattern.randseed = 1, 1)) < 5);
    assert!(same(offsets(|job| job.pattern.randrepeat = false, 1)) < 5);
    let unlike = |entropy| offsets(|job| job.pattern.randrepeat = false, entropy);
    assert_ne!(unlike(1), unlike(2));
    assert_eq!(unlike(1), unlike(1));
}

#[test]
fn a_huge_device_is_covered_to_its_end() {
    let bytes = 100_000_000_000_000;
    for norandommap in [false, true] {
        let mut job = job(Pattern::RandRead, 512);
        job.pattern.norandommap = norandommap;
        let mut stream = Stream::new(&job, &room(bytes), 0, 0).unwrap();
        let requests = take(&mut stream, 100_000);
        let last = requests.iter().map(|request| request.offset).max().unwrap();
        assert!(last > bytes / 1000 * 999 && last + 512 <= bytes);
    }
}

#[test]
fn clones_start_where_offset_increment_says() {
    let mut job = job(Pattern::Read, 4096);
    job.space.offset = Amount::Percent(10.0);
    job.space.offset_increment = Amount::Percent(20.0);
    job.threads.clone = 2;
    let requests = all(&job, &room(1_000_000));
    // Half of it, up to the next whole block.
    assert_eq!(requests[0].offset, 503_808);
}

#[test]
fn errors_say_what_does_not_fit() {
    type Change = fn(&mut Job);
    let cases: [(Change, &str); 11] = [
        (|job| job.pattern.bs = PerDirection::all(BlockSize::Fixed(1000)), "multiples of 512"),
        (|job| job.pattern.bs = PerDirection::all(BlockSize::Fixed(0)), "bs=0"),
        (|job| job.pattern.bs = PerDirection::all(BlockSize::Fixed(1 << 31)), "1 GiB"),
        (|job| job.space.size = Some(Amount::Bytes(100)), "larger size"),
        (|job| job.space.offset = Amount::Bytes(1 << 30), "file 0 has 1048576 bytes"),
        (|job| job.space.offset = Amount::Bytes(100), "multiples of 512"),
        (|job| job.threads.shared_by = 257, "256 blocks"),
        (|job| job.threads.shared_by = 0, "thread 0"),
        (|job| job.pattern.rw_step = Some(100), "rw=read:100"),
        (|job| job.space.extents = vec![Extent { offset: 100, length: 4096 }], "multiple of 512"),
        (|job| job.space.extents = vec![Extent { offset: 0, length: u64::MAX }], "within 1048576"),
    ];
    for (change, expected) in cases {
        let mut job = Job::default();
        change(&mut job);
        let said = Stream::new(&job, &room(1 << 20), 0, 0).map(|_| ()).unwrap_err();
        assert!(said.0.contains(expected), "{said}");
    }
    assert!(Stream::new(&Job::default(), &[], 0, 0).is_err());
}
