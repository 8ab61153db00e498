//! Compares a measurement with its data sheet.

use iodyno_model::{
    BelowSaturation, Claim, ClaimFigure, ClaimScope, Direction, Estimate, FillOrder,
    MatchConfidence, Measurement, Metric, Verdict, Yardstick,
};

use crate::conditions::{is_random_at_depth_1, parse_conditions};
use crate::control_group::cgroup_effect;
use crate::figures::percent;
use crate::index::Index;
use crate::limiter;
use crate::measured::{is_70_30, is_paced};
use crate::outstanding::{allowed, outstanding};
use crate::place::Place;
use crate::saturation::{Depths, FULL_QUEUE, HOST_LATENCY_NS, below_saturation};
use crate::yardsticks::{Judgement, LEAST_OF_CLAIM};

/// Returns the claim of a data sheet for this metric if its conditions include the measurement's:
/// pure reads, pure writes or 70/30, sequential or random as measured, 4 KiB for IOPS unless the
/// sheet says otherwise, depth 1 and reads for latencies.
pub(crate) fn claimed(sheet: &Claim, of: &Measurement, metric: Metric) -> Option<ClaimFigure> {
    let workload = &of.workload;
    let per_s = |mbs: Option<f64>| mbs.map(|mbs| mbs * 1e6);
    let (rw, value, conditions) = match (metric, of.total.first()?.direction) {
        (Metric::Iops, _) if is_70_30(of) => ("randrw", sheet.mix7030_iops, &sheet.rand_cond),
        (Metric::Bandwidth, Direction::Read) => {
            ("read", per_s(sheet.seq_read_mbs), &sheet.seq_cond)
        }
        (Metric::Iops, Direction::Read) => ("randread", sheet.rand_read_iops, &sheet.rand_cond),
        (Metric::LatencyMean, Direction::Read) => {
            ("randread", sheet.lat_read_us.map(|us| us * 1e3), &sheet.lat_cond)
        }
        (Metric::Bandwidth, Direction::Write) => {
            ("write", per_s(sheet.seq_write_mbs), &sheet.seq_cond)
        }
        (Metric::Iops, Direction::Write) => ("randwrite", sheet.rand_write_iops, &sheet.rand_cond),
        _ => return None,
    };
    let block_bytes = parse_conditions(conditions).block_bytes.unwrap_or(4096);
    let same = match metric {
        // Blocks larger than stated only help.
        Metric::Bandwidth => workload.bs.is_some_and(|bs| {
            bs >= parse_conditions(conditions).block_bytes.unwrap_or(128 << 10).min(128 << 10)
        }),
        Metric::Iops => workload.bs == Some(block_bytes),
        Metric::LatencyMean => {
            workload.bs == Some(block_bytes)
                && allowed(of) == Some(1)
                && is_random_at_depth_1(conditions)
        }
    };
    if workload.rw.as_deref() != Some(rw) || !same {
        return None;
    }
    Some(ClaimFigure {
        value: value.filter(|value| value.is_finite() && *value > 0.0)?,
        conditions: conditions.clone(),
        model: sheet.model.clone(),
        scope: sheet.scope,
        source: sheet.source.clone(),
    })
}

/// Compares a figure with its claim; `limiters` are the other possible causes of a low figure.
pub(crate) fn against_claim(
    depths: &Depths<'_>,
    sheet: &Claim,
    figure: &ClaimFigure,
    of: &Measurement,
    metric: Metric,
    estimate: Estimate,
    limiters: &[String],
) -> Judgement {
    let ratio = estimate.value / figure.value;
    let judgement =
        |verdict, more: &str| Judgement::new(verdict, Yardstick::Claim, ratio).with(more);
    let as_good = match metric {
        Metric::LatencyMean => estimate.low() <= figure.value / LEAST_OF_CLAIM + HOST_LATENCY_NS,
        _ => estimate.high() >= LEAST_OF_CLAIM * figure.value,
    };
    if as_good {
        return judgement(Verdict::Pass, "");
    }
    if is_paced(of) {
        let why = BelowSaturation {
            outstanding: outstanding(of),
            needed: None,
            enough: false,
            surpassed_by: None,
        };
        let judgement = judgement(Verdict::Unjudged, ", limited by its own options");
        return Judgement { below_saturation: Some(why), ..judgement };
    }
    if figure.scope == ClaimScope::SeriesMax {
        let why = ", which is for the series, not for this capacity";
        return judgement(Verdict::Unjudged, why);
    }
    if metric == Metric::LatencyMean {
        return judgement(Verdict::Warn, "");
    }
    let claim = (figure.value, figure.conditions.as_str());
    if let Some(why) = below_saturation(depths, of, metric, sheet, claim) {
        let more = format!("; {}", below_saturation_text(metric, &why));
        return Judgement { below_saturation: Some(why), ..judgement(Verdict::Unjudged, &more) };
    }
    if !limiters.is_empty() {
        return judgement(Verdict::Warn, &format!("; {}", limiters.join("; ")));
    }
    if of.total.iter().any(|result| result.direction == Direction::Write) {
        return judgement(Verdict::Warn, "; write speed depends on earlier writes");
    }
    let in_sequence = of.conditions.scratch || of.conditions.fill == Some(FillOrder::Sequential);
    if metric == Metric::Bandwidth && !in_sequence {
        let fill = match of.conditions.fill {
            Some(_) => "the blocks were written at random",
            None => "fill unknown",
        };
        return judgement(Verdict::Warn, &format!("; {fill}, prepare and repeat"));
    }
    if sheet.match_confidence == MatchConfidence::Guess {
        return judgement(Verdict::Warn, ", but the matching data sheet is a guess");
    }
    judgement(Verdict::Fail, "")
}

/// Explains in a few words why a claim does not apply to a measurement.
fn below_saturation_text(metric: Metric, why: &BelowSaturation) -> String {
    let BelowSaturation { outstanding, needed, enough, surpassed_by } = *why;
    let short = match (outstanding, needed) {
        (Some(count), Some(needed)) => {
            format!(": {count:.1} I/Os, at least {needed:.1} needed")
        }
        (Some(count), None) => {
            format!(": {count:.1} I/Os, number needed not known")
        }
        (None, _) => ": number not known".to_owned(),
    };
    let best = surpassed_by
        .map(|best| format!("another depth gives {} and is judged", limiter::figure(metric, best)));
    let short = (!enough).then(|| format!("not enough outstanding to reach the claim{short}"));
    [short, best].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Transports of NVMe over a network (drivers/nvme/host: tcp.c, rdma.c, fc.c).
const FABRICS: [&str; 3] = ["tcp", "rdma", "fc"];

/// Lists the limits other than the drive and its link, each in a few words.
pub(crate) fn found_limiters(
    index: &Index<'_>,
    of: &Measurement,
    place: &Place<'_>,
) -> Vec<String> {
    let mut found = Vec::new();
    if !place.whole {
        found.push("layers between target and drive".to_owned());
    }
    let transport = place.drive.and_then(|drive| drive.transport.value());
    if let Some(transport) = transport.filter(|name| FABRICS.contains(&name.as_str())) {
        found.push(format!("it is behind a network (NVMe over {transport})"));
    }
    if limiter::saturated(index.host(), of) == Some(true) {
        found.push("a submitting thread was saturated".to_owned());
    }
    if let Ok(Some(why)) = limiter::depth_short(of) {
        found.push(why);
    }
    found.extend(limiter::other_load(of));
    if let Ok(Some(effect)) = cgroup_effect(index, of) {
        found.push(effect.to_string());
    }
    if of.conditions.punted == Some(true) {
        found.push("kernel threads ran the I/O".to_owned());
    }
    if place.drive.is_some_and(|drive| limiter::throttled(index, of, &drive.name) == Some(true)) {
        found.push("the drive throttled for heat".to_owned());
    }
    let overheated = place.drive.and_then(|of_it| limiter::overheated_min(index, of, &of_it.name));
    if let Some(minutes) = overheated.filter(|minutes| *minutes > 0) {
        found.push(format!("the drive was {minutes} min above its warning temperature"));
    }
    if of.total.iter().any(|result| result.errors > Some(0)) {
        found.push("some I/Os failed".to_owned());
    }
    found
}

/// Names the link if it cannot carry the claim.
pub(crate) fn link_limiter(
    metric: Metric,
    figure: &ClaimFigure,
    ceiling: Option<&(f64, String)>,
) -> Option<String> {
    let (bound, what) = ceiling.filter(|_| metric != Metric::LatencyMean)?;
    (*bound < figure.value)
        .then(|| format!("{what} allows {} of the claim", percent(bound / figure.value)))
}

/// Names the depth if the claim is for a greater one than was measured.
pub(crate) fn depth_limiter(
    of: &Measurement,
    metric: Metric,
    figure: &ClaimFigure,
) -> Option<String> {
    let conditions = parse_conditions(&figure.conditions);
    let (claimed, measured) = (conditions.outstanding?, outstanding(of)?);
    let (claimed_bytes, measured_bytes) = match (metric, conditions.block_bytes, of.workload.bs) {
        (Metric::LatencyMean, ..) => return None,
        (_, Some(theirs), Some(ours)) => (claimed as f64 * theirs as f64, measured * ours as f64),
        _ => (claimed as f64, measured),
    };
    // A depth found by the depth search is sufficient, whatever the sheet says.
    let searched = of.conditions.depths_tried.len() > 1;
    (!searched && measured_bytes < FULL_QUEUE * claimed_bytes)
        .then(|| format!("claim is for depth {claimed}, measured at {measured:.0}"))
}

#[cfg(test)]
mod tests {
    use iodyno_model::RunRecord;

    use super::*;
    use crate::testing::{Bench, claims};

    #[test]
    fn writes_are_compared_with_write_claims_and_never_fail() {
        let record = Bench::new(1).measured().record();
        let host = record.host().unwrap();
        let mut sheet = crate::claim_of(&claims(), &host.drives[0]).unwrap().clone();
        sheet.seq_write_mbs = Some(2000.0);
        sheet.rand_write_iops = None;
        let mut of = record.measurements[0].clone();
        of.workload.rw = Some("write".into());
        of.total.truncate(1);
        of.total[0].direction = Direction::Write;
        let claim = claimed(&sheet, &of, Metric::Bandwidth).unwrap();
        assert_eq!(claim.value, 2e9);
        let judgement = |rate| {
            against_claim(
                &Depths::default(),
                &sheet,
                &claim,
                &of,
                Metric::Bandwidth,
                Estimate::bare(rate),
                &[],
            )
        };
        assert_eq!(judgement(2e9).verdict, Verdict::Pass);
        let slow = judgement(1e9);
        assert_eq!(slow.verdict, Verdict::Warn);
        assert!(
            slow.reason
                .to_string()
                .contains("50 % of the claim; write speed depends on earlier writes"),
            "{}",
            slow.reason
        );
        assert!(claimed(&sheet, &of, Metric::Iops).is_none(), "it was sequential");
        of.workload.rw = Some("rw".into());
        assert!(claimed(&sheet, &of, Metric::Bandwidth).is_none(), "a mix is neither");
    }

    #[test]
    fn a_mix_of_70_30_is_held_against_its_claim_by_its_sum() {
        let mut record = Bench::new(1).measured().record();
        let sheet = crate::testing::SHEET.replace("scope =", "mix7030_iops = 400000\nscope =");
        let mut book = crate::ClaimBook::default();
        book.add_toml(&sheet, "sheet.toml").unwrap();
        let of = &mut record.measurements[1];
        of.workload.rw = Some("randrw".into());
        of.workload.options.insert("rwmixread".into(), "70".into());
        of.total[0].iops = Some(Estimate::confident(280e3, 270e3, 290e3, 0.95));
        let mut writes = of.total[0].clone();
        writes.direction = Direction::Write;
        writes.iops = Some(Estimate::confident(120e3, 110e3, 130e3, 0.95));
        of.total.push(writes);
        let judgement = |record: &RunRecord| {
            let question = crate::Question { record, claims: &book, baseline: None, expect: None };
            let all = crate::yardsticks::compare(&question, &Index::of(record));
            let found = all.into_iter().find(|one| one.measurement == 1).unwrap();
            (found.estimate, found.claim)
        };
        let (estimate, claim) = judgement(&record);
        assert_eq!((estimate.value, estimate.bounds()), (400e3, Some((380e3, 420e3))));
        let (figure, verdict) = claim.unwrap();
        assert_eq!((figure.value, verdict.verdict), (400e3, Verdict::Pass));
        for result in &mut record.measurements[1].total {
            result.iops = Some(Estimate::bare(100e3));
        }
        let (_, verdict) = judgement(&record).1.unwrap();
        // It also writes, so the earlier writes decide.
        assert_eq!((verdict.ratio, verdict.verdict), (0.5, Verdict::Warn));
        // Other mixes have no claim.
        record.measurements[1].workload.options.insert("rwmixread".into(), "50".into());
        assert!(judgement(&record).1.is_none());
    }
}
