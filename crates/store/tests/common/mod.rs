//! Sample runs, hosts and measurements.

use iodyno_model::{
    Direction, DirectionResult, EndReason, Estimate, Fact, Histogram, Host, Measurement, Origin,
    Run, RunKind, RunState, Skipped, Workload,
};

pub(crate) fn run(name: &str, started_ns: i64) -> Run {
    Run {
        scope: iodyno_model::Scope::Machine,
        id: iodyno_store::new_id(),
        name: name.into(),
        command: "iodyno check nvme0".into(),
        state: RunState::Running,
        is_alive: false,
        pid: None,
        is_copy: false,
        started_ns,
        ended_ns: None,
        writer: "0.1.0".into(),
        kind: RunKind::Check,
        plan_name: "check".into(),
        plan: "name = \"check\"\n".into(),
        rounds: None,
        origin: Origin::Measured,
        targets: vec!["nvme0n1".into()],
        accepted: None,
        judged: None,
        layout: None,
        permitted: iodyno_model::Permitted::default(),
        resumed_at: Vec::new(),
        skipped: vec![Skipped {
            target: "nvme1n1".into(),
            step: None,
            why: "busy".into(),
            next: "iodyno check nvme1 --busy".into(),
        }],
    }
}

pub(crate) fn host(taken_ns: i64) -> Host {
    Host {
        taken_ns,
        hostname: Fact::Read("rack7".into()),
        memory: Fact::NeedsRoot,
        page_bytes: Fact::Read(4096),
        ..Host::default()
    }
}

pub(crate) fn measurement(name: &str, iops: f64) -> Measurement {
    let mut latency = Histogram::default();
    for ns in [80_000, 90_000, 100_000] {
        latency.record(ns);
    }
    Measurement {
        targets: vec!["nvme0n1".into()],
        workload: Workload { rw: Some("randread".into()), bs: Some(4096), ..Workload::default() },
        source: "simulated".into(),
        started_ns: Some(1_700_000_000_000_000_000),
        duration_ns: Some(5_000_000_000),
        warmup_ns: 500_000_000,
        total: vec![DirectionResult {
            ios: Some(3),
            bytes: Some(3 * 4096),
            whole_ios: Some(4),
            whole_bytes: Some(4 * 4096),
            errors: Some(0),
            short_ios: Some(0),
            iops: Some(Estimate::confident(iops, iops - 1.0, iops + 1.0, 0.95)),
            bandwidth: Some(Estimate::bare(iops * 4096.0)),
            latency_mean: Some(Estimate::bare(90_000.0)),
            latency,
            steady: Some(true),
            slow: Some(false),
            clustering: Vec::new(),
            ..DirectionResult::unknown(Direction::Read)
        }],
        end: EndReason::Precision,
        before: Some(0),
        after: Some(1),
        ..Measurement::unknown(name)
    }
}
