//! Traces with known properties, and their models.

use fastrand::Rng;
use iodyno_model::ModelLikeness;

use crate::{Device, Flags, Header, Io, Latency, Names, Operation, Reader, Writer};

const SECOND: u64 = 1_000_000_000;

/// Models these I/Os: size in bytes, generated I/Os, similarity.
fn modelled(ios: &[Io]) -> (usize, Vec<Io>, ModelLikeness) {
    let mut names = Names::default();
    names.device(&Device::named("nvme0n1"));
    names.device(&Device::named("nvme1n1"));
    let header = Header { source: "made".into(), seed: Some(7), ..Header::default() };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    ios.iter().for_each(|io| writer.push(*io, &names).unwrap());
    let (bytes, ending) = writer.end(&names, 0, 0).unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut made = Vec::new();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        made.extend(chunk.ios);
    }
    assert_eq!((made.len(), ending.ios), (ios.len(), ios.len() as u64));
    assert!(made.is_sorted_by_key(|io| io.at_ns));
    let likeness = reader.ending().unwrap().likeness.clone().unwrap();
    assert_eq!(Some(&likeness), ending.likeness.as_ref());
    (bytes.len(), made, likeness)
}

fn near(one: u64, other: u64, within: f64) -> bool {
    one.abs_diff(other) as f64 <= within * other as f64
}

/// Asserts the properties of every model.
fn check(ios: &[Io]) -> (usize, Vec<Io>, ModelLikeness) {
    let (bytes, made, likeness) = modelled(ios);
    assert_eq!(likeness.sizes, 0.0);
    assert!(likeness.rate < 0.001, "{}", likeness.rate);
    assert!(likeness.gaps < 0.05, "{}", likeness.gaps);
    let (trace, model) = (&likeness.trace, &likeness.model);
    assert!(near(model.simulated_p50_ns, trace.simulated_p50_ns, 0.1), "{likeness:?}");
    assert!(near(model.simulated_p99_ns, trace.simulated_p99_ns, 0.1), "{likeness:?}");
    (bytes, made, likeness)
}

fn zipf(rng: &mut Rng, most: u64) -> u64 {
    // Inverse of the integral of 1/x.
    ((most as f64).powf(rng.f64()) as u64).min(most - 1)
}

fn exponential(rng: &mut Rng, mean: f64) -> u64 {
    (-(1.0 - rng.f64()).ln() * mean) as u64
}

#[test]
fn zipf_reads_repeat_as_often() {
    let (mut rng, mut at_ns) = (Rng::with_seed(1), 0);
    let ios: Vec<Io> = (0..200_000)
        .map(|_| {
            at_ns += exponential(&mut rng, 50_000.0);
            let block = zipf(&mut rng, 1 << 20).wrapping_mul(0x9e37_79b9) % (1 << 20);
            Io {
                at_ns,
                offset: block * 4096,
                length: 4096,
                latency: Latency::Whole(9),
                ..Io::default()
            }
        })
        .collect();
    let (bytes, made, likeness) = check(&ios);
    assert!(likeness.again < 0.05, "{}", likeness.again);
    assert!(bytes < ios.len() / 2, "{bytes}");
    let distinct = |ios: &[Io]| {
        ios.iter().map(|io| io.offset).collect::<std::collections::HashSet<_>>().len() as u64
    };
    assert!(near(distinct(&made), distinct(&ios), 0.1), "{} {}", distinct(&made), distinct(&ios));
    assert!(made.iter().all(|io| io.offset % 4096 == 0 && io.end() <= 1 << 32));
}

#[test]
fn runs_stay_among_random_reads() {
    let (mut rng, mut at_ns, mut run) = (Rng::with_seed(2), 0, [0_u64; 2]);
    let ios: Vec<Io> = (0..100_000)
        .map(|_| {
            at_ns += exponential(&mut rng, 100_000.0);
            let io = Io { at_ns, length: 4096, ..Io::default() };
            if rng.u8(0..3) == 0 {
                return Io { offset: rng.u64(0..1 << 22) * 4096, ..io };
            }
            // Two readers of 64 KiB; each jumps after 256.
            let reader = &mut run[rng.usize(0..2)];
            if reader.is_multiple_of(256 << 16) {
                *reader = rng.u64(0..1 << 10) * (256 << 16);
            }
            *reader += 1 << 16;
            Io { offset: *reader - (1 << 16), length: 1 << 16, ..io }
        })
        .collect();
    let (_, _, likeness) = check(&ios);
    let (trace, model) = (likeness.trace.run, likeness.model.run);
    assert!((model / trace - 1.0).abs() < 0.02, "{model} {trace}");
}

#[test]
fn bursts_are_kept_and_options_cannot_keep_them() {
    let (mut rng, mut at_ns) = (Rng::with_seed(3), 0);
    let mut ios = Vec::new();
    for burst in 0..500 {
        at_ns = burst * SECOND / 50 + rng.u64(0..SECOND / 100);
        for _ in 0..200 {
            at_ns += exponential(&mut rng, 2000.0);
            ios.push(Io {
                at_ns,
                offset: rng.u64(0..1 << 20) * 16384,
                length: 16384,
                ..Io::default()
            });
        }
    }
    ios.sort_by_key(|io| io.at_ns);
    assert!(at_ns > 0);
    let (_, _, likeness) = check(&ios);
    assert!(likeness.options_p99_ns * 2 < likeness.trace.simulated_p99_ns, "{likeness:?}");
    for (trace, model) in likeness.trace.bursts.iter().zip(&likeness.model.bursts) {
        let differs = (model.dispersion - trace.dispersion).abs();
        assert!(differs <= 0.1 * trace.dispersion, "{trace:?} {model:?}");
    }
}

#[test]
fn a_log_keeps_its_order() {
    let (mut rng, mut at_ns) = (Rng::with_seed(4), 0);
    let mut ios = Vec::new();
    for n in 0..20_000 {
        at_ns += 100_000 + exponential(&mut rng, 200_000.0);
        let log = Io { at_ns, operation: Operation::Write, length: 4096, ..Io::default() };
        ios.push(Io { offset: n * 4096, flags: Flags::SYNC, ..log });
        at_ns += 30_000 + rng.u64(0..5000);
        ios.push(Io { at_ns, operation: Operation::Flush, length: 0, ..log });
    }
    let (_, made, _) = check(&ios);
    let alternates = made.windows(2).filter(|two| two[0].operation != two[1].operation).count();
    assert!(alternates as f64 > 0.97 * made.len() as f64, "{alternates} of {}", made.len());
    let behind: Vec<u64> = made
        .windows(2)
        .filter(|two| two[1].operation == Operation::Flush)
        .map(|two| two[1].at_ns - two[0].at_ns)
        .collect();
    let right = behind.iter().filter(|gap| (29_000..37_000).contains(*gap)).count();
    assert!(right as f64 > 0.9 * behind.len() as f64, "{right} of {}", behind.len());
    assert!(
        made.iter().filter(|io| io.operation == Operation::Write).is_sorted_by_key(|io| io.offset)
    );
}

#[test]
fn sizes_devices_and_slow_traces() {
    let mut rng = Rng::with_seed(5);
    let mut at_ns = 0;
    let ios: Vec<Io> = (0..50_000)
        .map(|n| {
            // A day's rate, in ten seconds.
            let rate = 1.0 + 0.8 * (at_ns as f64 / SECOND as f64 * 0.6).sin();
            at_ns += exponential(&mut rng, 200_000.0 / rate);
            let is_write = rng.u8(0..10) < 3;
            Io {
                at_ns,
                device: u16::from(n % 7 == 0),
                operation: if is_write { Operation::Write } else { Operation::Read },
                offset: rng.u64(0..1 << 16) * 65536,
                length: [4096, 8192, 65536][rng.usize(0..3)] << u32::from(is_write),
                ..Io::default()
            }
        })
        .collect();
    check(&ios);
    // One every ten minutes, times since 1970.
    let rare: Vec<Io> = (0..100)
        .map(|n| Io {
            at_ns: (1 << 60) + n * 600 * SECOND,
            offset: n << 40,
            length: 512,
            ..Io::default()
        })
        .collect();
    let (_, made, _) = modelled(&rare);
    assert!(made.iter().zip(&rare).all(|(a, b)| a.at_ns.abs_diff(b.at_ns) < 1000));
}

#[test]
fn damaged_models_are_refused() {
    let ios: Vec<Io> = (0..500)
        .map(|n| Io { at_ns: n * 50_000, offset: n % 9 * 8192, length: 4096, ..Io::default() })
        .collect();
    let mut names = Names::default();
    names.device(&Device::named("a"));
    let slices = super::Modeller::new(1).chunk(&ios, &names);
    let bytes = slices.encode();
    assert_eq!(super::Slices::decode(&bytes).as_ref(), Some(&slices));
    let mut rng = Rng::with_seed(9);
    for _ in 0..3000 {
        let mut other = bytes.clone();
        let at = rng.usize(0..other.len());
        other[at] ^= 1 << rng.u8(0..8);
        other.truncate(rng.usize(other.len() / 2..=other.len()));
        // Nothing panics, and there are never more I/Os than a chunk has.
        if let Some(slices) = super::Slices::decode(&other) {
            let made = super::Generator::new(1).expand(&slices, &mut Names::default());
            assert!(made.is_none_or(|(ios, _)| ios.len() <= crate::CHUNK_IOS));
        }
    }
}

/// A few bytes do not keep a reader busy: each slice and each symbol counts an I/O.
#[test]
fn a_model_of_more_rows_than_ios_is_refused() {
    let mut names = Names::default();
    names.device(&Device::named("a"));
    let one = super::Modeller::new(1).chunk(&[Io { length: 4096, ..Io::default() }], &names);
    let holds = |slices: &super::Slices| super::Slices::decode(&slices.encode()).is_some();
    assert!(holds(&one) && holds(&super::Slices::default()));
    let many = 1 << 18;
    for ios in [0, 1] {
        let mut slices = super::Slices { slices: vec![[0, 1, 0, 0, 0, 0]; many], ..one.clone() };
        slices.symbols = vec![[0, 0, 0]; many];
        slices.ios = ios;
        slices.entries.truncate(ios as usize);
        slices.slices[0][5] = ios;
        assert!(!holds(&slices));
    }
}

/// As many slices, classes and symbols as I/Os are valid.
#[test]
fn every_io_may_have_a_slice_and_a_symbol_of_its_own() {
    let ios: Vec<Io> = (0..crate::CHUNK_IOS as u64)
        .map(|n| Io { at_ns: n * SECOND / 100, length: n as u32 + 1, ..Io::default() })
        .collect();
    let (_, made, _) = modelled(&ios);
    assert!(made.iter().zip(&ios).all(|(made, io)| made.length == io.length));
}
