//! Checks that the work grows linearly with the number of measurements.

use iodyno_model::{Measurement, RunRecord};

use crate::comparison::{Side, compare};
use crate::testing::{Bench, claims, scale};
use crate::{Question, assess};

/// Changes the measurement with this number.
type Change = fn(usize, &mut Measurement);

/// `count` measurements of random reads on four drives, each changed by `change`.
fn run(count: usize, change: Change) -> RunRecord {
    let mut record = Bench::new(4).measured().after(|_| ()).record();
    let first = record.measurements[1].clone();
    let one = |n: usize| {
        let mut of = first.clone();
        of.phase = n as u32;
        of.targets = vec![format!("nvme{}n1", n % 4)];
        of.conditions.written[0].target.clone_from(&of.targets[0]);
        change(n, &mut of);
        of
    };
    record.measurements.extend((0..count).map(one));
    record
}

/// CPU time of this thread so far, ns.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn four_times_the_measurements_take_about_four_times_the_work() {
    let kinds: [(&str, Change); 5] = [
        // Slow, so that other explanations are sought.
        ("names", |n, of| {
            of.name = format!("job{n}");
            scale(of, 0.5);
        }),
        ("one name", |n, of| scale(of, 1.0 - 0.3 / (n + 1) as f64)),
        ("several targets", |n, of| {
            of.name = format!("job{}", n / 2);
            if n % 2 == 0 {
                of.targets.push(format!("nvme{}n1", (n + 1) % 4));
            }
        }),
        ("files", |n, of| of.targets = vec![format!("/srv/file{n}")]),
        ("writes at once", |n, of| {
            (of.phase, of.before, of.after) = (0, Some(0), Some(1));
            of.workload.rw = Some("randwrite".into());
            of.workload.bs = Some(if n % 2 == 0 { 4096 } else { 16384 });
            of.total[0].direction = iodyno_model::Direction::Write;
            scale(of, 0.2 + 0.001 * n as f64);
        }),
    ];
    let claims = claims();
    let judged = |record: &RunRecord| {
        let begun = cpu_ns();
        assess(&Question { record, claims: &claims, baseline: Some(record), expect: None });
        cpu_ns() - begun
    };
    let compared = |record: &RunRecord| {
        let begun = cpu_ns();
        let side = |label: &str| Side { label: label.into(), records: vec![record] };
        compare(&[side("a"), side("b")], &claims);
        cpu_ns() - begun
    };
    for (kind, change) in kinds {
        let (few, many) = (run(250, change), run(1000, change));
        for (what, work) in
            [("judged", &judged as &dyn Fn(&RunRecord) -> u64), ("compared", &compared)]
        {
            // The minimum of several runs is the least disturbed. A quadratic algorithm would give
            // a ratio of 16.
            let (mut least_few, mut least_many, mut ratio) = (u64::MAX, u64::MAX, f64::MAX);
            for _ in 0..8 {
                least_few = least_few.min(work(&few));
                least_many = least_many.min(work(&many));
                ratio = least_many as f64 / least_few as f64;
                if ratio < 6.0 {
                    break;
                }
            }
            assert!(ratio < 8.0, "{kind}, {what}: {ratio:.1} times the work for 4 times as many");
        }
    }
}
