//! Merges the clones of a job (`numjobs` without `group_reporting`), which fio reports separately,
//! into one measurement with parts.

use iodyno_model::{CpuUse, JobStats, Measurement, Part, span_ns, totals};

use super::workload::is_group_reporting;

/// `measurements` with consecutive clones of a job merged.
pub(super) fn merge_clones(measurements: Vec<Measurement>) -> Vec<Measurement> {
    let mut merged = Vec::with_capacity(measurements.len());
    let mut rest = measurements.into_iter().peekable();
    while let Some(first) = rest.next() {
        let count = match is_group_reporting(&first.workload.options) {
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
            1 => merged.append(&mut clones),
            all if all == count => merged.push(merge(clones)),
            // Some of the clones do not represent the job.
            _ => merged.append(&mut clones),
        }
    }
    merged
}

fn is_clone(one: &Measurement, other: &Measurement) -> bool {
    (&one.name, one.group, &one.workload, &one.targets)
        == (&other.name, other.group, &other.workload, &other.targets)
}

fn merge(clones: Vec<Measurement>) -> Measurement {
    let mut all = clones[0].clone();
    all.started_ns = clones.iter().filter_map(|clone| clone.started_ns).min();
    let together: Vec<&Measurement> = clones.iter().collect();
    all.duration_ns = span_ns(&together);
    all.total = totals(&together);
    if let Some(failed) = clones.iter().find(|clone| clone.failure().is_some()) {
        all.end = failed.end.clone();
    }
    all.account =
        clones.iter().map(|clone| clone.account.as_ref()).collect::<Option<_>>().map(sum_stats);
    let is_known = clones.iter().all(|clone| clone.cpu.is_some());
    all.cpu = all.account.as_ref().filter(|_| is_known).map(|account| account.cpu);
    let part = |(n, clone): (usize, Measurement)| Part {
        target: clone.targets.join(":"),
        clone: u32::try_from(n).ok(),
        results: clone.total,
        account: clone.account,
        failure: None,
    };
    all.parts = clones.into_iter().enumerate().map(part).collect();
    all
}

fn sum_stats(clones: Vec<&JobStats>) -> JobStats {
    let mut all = JobStats { latency_ranges: Vec::new(), ..clones[0].clone() };
    for clone in &clones[1..] {
        all.extend_times(clone);
        if all.error == 0 {
            all.error = clone.error;
            all.failure.clone_from(&clone.failure);
        }
        all.errors.extend(clone.errors.iter().cloned());
        all.add_counts(clone);
    }
    // Shares of a clone's time, weighted by how long it ran.
    let ran_ns = all.elapsed_ns.max(1) as f64;
    all.cpu = clones.iter().fold(CpuUse::default(), |cpu, clone| {
        let share = clone.elapsed_ns as f64 / ran_ns;
        CpuUse {
            user: cpu.user + clone.cpu.user * share,
            system: cpu.system + clone.cpu.system * share,
            busiest_thread: cpu.busiest_thread.max(clone.cpu.busiest_thread * share),
            waited: None,
        }
    });
    all
}

#[cfg(test)]
mod tests {
    /// Each clone's share of its own time counts once, as a share of the longest run time.
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
