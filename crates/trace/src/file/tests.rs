//! Tests round trips, file size and damage.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::{Actor, Flags, Io, Latency, Names, Operation};

fn names() -> Names {
    let mut names = Names::default();
    for name in ["nvme0n1", "nvme1n1", "vda"] {
        names.device(&Device { size_bytes: Some(1 << 40), ..Device::named(name) }).unwrap();
    }
    for pid in 0..40 {
        let process = (pid % 3 == 0).then(|| format!("fio {pid}"));
        names.actor(&Actor { pid: Some(pid), process, cgroup: None }).unwrap();
    }
    names
}

fn header() -> Header {
    let device = names().devices()[0].clone();
    Header { source: "tracefs".into(), tick_ns: 1, devices: vec![device], ..Header::default() }
}

fn written(ios: &[Io], chunk: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for ios in ios.chunks(chunk) {
        ios.iter().for_each(|io| writer.push(*io, &names()).unwrap());
        writer.lost(1);
        writer.flush(&names()).unwrap();
    }
    writer.end(&names(), 0, 3).unwrap().0
}

/// I/Os with names instead of numbers, the damage, and the ending.
type Read = (Vec<(Io, Device, Option<Actor>)>, Vec<TraceError>, Option<Ending>);

fn read(bytes: &[u8]) -> Result<Read, TraceError> {
    let mut reader = Reader::new(Cursor::new(bytes))?;
    let (mut ios, mut damage) = (Vec::new(), Vec::new());
    loop {
        match reader.next_chunk() {
            Ok(None) => break,
            Ok(Some(chunk)) => {
                let names = reader.names();
                ios.extend(chunk.ios.into_iter().map(|io| {
                    let actor = io.actor.map(|actor| names.actors()[actor as usize].clone());
                    let device = names.devices()[usize::from(io.device)].clone();
                    (Io { device: 0, actor: None, ..io }, device, actor)
                }));
            }
            Err(error) => damage.push(error),
        }
    }
    Ok((ios, damage, reader.ending().cloned()))
}

fn expected(ios: &[Io]) -> Vec<(Io, Device, Option<Actor>)> {
    let names = names();
    let named = |io: &Io| {
        let actor = io.actor.map(|actor| names.actors()[actor as usize].clone());
        let device = names.devices()[usize::from(io.device)].clone();
        let latency = io.latency.map(|ns| writer::rounded(ns, 1));
        (Io { device: 0, actor: None, latency, ..*io }, device, actor)
    };
    ios.iter().map(named).collect()
}

fn any_io() -> impl Strategy<Value = Io> {
    let latency = prop_oneof![
        Just(Latency::Unknown),
        any::<u64>().prop_map(Latency::Whole),
        any::<u64>().prop_map(Latency::Device),
        any::<(u64, u64)>().prop_map(|(queue, device)| Latency::Split { queue, device }),
    ];
    let offset = prop_oneof![any::<u64>(), (0..1_u64 << 28).prop_map(|block| block * 4096)];
    let gap = prop_oneof![0..100_000_u64, 0..1_u64 << 50];
    let kind = (0..5_usize, any::<u8>(), 0..3_u16, prop::option::of(0..40_u32));
    (gap, kind, offset, any::<u32>(), latency).prop_map(|(at_ns, kind, offset, length, latency)| {
        let operation = Operation::ALL[kind.0];
        let offset = if operation == Operation::Flush { 0 } else { offset };
        let (flags, device, actor) = (Flags::from_bits(kind.1), kind.2, kind.3);
        Io { at_ns, device, operation, flags, offset, length, latency, actor }
    })
}

/// In order of time: each counted from the one before.
fn any_ios() -> impl Strategy<Value = Vec<Io>> {
    prop::collection::vec(any_io(), 1..300).prop_map(|mut ios| {
        let mut now = 0;
        for io in &mut ios {
            now += io.at_ns;
            io.at_ns = now;
        }
        ios
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_ios_are_read_back(ios in any_ios(), chunk in 1..200_usize) {
        let bytes = written(&ios, chunk);
        let (read, damage, ending) = read(&bytes).unwrap();
        prop_assert!(damage.is_empty(), "{damage:?}");
        prop_assert_eq!(read, expected(&ios));
        let ending = ending.unwrap();
        prop_assert_eq!(ending.ios, ios.len() as u64);
        prop_assert_eq!(ending.lost, ios.chunks(chunk).count() as u64);
        prop_assert_eq!(ending.unmatched, 3);
        let index = Index::read(Cursor::new(&bytes)).unwrap();
        prop_assert_eq!(index.chunks.len(), ios.chunks(chunk).count());
        let cut = &bytes[..bytes.len() - 1];
        prop_assert_eq!(Index::read(Cursor::new(cut)).unwrap(), index);
    }

    /// Truncated anywhere, a trace is read up to its last whole chunk, and reports the truncation.
    #[test]
    fn truncation_is_reported(ios in any_ios(), at in any::<prop::sample::Index>()) {
        let bytes = written(&ios, 50);
        let cut = &bytes[..at.index(bytes.len())];
        let index = Index::read(Cursor::new(cut));
        match read(cut) {
            Ok((read, damage, ending)) => {
                prop_assert!(expected(&ios).starts_with(&read));
                let is_whole = damage.is_empty() && ending.is_some();
                prop_assert!(!is_whole || read.len() == ios.len());
                prop_assert!(index.unwrap().chunks.len() * 50 >= read.len());
            }
            Err(error) => prop_assert!(
                matches!(error, TraceError::NotATrace | TraceError::Damaged { .. }), "{error}"
            ),
        }
    }

    /// A flipped byte costs one chunk, and is reported.
    #[test]
    fn flipped_bytes_are_reported(
        ios in any_ios(), at in any::<prop::sample::Index>(), flip in 1..=255_u8,
    ) {
        let mut bytes = written(&ios, 50);
        // Not in the last 16, which a sequential reader does not need.
        let at = at.index(bytes.len() - 16);
        bytes[at] ^= flip;
        let _ = Index::read(Cursor::new(&bytes));
        if let Ok((read, damage, _)) = read(&bytes) {
            prop_assert_eq!(damage.len(), 1, "{:?}", damage);
            let missing = ios.len() - read.len();
            prop_assert!(missing <= 50, "{missing} missing");
            let all = expected(&ios);
            prop_assert!(read.iter().all(|io| all.contains(io)));
        }
    }

    #[test]
    fn noise_is_rejected(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&noise);
        let _ = read(&[&MAGIC[..], &noise].concat());
        let mut block = MAGIC.to_vec();
        block::write(&mut block, block::Kind::Header, b"{\"source\":\"a\",\"tick_ns\":1}").unwrap();
        block::write(&mut block, block::Kind::Chunk, &noise).unwrap();
        let (ios, damage, _) = read(&block).unwrap();
        prop_assert!(ios.is_empty() && damage.len() == 1);
    }
}

/// As many I/Os as a drive does in `count` / 100,000 s, at random over 1.92 TB.
fn random_ios(count: usize, latency: impl Fn(&mut fastrand::Rng) -> Latency) -> Vec<Io> {
    let mut random = fastrand::Rng::with_seed(20);
    let (mut ios, mut now) = (Vec::new(), 0.0);
    for _ in 0..count {
        now += -(1.0 - random.f64()).ln() * 10_000.0;
        ios.push(Io {
            at_ns: now as u64,
            offset: random.u64(0..1_920_383_410_176 / 4096) * 4096,
            length: 4096,
            latency: latency(&mut random),
            actor: Some(random.u32(0..8)),
            ..Io::default()
        });
    }
    ios
}

/// Sum of uniform numbers around `mean`.
fn around(random: &mut fastrand::Rng, mean: f64, deviation: f64) -> u64 {
    let sum: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    (mean + sum * deviation).max(0.0) as u64
}

#[test]
fn an_io_at_random_takes_nine_bytes() {
    let size = |ios: &[Io]| written(ios, CHUNK_IOS).len() as f64 / ios.len() as f64;
    let whole = size(&random_ios(2 * CHUNK_IOS, |random| {
        Latency::Whole(around(random, 80_000.0, 15_000.0))
    }));
    let split = size(&random_ios(2 * CHUNK_IOS, |random| Latency::Split {
        queue: around(random, 1_500.0, 300.0),
        device: around(random, 80_000.0, 15_000.0),
    }));
    assert!(whole <= 9.0 && split <= 9.0, "{whole:.2} bytes an I/O with latency, {split:.2} split");
}

#[test]
fn order_and_version_are_checked() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    writer.push(Io { at_ns: 5, ..Io::default() }, &names()).unwrap();
    let error = writer.push(Io { at_ns: 4, ..Io::default() }, &names()).unwrap_err();
    assert!(matches!(error, TraceError::Order { at_ns: 4, before_ns: 5 }));
    let mut later = written(&[Io::default()], 1);
    later[7] = 2;
    assert!(matches!(Reader::new(&later[..]), Err(TraceError::Version(2))));
    assert!(matches!(Reader::new(&b"fio version 3 iolog"[..]), Err(TraceError::NotATrace)));
    assert!(is_trace(&later) && !is_trace(b"IOTR"));
}

#[test]
fn latencies_are_rounded_by_at_most_two_thousandths() {
    for (ns, tick, to) in [
        (511, 1, 511),
        (1023, 1, 1024),
        (80_123, 1, 80_128),
        (26_000, 1000, 26_000),
        (26_001, 1000, 25_984),
        (u64::MAX, 1, u64::MAX >> 55 << 55),
    ] {
        assert_eq!(writer::rounded(ns, tick), to, "{ns}");
    }
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..10_000 {
        let ns = random.u64(..) >> random.u32(8..64);
        let error = writer::rounded(ns, 1).abs_diff(ns);
        assert!(error * 512 <= ns, "{ns}: {error}");
    }
}

#[test]
fn chunks_before_a_time_are_not_unpacked() {
    let io = |at_ns| Io { at_ns, length: 4096, ..Io::default() };
    let ios: Vec<Io> = (0..30).map(io).collect();
    let mut bytes = written(&ios, 10);
    let first = Index::read(Cursor::new(&bytes)).unwrap().chunks[0];
    // Its head stays unchanged, and the undecodable content has the right checksum.
    let at = first.at as usize;
    let length = block::Head::parse(bytes[at..at + 17].try_into().unwrap()).unwrap().length;
    let mut contents = bytes[at + 17..at + 17 + length as usize].to_vec();
    contents[chunk::HEAD_BYTES..].fill(0xff);
    let mut block = Vec::new();
    block::write(&mut block, block::Kind::Chunk, &contents).unwrap();
    bytes[at..at + block.len()].copy_from_slice(&block);
    let read = |from_ns| {
        let mut reader = Reader::new(Cursor::new(&bytes)).unwrap();
        reader.skip_before(from_ns);
        let (mut times, mut damaged) = (Vec::new(), 0);
        loop {
            match reader.next_chunk() {
                Ok(None) => return (times, damaged, reader.lost()),
                Ok(Some(chunk)) => times.extend(chunk.ios.iter().map(|io| io.at_ns)),
                Err(_) => damaged += 1,
            }
        }
    };
    // The chunk of 9 is read for it; its lost events are known from the ending only.
    assert_eq!(read(9), ((10..30).collect(), 1, 3));
    assert_eq!(read(10), ((10..30).collect(), 0, 2));
    assert_eq!(read(20), ((20..30).collect(), 0, 1));
    assert_eq!(read(30), (Vec::new(), 0, 0));
}

#[test]
fn damage_is_counted_and_a_missing_end_is_known() {
    let ios: Vec<Io> = (0..30).map(|at_ns| Io { at_ns, length: 4096, ..Io::default() }).collect();
    let whole = written(&ios, 10);
    let second = Index::read(Cursor::new(&whole)).unwrap().chunks[1].at as usize;
    let mut flipped = whole.clone();
    flipped[second + block::HEAD_BYTES] ^= 1;
    let found = |bytes: &[u8]| {
        let mut reader = Reader::new(bytes).unwrap();
        let mut ios = 0;
        while let Some(chunk) = reader.next_undamaged_chunk().unwrap() {
            assert!(!reader.is_cut());
            ios += chunk.ios.len();
        }
        (ios, reader.damaged(), reader.is_cut())
    };
    assert_eq!(found(&whole), (30, 0, false));
    assert_eq!(found(&flipped), (20, 1, false));
    // Between two chunks.
    assert_eq!(found(&whole[..second]), (10, 0, true));
}
