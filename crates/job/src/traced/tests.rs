//! Tests of replaying traces with known I/Os.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Cursor;

use iodyno_model::PackedAddresses;
use proptest::prelude::*;

use super::piece_map::TouchedPieces;
use super::*;
use crate::{Job, Pattern};

/// A trace in Microsoft Research's format; rows of (time in ms, disk, operation, offset, length,
/// latency in us).
fn trace(rows: &[(u64, u32, &str, u64, u32, u64)]) -> Traced {
    let mut text = String::new();
    for (ms, disk, operation, offset, length, us) in rows {
        let time = 128_166_372_003_061_629 + ms * 10_000;
        let _ = writeln!(text, "{time},h,{disk},{operation},{offset},{length},{}", us * 10);
    }
    Traced::open(vec![Box::new(Cursor::new(text))]).unwrap()
}

/// A trace in fio's format, which has trims and syncs.
fn iolog(lines: &str) -> Traced {
    let text = format!("fio version 3 iolog\n0 d add\n{lines}");
    Traced::open(vec![Box::new(Cursor::new(text))]).unwrap()
}

const ALL: [u64; 2] = [0, u64::MAX];
const ROWS: &[(u64, u32, &str, u64, u32, u64)] = &[
    (0, 0, "Write", 4096, 4096, 900),
    (1, 1, "Read", 0, 8192, 2500),
    (2, 0, "Read", 10_000_384, 512, 100),
    (10, 0, "Read", 4096, 4096, 100),
];

fn job() -> Job {
    let mut job = Job::direct();
    job.files.paths = vec!["target".into()];
    job
}

fn trace_replay(job: &Job) -> TraceReplay {
    job.replay.trace.as_deref().cloned().unwrap()
}

/// The job that replays the trace, and all of its I/Os.
fn replayed(
    again: impl Fn() -> Traced,
    [from_ns, until_ns]: [u64; 2],
    skip: [bool; 4],
    room_bytes: Option<u64>,
    packs: bool,
    change: impl Fn(&mut TraceSurvey),
) -> Result<(Job, Vec<TracedIo>), PlacementError> {
    let mut found = survey(again(), [from_ns, until_ns], skip, 4096).unwrap();
    found.trace.speed_percent = 100;
    change(&mut found);
    let mut job = job();
    found.apply_to(&mut job, room_bytes, packs)?;
    let mut ios = TracedIos::new(again(), trace_replay(&job), 512).unwrap();
    let ios = std::iter::from_fn(|| ios.next_io().unwrap()).collect();
    Ok((job, ios))
}

#[test]
fn devices_stand_one_behind_the_other() {
    let (job, ios) = replayed(|| trace(ROWS), ALL, [false; 4], None, false, |_| {}).unwrap();
    // The first device ends at 10,002,432 in blocks of 4 KiB; the next begins at a MiB.
    let second = 10 << 20;
    let at: Vec<_> = ios.iter().map(|io| (io.request.offset, io.request.length)).collect();
    assert_eq!(at, [(4096, 4096), (second, 8192), (10_000_384, 512), (4096, 4096)]);
    let times: Vec<_> = ios.iter().map(|io| (io.at_ns / 1_000_000, io.latency_ns)).collect();
    assert_eq!(times, [(0, 900_000), (1, 2_500_000), (2, 100_000), (10, 100_000)]);
    assert_eq!(job.replay.ends, [second + 8192]);
    assert_eq!((job.pattern.rw, job.largest_block()), (Pattern::ReadWrite, 8192));
    let replayed = &job.replay.trace.as_ref().unwrap().trace;
    assert_eq!((replayed.ios.reads, replayed.ios.writes, replayed.span_ns), (3, 1, 10_000_000));
    assert_eq!((replayed.read_bytes, replayed.write_bytes), (16_384, 4096));
    let devices: Vec<_> =
        replayed.devices.iter().map(|device| (&*device.name, device.at_bytes)).collect();
    assert_eq!(devices, [("h.0", 0), ("h.1", second)]);
}

#[test]
fn a_slice_begins_at_its_first_io_and_time_passes_faster() {
    let slice = [1_000_000, 10_000_000];
    let (_, ios) = replayed(
        || trace(ROWS),
        slice,
        [false; 4],
        None,
        false,
        |survey| survey.trace.speed_percent = 200,
    )
    .unwrap();
    assert_eq!(ios.iter().map(|io| io.at_ns).collect::<Vec<_>>(), [0, 500_000]);
    let none = replayed(|| trace(ROWS), [20_000_000, u64::MAX], [false; 4], None, false, |_| {});
    assert_eq!(none.unwrap_err(), PlacementError::Nothing("it holds no I/O in this time"));
}

#[test]
fn what_is_left_out_is_counted() {
    let skip = [false, true, true, true];
    let (job, ios) = replayed(|| trace(ROWS), ALL, skip, None, false, |_| {}).unwrap();
    assert!(ios.iter().all(|io| io.request.operation == Operation::Read));
    assert_eq!((ios.len(), job.pattern.rw, job.writes()), (3, Pattern::Read, false));
    assert_eq!(job.replay.trace.unwrap().trace.left_out.writes, 1);
    let writes = || trace(&ROWS[..1]);
    let none = replayed(writes, ALL, skip, None, false, |_| {}).unwrap_err();
    assert_eq!(none, PlacementError::Nothing("all of its I/Os are left out"));
}

#[test]
fn a_target_that_is_too_small_is_refused_and_says_what_to_type() {
    let refused = replayed(|| trace(ROWS), ALL, [false; 4], Some(10 << 20), false, |_| {});
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("reach 10.5 MB") && message.contains("--scale-addresses"),
        "{message}"
    );
    let refused = replayed(|| trace(ROWS), ALL, [false; 4], Some(1 << 19), true, |_| {});
    assert_eq!(refused.unwrap_err(), PlacementError::TooSmall(2 << 20));
}

#[test]
fn blocks_of_the_target_are_whole_and_discards_cover_no_more() {
    let lines = "0 d write 512 512\n1 d trim 1000 9000\n2 d trim 512 4096\n3 d sync\n";
    let mut found = survey(iolog(lines), ALL, [false; 4], 4096).unwrap();
    found.trace.speed_percent = 100;
    let mut job = job();
    found.apply_to(&mut job, None, false).unwrap();
    let mut of_4k = TracedIos::new(iolog(lines), trace_replay(&job), 4096).unwrap();
    let mut next = || of_4k.next_io().unwrap().map(|io| (io.request.offset, io.request.length));
    assert_eq!(
        [next(), next(), next(), next()],
        [Some((0, 4096)), Some((4096, 4096)), Some((0, 0)), None]
    );
    assert_eq!(of_4k.discards_left_out, 1);
    assert!(TracedIos::new(iolog(lines), trace_replay(&job), 8192).is_err());
}

#[test]
fn discards_of_what_is_not_touched_have_no_place() {
    let lines = "0 d write 104857600 4096\n1 d trim 104857600 9437184\n2 d trim 0 4096\n";
    let again = || iolog(lines);
    let mut found = survey(again(), ALL, [false; 4], 4096).unwrap();
    found.trace.speed_percent = 100;
    let mut job = job();
    found.apply_to(&mut job, Some(64 << 20), true).unwrap();
    let mut ios = TracedIos::new(again(), trace_replay(&job), 4096).unwrap();
    let next = |ios: &mut TracedIos| {
        ios.next_io().unwrap().map(|io| (io.request.offset, io.request.length))
    };
    assert_eq!([next(&mut ios), next(&mut ios)], [Some((0, 4096)), Some((0, 1 << 20))]);
    assert_eq!((next(&mut ios), ios.discards_left_out), (None, 1));
}

#[test]
fn pieces_grow_where_there_are_too_many() {
    let mut touched = TouchedPieces::default();
    let apart = |n: u64| n << 40;
    (0..200_000).for_each(|n| touched.note(0, apart(n), 4096));
    let places = touched.packed(None, 4096).unwrap();
    let PackedAddresses { piece_bytes, pieces, places: all } = places.summary();
    assert!(piece_bytes > 1 << 20 && pieces == 200_000 && all == pieces);
    let at = |n| places.place(0, apart(n), 4096).unwrap();
    assert!((1..200_000).all(|n| at(n).0 > at(n - 1).0));
}

proptest! {
    /// Touched pieces keep their order, runs and reuse, and stay inside the target.
    #[test]
    fn packing_keeps_order_runs_and_reuse(
        ios in prop::collection::vec((0u16..3, 0u64..4000, 1u64..600), 1..200),
        room_mib in prop::option::of(4u64..60),
    ) {
        const BLOCK: u64 = 4096;
        let ios: Vec<_> = ios.into_iter()
            .map(|(device, at, blocks)| (device, at * 37 * BLOCK, blocks * BLOCK)).collect();
        let mut touched = TouchedPieces::default();
        ios.iter().for_each(|(device, offset, length)| touched.note(*device, *offset, *length));
        let places = touched.packed(room_mib.map(|mib| mib << 20), 600 << 12).unwrap();
        let PackedAddresses { pieces, places: room, .. } = places.summary();
        prop_assert!(places.bytes() <= room_mib.map_or(u64::MAX, |mib| mib << 20));
        let mut by_place: BTreeMap<(u16, u64), u64> = BTreeMap::new();
        for (device, offset, length) in &ios {
            let (start, moved) = places.place(*device, *offset, *length).unwrap();
            prop_assert_eq!(moved, *length);
            prop_assert!(start + moved <= places.bytes() && start % BLOCK == 0);
            // The same address has the same place each time.
            let known = by_place.insert((*device, *offset), start);
            prop_assert!(known.is_none_or(|known| known == start));
        }
        let starts: Vec<u64> = by_place.values().copied().collect();
        if room == pieces {
            prop_assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "the order is kept");
            prop_assert_eq!(starts.iter().collect::<BTreeSet<_>>().len(), starts.len());
        }
    }
}
