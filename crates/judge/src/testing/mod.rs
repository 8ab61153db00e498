//! Builders of runs for tests: a healthy machine, measured well, with a test's changes.

use iodyno_model::{
    Aspm, BlockDevice, BlockKind, Bytes, Conditions, CpuUse, Cpus, Direction, DirectionResult,
    Drive, EndReason, Estimate, Fact, Finding, HealthLog, Host, IdentifyNamespace, Interrupt,
    LbaFormat, Link, LinkEnd, LinkState, Measurement, Metric, Namespace, Origin, Part, PciFunction,
    Queue, Rounds, RoundsPlan, RuleOutcome, Run, RunKind, RunRecord, RunState, Severity,
    Temperature, Tracked, Workload, WrittenShare, WrittenState,
};

use crate::claims::ClaimBook;
use crate::expectation::Expectation;
use crate::question::Question;
use crate::rule_context::RuleContext;
use crate::rules::Rule;

mod qualifies;
mod stack;

pub(crate) use qualifies::assert_qualifies;
pub(crate) use stack::{array, on_stack, partition, stack};

/// A fact that was read.
pub(crate) fn known<T>(value: T) -> Fact<T> {
    Fact::Read(value)
}

/// Data sheet of the drives of [`Bench`].
pub(crate) const SHEET: &str = r#"
[[drive]]
vendor = "Test"
model = "Test drive 4TB"
capacity_gb = 4000
match = ["^TEST DRIVE$"]
match_confidence = "certain"
seq_read_mbs = 6800
rand_read_iops = 1000000
lat_read_us = 80
lat_cond = "4K QD1 typical"
scope = "exact"
source = "a test"
"#;

/// A book with that one claim.
pub(crate) fn claims() -> ClaimBook {
    let mut book = ClaimBook::default();
    book.add_toml(SHEET, "sheet.toml").unwrap();
    book
}

/// A machine with drives, and a run on it.
#[derive(Clone)]
pub(crate) struct Bench {
    host: Host,
    after: Option<Host>,
    measurements: Vec<Measurement>,
}

impl Bench {
    /// `count` equal, healthy drives on their own Gen4 x4 links: `nvme0` with
    /// serial number `S0` at 0000:10:00.0 and so on.
    pub(crate) fn new(count: usize) -> Self {
        let host = Host {
            hostname: known("bench".into()),
            cpus: Cpus { online: known((0..16).collect()), ..Cpus::default() },
            memory: known(Bytes::gib(64)),
            page_bytes: known(4096),
            drives: (0..count).map(drive).collect(),
            links: (0..count).map(|n| link(&format!("0000:0{n}:01.0"), &address(n))).collect(),
            nvme_functions: (0..count)
                .map(|n| PciFunction {
                    address: address(n),
                    pci_id: "1234:5678".into(),
                    driver: known("nvme".into()),
                    controller: Some(format!("nvme{n}")),
                    ..PciFunction::default()
                })
                .collect(),
            blocks: (0..count).map(block).collect(),
            ..Host::default()
        };
        Self { host, after: None, measurements: Vec::new() }
    }

    /// Every drive measured alone (`seq-read`, `rand-read`, `latency`: indices
    /// 3n, 3n + 1, 3n + 2), then several at once (`seq-read`, `rand-read`).
    pub(crate) fn measured(mut self) -> Self {
        let targets: Vec<String> =
            self.host.blocks.iter().map(|block| block.name.clone()).collect();
        let phase = |measurements: &Vec<Measurement>| measurements.len() as u32 + 1;
        for target in &targets {
            for step in ["seq-read", "rand-read", "latency"] {
                let targets = std::slice::from_ref(target);
                self.measurements.push(measurement(step, targets, phase(&self.measurements)));
            }
        }
        if targets.len() > 1 {
            for step in ["seq-read", "rand-read"] {
                self.measurements.push(measurement(step, &targets, phase(&self.measurements)));
            }
        }
        self
    }

    pub(crate) fn host(mut self, change: impl FnOnce(&mut Host)) -> Self {
        change(&mut self.host);
        self
    }

    pub(crate) fn drive(self, n: usize, change: impl FnOnce(&mut Drive)) -> Self {
        self.host(|host| change(&mut host.drives[n]))
    }

    pub(crate) fn link(self, n: usize, change: impl FnOnce(&mut Link)) -> Self {
        self.host(|host| change(&mut host.links[n]))
    }

    pub(crate) fn measurement(mut self, n: usize, change: impl FnOnce(&mut Measurement)) -> Self {
        change(&mut self.measurements[n]);
        self
    }

    /// Adds a later snapshot, which differs by `change`.
    pub(crate) fn after(mut self, change: impl FnOnce(&mut Host)) -> Self {
        let mut after = self.host.clone();
        change(&mut after);
        self.after = Some(after);
        self
    }

    /// The run.
    pub(crate) fn record(&self) -> RunRecord {
        let mut measurements = self.measurements.clone();
        for measurement in &mut measurements {
            measurement.before = Some(0);
            measurement.after = Some(usize::from(self.after.is_some()));
        }
        RunRecord {
            run: Run {
                name: "test".into(),
                command: "iodyno check".into(),
                state: RunState::Done,
                ended_ns: Some(1),
                kind: RunKind::Check,
                plan_name: "check".into(),
                origin: Origin::Simulated,
                targets: self.host.blocks.iter().map(|block| block.name.clone()).collect(),
                ..Run::new("0", 0)
            },
            snapshots: std::iter::once(self.host.clone()).chain(self.after.clone()).collect(),
            measurements,
        }
    }
}

fn address(n: usize) -> String {
    format!("0000:1{n}:00.0")
}

fn drive(n: usize) -> Drive {
    Drive {
        name: format!("nvme{n}"),
        model: known("TEST DRIVE".into()),
        serial: known(format!("S{n}")),
        firmware: known("F1".into()),
        state: known("live".into()),
        transport: known("pcie".into()),
        subsystem_nqn: Fact::Absent,
        address: known(address(n)),
        links: vec![address(n)],
        numa_node: known(0),
        local_cpus: known((0..16).collect()),
        capacity: known(Bytes(4_000_787_030_016)),
        virtual_disk: None,
        temperature: known(Temperature {
            composite_c: 40.0,
            warning_c: Some(80.0),
            critical_c: Some(85.0),
        }),
        identify: Fact::Absent,
        health: known(health()),
        namespaces: vec![Namespace {
            name: format!("nvme{n}n1"),
            nsid: known(1),
            wwid: Fact::Absent,
            size: known(Bytes(4_000_787_030_016)),
            logical_block_bytes: known(4096),
            identify: known(IdentifyNamespace {
                size_blocks: 976_754_646,
                capacity_blocks: 976_754_646,
                used_blocks: 976_754_646,
                deallocated_reads_as: Some(0),
                deallocated_read_may_fail: false,
                formats: vec![lba_format(512, 2), lba_format(4096, 0)],
                format_in_use: 1,
            }),
            ..Namespace::default()
        }],
        ..Drive::default()
    }
}

pub(crate) fn lba_format(data_bytes: u32, relative_performance: u8) -> LbaFormat {
    LbaFormat { data_bytes, metadata_bytes: 0, relative_performance }
}

fn health() -> HealthLog {
    HealthLog {
        temperature_k: 313,
        available_spare_percent: 100,
        spare_threshold_percent: 10,
        used_percent: 3,
        power_on_hours: 100,
        power_cycles: 1,
        ..HealthLog::default()
    }
}

/// The SMART log of a drive, for changes.
pub(crate) fn log(drive: &mut Drive) -> &mut HealthLog {
    match &mut drive.health {
        Fact::Read(log) => log,
        _ => panic!("the builder's drives have one"),
    }
}

/// A healthy Gen4 x4 link.
pub(crate) fn link(port: &str, device: &str) -> Link {
    let end = |address: &str| LinkEnd {
        address: address.into(),
        max_generation: known(4),
        max_width: known(4),
        target_generation: known(4),
        max_payload_bytes: known(256),
        able_payload_bytes: known(256),
        correctable_errors: known(0),
        uncorrectable_errors: known(0),
        ..LinkEnd::default()
    };
    Link {
        port: end(port),
        device: end(device),
        current: known(LinkState { generation: 4, width: 4 }),
        aspm: known(Aspm { l0s: false, l1: false }),
        ..Link::default()
    }
}

fn block(n: usize) -> BlockDevice {
    BlockDevice {
        name: format!("nvme{n}n1"),
        major: 259,
        minor: n as u32,
        kind: BlockKind::Nvme,
        size: known(Bytes(4_000_787_030_016)),
        model: known("TEST DRIVE".into()),
        stands_on: Vec::new(),
        used_by: Vec::new(),
        queue: Queue {
            scheduler: known("none".into()),
            nr_requests: known(1023),
            hardware_queues: known(16),
            logical_block_bytes: known(4096),
            physical_block_bytes: known(4096),
            max_sectors_kib: known(512),
            max_hw_sectors_kib: known(512),
            ..Queue::default()
        },
        ..BlockDevice::default()
    }
}

fn estimate(value: f64) -> Estimate {
    Estimate::confident(value, value * 0.99, value * 1.01, 0.95)
}

/// Changes every measurement.
pub(crate) fn each(mut bench: Bench, change: impl Fn(&mut Measurement)) -> Bench {
    bench.measurements.iter_mut().for_each(change);
    bench
}

/// Scales every figure of a measurement that it may be judged by: its rates, and at depth 1 its
/// latency, which otherwise follows from the rates (Little's law).
pub(crate) fn scale(of: &mut Measurement, factor: f64) {
    let latency = if of.workload.iodepth == Some(1) { factor } else { 1.0 / factor };
    for result in &mut of.total {
        result.iops = result.iops.map(|iops| iops.scaled(factor));
        result.bandwidth = result.bandwidth.map(|rate| rate.scaled(factor));
        result.latency_mean = result.latency_mean.map(|mean| mean.scaled(latency));
    }
}

/// Sets the written state of a measurement's blocks.
pub(crate) fn set_written(of: &mut Measurement, state: WrittenState) {
    of.conditions.written.iter_mut().for_each(|share| share.state = state);
}

fn measurement(step: &str, targets: &[String], phase: u32) -> Measurement {
    let (rw, bs, depth, iops, threads) = match step {
        "seq-read" => ("read", 256u64 << 10, 32, 6.8e9 / f64::from(256 << 10), 1),
        "rand-read" => ("randread", 4096, 512, 980_000.0, 8),
        _ => ("randread", 4096, 1, 12_500.0, 1),
    };
    let result = |count: usize| {
        let iops = iops * count as f64;
        DirectionResult {
            ios: Some(1000),
            bytes: Some(1000 * bs),
            whole_ios: Some(1000),
            whole_bytes: Some(1000 * bs),
            errors: Some(0),
            short_ios: Some(0),
            iops: Some(estimate(iops)),
            bandwidth: Some(estimate(iops * bs as f64)),
            // Little's law.
            latency_mean: Some(estimate(f64::from(depth) * 1e9 / (iops / count as f64))),
            steady: Some(true),
            slow: Some(false),
            clustering: Vec::new(),
            ..DirectionResult::unknown(Direction::Read)
        }
    };
    let parts = |target: &String| Part {
        target: target.clone(),
        clone: None,
        results: vec![result(1)],
        account: None,
        failure: None,
    };
    let count = targets.len();
    let depth = depth * count as u32;
    Measurement {
        phase,
        targets: targets.to_vec(),
        workload: Workload {
            rw: Some(rw.into()),
            bs: Some(bs),
            iodepth: Some(depth / threads),
            numjobs: Some(threads),
            ioengine: Some("io_uring".into()),
            direct: Some(true),
            ..Workload::default()
        },
        source: "simulated".into(),
        started_ns: Some(0),
        duration_ns: Some(5_000_000_000),
        total: vec![result(count)],
        parts: if count > 1 { targets.iter().map(parts).collect() } else { Vec::new() },
        conditions: Conditions {
            punted: Some(false),
            threads: Some(threads),
            depth_asked: Some(depth),
            depth_reached: Some(f64::from(depth)),
            written: targets
                .iter()
                .map(|target| WrittenShare {
                    target: target.clone(),
                    samples: 4096,
                    share: estimate(1.0),
                    state: WrittenState::Written,
                    evidence: "a test".into(),
                })
                .collect(),
            other_iops: Some(0.0),
            other_bytes_per_s: Some(0.0),
            precision_asked: Some(0.01),
            ..Conditions::default()
        },
        cpu: Some(CpuUse { user: 0.2, system: 0.3, busiest_thread: 0.5, waited: None }),
        end: EndReason::Precision,
        ..Measurement::unknown(step)
    }
}

/// Interrupts of an admin queue and four others of the first drive, on the CPUs given by `cpu`.
pub(crate) fn interrupts(cpu: fn(u32) -> u32, count: u64) -> Vec<Interrupt> {
    (0..5)
        .map(|queue| Interrupt {
            number: 40 + queue,
            function: "0000:10:00.0".into(),
            name: format!("nvme0q{queue}"),
            counts: [(cpu(queue), count)].into(),
            effective_cpus: Fact::Absent,
        })
        .collect()
}

/// Outcome of a rule, in a form that tests compare.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Clear,
    /// Clear, except for so many subjects of which it could not tell.
    ClearBut(usize),
    Findings(Vec<Finding>),
    CannotTell,
    NotApplicable,
}

impl Outcome {
    /// Returns the only finding, which must have this severity.
    pub(crate) fn only(&self, severity: Severity) -> &Finding {
        match self {
            Self::Findings(found) if found.len() == 1 && found[0].severity == severity => &found[0],
            other => panic!("not one {severity:?}: {other:?}"),
        }
    }

    /// Returns the number of subjects of which it could not tell.
    pub(crate) fn unknown(&self) -> usize {
        match self {
            Self::ClearBut(count) => *count,
            other => panic!("{other:?}"),
        }
    }
}

/// Checks a run by a rule, with the builder's data sheet.
pub(crate) fn check_rule(rule: &'static Rule, record: &RunRecord) -> Outcome {
    check_rule_with(rule, record, None, None)
}

/// The same with a baseline and an expectation.
pub(crate) fn check_rule_with(
    rule: &'static Rule,
    record: &RunRecord,
    baseline: Option<&RunRecord>,
    expect: Option<&Expectation>,
) -> Outcome {
    let claims = claims();
    let question = Question { record, claims: &claims, baseline, expect };
    let report = rule.check(&RuleContext::gather(&question));
    if let RuleOutcome::Findings(findings) = &report.outcome {
        for finding in findings {
            assert!(finding.severity <= rule.severity, "{finding:?}");
            assert!(!finding.what.is_empty() && !finding.why.is_empty(), "{finding:?}");
            assert!(!finding.next.is_empty() && !finding.evidence.is_empty(), "{finding:?}");
        }
    }
    match report.outcome {
        RuleOutcome::Clear if report.cannot_tell.is_empty() => Outcome::Clear,
        RuleOutcome::Clear => Outcome::ClearBut(report.cannot_tell.len()),
        RuleOutcome::Findings(findings) => Outcome::Findings(findings),
        RuleOutcome::CannotTell(why) => {
            assert!(!why.is_empty());
            Outcome::CannotTell
        }
        RuleOutcome::NotApplicable => Outcome::NotApplicable,
    }
}

/// A rule's reservation about a measurement.
pub(crate) fn reserves(
    rule: &'static Rule,
    record: &RunRecord,
    measurement: usize,
) -> Option<crate::rules::Reservation> {
    let claims = claims();
    let question = Question { record, claims: &claims, baseline: None, expect: None };
    rule.reservation(&RuleContext::gather(&question), measurement)
}

/// A run in rounds of writes with these IOPS, which are tracked.
pub(crate) fn in_rounds(iops: &[f64]) -> RunRecord {
    let mut record = Bench::new(1).measured().record();
    let first = record.measurements[0].clone();
    let one = |(round, iops): (usize, &f64)| {
        let mut of = first.clone();
        of.name = "write".into();
        of.round = Some(round as u32 + 1);
        of.phase = round as u32;
        of.workload.rw = Some("randwrite".into());
        of.total = vec![DirectionResult {
            ios: Some(1000),
            iops: Some(Estimate::bare(*iops)),
            bandwidth: Some(Estimate::bare(*iops * 4096.0)),
            latency_mean: Some(Estimate::bare(1e9 / *iops)),
            ..DirectionResult::unknown(Direction::Write)
        }];
        of
    };
    record.measurements = iops.iter().enumerate().map(one).collect();
    let track = vec![Tracked { point: "write".into(), metric: Metric::Iops }];
    let rounds = Rounds { track, ..Rounds::default() };
    record.run.rounds = Some(RoundsPlan { rounds, ..RoundsPlan::default() });
    record
}
