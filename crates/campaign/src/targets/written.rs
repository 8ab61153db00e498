//! Infers which blocks of a target were ever written.
//!
//! A block counts as unwritten if the accounting of the drive (NUSE) or of a thin volume shows it, or
//! if it reads as the drive says deallocated blocks do (DLFEAT) and is read faster at depth 1 than
//! blocks with data: a drive that has nothing to fetch answers at once. Zeros alone prove nothing.

use iodyno_job::{BlockSize, Extent, Job, Pattern, Request, Room, Stream};
use iodyno_load::{BlockContent, ProbeSample};
use iodyno_model::{Estimate, UnwrittenProof, WrittenEvidence, WrittenShare, WrittenState};
use iodyno_stats::{mann_whitney_less, wilson_interval};

use super::accounting::Accounting;

/// Number of equal segments of the target.
const SEGMENTS: usize = 64;
/// Share of written samples from which a segment counts as written.
const WRITTEN_SEGMENT: f64 = 0.98;
/// Share of written samples from which the whole target counts as written.
const WRITTEN: f64 = 0.995;
/// Fewest samples of a kind for a comparison of latencies.
const COMPARABLE: usize = 30;
/// Largest ratio of median latencies, unwritten to written, that counts as faster.
const FASTER: f64 = 0.8;
/// Largest difference between a device's accounting and the samples that counts as agreement.
const ACCOUNTING: f64 = 0.05;
/// Most extents of a file that are examined.
pub(crate) const MOST_EXTENTS: usize = 4096;
/// Shortest extent of a file that is worth measuring in, bytes.
const SHORTEST_EXTENT: u64 = 1 << 20;
/// Confidence level of the share's interval.
const LEVEL: f64 = 0.95;

/// Knowledge of a target's blocks, and where to measure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    /// For the measurement's conditions.
    pub(crate) share: WrittenShare,
    /// Written extents to stay inside; empty: all of the target.
    pub(crate) extents: Vec<Extent>,
}

/// Offsets to sample: `count` blocks of `block_bytes`, one at random in each of `count` equal
/// parts, in random order so that read-ahead does not help. Fewer if the target has fewer blocks.
pub(crate) fn sample_offsets(size_bytes: u64, block_bytes: u64, count: u32, seed: u64) -> Vec<u64> {
    let blocks = size_bytes / block_bytes;
    let count = u64::from(count).min(blocks);
    // A second permutation, of a power of two, is the source of jitter.
    let (mut order, mut jitter) = match (permuted(count, seed), permuted(1 << 32, seed ^ 1)) {
        (Ok(order), Ok(jitter)) => (order, jitter),
        _ => return Vec::new(),
    };
    (0..count)
        .map(|_| {
            let part = u128::from(next(&mut order));
            let first = (u128::from(blocks) * part / u128::from(count)) as u64;
            let end = (u128::from(blocks) * (part + 1) / u128::from(count)) as u64;
            (first + next(&mut jitter) % (end - first)) * block_bytes
        })
        .collect()
}

/// The numbers below `count` in random order, again and again.
fn permuted(count: u64, seed: u64) -> Result<Stream, String> {
    let mut job = Job::direct();
    job.pattern.rw = Pattern::RandRead;
    job.pattern.randseed = seed;
    job.pattern.bs.read = BlockSize::Fixed(1);
    Ok(Stream::new(&job, &[Room { size_bytes: count, block_bytes: 1 }], 0, 0)?)
}

fn next(stream: &mut Stream) -> u64 {
    let mut request = [Request::default()];
    stream.fill(&mut request);
    request[0].offset
}

/// Infers from samples which blocks were ever written.
pub(crate) fn infer(
    target: &str,
    size_bytes: u64,
    samples: &[ProbeSample],
    accounting: Accounting,
) -> Written {
    infer_with_reference(target, size_bytes, samples, samples, accounting)
}

/// The same for the range of a target that `samples` are from; `reference` are samples of the whole
/// target to compare with.
pub(crate) fn infer_range(
    target: &str,
    samples: &[ProbeSample],
    reference: &[ProbeSample],
    accounting: Accounting,
) -> Written {
    // No extents are sought: the job chooses the offsets.
    infer_with_reference(target, 0, samples, reference, accounting)
}

/// Result for blocks that are known to have been emptied, whatever was sampled.
pub(crate) fn emptied(of: &WrittenShare, evidence: WrittenEvidence) -> Written {
    let share = WrittenShare {
        share: Estimate::bare(0.0),
        state: WrittenState::Unwritten,
        evidence,
        ..of.clone()
    };
    Written { share, extents: Vec::new() }
}

fn infer_with_reference(
    target: &str,
    size_bytes: u64,
    samples: &[ProbeSample],
    reference: &[ProbeSample],
    accounting: Accounting,
) -> Written {
    let is_part = size_bytes == 0;
    let readable: Vec<&ProbeSample> =
        samples.iter().filter(|s| s.content != BlockContent::Unreadable).collect();
    let suspect = |sample: &ProbeSample| match (sample.content, accounting.unwritten_reads_as) {
        (BlockContent::Filled(byte), Some(reads_as)) => byte == reads_as,
        // If the device does not report it, assume zeros, the usual value.
        (BlockContent::Filled(byte), None) => byte == 0,
        _ => false,
    };
    let suspects = readable.iter().filter(|sample| suspect(sample)).count();
    let verdict = |state, unwritten: usize, evidence: WrittenEvidence, extents| Written {
        share: WrittenShare {
            target: target.into(),
            samples: readable.len() as u32,
            share: share(readable.len(), unwritten),
            state,
            evidence,
        },
        extents,
    };
    if readable.is_empty() {
        return verdict(WrittenState::Unknown, 0, WrittenEvidence::Unreadable, Vec::new());
    }
    let sampled = |proof| WrittenEvidence::Sampled {
        samples: readable.len() as u32,
        uniform: suspects as u32,
        proof,
    };
    if suspects == 0 {
        // Unwritten blocks may read as anything if the drive does not report the value. The used
        // share of the whole drive says nothing about a part.
        if let Some(used) = accounting.used
            && !is_part
            && used.share() < 1.0 - ACCOUNTING
        {
            let is_empty = used.share() < ACCOUNTING;
            let state = if is_empty { WrittenState::Unwritten } else { WrittenState::Unknown };
            let unwritten = ((1.0 - used.share()) * readable.len() as f64) as usize;
            return verdict(state, unwritten, used.evidence(), Vec::new());
        }
        return verdict(WrittenState::Written, 0, sampled(None), Vec::new());
    }
    let readable_of_all: Vec<&ProbeSample> = match is_part {
        true => {
            let all = reference.iter().chain(samples);
            all.filter(|s| s.content != BlockContent::Unreadable).collect()
        }
        false => readable.clone(),
    };
    let of_all = reference.iter().filter(|s| s.content != BlockContent::Unreadable);
    let (count, empty) = of_all.fold((0_usize, 0_usize), |(count, empty), sample| {
        (count + 1, empty + usize::from(suspect(sample)))
    });
    let suspect_share = empty as f64 / count.max(1) as f64;
    let proof = match accounting.used {
        // The device uses no more than the rest: the suspects are its unused blocks. More suspects
        // than that may be written zeros.
        Some(used) if suspect_share <= 1.0 - used.share() + ACCOUNTING => Some(used.proof()),
        _ => faster(&readable_of_all, &suspect),
    };
    if proof.is_none() {
        // Too few suspects to cast doubt.
        let state = if (suspects as f64) < (1.0 - WRITTEN) * readable.len() as f64 {
            WrittenState::Written
        } else {
            WrittenState::Unknown
        };
        return verdict(state, 0, sampled(None), Vec::new());
    }
    let unwritten_share = suspects as f64 / readable.len() as f64;
    let evidence = sampled(proof);
    if 1.0 - unwritten_share >= WRITTEN {
        return verdict(WrittenState::Written, suspects, evidence, Vec::new());
    }
    let extents = match is_part {
        true => Vec::new(),
        false => written_extents(size_bytes, &readable, &suspect),
    };
    let is_empty = match is_part {
        true => unwritten_share > WRITTEN_SEGMENT,
        false => extents.is_empty(),
    };
    let state = if is_empty { WrittenState::Unwritten } else { WrittenState::Partly };
    verdict(state, suspects, evidence, extents)
}

/// Result for a file from its data extents, (offset, length), as reported by the file system. Needs
/// no samples.
pub(crate) fn of_file(target: &str, size_bytes: u64, data: &[(u64, u64)]) -> Written {
    let held: u64 = data.iter().map(|(_, length)| length).sum();
    let share = held as f64 / size_bytes.max(1) as f64;
    let extents: Vec<Extent> = data
        .iter()
        .filter(|(_, length)| *length >= SHORTEST_EXTENT)
        // Direct I/O needs whole blocks.
        .map(|&(offset, length)| {
            let start = offset.next_multiple_of(4096);
            Extent { offset: start, length: (offset + length).saturating_sub(start) / 4096 * 4096 }
        })
        .collect();
    let state = match share {
        share if share >= WRITTEN => WrittenState::Written,
        _ if extents.is_empty() => WrittenState::Unwritten,
        _ => WrittenState::Partly,
    };
    Written {
        share: WrittenShare {
            target: target.into(),
            samples: 0,
            share: Estimate::bare(share),
            state,
            evidence: WrittenEvidence::FileSystem { share },
        },
        extents: if state == WrittenState::Partly { extents } else { Vec::new() },
    }
}

/// Share with data, with its interval (Wilson 1927).
fn share(samples: usize, unwritten: usize) -> Estimate {
    let written = samples - unwritten;
    match wilson_interval(written as u64, samples as u64, LEVEL) {
        Some((low, high)) => Estimate::confident(written as f64 / samples as f64, low, high, LEVEL),
        None => Estimate::bare(0.0),
    }
}

/// Proof by medians if the suspects are read faster than blocks with data.
fn faster(
    readable: &[&ProbeSample],
    suspect: &impl Fn(&ProbeSample) -> bool,
) -> Option<UnwrittenProof> {
    let latencies = |wanted: bool| -> Vec<f64> {
        let picked = readable.iter().filter(|sample| suspect(sample) == wanted);
        picked.map(|sample| sample.latency_ns as f64).collect()
    };
    let (empty, data) = (latencies(true), latencies(false));
    if empty.len() < COMPARABLE || data.len() < COMPARABLE {
        return None;
    }
    let (uniform_ns, data_ns) = (median(&empty), median(&data));
    let significant = mann_whitney_less(&empty, &data) < 0.001;
    (significant && uniform_ns < FASTER * data_ns)
        .then_some(UnwrittenProof::Faster { uniform_ns, data_ns })
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Written segments, neighbours joined.
fn written_extents(
    size_bytes: u64,
    readable: &[&ProbeSample],
    suspect: &impl Fn(&ProbeSample) -> bool,
) -> Vec<Extent> {
    // Borders on whole MiB, or on whole pages if segments are small.
    let unit: u64 = if size_bytes >= 1 << 30 { 1 << 20 } else { 4096 };
    let border =
        |n: usize| (u128::from(size_bytes) * n as u128 / SEGMENTS as u128) as u64 / unit * unit;
    let mut extents: Vec<Extent> = Vec::new();
    for n in 0..SEGMENTS {
        let (start, end) = (border(n), if n + 1 == SEGMENTS { size_bytes } else { border(n + 1) });
        let inside = || readable.iter().filter(|s| s.offset >= start && s.offset < end);
        let (all, empty) = (inside().count(), inside().filter(|s| suspect(s)).count());
        if all == 0 || ((all - empty) as f64) < WRITTEN_SEGMENT * all as f64 {
            continue;
        }
        match extents.last_mut() {
            Some(last) if last.offset + last.length == start => last.length = end - last.offset,
            _ => extents.push(Extent { offset: start, length: end - start }),
        }
    }
    extents
}

#[cfg(test)]
mod tests {
    use super::super::accounting::Used;
    use super::*;

    const SIZE: u64 = 64 << 30;

    fn namespace(used_share: f64) -> Accounting {
        let used = (used_share < 1.0).then_some(Used::Namespace(used_share));
        Accounting { unwritten_reads_as: Some(0), used }
    }

    /// Samples of a target of which `written` (by relative offset) holds data.
    fn samples(written: impl Fn(f64) -> bool, empty_ns: u64, data_ns: u64) -> Vec<ProbeSample> {
        sample_offsets(SIZE, 4096, 4096, 7)
            .into_iter()
            .enumerate()
            .map(|(n, offset)| {
                let data = written(offset as f64 / SIZE as f64);
                let base = if data { data_ns } else { empty_ns };
                ProbeSample {
                    offset,
                    latency_ns: base + (n as u64 * 7919) % (base / 5),
                    content: if data { BlockContent::Data } else { BlockContent::Filled(0) },
                }
            })
            .collect()
    }

    #[test]
    fn offsets_are_spread_and_each_once() {
        let mut offsets = sample_offsets(SIZE, 4096, 4096, 1);
        assert!(offsets.windows(2).any(|pair| pair[0] > pair[1]), "order is random");
        offsets.sort_unstable();
        for (n, offset) in offsets.iter().enumerate() {
            assert_eq!(offset % 4096, 0);
            assert_eq!(offset / (SIZE / 4096), n as u64, "one in each part");
        }
        assert_eq!(sample_offsets(3 * 4096, 4096, 4096, 1).len(), 3);
        assert!(sample_offsets(0, 4096, 4096, 1).is_empty());
    }

    #[test]
    fn unwritten_range_is_found_by_comparison_with_the_rest() {
        let half = samples(|at| at < 0.5, 10_000, 80_000);
        let (data, empty): (Vec<_>, Vec<_>) =
            half.iter().copied().partition(|one| one.content == BlockContent::Data);
        for accounting in [Accounting::default(), namespace(0.5)] {
            let state =
                |part: &[ProbeSample]| infer_range("x", part, &half, accounting).share.state;
            assert_eq!(state(&empty), WrittenState::Unwritten);
            assert_eq!(state(&data), WrittenState::Written);
        }
    }

    #[test]
    fn a_full_drive_is_written() {
        let written = infer("x", SIZE, &samples(|_| true, 1, 80_000), namespace(1.0));
        assert_eq!(written.share.state, WrittenState::Written);
        assert!(written.extents.is_empty());
        assert!(written.share.share.low() > 0.998);
    }

    #[test]
    fn zeros_alone_prove_nothing() {
        let all_zero = samples(|_| false, 80_000, 80_000);
        let judged = infer("x", SIZE, &all_zero, namespace(1.0));
        assert_eq!(judged.share.state, WrittenState::Unknown);
        // Written zeros on a half-full drive are read as slowly.
        let half = samples(|at| at < 0.5, 80_000, 80_000);
        let judged = infer("x", SIZE, &half, namespace(1.0));
        assert_eq!(judged.share.state, WrittenState::Unknown);
        let unproven = |of: &WrittenEvidence| match of {
            WrittenEvidence::Sampled { uniform, proof, .. } => *uniform > 0 && proof.is_none(),
            _ => false,
        };
        assert!(unproven(&judged.share.evidence), "{}", judged.share.evidence);
    }

    #[test]
    fn faster_zeros_count_as_unwritten() {
        let half = samples(|at| at < 0.5, 12_000, 80_000);
        let judged = infer("x", SIZE, &half, namespace(1.0));
        assert_eq!(judged.share.state, WrittenState::Partly);
        assert_eq!(judged.extents, [Extent { offset: 0, length: SIZE / 2 }]);
        assert!((judged.share.share.value - 0.5).abs() < 0.01);
    }

    #[test]
    fn namespace_use_is_proof() {
        let none = samples(|_| false, 80_000, 80_000);
        let judged = infer("x", SIZE, &none, namespace(0.0));
        assert_eq!(judged.share.state, WrittenState::Unwritten);
        let proof = Some(UnwrittenProof::NamespaceUse { share: 0.0 });
        let evidence = WrittenEvidence::Sampled { samples: 4096, uniform: 4096, proof };
        assert!(judged.extents.is_empty());
        assert_eq!(judged.share.evidence, evidence);
    }

    #[test]
    fn a_thin_volume_knows_what_it_holds() {
        let thin =
            |share| Accounting { unwritten_reads_as: Some(0), used: Some(Used::ThinVolume(share)) };
        let empty = infer("x", SIZE, &samples(|_| false, 80_000, 80_000), thin(0.0));
        assert_eq!(empty.share.state, WrittenState::Unwritten);
        // As slow as the rest, where nothing but the accounting tells.
        let half = infer("x", SIZE, &samples(|at| at < 0.5, 80_000, 80_000), thin(0.5));
        assert_eq!(half.share.state, WrittenState::Partly);
        let proof = Some(UnwrittenProof::ThinVolume { share: 0.5 });
        assert!(
            matches!(half.share.evidence, WrittenEvidence::Sampled { proof: of, .. } if of == proof)
        );
    }

    #[test]
    fn namespace_use_decides_if_unwritten_blocks_read_as_anything() {
        // All samples look like data, but the drive reports that it holds none.
        let data = samples(|_| true, 1, 80_000);
        let judged = infer("x", SIZE, &data, namespace(0.0));
        assert_eq!(judged.share.state, WrittenState::Unwritten);
        // Zeros everywhere on a half-full drive: which of them are data?
        let zeros = samples(|_| false, 80_000, 80_000);
        let judged = infer("x", SIZE, &zeros, namespace(0.5));
        assert_eq!(judged.share.state, WrittenState::Unknown);
    }

    #[test]
    fn a_files_holes_are_known() {
        let whole = of_file("f", 1 << 30, &[(0, 1 << 30)]);
        assert_eq!(whole.share.state, WrittenState::Written);
        assert_eq!(of_file("f", 1 << 30, &[]).share.state, WrittenState::Unwritten);
        let half = of_file("f", 1 << 30, &[(100, 512 << 20), (1 << 29, 10)]);
        assert_eq!(half.share.state, WrittenState::Partly);
        assert_eq!(half.extents, [Extent { offset: 4096, length: (512 << 20) - 4096 }]);
    }

    #[test]
    fn scattered_data_counts_as_unwritten() {
        let scattered = samples(|at| ((at * 1e6) as u64).is_multiple_of(2), 12_000, 80_000);
        let judged = infer("x", SIZE, &scattered, namespace(1.0));
        assert_eq!(judged.share.state, WrittenState::Unwritten);
    }

    #[test]
    fn without_identify_data_only_speed_is_proof() {
        let half = samples(|at| at >= 0.25, 12_000, 80_000);
        let judged = infer("x", SIZE, &half, Accounting::default());
        assert_eq!(judged.share.state, WrittenState::Partly);
        assert_eq!(infer("x", SIZE, &[], Accounting::default()).share.state, WrittenState::Unknown);
    }
}
