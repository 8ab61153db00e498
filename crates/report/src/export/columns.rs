//! Columns of the table; documented in docs/reference/export.md.

use std::collections::BTreeMap;

use iodyno_judge::drive_under;
use iodyno_model::{
    Basis, Drive, EndReason, Estimate, Fact, LatencyKind, Reason, SampledRates, Spread, Verdict,
    rfc3339, shell_word,
};

use super::rows::Row;
use crate::percentiles;

/// Accessor of a column's value; `None` is unknown.
pub(super) enum Get {
    Text(fn(&Row<'_>) -> Option<String>),
    /// Count.
    Integer(fn(&Row<'_>) -> Option<u64>),
    Number(fn(&Row<'_>) -> Option<f64>),
}

use Get::{Integer, Number, Text};

/// Columns, in order.
pub(super) const COLUMNS: &[(&str, Get)] = &[
    ("run_id", Text(|row| Some(row.of.record.run.id.clone()))),
    ("run_name", Text(|row| Some(row.of.record.run.name.clone()).filter(|name| !name.is_empty()))),
    ("run_started", Text(|row| Some(rfc3339(row.of.record.run.started_ns)))),
    ("host", Text(|row| row.of.hostname().map(str::to_owned))),
    ("kernel", Text(|row| row.of.record.host()?.kernel.release.value())),
    ("drive_model", Text(|row| of_drive(row, |drive| &drive.model))),
    ("drive_serial", Text(|row| of_drive(row, |drive| &drive.serial))),
    ("drive_firmware", Text(|row| of_drive(row, |drive| &drive.firmware))),
    ("measurement", Text(|row| Some(row.measurement.name.clone()))),
    ("phase", Integer(|row| Some(row.measurement.phase.into()))),
    ("targets", Text(|row| Some(joined(&row.measurement.targets)))),
    ("source", Text(|row| Some(row.measurement.source.clone()))),
    ("started", Text(|row| row.measurement.started_ns.map(rfc3339))),
    ("duration_ns", Integer(|row| row.measurement.duration_ns)),
    ("end", Text(|row| Some(end(&row.measurement.end).into()))),
    ("failure", Text(|row| row.measurement.failure().map(str::to_owned))),
    ("rw", Text(|row| row.measurement.workload.rw.clone())),
    ("bs_bytes", Integer(|row| row.measurement.workload.bs)),
    ("iodepth", Integer(|row| row.measurement.workload.iodepth.map(u64::from))),
    ("numjobs", Integer(|row| row.measurement.workload.numjobs.map(u64::from))),
    ("ioengine", Text(|row| row.measurement.workload.ioengine.clone())),
    ("direct", Integer(|row| row.measurement.workload.direct.map(u64::from))),
    ("size_bytes", Integer(|row| row.measurement.workload.size)),
    ("options", Text(options)),
    ("direction", Text(|row| Some(row.result?.direction.name().into()))),
    ("ios", Integer(|row| row.result?.ios)),
    ("bytes", Integer(|row| row.result?.bytes)),
    ("errors", Integer(|row| row.result?.errors)),
    ("iops", Number(|row| Some(row.result?.iops?.value))),
    ("iops_low", Number(|row| low(row.result?.iops))),
    ("iops_high", Number(|row| high(row.result?.iops))),
    ("bandwidth_bytes_per_s", Number(|row| Some(row.result?.bandwidth?.value))),
    ("bandwidth_low_bytes_per_s", Number(|row| low(row.result?.bandwidth))),
    ("bandwidth_high_bytes_per_s", Number(|row| high(row.result?.bandwidth))),
    ("interval", Text(interval)),
    ("latency_kind", Text(|row| Some(mean(row)?.0.name().into()))),
    ("latency_mean_ns", Number(|row| Some(mean(row)?.1.value))),
    ("latency_mean_low_ns", Number(|row| low(Some(mean(row)?.1)))),
    ("latency_mean_high_ns", Number(|row| high(Some(mean(row)?.1)))),
    ("latency_max_ns", Number(|row| Some(row.result?.max_of(mean(row)?.0)?.value))),
    ("percentile_kind", Text(percentile_kind)),
    ("latency_p50_ns", Number(|row| percentile(row, 50.0))),
    ("latency_p90_ns", Number(|row| percentile(row, 90.0))),
    ("latency_p99_ns", Number(|row| percentile(row, 99.0))),
    ("latency_p99_9_ns", Number(|row| percentile(row, 99.9))),
    ("sampled_bandwidth_min_bytes_per_s", Number(|row| Some(sampled(row)?.bandwidth.min?.value))),
    ("sampled_bandwidth_max_bytes_per_s", Number(|row| Some(sampled(row)?.bandwidth.max?.value))),
    ("sampled_bandwidth_mean_bytes_per_s", Number(|row| Some(sampled(row)?.bandwidth.mean?.value))),
    (
        "sampled_bandwidth_stdev_bytes_per_s",
        Number(|row| Some(sampled(row)?.bandwidth.stdev?.value)),
    ),
    ("sampled_bandwidth_count", Integer(|row| sampled(row)?.bandwidth.count)),
    ("sampled_iops_min", Number(|row| Some(sampled(row)?.iops.min?.value))),
    ("sampled_iops_max", Number(|row| Some(sampled(row)?.iops.max?.value))),
    ("sampled_iops_mean", Number(|row| Some(sampled(row)?.iops.mean?.value))),
    ("sampled_iops_stdev", Number(|row| Some(sampled(row)?.iops.stdev?.value))),
    ("sampled_iops_count", Integer(|row| sampled(row)?.iops.count)),
    ("depth_shares", Text(depth_shares)),
    ("latency_class_shares", Text(latency_class_shares)),
    ("disks", Text(disks)),
    ("printed", Text(|row| row.measurement.printed.clone())),
    ("validity", Text(|row| Some(row.judged?.validity.label().into()))),
    ("reservations", Text(reservations)),
    ("verdict", Text(|row| Some(verdict(row)?.0.label().into()))),
    ("verdict_reason", Text(|row| Some(verdict(row)?.1.to_string()))),
];

fn of_drive(row: &Row<'_>, fact: fn(&Drive) -> &Fact<String>) -> Option<String> {
    fact(drive_under(row.of.record, row.measurement)?).value()
}

fn end(end: &EndReason) -> &'static str {
    match end {
        EndReason::Time => "time",
        EndReason::Precision => "precision",
        EndReason::MaxTime => "max_time",
        EndReason::Done => "done",
        EndReason::Interrupted => "interrupted",
        EndReason::Failed(_) => "failed",
    }
}

/// Joins names by `:` as fio does, with `\:` for a colon within a name.
pub(super) fn joined(targets: &[String]) -> String {
    let escaped: Vec<String> = targets.iter().map(|name| name.replace(':', "\\:")).collect();
    escaped.join(":")
}

/// Returns the options without a column of their own, as words of a shell.
fn options(row: &Row<'_>) -> Option<String> {
    quoted(&row.measurement.workload.options)
}

fn quoted(options: &BTreeMap<String, String>) -> Option<String> {
    words(options.iter().map(|(name, value)| shell_word(&format!("{name}={value}"))))
}

fn low(of: Option<Estimate>) -> Option<f64> {
    Some(of?.known_bounds()?.0)
}

fn high(of: Option<Estimate>) -> Option<f64> {
    Some(of?.known_bounds()?.1)
}

/// Returns the kind of the row's intervals.
fn interval(row: &Row<'_>) -> Option<String> {
    let result = row.result?;
    let all = [result.iops, result.bandwidth, result.latency_mean];
    let known = all.into_iter().flatten().filter(|estimate| estimate.known_bounds().is_some());
    known.map(|estimate| estimate.spread).find_map(|spread| match spread {
        Spread::Confidence { level, .. } => Some(format!("confidence {level}")),
        Spread::Rounding { .. } => Some("rounding".into()),
        Spread::Unknown => None,
    })
}

fn mean(row: &Row<'_>) -> Option<(LatencyKind, Estimate)> {
    row.result?.mean_latency()
}

fn percentile_kind(row: &Row<'_>) -> Option<String> {
    Some(percentiles::known(row.result?, 50.0)?.0.name().into())
}

fn percentile(row: &Row<'_>, percent: f64) -> Option<f64> {
    Some(percentiles::known(row.result?, percent)?.1)
}

fn sampled<'a>(row: &Row<'a>) -> Option<&'a SampledRates> {
    row.result?.sampled.as_deref()
}

/// Returns `1=0.001 4=0.999`: shares of I/Os by queue depth, in fio's levels.
fn depth_shares(row: &Row<'_>) -> Option<String> {
    let levels = row.measurement.account.as_ref()?.depth_levels;
    let all: f64 = levels.iter().map(|count| *count as f64).sum();
    let used = levels.iter().enumerate().filter(|(_, count)| **count > 0);
    words(used.map(|(n, count)| format!("{}={:.4}", 1_u64 << n, *count as f64 / all)))
}

/// Returns `2000-4000=0.1 2000000000-=0.0001`: shares of I/Os by latency, ns.
fn latency_class_shares(row: &Row<'_>) -> Option<String> {
    let classes = &row.measurement.account.as_ref()?.latency_ranges;
    words(classes.iter().map(|of| {
        let high = of.high_ns.map(|ns| ns.to_string()).unwrap_or_default();
        format!("{}-{high}={:.4}", of.low_ns, of.share.value)
    }))
}

/// Returns `vda:reads=600,writes=1,…,busy=0.97`, with spaces between disks.
fn disks(row: &Row<'_>) -> Option<String> {
    words(row.measurement.disks.iter().map(|of| {
        format!(
            "{}:reads={},writes={},read_sectors={},written_sectors={},read_merges={},\
             write_merges={},read_ms={},write_ms={},in_queue_ms={},busy={:.4}",
            of.name,
            of.read_ios,
            of.write_ios,
            of.read_sectors,
            of.write_sectors,
            of.read_merges,
            of.write_merges,
            of.read_ticks_ms,
            of.write_ticks_ms,
            of.in_queue_ms,
            of.util_percent() / 100.0
        )
    }))
}

fn words(words: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn reservations(row: &Row<'_>) -> Option<String> {
    let reasons = &row.judged?.reasons;
    let sentences: Vec<String> =
        reasons.iter().map(|Reason { rule, why, .. }| format!("{rule}: {why}")).collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// Returns the worst verdict of the measurement's metrics, and its basis.
fn verdict<'a>(row: &Row<'a>) -> Option<(Verdict, &'a Basis)> {
    let worst = row.judged?.metrics.iter().max_by_key(|metric| metric.verdict)?;
    Some((worst.verdict, &worst.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_of_a_shell() {
        let of = [("bssplit", "4k/60:8k/40"), ("description", "it's odd"), ("time_based", "1")];
        let options = BTreeMap::from(of.map(|(name, value)| (name.into(), value.into())));
        let expected = r"bssplit=4k/60:8k/40 'description=it'\''s odd' time_based=1";
        assert_eq!(quoted(&options).as_deref(), Some(expected));
    }

    #[test]
    fn a_colon_within_a_name_does_not_split_it() {
        let targets = ["/dev/disk/by-path/pci-0000:01:00.0-nvme-1".into(), "b".into()];
        assert_eq!(joined(&targets), r"/dev/disk/by-path/pci-0000\:01\:00.0-nvme-1:b");
    }
}
