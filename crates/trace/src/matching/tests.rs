//! Events as from kernels, and their I/Os.

use super::*;
use crate::event::parse_rwbs;

/// `TIME STEP RWBS SECTOR SECTORS`, one a line.
fn ios(lines: &str) -> (Vec<Io>, u64) {
    let mut matcher = Matcher::default();
    let mut all = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [at, step, rwbs, sector, sectors] = words[..] else { panic!("{line}") };
        let (operation, flags) = parse_rwbs(rwbs.as_bytes());
        let step = match step {
            "Q" => Step::Queued,
            "D" => Step::Issued,
            "R" => Step::Requeued,
            _ => Step::Completed,
        };
        let at_ns = at.parse().unwrap();
        matcher.event(&Event {
            at_ns,
            device: 0,
            step,
            operation,
            flags,
            sector: sector.parse().unwrap(),
            sectors: sectors.parse().unwrap(),
            actor: Some(at_ns as u32),
        });
        matcher.take(|io| all.push(io));
    }
    matcher.end(|io| all.push(io));
    assert!(all.is_sorted_by_key(|io| io.at_ns));
    (all, matcher.unmatched())
}

fn split(queue: u64, device: u64) -> Latency {
    Latency::Split { queue, device }
}

/// Time, offset and length in sectors, latency.
fn brief(lines: &str) -> Vec<(u64, u64, u32, Latency)> {
    let (all, unmatched) = ios(lines);
    assert_eq!(unmatched, 0);
    all.iter().map(|io| (io.at_ns, io.offset / 512, io.length / 512, io.latency)).collect()
}

#[test]
fn the_first_of_several_attempts_counts() {
    let found = brief("10 Q RS 8 8\n 20 Q RS 8 8\n 30 D RS 8 8\n 90 C RS 8 8");
    assert_eq!(found, [(10, 8, 8, split(20, 60))]);
}

#[test]
fn merged_ones_are_one_and_split_ones_are_several() {
    let merged = "10 Q W 8 8\n 11 Q W 16 8\n 12 Q W 0 8\n 20 D W 0 24\n 50 C W 0 24";
    assert_eq!(brief(merged), [(10, 0, 24, split(10, 30))]);
    let split_in_two = "10 Q W 0 24\n 20 D W 0 16\n 30 D W 16 8\n 40 C W 16 8\n 50 C W 0 16";
    assert_eq!(brief(split_in_two), [(10, 16, 8, split(20, 10)), (10, 0, 16, split(10, 30))]);
    let in_parts = "10 Q R 0 24\n 20 D R 0 24\n 30 C R 0 8\n 50 C R 8 16";
    assert_eq!(brief(in_parts), [(10, 0, 24, split(10, 30))]);
}

/// As Linux 6.12 on NVMe with a volatile cache.
#[test]
fn flushes_are_matched_in_order() {
    let flush = "10 Q FWS 0 0\n 12 D FF 0 0\n 50 C FF 18446744073709551615 0\n 51 C WS 0 0";
    let (all, unmatched) = ios(flush);
    assert_eq!(unmatched, 0);
    let [io] = all[..] else { panic!("{all:?}") };
    assert_eq!((io.operation, io.offset, io.length), (Operation::Flush, 0, 0));
    assert_eq!((io.latency, io.actor), (split(2, 38), Some(10)));
    // With data: no request corresponds to the flush, and the write waits for it.
    let both = "10 Q FWS 8 8\n 12 D FF 0 0\n 50 C FF 18446744073709551615 0\n \
        52 D WS 8 8\n 60 C WS 8 8";
    let found: Vec<_> = ios(both).0.iter().map(|io| (io.operation, io.latency)).collect();
    assert_eq!(found, [(Operation::Write, split(42, 8)), (Operation::Flush, Latency::Device(38))]);
}

/// The kernel has one flush in progress, and serves all waiters by the next.
#[test]
fn flushes_asked_for_at_once_are_one() {
    let done = "C FF 18446744073709551615 0";
    let two = format!(
        "10 Q FWS 0 0\n 11 Q FWS 0 0\n 12 D FF 0 0\n 50 {done}\n 51 C WS 0 0\n 51 C WS 0 0\n \
         100 Q FWS 0 0\n 102 D FF 0 0\n 150 {done}\n 151 C WS 0 0"
    );
    assert_eq!(brief(&two), [(10, 0, 0, split(2, 38)), (100, 0, 0, split(2, 48))]);
}

#[test]
fn a_flush_does_not_end_the_write_of_the_first_sector() {
    let both = "10 Q W 0 8\n 11 D W 0 8\n 12 Q FWS 0 0\n 13 D FF 0 0\n \
        20 C FF 18446744073709551615 0\n 21 C WS 0 0\n 60 C W 0 8";
    assert_eq!(brief(both), [(10, 0, 8, split(1, 49)), (12, 0, 0, split(1, 7))]);
}

#[test]
fn a_block_read_twice_at_once_is_two() {
    let twice = "1 Q R 8 8\n 2 D R 8 8\n 3 Q R 8 8\n 4 D R 8 8\n 9 C R 8 8\n 11 C R 8 8";
    assert_eq!(brief(twice), [(1, 8, 8, split(1, 7)), (3, 8, 8, split(1, 7))]);
    // The oldest is completed first, though one that came later is at its place by then.
    let again = "1 Q R 8 8\n 2 D R 8 8\n 3 Q R 8 8\n 4 D R 8 8\n 9 C R 8 8\n 10 Q R 8 8\n \
        11 D R 8 8\n 12 C R 8 8\n 13 C R 8 8";
    assert_eq!(
        brief(again),
        [(1, 8, 8, split(1, 7)), (3, 8, 8, split(1, 8)), (10, 8, 8, split(1, 2))]
    );
    let requeued = "1 Q R 8 8\n 2 D R 8 8\n 3 R R 8 8\n 7 D R 8 8\n 9 C R 8 8";
    assert_eq!(brief(requeued), [(1, 8, 8, split(6, 2))]);
}

#[test]
fn unmatched_events_are_counted() {
    let (all, unmatched) = ios("1 C R 0 8\n 2 Q R 8 8\n 3 D R 8 8\n 4 Q W 8 8");
    assert_eq!(unmatched, 2);
    let [io] = all[..] else { panic!("{all:?}") };
    assert_eq!((io.at_ns, io.operation, io.latency), (2, Operation::Read, Latency::Unknown));
    let (all, unmatched) = ios("5 D R 8 8\n 9 C R 8 8");
    assert_eq!((all[0].latency, unmatched), (Latency::Device(4), 0));
    let attempts_alone = brief("1 Q R 0 8\n 2 Q W 0 8\n 3 Q R 0 8");
    assert_eq!(attempts_alone.len(), 3);
}

/// An I/O that never completes holds back a bounded number of others.
#[test]
fn memory_is_bounded() {
    let mut matcher = Matcher::default();
    let event = |at_ns, step, sector| Event {
        at_ns,
        device: 0,
        step,
        operation: Operation::Read,
        flags: Flags::default(),
        sector,
        sectors: 8,
        actor: None,
    };
    matcher.event(&event(1, Step::Queued, 0));
    matcher.event(&event(2, Step::Issued, 0));
    let mut given = 0;
    for n in 1..200_000 {
        matcher.event(&event(n * 10, Step::Queued, n * 8));
        matcher.event(&event(n * 10 + 1, Step::Issued, n * 8));
        matcher.event(&event(n * 10 + 2, Step::Completed, n * 8));
        if n % 1000 == 0 {
            matcher.take(|_| given += 1);
            assert!(matcher.finished.len() <= MOST_WAITING);
        }
    }
    matcher.end(|_| given += 1);
    assert_eq!((given, matcher.unmatched()), (200_000, 1));
    // blktrace -a queue, and -a issue.
    for step in [Step::Queued, Step::Issued] {
        let (mut matcher, mut given) = (Matcher::default(), 0);
        for n in 0..200_000 {
            matcher.event(&event(n, step, n % 8));
            if n % 1000 == 0 {
                matcher.take(|_| given += 1);
                assert!(matcher.queued.len() + matcher.in_flight.len() <= MOST_IN_FLIGHT);
            }
        }
        matcher.end(|_| given += 1);
        assert_eq!(given, 200_000);
    }
}
