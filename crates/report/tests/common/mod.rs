//! A realistic run: a server with four drives, one on a degraded link, one never written, one in
//! use by others.

#![allow(dead_code, unused_imports, reason = "each test binary uses a part of it")]

mod host;

use host::{block, read};
pub(crate) use host::{host, without_facts};
use iodyno_model::*;
use iodyno_report::text::Style;

pub(super) const START_NS: i64 = 1_732_188_896_000_000_000;

pub(crate) fn style(width: usize) -> Style {
    Style { width, color: false, wide: false, columns: None }
}

/// Compares with reviewed output.
pub(crate) fn assert_as_expected(file: &str, text: &str) {
    expect_test::expect_file![format!("../expected/{file}")].assert_eq(text);
}

fn reason(rule: &str, validity: Validity, why: &str) -> Reason {
    Reason { rule: rule.into(), validity, why: why.into() }
}

fn within(value: f64, relative: f64) -> Estimate {
    Estimate::confident(value, value * (1.0 - relative), value * (1.0 + relative), 0.95)
}

/// Latencies around `typical_ns` with a tail.
fn latencies(count: u64, typical_ns: u64) -> Histogram {
    let mut histogram = Histogram::default();
    for i in 0..count {
        let spread = (i * 7919) % 1000;
        let tail = if i % 400 == 0 { typical_ns * (1 + (i / 400) % 37) / 8 } else { 0 };
        histogram.record(typical_ns * 9 / 10 + typical_ns * spread / 5000 + tail);
    }
    histogram
}

fn result(iops: f64, bs: u64, mean_ns: f64) -> DirectionResult {
    let ios = (iops * 9.2) as u64;
    let latency = latencies(200_000.min(ios), mean_ns as u64);
    DirectionResult {
        ios: Some(ios),
        bytes: Some(ios * bs),
        whole_ios: Some(ios + ios / 10),
        whole_bytes: Some((ios + ios / 10) * bs),
        errors: Some(0),
        short_ios: Some(0),
        iops: Some(within(iops, 0.0021)),
        bandwidth: Some(within(iops * bs as f64, 0.0021)),
        latency_mean: latency.mean_ns().map(|mean| within(mean, 0.003)),
        latency,
        steady: Some(true),
        slow: Some(false),
        // As for independent I/Os.
        clustering: PERCENTILES.map(|percent| Clustering { percent, effect: Some(1.0) }).to_vec(),
        ..DirectionResult::unknown(Direction::Read)
    }
}

/// A measurement of `check`; a rate is bytes per second for `seq-read`, IOPS for the others.
fn measurement(name: &str, targets: &[&str], phase: u32, rates: &[f64]) -> Measurement {
    let (rw, bs, depth, threads) = match name {
        "seq-read" => ("read", 256 << 10, 32, 1),
        "rand-read" => ("randread", 4096, 512, 4),
        _ => ("randread", 4096, 1, 1),
    };
    let iops_of = |rate: f64| if name == "seq-read" { rate / bs as f64 } else { rate };
    let results: Vec<DirectionResult> = rates
        .iter()
        .map(|rate| {
            let iops = iops_of(*rate);
            result(iops, bs, f64::from(depth) / iops * 1e9)
        })
        .collect();
    let mut total = results[0].clone();
    let iops: f64 = rates.iter().map(|rate| iops_of(*rate)).sum();
    total.iops = Some(within(iops, 0.0018));
    total.bandwidth = Some(within(iops * bs as f64, 0.0018));
    let parts = match targets.len() {
        1 => Vec::new(),
        _ => targets
            .iter()
            .zip(results)
            .map(|(target, result)| Part {
                target: target.to_string(),
                clone: None,
                results: vec![result],
                account: None,
                failure: None,
            })
            .collect(),
    };
    Measurement {
        phase,
        targets: targets.iter().map(ToString::to_string).collect(),
        workload: Workload {
            rw: Some(rw.into()),
            bs: Some(bs),
            iodepth: Some(depth / threads),
            numjobs: Some(threads),
            ioengine: Some("io_uring".into()),
            direct: Some(true),
            ..Workload::default()
        },
        source: "native 0.1.0".into(),
        started_ns: Some(START_NS + i64::from(phase) * 10_000_000_000),
        duration_ns: Some(9_213_000_000),
        warmup_ns: 800_000_000,
        total: vec![total],
        parts,
        conditions: Conditions {
            engine_reason: Some("io_uring".into()),
            threads: Some(threads),
            depth_asked: Some(depth),
            depth_reached: Some(f64::from(depth) * 0.998),
            written: targets
                .iter()
                .map(|target| WrittenShare {
                    target: target.to_string(),
                    samples: 4096,
                    share: Estimate::confident(1.0, 0.999, 1.0, 0.95),
                    state: WrittenState::Written,
                    evidence: "every sample holds data".into(),
                })
                .collect(),
            ..Conditions::default()
        },
        cpu: Some(CpuUse { user: 0.2, system: 0.5, busiest_thread: 0.7, waited: None }),
        end: EndReason::Precision,
        before: Some(0),
        after: Some(0),
        ..Measurement::unknown(name)
    }
}

fn of_claim(ratio: f64) -> Basis {
    Basis::share(Yardstick::Claim, ratio)
}

fn judge(
    measurement: usize,
    of: &Measurement,
    claim: Option<f64>,
    ceiling: Option<(f64, &str)>,
    verdict: Verdict,
    reason: impl Into<Basis>,
) -> JudgedMeasurement {
    let result = &of.total[0];
    let (metric, estimate) = match of.name.as_str() {
        "seq-read" => (Metric::Bandwidth, result.bandwidth.expect("it was measured")),
        "rand-read" => (Metric::Iops, result.iops.expect("it was measured")),
        _ => (Metric::LatencyMean, result.latency_mean.expect("the builder records latencies")),
    };
    JudgedMeasurement {
        measurement,
        validity: Validity::Valid,
        reasons: Vec::new(),
        metrics: vec![MetricJudgement {
            metric,
            estimate,
            claim: claim.map(|value| ClaimFigure {
                value,
                conditions: "128 KiB, QD 32".into(),
                model: "PM9A3 3.84 TB".into(),
                scope: ClaimScope::Exact,
                source: "Samsung PM9A3 data sheet, rev. 1.0".into(),
            }),
            below_saturation: None,
            ceiling: ceiling.map(|(value, by)| (value, by.into())),
            peers: None,
            baseline: None,
            verdict,
            reason: reason.into(),
        }],
    }
}

/// The run.
pub(crate) fn record() -> RunRecord {
    let (n0, n1, n2) = ("nvme0n1", "nvme1n1", "nvme2n1");
    let mut measurements = vec![
        measurement("seq-read", &[n0], 1, &[6.853e9]),
        measurement("rand-read", &[n0], 2, &[982_300.0]),
        measurement("latency", &[n0], 3, &[13_990.0]),
        measurement("seq-read", &[n1], 4, &[6.861e9]),
        measurement("rand-read", &[n1], 5, &[978_900.0]),
        measurement("latency", &[n1], 6, &[14_020.0]),
        measurement("seq-read", &[n2], 7, &[1.722e9]),
        measurement("rand-read", &[n2], 8, &[398_000.0]),
        measurement("seq-read", &[n0, n1, n2], 9, &[6.790e9, 6.801e9, 1.721e9]),
        measurement("rand-read", &[n0, n1, n2], 10, &[961_000.0, 958_000.0, 397_000.0]),
    ];
    for measurement in &mut measurements {
        for written in &mut measurement.conditions.written {
            if written.target == n2 {
                written.state = WrittenState::Unwritten;
                written.share = Estimate::confident(0.002, 0.001, 0.004, 0.95);
                written.evidence = "NUSE is 0 and 4088 of 4096 samples read as zeros".into();
            }
        }
    }
    measurements[7].conditions.depth_reached = Some(300.2);
    RunRecord {
        run: Run {
            scope: iodyno_model::Scope::Machine,
            id: "01935f2a-7a80-7c11-9d3a-0b1f6f0c2d11".into(),
            name: "db17-after-firmware".into(),
            command: "iodyno check".into(),
            state: RunState::Done,
            is_alive: false,
            pid: None,
            is_copy: false,
            started_ns: START_NS,
            ended_ns: Some(START_NS + 104_000_000_000),
            writer: "0.1.0".into(),
            kind: RunKind::Check,
            plan_name: "check".into(),
            plan: "name = \"check\"\n".into(),
            rounds: None,
            origin: Origin::Measured,
            targets: [n0, n1, n2, "nvme3n1"].map(String::from).to_vec(),
            accepted: None,
            judged: None,
            layout: None,
            permitted: iodyno_model::Permitted::default(),
            resumed_at: Vec::new(),
            skipped: vec![Skipped {
                target: "nvme3n1".into(),
                step: None,
                why: "it serves others' I/O (412 IOPS, 38 MB/s in a look of 1 s)".into(),
                next: "sudo iodyno check --busy nvme3n1".into(),
            }],
        },
        snapshots: vec![host()],
        measurements,
    }
}

fn cannot_tell(rule: &str, missing: &str) -> RuleReport {
    RuleReport {
        rule: rule.into(),
        outcome: RuleOutcome::CannotTell(missing.into()),
        cannot_tell: Vec::new(),
    }
}

/// Assessment of the run.
pub(crate) fn assessment(record: &RunRecord) -> Assessment {
    let m = &record.measurements;
    let gen4 = Some((7.094e9, "link Gen4 x4"));
    let gen3 = Some((1.746e9, "link Gen3 x2"));
    let mut judged = vec![
        judge(0, &m[0], Some(6.9e9), gen4, Verdict::Pass, of_claim(0.99)),
        judge(
            1,
            &m[1],
            Some(1e6),
            gen4.map(|_| (1.69e6, "link Gen4 x4")),
            Verdict::Pass,
            of_claim(0.98),
        ),
        judge(2, &m[2], None, None, Verdict::Unjudged, "nothing to compare with"),
        judge(3, &m[3], Some(6.9e9), gen4, Verdict::Pass, of_claim(0.99)),
        judge(4, &m[4], Some(1e6), None, Verdict::Pass, of_claim(0.98)),
        judge(5, &m[5], None, None, Verdict::Unjudged, "nothing to compare with"),
        judge(6, &m[6], Some(6.9e9), gen3, Verdict::Unjudged, of_claim(0.25)),
        judge(
            7,
            &m[7],
            Some(1e6),
            gen3.map(|_| (416_000.0, "link Gen3 x2")),
            Verdict::Unjudged,
            of_claim(0.40),
        ),
        judge(
            8,
            &m[8],
            None,
            Some((15.9e9, "links of the three drives")),
            Verdict::Pass,
            "96 % of the links",
        ),
        judge(9, &m[9], None, None, Verdict::Unjudged, "nothing to compare with"),
    ];
    for index in [6, 7] {
        judged[index].validity = Validity::Invalid;
        judged[index].reasons.push(reason(
            "blocks-not-written",
            Validity::Invalid,
            "0.2 % of the blocks were ever written: the drive answers such reads without reading flash",
        ));
    }
    judged[8].validity = Validity::Qualified;
    // A qualifying reason of an invalid measurement is printed as such.
    let also = "nvme2 took 120 I/Os that were not ours";
    judged[7].reasons.push(reason("other-io", Validity::Qualified, also));
    let unwritten = "nvme2n1 was never written";
    judged[8].reasons.push(reason("blocks-not-written", Validity::Qualified, unwritten));
    let findings = vec![
        Finding {
            rule: "link-degraded".into(),
            severity: Severity::Fail,
            subjects: vec!["nvme2".into(), "0000:42:00.0".into()],
            what: "The link of nvme2 runs at Gen3 x2, but both ends can do Gen4 x4.".into(),
            evidence: vec![
                Evidence::new("in use", "Gen3 x2"),
                Evidence::new("able", "Gen4 x4"),
                Evidence::new("carries", "1746 MB/s instead of 7094 MB/s"),
                Evidence::new("slot", "2"),
            ],
            why: "The drive cannot deliver more than a quarter of its bandwidth, whatever the load.".into(),
            next: "Reseat the drive and look at its connector, cable and backplane; then run: sudo lspci -vv -s 42:00.0 | grep LnkSta".into(),
            cause: None,
        },
        Finding {
            rule: "blocks-not-written".into(),
            severity: Severity::Warn,
            subjects: vec!["nvme2n1".into()],
            what: "Almost no block of nvme2n1 was ever written.".into(),
            evidence: vec![
                Evidence::new("written", "0.2 % (0.1 to 0.4 %) of 4096 samples"),
                Evidence::new("NUSE", "0 %"),
            ],
            why: "Reading such blocks measures the controller, not the flash; the rates are invalid.".into(),
            next: "If the drive may be overwritten: iodyno prepare nvme2n1, then repeat.".into(),
            cause: None,
        },
        Finding {
            rule: "lba-format".into(),
            severity: Severity::Info,
            subjects: ["nvme0", "nvme1", "nvme2", "nvme3"].map(String::from).to_vec(),
            what: "Formatted with 512-byte blocks; the drives state that 4096-byte blocks are faster.".into(),
            evidence: vec![Evidence::new("relative performance", "better (512), best (4096)")],
            why: "Small writes may cost more than they need to.".into(),
            next: "When the drive is next emptied: nvme format --block-size=4096 (it erases everything).".into(),
            cause: None,
        },
    ];
    let clear = |rule: &str| RuleReport {
        rule: rule.into(),
        outcome: RuleOutcome::Clear,
        cannot_tell: Vec::new(),
    };
    let found = |index: usize| RuleReport {
        rule: findings[index].rule.clone(),
        outcome: RuleOutcome::Findings(vec![findings[index].clone()]),
        cannot_tell: Vec::new(),
    };
    let mut partly = clear("below-claim");
    partly.cannot_tell = vec![
        ("nvme2n1".into(), "the measurement is invalid".into()),
        ("nvme3n1".into(), "it was not measured".into()),
    ];
    let rules = vec![
        clear("drive-missing"),
        found(0),
        cannot_tell("link-target-speed", "Link Control 2 needs root"),
        clear("health"),
        found(1),
        found(2),
        partly,
        cannot_tell("unlike-peers", "fewer than three equal drives were measured"),
        clear("not-steady"),
        RuleReport {
            rule: "unlike-baseline".into(),
            outcome: RuleOutcome::NotApplicable,
            cannot_tell: Vec::new(),
        },
    ];
    Assessment {
        ruleset: "1".into(),
        measurements: judged,
        findings,
        rules,
        subjects: vec![
            ("nvme0n1".into(), Verdict::Unjudged),
            ("nvme1n1".into(), Verdict::Unjudged),
            ("nvme2n1".into(), Verdict::Fail),
            ("nvme3n1".into(), Verdict::Unjudged),
        ],
        verdict: Verdict::Fail,
    }
}

/// A virtual machine without NVMe: the target was a directory, with a scratch file on vda.
pub(crate) fn virtual_machine() -> (RunRecord, Assessment) {
    let mut record = record();
    let host = &mut record.snapshots[0];
    host.drives.clear();
    host.links.clear();
    host.cards.clear();
    host.drivers =
        vec![Driver { name: "virtio_blk".into(), version: Fact::Absent, out_of_tree: read(false) }];
    host.system = System::default();
    let root = Use::Mounted(Mount {
        at: "/".into(),
        file_system: "ext4".into(),
        options: "rw,relatime".into(),
    });
    host.blocks = vec![block("vda", BlockKind::Virtual, &[], vec![root])];
    let target = "/srv/scratch";
    record.run.targets = vec![target.into()];
    record.run.skipped.clear();
    record.measurements = vec![
        measurement("seq-read", &[target], 1, &[1.9e9]),
        measurement("rand-read", &[target], 2, &[41_000.0]),
        measurement("latency", &[target], 3, &[7_900.0]),
    ];
    for measurement in &mut record.measurements {
        measurement.conditions.device = Some("vda".into());
        measurement.conditions.scratch = true;
        measurement.conditions.shortfalls =
            vec!["io_uring_setup is not permitted here; libaio is used instead".into()];
        measurement.workload.ioengine = Some("libaio".into());
    }
    record.measurements[1].end = EndReason::MaxTime;
    let wide = record.measurements[1].total[0].iops.expect("it was measured").value;
    record.measurements[1].total[0].iops =
        Some(Estimate::confident(wide, wide * 0.93, wide * 1.02, 0.95));
    let m = &record.measurements;
    let unjudged = "nothing to compare with; the limits of a virtual disk are a contract's";
    let mut measurements: Vec<JudgedMeasurement> =
        (0..3).map(|i| judge(i, &m[i], None, None, Verdict::Unjudged, unjudged)).collect();
    measurements[1].validity = Validity::Qualified;
    let wide = "the interval is 4.5 % wide, 1 % was asked for";
    measurements[1].reasons = vec![reason("precision", Validity::Qualified, wide)];
    let assessment = Assessment {
        ruleset: "1".into(),
        measurements,
        findings: Vec::new(),
        rules: vec![RuleReport {
            rule: "drive-missing".into(),
            outcome: RuleOutcome::NotApplicable,
            cannot_tell: Vec::new(),
        }],
        subjects: vec![(target.into(), Verdict::Unjudged)],
        verdict: Verdict::Unjudged,
    };
    (record, assessment)
}
