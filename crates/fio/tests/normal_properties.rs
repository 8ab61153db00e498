//! Properties of every text, however damaged.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::LazyLock;

use common::fio;
use iodyno_fio::read::{Imported, normal};
use iodyno_model::{Estimate, LatencyKind, Measurement};
use proptest::prelude::*;

/// Reports of this machine's fio.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let job = "[global]\nioengine=null\nsize=1m\n[a]\nrw=randrw\nfsync=8\n\
               [b]\nstonewall\nrw=write\nbs=64k\nnumjobs=2\ngroup_reporting\n";
    let output = fio(directory.path(), job);
    let json = output.find("{\n").unwrap();
    let end = json + output[json..].find("\n}\n").unwrap() + 3;
    format!("{}{}", &output[..json], &output[end..])
});

/// Every estimate of a measurement.
fn estimates(measurement: &Measurement) -> Vec<Estimate> {
    let mut all = Vec::new();
    for side in &measurement.total {
        all.extend([side.iops, side.bandwidth, side.latency_mean].into_iter().flatten());
        for kind in LatencyKind::ALL {
            let Some(stated) = &side.stated else { continue };
            let of = stated.of(kind);
            all.extend([of.min_ns, of.mean_ns, of.max_ns, of.stdev_ns].into_iter().flatten());
            all.extend(of.percentiles.iter().map(|(_, value)| *value));
        }
    }
    let account = measurement.account.iter().flat_map(|account| &account.latency_ranges);
    all.extend(account.map(|range| range.share));
    all
}

/// Numbers are finite, bounds are ordered, lines are in the text.
fn is_sane(text: &str, imported: &Imported) -> Result<(), TestCaseError> {
    for measurement in &imported.measurements {
        prop_assert!(!measurement.name.is_empty());
        for estimate in estimates(measurement) {
            let (low, high) = estimate.bounds().unwrap();
            prop_assert!(low.is_finite() && high.is_finite(), "{estimate:?}");
            prop_assert!(0.0 <= low && low <= estimate.value, "{estimate:?}");
            prop_assert!(estimate.value <= high, "{estimate:?}");
        }
    }
    for problem in &imported.problems {
        let line = problem.line.unwrap();
        prop_assert!((1..=text.lines().count().max(1)).contains(&line), "{problem:?}");
    }
    Ok(())
}

/// Everything read from `damaged` agrees with `whole`.
fn is_part_of(damaged: &Imported, whole: &Imported) -> Result<(), TestCaseError> {
    for ours in &damaged.measurements {
        let Some(theirs) =
            whole.measurements.iter().find(|one| one.name == ours.name && one.group == ours.group)
        else {
            // Cut within a name, or with only a direction left.
            continue;
        };
        for (ours, theirs) in ours.total.iter().zip(&theirs.total) {
            prop_assert_eq!(ours.direction, theirs.direction);
            prop_assert!(ours.ios.is_none() || ours.ios == theirs.ios);
            for (ours, theirs) in [(ours.iops, theirs.iops), (ours.bandwidth, theirs.bandwidth)] {
                let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
                let holds = ours.low() <= theirs.high() && theirs.low() <= ours.high();
                prop_assert!(holds, "{ours:?} {theirs:?}");
            }
            let (Some(ours), Some(theirs)) = (&ours.stated, &theirs.stated) else { continue };
            for kind in LatencyKind::ALL {
                let (ours, theirs) = (ours.of(kind), theirs.of(kind));
                prop_assert!(ours.mean_ns.is_none() || ours.mean_ns == theirs.mean_ns);
                prop_assert!(ours.max_ns.is_none() || ours.max_ns == theirs.max_ns);
                for (percent, value) in &ours.percentiles {
                    prop_assert_eq!(Some(*value), theirs.percentile(*percent));
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        is_sane(&text, &normal("", &text))?;
    }

    /// Text made of fio's own words.
    #[test]
    fn words_of_fio_in_any_order_are_read(words in prop::collection::vec(
        prop::sample::select(vec![
            "a: (groupid=0, jobs=", "(g=0): rw=", "read: IOPS=", "write: io=", " BW=", "bw=", "iops=",
            "(", ")", "/", "msec", "1", "9999999999999999999999", "0", ".", "k", "MiB", "KB/s", ",",
            "\n", "runt=", "clat (usec): min=", "max=", "avg=", "stdev=", "clat percentiles (msec):",
            "99.00th=[", "]", "lat (usec): 50=", "%", "cpu : usr=", "IO depths : 1=", ">=64=",
            "issued rwts: total=", " short=", "READ: bw=", "run=", "Run status group ", "fio-3.1",
            "fio-2.0.8", "err=28 (", "error=", "): pid=", "steadystate : attained=yes,", "=3D", "=\n",
            "&gt;", "<br>", "$ fio --name=a --bs=", "\u{1b}[", "latency : target=0,", "depth=", "é",
        ]), 0..120,
    )) {
        let text = words.concat();
        is_sane(&text, &normal("", &text))?;
    }

    #[test]
    fn truncated_parts_are_not_invented(cut in 0.0..1.0_f64) {
        let whole = normal("", &TEXT);
        let mut at = (cut * TEXT.len() as f64) as usize;
        while !TEXT.is_char_boundary(at) { at -= 1; }
        for part in [&TEXT[..at], &TEXT[at..]] {
            let imported = normal("", part);
            is_sane(part, &imported)?;
            is_part_of(&imported, &whole)?;
        }
    }

    #[test]
    fn lines_may_be_missing(missing in prop::collection::vec(any::<prop::sample::Index>(), 1..40)) {
        let mut lines: Vec<&str> = TEXT.lines().collect();
        for index in missing {
            if lines.len() > 1 { lines.remove(index.index(lines.len())); }
        }
        let text = lines.join("\n") + "\n";
        is_sane(&text, &normal("", &text))?;
    }

    #[test]
    fn characters_may_be_anything(changes in prop::collection::vec(
        (any::<prop::sample::Index>(), any::<char>()), 1..60,
    )) {
        let mut characters: Vec<char> = TEXT.chars().collect();
        for (index, character) in changes {
            let at = index.index(characters.len());
            characters[at] = character;
        }
        let text: String = characters.into_iter().collect();
        is_sane(&text, &normal("", &text))?;
    }

    #[test]
    fn parts_may_be_swapped(
        a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(), length in 1..400_usize,
    ) {
        let mut lines: Vec<&str> = TEXT.lines().collect();
        let (a, b) = (a.index(lines.len()), b.index(lines.len()));
        lines.rotate_left(a);
        lines.swap(a, b);
        lines.truncate(length);
        let text = lines.join("\n");
        is_sane(&text, &normal("", &text))?;
    }
}
