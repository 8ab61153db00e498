//! Compares the issued I/O with the kernel's and the drive's counters.

use iodyno_model::{
    Bytes, Direction, Drive, Evidence, HealthLog, Host, Measurement, RunRecord, Severity, Validity,
};

use super::{Affected, Checks, Reservation, Rule, Tally, finding};
use crate::figures::percent;
use crate::limiter::PASSTHROUGH;
use crate::outstanding::moves_no_data;
use crate::place::bottom_devices;
use crate::rule_context::RuleContext;

/// Below this share of the issued bytes, something else answered instead of the device.
const REACHED: f64 = 0.9;
/// Below this share, most of the I/O was not the device's.
const MOSTLY: f64 = 0.5;
/// Fewer bytes are not compared: metadata and read-ahead may be as many.
const LEAST_BYTES: u64 = 16 << 20;
/// A drive's counter may lag behind and includes the firmware's own I/O: it differs from this share
/// of the kernel's count on.
const FOREIGN_SHARE: f64 = 0.1;
/// It also has to differ by this many bytes.
const FOREIGN_BYTES: u128 = 1_000_000_000;

pub(super) static RULE: Rule = Rule {
    id: "counters-differ",
    severity: Severity::Info,
    summary: "I/O that never reached the device, or bypassed this host's kernel",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut affected = Affected::default();
    for (_, of) in context.finished() {
        match short(context, of) {
            Err(missing) => tally.unknown(of.title(), missing),
            Ok(short) => {
                tally.checked();
                if let Some((_, figure)) = short {
                    affected.add(of.title(), figure, context.subjects(of));
                }
            }
        }
    }
    affected.report(
        tally,
        "part of the I/O never reached the device",
        "A page cache, file holes or compression answered instead, and is faster than a drive.",
        "Bypass the page cache (direct=1), and read files that were written in full.",
    );
    let snapshots = (context.host(), context.record().host_after());
    if let (Some(before), Some(after)) = snapshots
        && context.record().snapshots.len() > 1
    {
        for drive in &before.drives {
            let passed = passed_bytes(context.record(), before, drive);
            foreign(tally, drive, [before, after], passed);
        }
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let (validity, why) = short(context, of).ok().flatten()?;
    Some(Reservation { validity, why })
}

/// Describes I/O that did not reach the devices, by the kernel's statistics, and the resulting
/// validity. I/O at the same time is counted together; other I/O, copies and parity only add.
fn short(
    context: &RuleContext<'_>,
    of: &Measurement,
) -> Result<Option<(Validity, String)>, String> {
    if moves_no_data(of) {
        return Ok(None);
    }
    let Some(counted) = context.counted(of)? else { return Ok(None) };
    let mut worst: Option<(f64, String)> = None;
    let directions = [
        (Direction::Read, "read", counted.read_bytes),
        (Direction::Write, "written", counted.written_bytes),
    ];
    let devices = counted.devices.join(", ");
    for (direction, verb, bytes) in directions {
        if of.result(direction).is_none() {
            continue;
        }
        let issued = counted.issued_bytes(direction);
        if issued < LEAST_BYTES {
            continue;
        }
        if bytes == 0 && of.workload.is_buffered() != Some(true) {
            return Err(format!("the kernel does not count {devices}"));
        }
        let share = bytes as f64 / issued as f64;
        if share < worst.as_ref().map_or(REACHED, |(worst, _)| *worst) {
            let why = format!(
                "{} were {verb}, and {devices} counted only {} in all, others' included ({})",
                Bytes(issued).decimal(),
                Bytes(bytes).decimal(),
                percent(share)
            );
            worst = Some((share, why));
        }
    }
    Ok(worst.map(|(share, why)| match share < MOSTLY {
        true => (Validity::Invalid, why),
        false => (Validity::Qualified, why),
    }))
}

/// Bytes that this run itself read from and wrote to a drive by passthrough.
fn passed_bytes(record: &RunRecord, host: &Host, drive: &Drive) -> [u128; 2] {
    let is_own = |name: &str| drive.namespaces.iter().any(|namespace| namespace.name == name);
    let passed = record.measurements.iter().filter(|of| {
        let below = bottom_devices(host, of);
        of.workload.ioengine.as_deref() == Some(PASSTHROUGH)
            && matches!(below.as_slice(), [only] if is_own(&only.name))
    });
    let mut bytes = [0; 2];
    for result in passed.flat_map(|of| &of.total) {
        let [read, written] = &mut bytes;
        let whole = u128::from(result.whole_bytes.unwrap_or(0));
        match result.direction {
            Direction::Read => *read += whole,
            Direction::Write => *written += whole,
            _ => {}
        }
    }
    bytes
}

/// Compares a drive's counters over the run with the bytes that the kernel sent.
fn foreign(tally: &mut Tally, drive: &Drive, [before, after]: [&Host; 2], passed: [u128; 2]) {
    let name = &drive.name;
    let Some(first) = tally.known_or_note(name, "SMART log", &drive.health) else { return };
    let Some(last) = after.drive(name).and_then(|drive| drive.health.get()) else { return };
    let of_kernel = |host: &Host| {
        let stats = drive.namespaces.iter().map(|namespace| host.stats(&namespace.name));
        stats.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()).map(|all| {
            let sum = |bytes: fn(&iodyno_model::DiskStats) -> u64| {
                all.iter().map(|stats| u128::from(bytes(stats))).sum::<u128>()
            };
            [sum(|stats| stats.read_bytes), sum(|stats| stats.written_bytes)]
        })
    };
    let (Some(earlier), Some(later)) = (of_kernel(before), of_kernel(after)) else {
        return tally.unknown(name, "the kernel's statistics of all its namespaces");
    };
    tally.checked();
    let of_drive = |log: &HealthLog| [log.host_read_bytes, log.host_written_bytes];
    let (was, is) = (of_drive(first), of_drive(last));
    for (n, verb) in ["read", "written"].into_iter().enumerate() {
        let kernel = later[n].saturating_sub(earlier[n]).saturating_add(passed[n]);
        let counted = is[n].saturating_sub(was[n]);
        let foreign = counted.saturating_sub(kernel);
        if foreign < FOREIGN_BYTES || (foreign as f64) < FOREIGN_SHARE * kernel as f64 {
            continue;
        }
        let bytes = |bytes: u128| Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)).decimal();
        tally.found(finding(
            Severity::Info,
            vec![name.clone()],
            format!(
                "{name} counted {} {verb} during the run; this host's kernel sent {}.",
                bytes(counted),
                bytes(kernel)
            ),
            vec![
                Evidence::new(format!("{verb}, by the drive"), bytes(counted)),
                Evidence::new(format!("{verb}, by the kernel"), bytes(kernel)),
            ],
            "Somebody else used the drive: another host at its second port, or a program that goes past the kernel \
             (SPDK, passthrough).",
            "Find out who it is: sudo lsof /dev/nvme* /dev/ng*; another host's path: sudo nvme list-subsys. Repeat when it \
             is quiet.",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, log, reserves};
    use iodyno_model::{DiskStats, Fact, Origin};

    fn measured(bench: &Bench) -> RunRecord {
        let mut record = bench.record();
        record.run.origin = Origin::Measured;
        record
    }

    /// 10 GB issued each time, of which the kernel counted `counted` bytes.
    fn bench(counted: u64, change: impl FnOnce(&mut Host)) -> Bench {
        let stats =
            |read_bytes| DiskStats { name: "nvme0n1".into(), read_bytes, ..DiskStats::default() };
        let bench = Bench::new(1).measured().host(|host| host.disk_stats = vec![stats(7)]);
        let bench = bench.after(|host| {
            host.disk_stats = vec![stats(7 + counted)];
            change(host);
        });
        // The three are one phase.
        each(bench, |of| of.total[0].whole_bytes = Some(10_000_000_000))
    }

    #[test]
    fn io_that_never_reached_the_device_is_invalid_or_qualified() {
        assert_eq!(check_rule(&RULE, &measured(&bench(31_000_000_000, |_| ()))), Outcome::Clear);
        let some = measured(&bench(20_000_000_000, |_| ()));
        check_rule(&RULE, &some).only(Severity::Info);
        assert_eq!(reserves(&RULE, &some, 0).unwrap().validity, Validity::Qualified);
        let most = reserves(&RULE, &measured(&bench(3_000_000, |_| ())), 0).unwrap();
        assert_eq!(most.validity, Validity::Invalid);
        assert!(
            most.why.contains("30 GB were read, and nvme0n1 counted only 3 MB in all"),
            "{most:?}"
        );
    }

    #[test]
    fn engines_that_move_no_data_have_none_to_count() {
        let with = |engine: &str| {
            let few = bench(3_000_000, |_| ());
            measured(&each(few, |of| of.workload.ioengine = Some(engine.into())))
        };
        assert!(reserves(&RULE, &with("psync"), 0).is_some());
        for engine in ["ftruncate", "falloc"] {
            assert_eq!(reserves(&RULE, &with(engine), 0), None, "{engine}");
        }
    }

    #[test]
    fn statistics_that_stand_still_prove_nothing_unless_a_cache_may_answer() {
        let still = bench(0, |_| ());
        assert_eq!(reserves(&RULE, &measured(&still), 0), None);
        let cached = measured(&each(still, |of| of.workload.direct = Some(false)));
        assert_eq!(reserves(&RULE, &cached, 0).unwrap().validity, Validity::Invalid);
        let passed =
            each(bench(0, |_| ()), |of| of.workload.ioengine = Some("io_uring_cmd".into()));
        assert_eq!(check_rule(&RULE, &measured(&passed)), Outcome::Clear);
        let simulated = bench(3_000_000, |_| ()).record();
        assert_eq!(check_rule(&RULE, &simulated), Outcome::Clear);
        let none = Bench::new(1).measured().drive(0, |drive| drive.health = Fact::NeedsRoot);
        assert_eq!(check_rule(&RULE, &measured(&none.clone().after(|_| ()))), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &measured(&none)), Outcome::CannotTell);
    }

    #[test]
    fn foreign_io_on_the_drive_is_reported() {
        let others = |bytes: u128| {
            let grown = |host: &mut Host| log(&mut host.drives[0]).host_read_bytes = bytes;
            measured(&bench(30_000_000_000, grown))
        };
        assert_eq!(check_rule(&RULE, &others(30_900_000_000)), Outcome::Clear);
        let found = check_rule(&RULE, &others(50_000_000_000));
        assert!(found.only(Severity::Info).what.starts_with("nvme0 counted 50 GB read"));
        // The run's own passthrough is not foreign I/O.
        let mut passed = others(50_000_000_000);
        let of = &mut passed.measurements[0];
        of.workload.ioengine = Some(PASSTHROUGH.into());
        of.total[0].whole_bytes = Some(20_000_000_000);
        assert_eq!(check_rule(&RULE, &passed), Outcome::Clear);
    }
}
