//! Checks that no request is outside the range of its job.

use std::collections::HashSet;

use iodyno_model::{Direction, PerDirection};
use proptest::prelude::*;

use super::super::{Room, Stream};
use super::properties::{all, any_job, job, room, take};
use crate::{
    Amount, Distribution, Extent, FileService, IoEngine, Job, Pattern, RandomGenerator, Sequencer,
    Zone, ZoneMode,
};

prop_compose! {
    /// A job with any combination of the options that shape offsets.
    fn any_shape()(
        mut job in any_job(),
        percents in prop::option::of((1u32..=100, 0u32..100)),
        increment in prop::option::of(0u64..40), offset_align in prop::option::of(1u64..9),
        clone in 0u32..4, append in prop::bool::weighted(0.1), io_percent in prop::option::of(1u32..=100),
        filesize in prop::option::weighted(0.2, (1u64..300, 0u64..100)),
        service in prop::sample::select(
            &[FileService::Random, FileService::RoundRobin, FileService::Sequential][..]),
        service_ios in 1u32..5, openfiles in prop::option::of(1u32..4),
        each_align in prop::option::of((1u64..20, 1u64..20, 1u64..20)),
        unaligned: bool, seq_rand: bool, identical: bool, fills in prop::bool::weighted(0.05),
        synchronous: bool, zoned in prop::option::weighted(0.1, (1u32..100, 1u32..100)),
        extents in prop::option::weighted(0.1, prop::collection::vec((0u64..300, 1u64..100), 1..4)),
    ) -> Job {
        if let Some((size, offset)) = percents {
            job.space.size = Some(Amount::Percent(size.into()));
            job.space.offset = Amount::Percent(offset.into());
        }
        if let Some(increment) = increment {
            job.space.offset_increment = Amount::Bytes(increment * 512);
        }
        if let Some(percent) = io_percent {
            job.space.io_size = Some(Amount::Percent(percent.into()));
        }
        job.space.offset_align = offset_align.map_or(0, |n| n * 512);
        job.threads.clone = clone;
        job.space.file_append = append;
        job.space.fill_device = fills;
        job.space.filesize = filesize.map(|(low, more)| (low * 512, (low + more) * 512));
        job.files.file_service_type = service;
        job.files.file_service_ios = service_ios;
        job.files.openfiles = openfiles;
        if let Some((read, write, trim)) = each_align {
            job.pattern.blockalign =
                Some(PerDirection { read: read * 512, write: write * 512, trim: trim * 512 });
        }
        job.pattern.bs_unaligned = unaligned;
        job.pattern.bs_is_seq_rand = seq_rand;
        if identical {
            job.pattern.rw_sequencer = Sequencer::Identical;
        }
        if synchronous {
            job.engine.ioengine = IoEngine::Psync;
        }
        if let Some((access, size)) = zoned {
            let (a, s) = (f64::from(access), f64::from(size));
            let zones = [(a, s), (100.0 - a, 100.0 - s)];
            let zones = zones.map(|(access_percent, size)| Zone { access_percent, size });
            job.pattern.random_distribution = PerDirection::all(Distribution::Zoned(zones.into()));
        }
        if let Some(extents) = &extents {
            let extents = extents.iter().map(|(offset, length)| Extent {
                offset: offset * 512,
                length: length * 512,
            });
            job.space.extents = extents.collect();
        }
        job
    }
}

/// The range of a file that the options of a job promise, computed independently of the stream.
fn promised(job: &Job, file_bytes: u64, files: usize) -> (u64, u64) {
    let smallest = job.pattern.bs.iter().map(|(_, bs)| bs.smallest()).min().unwrap();
    let mut start = match job.space.offset {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => (file_bytes as f64 * percent / 100.0) as u64,
    };
    start += match job.space.offset_increment {
        Amount::Bytes(bytes) => bytes * u64::from(job.threads.clone),
        Amount::Percent(_) => unreachable!("not made here"),
    };
    if matches!(job.space.offset, Amount::Percent(percent) if percent > 0.0) {
        let to = if job.space.offset_align > 0 { job.space.offset_align } else { smallest };
        start = start.next_multiple_of(to);
    }
    if job.space.file_append {
        start = file_bytes;
    }
    let end = match job.space.size {
        // Zones are apart: size is the amount of I/O in them.
        _ if job.pattern.zonemode == ZoneMode::Strided => file_bytes,
        _ if job.space.filesize.is_some() => file_bytes,
        // The remainder goes to the first files, a block each.
        Some(Amount::Bytes(bytes)) => {
            start + if files == 1 { bytes } else { bytes / files as u64 + smallest }
        }
        // Percent of the file, rounding included.
        Some(Amount::Percent(percent)) => {
            start + (file_bytes as f64 * percent / 100.0).ceil() as u64
        }
        None => file_bytes,
    };
    (start, end.min(file_bytes).max(start))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_request_is_outside_offset_and_size_whatever_shapes_it(
        mut job in any_shape(), files in 1usize..4, file_blocks in 1u64..500,
        direct: bool, threads in prop::option::weighted(0.2, 2u32..4), batches in 1usize..40,
    ) {
        job.threads.shared_by = threads.unwrap_or(1);
        let block_bytes = if direct { 512 } else { 1 };
        let size_bytes = file_blocks * 512 + 100;
        let rooms = vec![Room { size_bytes, block_bytes }; files];
        let (start, end) = promised(&job, size_bytes, files);
        for thread in 0..job.threads.shared_by {
            let Ok(mut stream) = Stream::new(&job, &rooms, thread, 7) else {
                return Ok(());
            };
            let regions = stream.regions().to_vec();
            let mut requests = Vec::new();
            // Also as used by a paced mix.
            requests.extend(stream.next_with((Direction::Read, Direction::Write)));
            for _ in 0..batches {
                requests.extend(take(&mut stream, 100));
            }
            for request in &requests {
                let last = request.offset + u64::from(request.length);
                prop_assert!(
                    request.offset >= start && last <= end,
                    "{:?} is not in {}..{}", request, start, end
                );
                let inside = regions.iter().any(|region| {
                    region.file == request.file
                        && request.offset >= region.offset
                        && last <= region.offset + region.length
                });
                prop_assert!(inside, "{:?} is not in {:?}", request, regions);
            }
        }
    }
}

#[test]
fn lfsr_with_blocks_that_overlap_stays_inside_and_takes_each_offset_once() {
    let mut job = job(Pattern::RandWrite, 16384);
    job.pattern.blockalign = Some(PerDirection::all(4096));
    job.pattern.random_generator = RandomGenerator::Lfsr;
    job.space.size = Some(Amount::Bytes(102_400));
    let requests = all(&job, &room(1 << 20));
    assert_eq!(requests.len(), 7, "as many as fio makes of other generators");
    let offsets: HashSet<_> = requests.iter().map(|request| request.offset).collect();
    assert_eq!(offsets.len(), 7);
    assert!(requests.iter().all(|request| request.offset % 4096 == 0));
    assert!(requests.iter().all(|request| request.offset + 16384 <= 102_400), "{requests:?}");
}

#[test]
fn a_sequence_ends_with_the_last_block_that_fits_its_size() {
    let mut job = job(Pattern::Write, 65536);
    job.space.size = Some(Amount::Bytes(102_400));
    job.space.offset = Amount::Bytes(65536);
    let requests = all(&job, &room(1 << 20));
    let written: Vec<_> = requests.iter().map(|io| (io.offset, io.length)).collect();
    assert_eq!(written, [(65536, 65536)], "fio would write up to 196608");
}
