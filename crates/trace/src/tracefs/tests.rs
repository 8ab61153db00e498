//! Pages from Linux 6.18: fio on a loop device, two processes, reads, writes and flushes.

use std::path::Path;

use proptest::prelude::*;
use rustix::io::Errno;

use super::layout::{EVENTS, Layout};
use super::page::{self, PageLayout};
use super::recorder::{Events, Options, Watched, is_empty};
use crate::{Device, Io, Latency, Operation};

const HEADER: &str = include_str!("../../tests/fixtures/tracefs/header_page");
const FORMATS: [&str; 4] = [
    include_str!("../../tests/fixtures/tracefs/block_bio_queue.format"),
    include_str!("../../tests/fixtures/tracefs/block_rq_issue.format"),
    include_str!("../../tests/fixtures/tracefs/block_rq_requeue.format"),
    include_str!("../../tests/fixtures/tracefs/block_rq_complete.format"),
];
const CPUS: [&[u8]; 2] = [
    include_bytes!("../../tests/fixtures/tracefs/cpu0.pages"),
    include_bytes!("../../tests/fixtures/tracefs/cpu1.pages"),
];

fn events(options: Options) -> Events {
    let layouts = FORMATS
        .iter()
        .zip(EVENTS)
        .map(|(text, (_, step))| Layout::parse(Path::new("format"), text, step).unwrap());
    let pages = PageLayout::parse(HEADER).unwrap();
    assert_eq!(pages.length, 4096);
    let watched = Watched { number: 7 << 20 | 1, device: Device::named("loop1") };
    Events::new(pages, layouts.collect(), &[watched], options)
}

fn recorded(options: Options) -> (Events, Vec<Io>) {
    let mut events = events(options);
    for page in CPUS.iter().flat_map(|cpu| cpu.chunks(4096)) {
        assert!(events.page(page).is_some());
    }
    let mut ios = Vec::new();
    events.end(|io| ios.push(io));
    assert!(ios.is_sorted_by_key(|io| io.at_ns));
    (events, ios)
}

/// The device's statistics: 126 reads of 1008 sectors, 117 writes of 912, 3 of which were the empty
/// ones that requested its 3 flushes.
#[cfg(target_endian = "little")]
#[test]
fn captured_pages_are_the_ios_that_the_device_counted() {
    let (events, ios) = recorded(Options::default());
    let count = |operation| ios.iter().filter(|io| io.operation == operation).count();
    let counts = [Operation::Read, Operation::Write, Operation::Flush].map(count);
    assert_eq!(counts, [126, 117 - 3, 3]);
    let bytes = |operation| -> u64 {
        let of = ios.iter().filter(|io| io.operation == operation);
        of.map(|io| u64::from(io.length)).sum()
    };
    assert_eq!([bytes(Operation::Read), bytes(Operation::Write)], [1008 * 512, 912 * 512]);
    assert_eq!((events.lost, events.matcher.unmatched()), (0, 0));
    let is_split = |io: &Io| matches!(io.latency, Latency::Split { device, .. } if device > 0);
    assert!(ios.iter().filter(|io| io.operation != Operation::Flush).all(is_split));
    assert!(ios.iter().all(|io| io.end() <= 64 << 20 && io.length % 4096 == 0));
    let who = |io: &Io| {
        let actor = &events.names.actors()[io.actor.unwrap() as usize];
        actor.process.clone().unwrap()
    };
    assert!(ios.iter().all(|io| who(io) == "fio" || io.operation == Operation::Flush));
}

#[cfg(target_endian = "little")]
#[test]
fn anonymous_traces_have_no_names_and_shifted_addresses() {
    let (_, plain) = recorded(Options::default());
    let (events, ios) = recorded(Options { shift: Some(1 << 30) });
    assert_eq!(ios.len(), plain.len());
    let places = ios.iter().zip(&plain).filter(|(io, _)| io.operation != Operation::Flush);
    for (io, plain) in places {
        assert_eq!((io.offset, io.length), (plain.offset + (1 << 30), plain.length));
    }
    let names = &events.names;
    assert_eq!(names.devices()[0].name, "disk0");
    assert!(names.actors().iter().all(|actor| actor.process.is_none()));
    assert!(names.actors().iter().all(|actor| actor.pid.is_some_and(|pid| pid < 8)));
}

/// As in Linux 6.1.
#[test]
fn fields_are_found_by_the_format_file() {
    let older = FORMATS[1]
        .replace("rwbs[10];\toffset:34;\tsize:10", "rwbs[8];\toffset:32;\tsize:8")
        .replace("field:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;\n", "");
    assert_ne!(older, FORMATS[1]);
    let layout = Layout::parse(Path::new("format"), &older, EVENTS[1].1).unwrap();
    let mut data = vec![0_u8; 64];
    data[8..12].copy_from_slice(&(259_u32 << 20 | 2).to_ne_bytes());
    data[16..24].copy_from_slice(&695_296_u64.to_ne_bytes());
    data[24..28].copy_from_slice(&8_u32.to_ne_bytes());
    data[32..35].copy_from_slice(b"WFS");
    let raw = layout.event(5, &data).unwrap();
    assert_eq!((raw.dev, raw.event.sector, raw.event.sectors), (259 << 20 | 2, 695_296, 8));
    assert_eq!(raw.event.operation, Operation::Write);
    let error = Layout::parse(Path::new("format"), &older.replace("sector_t", ""), EVENTS[1].1);
    assert!(error.is_ok());
    let error = Layout::parse(Path::new("format"), "ID: 7\n", EVENTS[1].1).unwrap_err();
    assert!(error.to_string().contains("common_pid"), "{error}");
    assert!(layout.event(5, &data[..20]).is_none());
}

/// A CPU that is possible and not online has a file and no ring buffer
/// (`ring_buffer_alloc_read_page`).
#[test]
fn a_cpu_that_is_offline_has_no_events() {
    let found = [Errno::AGAIN, Errno::NODEV, Errno::IO].map(|errno| is_empty(&errno.into()));
    assert_eq!(found, [true, true, false]);
}

#[test]
fn times_follow_the_ring_buffer() {
    let head = |kind: u32, delta: u32| (kind | delta << 5).to_ne_bytes();
    let data = |byte: u8| [byte; 4];
    let body = [
        head(1, 5).to_vec(),
        data(1).to_vec(),
        // 2^27 ns and more are stored in a separate word.
        head(30, 1).to_vec(),
        2_u32.to_ne_bytes().to_vec(),
        head(1, 7).to_vec(),
        data(2).to_vec(),
        // Discarded: it has a length.
        head(29, 1).to_vec(),
        8_u32.to_ne_bytes().to_vec(),
        data(9).to_vec(),
        // A length that includes itself.
        head(0, 1).to_vec(),
        8_u32.to_ne_bytes().to_vec(),
        data(3).to_vec(),
        head(31, 100).to_vec(),
        0_u32.to_ne_bytes().to_vec(),
        head(1, 1).to_vec(),
        data(4).to_vec(),
        head(29, 0).to_vec(),
    ]
    .concat();
    let above = 1_u64 << 59;
    let mut bytes = (above + 1000).to_ne_bytes().to_vec();
    let commit = body.len() as u64 | 1 << 31 | 1 << 30;
    bytes.extend(commit.to_ne_bytes());
    bytes.extend(&body);
    bytes.extend(4711_u64.to_ne_bytes());
    let mut found = Vec::new();
    let layout = PageLayout::parse(HEADER).unwrap();
    let lost = page::events(layout, &bytes, |at_ns, data| found.push((at_ns - above, data[0])));
    assert_eq!(lost, 4711);
    let far = 1 + (2 << 27);
    assert_eq!(found, [(1005, 1), (1012 + far, 2), (1014 + far, 3), (101, 4)]);
}

proptest! {
    #[test]
    fn damaged_pages_do_not_panic(
        at in any::<prop::sample::Index>(), with: u8, length in 0..4096_usize,
        noise in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut page = CPUS[0][..4096].to_vec();
        let at = at.index(page.len());
        page[at] = with;
        let mut events = events(Options::default());
        events.page(&page);
        events.page(&page[..length]);
        events.page(&noise);
        events.page(&[&page[..16], &noise[..]].concat());
        events.end(|_| {});
    }
}
