use std::collections::HashSet;
use std::io::Write;

use iodyno_job::{Contents, DedupeMode};
use proptest::prelude::*;

use super::*;

const BLOCK: usize = 4096;

/// The contents of `count` sequential writes.
fn blocks(contents: &Contents, mixed: bool, count: u64) -> Vec<Vec<u8>> {
    let mut filler = Filler::new(contents, mixed, count, 7);
    let mut buffer = vec![0; BLOCK];
    filler.prepare(&mut buffer);
    (0..count)
        .map(|n| {
            filler.refill(&mut buffer, n * BLOCK as u64, n);
            buffer.clone()
        })
        .collect()
}

/// Share of `blocks` that deflate saves, percent.
fn saved_percent(blocks: &[Vec<u8>]) -> f64 {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    blocks.iter().for_each(|block| encoder.write_all(block).unwrap());
    let compressed = encoder.finish().unwrap().len() as f64;
    100.0 * (1.0 - compressed / (blocks.len() * BLOCK) as f64)
}

fn distinct(blocks: &[Vec<u8>]) -> usize {
    blocks.iter().collect::<HashSet<_>>().len()
}

proptest! {
    #[test]
    fn any_part_of_a_block_is_what_the_whole_holds(
        seed: u64, length in 1usize..3000, from in 0usize..3000, to in 0usize..3000,
        percent in 0u32..=100, chunk in 0u64..1200, pattern in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let (from, to) = (from.min(to).min(length), from.max(to).min(length));
        let recipe = Recipe::new(&Contents {
            buffer_compress_percentage: Some(percent),
            buffer_compress_chunk: chunk,
            buffer_pattern: pattern,
            ..Contents::default()
        });
        let mut whole = vec![0xee; length];
        recipe.fill(&mut whole, seed);
        let mut part = vec![0x11; to - from];
        recipe.fill_at(&mut part, from as u64, length as u64, seed);
        prop_assert_eq!(&whole[from..to], &part[..]);
    }

    #[test]
    fn a_pattern_repeats_from_any_phase(
        pattern in prop::collection::vec(any::<u8>(), 1..40), length in 0usize..500, phase in 0u64..1000,
    ) {
        let mut bytes = vec![0; length];
        repeat(&pattern, &mut bytes, phase);
        for (i, byte) in bytes.iter().enumerate() {
            prop_assert_eq!(*byte, pattern[(phase as usize + i) % pattern.len()]);
        }
    }
}

#[test]
fn random_blocks_do_not_compress_and_have_even_bits() {
    // Without the stamps, which are not random.
    let contents =
        Contents { refill_buffers: true, scramble_buffers: false, ..Contents::default() };
    let blocks = blocks(&contents, false, 256);
    assert!(saved_percent(&blocks) < 0.5);
    assert_eq!(distinct(&blocks), 256);
    // 256 values over 1 MiB: chi-square of 255 degrees, 99.99 % quantile 347.
    let mut counts = [0_f64; 256];
    blocks.iter().flatten().for_each(|byte| counts[usize::from(*byte)] += 1.0);
    let expected = (256 * BLOCK) as f64 / 256.0;
    let chi2: f64 = counts.iter().map(|n| (n - expected).powi(2) / expected).sum();
    assert!(chi2 < 347.0, "{chi2}");
}

#[test]
fn a_scrambled_buffer_never_repeats_a_sector_and_stays_incompressible() {
    let scrambled = blocks(&Contents::default(), false, 512);
    let sectors: Vec<_> = scrambled.iter().flat_map(|block| block.chunks(SECTOR)).collect();
    assert_eq!(sectors.iter().collect::<HashSet<_>>().len(), sectors.len());
    // The same offset at another time.
    let mut filler = Filler::new(&Contents::default(), false, 1, 1);
    let mut buffer = vec![0; BLOCK];
    filler.prepare(&mut buffer);
    filler.refill(&mut buffer, 0, 1);
    let before = buffer.clone();
    filler.refill(&mut buffer, 0, 9);
    assert_ne!(buffer, before);
    let changed = buffer.iter().zip(&before).filter(|(a, b)| a != b).count();
    assert!(changed <= 16 * BLOCK / SECTOR, "{changed}: it is meant to be cheap");
}

#[test]
fn a_compressor_saves_what_was_asked() {
    for chunk in [0, 512, 1024, 4096, 3000] {
        for percent in [10, 25, 50, 75, 90] {
            let contents = Contents {
                buffer_compress_percentage: Some(percent),
                buffer_compress_chunk: chunk,
                ..Contents::default()
            };
            let blocks = blocks(&contents, false, 256);
            let saved = saved_percent(&blocks);
            assert!((saved - f64::from(percent)).abs() < 4.0, "{percent} % of {chunk}: {saved} %");
            assert_eq!(distinct(&blocks), 256, "{percent} % of {chunk}");
        }
    }
}

#[test]
fn fully_compressible_is_zeros_once_and_0_percent_is_random_every_time() {
    let with =
        |percent| Contents { buffer_compress_percentage: Some(percent), ..Contents::default() };
    let zeros = blocks(&with(100), false, 3);
    assert!(zeros.iter().flatten().all(|byte| *byte == 0));
    assert!(Filler::new(&with(100), false, 1, 1).is_static());
    let random = blocks(&with(0), false, 64);
    assert!(saved_percent(&random) < 0.5);
    assert_eq!(distinct(&random), 64);
}

#[test]
fn the_fixed_part_of_a_chunk_is_the_pattern() {
    let contents = Contents {
        buffer_compress_percentage: Some(50),
        buffer_compress_chunk: 512,
        buffer_pattern: b"abc".to_vec(),
        ..Contents::default()
    };
    let blocks = blocks(&contents, false, 2);
    for chunk in blocks[1].chunks(512) {
        assert!(chunk[256..].iter().zip(b"abc".iter().cycle()).all(|(a, b)| a == b));
        assert_ne!(&chunk[..3], b"abc");
    }
}

#[test]
fn the_share_of_repeated_blocks_is_what_was_asked() {
    for percent in [0, 20, 50, 80, 100] {
        let contents =
            Contents { dedupe_percentage: percent, refill_buffers: true, ..Contents::default() };
        let count = 4000;
        let repeated =
            100.0 * (1.0 - distinct(&blocks(&contents, false, count)) as f64 / count as f64);
        assert!((repeated - f64::from(percent)).abs() < 2.5, "{percent} %: {repeated} %");
    }
}

#[test]
fn a_working_set_is_drawn_from_by_the_share_that_was_asked() {
    let contents = Contents {
        dedupe_percentage: 60,
        dedupe_mode: DedupeMode::WorkingSet,
        dedupe_working_set_percentage: 1,
        ..Contents::default()
    };
    let count = 5000;
    let written = blocks(&contents, false, count);
    let repeated = 100.0 * (1.0 - distinct(&written) as f64 / count as f64);
    assert!((repeated - 60.0).abs() < 2.5, "{repeated} %");
    let mut times = std::collections::HashMap::new();
    written.iter().for_each(|block| *times.entry(block).or_insert(0) += 1);
    let often = times.values().filter(|times| **times > 1).count();
    assert_eq!(often, 50, "1 % of 5000 blocks come again");
}

/// As in fio, except that blocks of a set may be repeated before they were written.
#[test]
fn blocks_repeat_from_the_working_sets_of_other_threads() {
    let contents = Contents {
        dedupe_percentage: 100,
        dedupe_mode: DedupeMode::WorkingSet,
        dedupe_working_set_percentage: 1,
        ..Contents::default()
    };
    let written = |shared: bool| {
        let mut fillers = [1, 2].map(|seed| Filler::new(&contents, false, 1000, seed));
        if shared {
            Filler::share_working_sets(fillers.iter_mut());
        }
        fillers.map(|mut filler| {
            let mut buffer = vec![0; BLOCK];
            let mut next = |_| {
                filler.prepare(&mut buffer);
                buffer.clone()
            };
            (0..500).map(&mut next).collect::<std::collections::HashSet<_>>()
        })
    };
    let [first, second] = written(false);
    assert_eq!((first.intersection(&second).count(), first.union(&second).count()), (0, 20));
    let [first, second] = written(true);
    assert!(first.intersection(&second).count() > 15, "{}", first.len());
    assert!(first.union(&second).count() <= 22, "10 of each, and the first that each made");
}

#[test]
fn patterns_and_zeros_are_refilled_only_after_reads() {
    let pattern = Contents { buffer_pattern: vec![0xde, 0xad, 0xbe], ..Contents::default() };
    let zeros = Contents { zero_buffers: true, ..Contents::default() };
    for contents in [&pattern, &zeros] {
        assert!(Filler::new(contents, false, 1, 1).is_static());
        let mut mixed = Filler::new(contents, true, 1, 1);
        assert!(!mixed.is_static());
        let mut buffer = vec![0; BLOCK];
        mixed.prepare(&mut buffer);
        let first = buffer.clone();
        buffer.fill(0x55);
        mixed.refill(&mut buffer, 0, 0);
        assert_eq!(buffer, first);
    }
    let written = blocks(&pattern, false, 2);
    assert!(written[1].iter().zip([0xde, 0xad, 0xbe].iter().cycle()).all(|(a, b)| a == b));
    assert!(blocks(&zeros, false, 2).iter().flatten().all(|byte| *byte == 0));
}

#[test]
fn data_read_by_a_mixed_job_is_not_written_back() {
    let mut filler = Filler::new(&Contents::default(), true, 1, 1);
    let mut buffer = vec![0; BLOCK];
    filler.refill(&mut buffer, 0, 0);
    assert!(saved_percent(&[buffer]) < 5.0, "random but for the stamps");
}

#[test]
fn every_sector_that_is_written_by_default_carries_its_offset() {
    // Lets the guard tell test data from an encrypted disk.
    for (mixed, refill_buffers) in [(false, false), (true, false), (false, true)] {
        let contents = Contents { refill_buffers, ..Contents::default() };
        for (n, block) in blocks(&contents, mixed, 64).iter().enumerate() {
            for (k, sector) in block.chunks(SECTOR).enumerate() {
                let offset = (n * BLOCK + k * SECTOR) as u64;
                let mut lines = sector.chunks(CACHE_LINE);
                assert!(lines.any(|line| line.starts_with(&offset.to_le_bytes())), "{mixed} {n}");
            }
        }
    }
}

#[test]
fn blocks_of_every_length_are_filled() {
    for length in [0, 1, 7, 8, 511, 512, 513, 4096] {
        for percent in [None, Some(30), Some(100)] {
            let contents = Contents {
                buffer_compress_percentage: percent,
                refill_buffers: true,
                dedupe_percentage: 10,
                ..Contents::default()
            };
            let mut filler = Filler::new(&contents, false, 0, 3);
            filler.prepare(&mut vec![0; length]);
            filler.refill(&mut vec![0; length], u64::MAX, u64::MAX);
        }
    }
}
