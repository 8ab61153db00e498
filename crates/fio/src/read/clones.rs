//! Clones of a job (`numjobs` without `group_reporting`), which fio reports one
//! by one, as parts of one measurement.

use iodyno_model::{
    Account, CpuUse, DirectionResult, Estimate, Histogram, LatencyKind, LatencySummary,
    Measurement, Part, SplitLatency, Spread, StatedLatencies,
};

use super::workload::is_gathered;

/// `measurements` with all clones of a job, one behind the other, gathered.
pub(super) fn gathered(measurements: Vec<Measurement>) -> Vec<Measurement> {
    let mut gathered = Vec::with_capacity(measurements.len());
    let mut rest = measurements.into_iter().peekable();
    while let Some(first) = rest.next() {
        let count = match is_gathered(&first.workload.options) {
            true => 1,
            false => first.workload.numjobs.unwrap_or(1) as usize,
        };
        let mut clones = vec![first];
        while clones.len() < count {
            match rest.next_if(|next| is_clone(&clones[0], next)) {
                Some(next) => clones.push(next),
                None => break,
            }
        }
        match clones.len() {
            1 => gathered.append(&mut clones),
            all if all == count => gathered.push(joined(clones)),
            // What some of the clones did is not what the job did.
            _ => gathered.append(&mut clones),
        }
    }
    gathered
}

fn is_clone(one: &Measurement, other: &Measurement) -> bool {
    (&one.name, one.group, &one.workload, &one.targets)
        == (&other.name, other.group, &other.workload, &other.targets)
}

fn joined(clones: Vec<Measurement>) -> Measurement {
    let mut all = clones[0].clone();
    all.started_ns = clones.iter().filter_map(|clone| clone.started_ns).min();
    all.duration_ns = span_ns(&clones);
    if let Some(failed) = clones.iter().find(|clone| clone.failure().is_some()) {
        all.end = failed.end.clone();
    }
    all.account =
        clones.iter().map(|clone| clone.account.as_ref()).collect::<Option<_>>().map(accounts);
    let is_known = clones.iter().all(|clone| clone.cpu.is_some());
    all.cpu = all.account.as_ref().filter(|_| is_known).map(|account| account.cpu);
    let mut directions: Vec<_> =
        clones.iter().flat_map(|clone| &clone.total).map(|side| side.direction).collect();
    directions.sort_unstable();
    directions.dedup();
    // A clone's rate is of its own run time, and that of all of the time of all.
    let share = |clone: &Measurement| match (clone.duration_ns, all.duration_ns) {
        (Some(own), Some(span)) => own as f64 / span.max(1) as f64,
        _ => 1.0,
    };
    let of = |direction| {
        let own = clones.iter().map(|clone| Some((clone.result(direction)?, share(clone))));
        own.flatten().collect()
    };
    all.total = directions.into_iter().map(|direction| sum(of(direction))).collect();
    let part = |(n, clone): (usize, Measurement)| Part {
        target: clone.targets.join(":"),
        clone: u32::try_from(n).ok(),
        results: clone.total,
        account: clone.account,
    };
    all.parts = clones.into_iter().enumerate().map(part).collect();
    all
}

/// From the first clone's start to the last one's end, where that is told, and no less than
/// the longest of them took.
fn span_ns(clones: &[Measurement]) -> Option<u64> {
    let longest = clones.iter().filter_map(|clone| clone.duration_ns).max()?;
    let starts: Option<Vec<i64>> = clones.iter().map(|clone| clone.started_ns).collect();
    let first = starts.as_ref().and_then(|starts| starts.iter().min().copied());
    let ends = starts.iter().flatten().zip(clones);
    let ends = ends.map(|(start, of)| start.saturating_add_unsigned(of.duration_ns.unwrap_or(0)));
    let span = first.zip(ends.max()).map(|(first, last)| last.abs_diff(first));
    Some(longest.max(span.unwrap_or(0)))
}

fn accounts(clones: Vec<&Account>) -> Account {
    let mut all = Account { latency_ranges: Vec::new(), ..clones[0].clone() };
    for clone in &clones[1..] {
        all.started_ns = all.started_ns.min(clone.started_ns);
        all.elapsed_ns = all.elapsed_ns.max(clone.elapsed_ns);
        all.counted_ns = all.counted_ns.max(clone.counted_ns);
        if all.error == 0 {
            all.error = clone.error;
            all.failure.clone_from(&clone.failure);
        }
        all.errors.extend(clone.errors.iter().cloned());
        all.add_counts(clone);
    }
    // Shares of a clone's time, which are those of all where all ran as long.
    let ran_ns = all.elapsed_ns.max(1) as f64;
    all.cpu = clones.iter().fold(CpuUse::default(), |cpu, clone| {
        let share = clone.elapsed_ns as f64 / ran_ns;
        CpuUse {
            user: cpu.user + clone.cpu.user * share,
            system: cpu.system + clone.cpu.system * share,
            busiest_thread: cpu.busiest_thread.max(clone.cpu.busiest_thread * share),
        }
    });
    all
}

/// What the clones did in one direction; each comes with its share of the time of all.
fn sum(shares: Vec<(&DirectionResult, f64)>) -> DirectionResult {
    let clones: Vec<&DirectionResult> = shares.iter().map(|(clone, _)| *clone).collect();
    let mut all = DirectionResult::unknown(clones[0].direction);
    let count = |of: fn(&DirectionResult) -> Option<u64>| {
        clones.iter().try_fold(0_u64, |sum, clone| sum.checked_add(of(clone)?))
    };
    let rate = |of: fn(&DirectionResult) -> Option<Estimate>| {
        let scaled = |(clone, share): &(&DirectionResult, f64)| Some(of(clone)?.scaled(*share));
        shares.iter().map(scaled).collect::<Option<Vec<Estimate>>>().map(added)
    };
    all.ios = count(|clone| clone.ios);
    all.bytes = count(|clone| clone.bytes);
    all.whole_ios = count(|clone| clone.whole_ios);
    all.whole_bytes = count(|clone| clone.whole_bytes);
    all.errors = count(|clone| clone.errors);
    all.short_ios = count(|clone| clone.short_ios);
    all.iops = rate(|clone| clone.iops);
    all.bandwidth = rate(|clone| clone.bandwidth);
    // Percentiles cannot be joined, but bins can.
    let bins = |kind| -> Histogram {
        let all: Option<Vec<&Histogram>> = clones.iter().map(|clone| clone.bins(kind)).collect();
        let mut joined = Histogram::default();
        all.into_iter().flatten().for_each(|one| joined.merge(one));
        joined
    };
    all.latency = bins(LatencyKind::Total);
    let (submission, completion) = (bins(LatencyKind::Submission), bins(LatencyKind::Completion));
    let split = submission.count() + completion.count() > 0;
    all.split = split.then_some(SplitLatency { submission, completion });
    let mut stated = StatedLatencies::default();
    for kind in LatencyKind::ALL {
        *stated.of_mut(kind) = summary(&clones, kind);
    }
    all.latency_mean = stated.total.mean_ns;
    all.stated = (stated != StatedLatencies::default()).then(|| Box::new(stated));
    all
}

fn added(rates: Vec<Estimate>) -> Estimate {
    let sum = |of: fn(&Estimate) -> f64| rates.iter().map(of).sum::<f64>();
    let spread = match rates.iter().all(|rate| rate.bounds().is_some()) {
        true => Spread::Rounding { low: sum(Estimate::low), high: sum(Estimate::high) },
        false => Spread::Unknown,
    };
    Estimate { value: sum(|rate| rate.value), spread }
}

/// Extremes of all, and the mean weighted by I/Os.
fn summary(clones: &[&DirectionResult], kind: LatencyKind) -> LatencySummary {
    let stated =
        |clone: &&DirectionResult| clone.stated.as_ref().map(|stated| stated.of(kind).clone());
    let Some(all) = clones.iter().map(stated).collect::<Option<Vec<LatencySummary>>>() else {
        return LatencySummary::default();
    };
    let extreme = |of: fn(&LatencySummary) -> Option<Estimate>, sign: f64| {
        let all: Option<Vec<Estimate>> = all.iter().map(of).collect();
        all?.into_iter().max_by(|a, b| (a.value * sign).total_cmp(&(b.value * sign)))
    };
    let ios: Option<Vec<f64>> =
        clones.iter().map(|clone| clone.ios.map(|ios| ios as f64)).collect();
    let means: Option<Vec<Estimate>> = all.iter().map(|one| one.mean_ns).collect();
    let mean = ios.zip(means).map(|(ios, means)| {
        let all = ios.iter().sum::<f64>().max(1.0);
        added(means.iter().zip(ios).map(|(mean, ios)| mean.scaled(ios / all)).collect())
    });
    LatencySummary {
        min_ns: extreme(|one| one.min_ns, -1.0),
        mean_ns: mean,
        max_ns: extreme(|one| one.max_ns, 1.0),
        ..LatencySummary::default()
    }
}

#[cfg(test)]
mod tests {
    /// Each clone's share of its own time counts once, as a share of the longest.
    #[test]
    fn cpu_time_of_clones_adds_up() {
        let clone = |user, system, ms| {
            format!(
                r#"{{ "jobname": "a", "groupid": 0, "error": 0, "job_runtime": {ms},
                "job options": {{ "numjobs": "2" }}, "usr_cpu": {user}, "sys_cpu": {system},
                "read": {{ "total_ios": 1, "io_bytes": 4096, "runtime": {ms} }} }}"#
            )
        };
        let (first, second) = (clone(40.0, 10.0, 2000), clone(20.0, 30.0, 1000));
        let json = format!(r#"{{ "fio version": "fio-3.33", "jobs": [ {first}, {second} ] }}"#);
        let found = crate::read::text("", &json).measurements;
        let [one] = &found[..] else { panic!("{found:?}") };
        let cpu = one.cpu.unwrap();
        for (ours, expected) in [(cpu.user, 0.5), (cpu.system, 0.25), (cpu.busiest_thread, 0.5)] {
            assert!((ours - expected).abs() < 1e-9, "{cpu:?}");
        }
    }
}
