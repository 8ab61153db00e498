//! JSON stored by earlier versions is still read with its meaning.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use iodyno_model::{
    Conditions, CpuUse, DriveState, Estimate, Experiment, Fact, HealthLog, JobStats, Measurement,
    PurgeMethod, Purpose, Reason, RunKind, SkipReason, Skipped, Validity, Workload,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads the earlier form, and checks that the current form reads back equal.
fn read<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(earlier: Value) -> T {
    let read: T = serde_json::from_value(earlier).unwrap();
    let text = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), read, "{text}");
    read
}

#[test]
fn facts_are_read_in_both_forms() {
    assert_eq!(read::<Fact<String>>(json!({"read": "rack7"})), Fact::Read("rack7".into()));
    assert_eq!(read::<Fact<u32>>(json!({"stated": 4})), Fact::Stated(4));
    for (earlier, fact) in [
        (json!("absent"), Fact::Absent),
        (json!("needs_root"), Fact::NeedsRoot),
        (json!("not_asked"), Fact::NotAsked),
        (json!({"unreadable": "a word"}), Fact::Unreadable("a word".into())),
    ] {
        assert_eq!(read::<Fact<u32>>(earlier), fact);
    }
    assert_eq!(serde_json::to_value(Fact::Read(4)).unwrap(), json!(4));
    assert_eq!(serde_json::to_value(Fact::<u32>::Absent).unwrap(), Value::Null);
}

#[test]
fn estimates_are_read_in_both_forms() {
    let spread = json!({"confidence": {"low": 9.0, "high": 11.0, "level": 0.95}});
    let known = read::<Estimate>(json!({"value": 10.0, "spread": spread}));
    assert_eq!(known, Estimate::confident(10.0, 9.0, 11.0, 0.95));
    let bare = read::<Estimate>(json!({"value": 10.0, "spread": "unknown"}));
    assert_eq!(bare, Estimate::bare(10.0));
    let nan = serde_json::to_string(&Estimate::bare(f64::NAN)).unwrap();
    assert!(serde_json::from_str::<Estimate>(&nan).is_err(), "a store refuses it: {nan}");
}

#[test]
fn measurements_are_read_in_both_forms() {
    let workload = json!({"rw": "read", "bs": 4096, "iodepth": null, "numjobs": 2,
        "ioengine": null, "direct": true, "size": null, "options": {"rate": "1m"}});
    let known = read::<Workload>(workload);
    assert_eq!((known.bs, known.numjobs, known.direct), (Some(4096), Some(2), Some(true)));
    assert_eq!((known.iodepth, known.options["rate"].as_str()), (None, "1m"));

    let counted = json!({"counts": [[5, 2]], "count": 2, "sum_ns": 10.0, "sum_squares": 50.0,
        "min_ns": 5, "max_ns": 5});
    let account = read::<JobStats>(json!({"started_ns": 7, "switches": 3, "sync": counted,
        "latency_ranges": [{"low_ns": 0, "high_ns": null,
            "share": {"value": 1.0, "spread": "unknown"}}]}));
    assert_eq!((account.started_ns, account.switches, account.sync.count()), (Some(7), 3, 2));
    assert_eq!(account.latency_ranges[0].share, Estimate::bare(1.0));
    // Of a job that never began.
    let unknown = [json!({"started": "1970-01-01T00:00:00Z"}), json!({"started": null}), json!({})];
    for written in unknown.map(read::<JobStats>).map(|of| serde_json::to_value(of).unwrap()) {
        assert!(written["started"].is_null(), "{written}");
    }
    assert_eq!(account.cpu, CpuUse::default());

    let mut conditions = serde_json::to_value(Conditions::default()).unwrap();
    conditions["depths_tried"] = json!([[1, 1000.0], [2, 1900.0]]);
    conditions["ranges"] = json!([[0, 4096]]);
    let conditions = read::<Conditions>(conditions);
    assert_eq!(conditions.depths_tried, [(1, 1000.0), (2, 1900.0)]);
    assert_eq!(conditions.ranges, [(0, 4096)]);
}

#[test]
fn drives_and_reasons_are_read_in_both_forms() {
    let state = read::<DriveState>(json!({"serial": "S1", "nsid": 1, "run_id": "r", "at_ns": 5,
        "state": "done", "purge": "format-crypto", "fill": null, "capacity_bytes": null,
        "host_written_bytes": null}));
    assert_eq!((state.run_id.as_deref(), state.at_ns), (Some("r"), 5));
    let reason = read::<Reason>(json!({"rule": "hot", "validity": "INVALID", "why": "it was"}));
    assert_eq!((reason.validity, reason.why.as_str()), (Validity::Invalid, "it was"));
}

#[test]
fn counts_beyond_64_bits_are_null_or_earlier_numbers() {
    let log = HealthLog { media_errors: 3, host_written_bytes: 1 << 70, ..HealthLog::default() };
    let mut written = serde_json::to_value(&log).unwrap();
    assert_eq!(
        (&written["media_errors"], &written["host_written_bytes"]),
        (&json!(3), &json!(null))
    );
    assert_eq!(read::<HealthLog>(written.clone()).host_written_bytes, u128::MAX);
    written["host_written_bytes"] = json!(1_u64 << 40);
    assert_eq!(read::<HealthLog>(written).host_written_bytes, 1 << 40);
    let stored = format!("{{\"host_written_bytes\": {}}}", 1_u128 << 70);
    let stored: HealthLog = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored.host_written_bytes, 1 << 70);
}

/// Earlier versions recorded only name and text of the plan; the kind of run follows from these.
#[test]
fn run_kind_follows_from_earlier_plans() {
    let kind = |name: &str, plan: &str| RunKind::from_earlier_version(name, plan).0;
    assert_eq!(kind("check", "name = \"check\""), RunKind::Check);
    assert_eq!(kind("capture", ""), RunKind::Capture);
    assert_eq!(kind("import", ""), RunKind::Import);
    assert_eq!(kind("explain", "rw=randread bs=4k"), RunKind::Explain);
    let plan = "format = \"iodyno.plan/1\"\n";
    assert_eq!(kind("explain", plan), RunKind::Sweep);
    assert_eq!(kind("prepare", plan), RunKind::Prepare);
    let steps = |key: &str| format!("{plan}[[step]]\nname = \"a\"\n{key}\n");
    assert_eq!(kind("mine", &steps("own_file = true")), RunKind::Sweep);
    assert_eq!(kind("mine", &steps("on = [\"each\"]")), RunKind::Check);
    assert_eq!(kind("mine", &steps("outstanding = { most = 8 }")), RunKind::Check);
    // A job file may also be valid TOML.
    assert_eq!(kind("jobs.fio", "[job]\nsize = 4096"), RunKind::Run);
    assert_eq!(kind("command line", "--rw=read"), RunKind::Run);
}

#[test]
fn rounds_follow_from_earlier_plans() {
    let plan = "[rounds]\ntrack = [{ point = \"p\", metric = \"iops\" }]\n\
                [preparation]\npurge = \"discard\"\nround = \"30m\"\n[report]\nmedia = \"TLC\"\n";
    let plan = RunKind::from_earlier_version("x", plan).1.unwrap();
    assert_eq!(
        (plan.rounds.track[0].point.as_str(), plan.report.media.as_deref()),
        ("p", Some("TLC"))
    );
    let own = plan.preparation.unwrap();
    assert_eq!((own.purge, own.fill), (Some(PurgeMethod::Discard), None));
}

#[test]
fn skip_reasons_are_read_in_both_forms() {
    let skipped = json!({"target": "nvme0n1", "step": null, "why": "busy", "next": ""});
    assert_eq!(read::<Skipped>(skipped.clone()).why, "busy".into());
    let busy = SkipReason::Busy { device: "nvme0n1".into(), iops: 412.0, bytes_per_s: 3.8e7 };
    let mut now = read::<Skipped>(skipped);
    now.why = busy.clone();
    let json = serde_json::to_value(&now).unwrap();
    assert_eq!((&json["reason"]["kind"], &json["reason"]["iops"]), (&json!("busy"), &json!(412.0)));
    assert!(
        json["why"].as_str().unwrap().starts_with("nvme0n1 is busy, skipped: 412 IOPS and 38 MB/s")
    );
    assert_eq!(read::<Skipped>(json).why, busy);
}

/// Earlier versions recorded no purpose; it follows from the measurement's name and the kind of
/// run.
#[test]
fn purpose_follows_from_earlier_names() {
    let of = |kind, name: &str| Purpose::from_earlier_version(kind, &Measurement::unknown(name));
    assert_eq!(of(RunKind::Explain, "asked"), Purpose::Asked);
    assert_eq!(of(RunKind::Explain, "asked-10"), Purpose::Asked);
    let polled = Purpose::Experiment(Experiment::Polling);
    assert_eq!(
        (of(RunKind::Explain, "polling"), of(RunKind::Explain, "polling-2")),
        (polled, polled)
    );
    assert_eq!(of(RunKind::Explain, "once-more"), Purpose::Experiment(Experiment::OnceMore));
    assert_eq!(of(RunKind::Sweep, "fill"), Purpose::Fill);
    assert_eq!(of(RunKind::Prepare, "fill-rest"), Purpose::FillRest);
    assert_eq!(of(RunKind::Prepare, "discard-rest"), Purpose::Discard);
    for (kind, name) in [(RunKind::Run, "fill"), (RunKind::Sweep, "asked"), (RunKind::Check, "a")] {
        assert_eq!(of(kind, name), Purpose::Measure, "{name}");
    }
    let round = Measurement { round: Some(2), ..Measurement::unknown("fill") };
    assert_eq!(Purpose::from_earlier_version(RunKind::Prepare, &round), Purpose::Condition);
    assert_eq!(Purpose::from_earlier_version(RunKind::Sweep, &round), Purpose::Measure);
    let experiment = json!({"experiment": "polling"});
    assert_eq!(serde_json::to_value(polled).unwrap(), experiment);
    assert_eq!(serde_json::to_value(Purpose::FillRest).unwrap(), json!("fill-rest"));
}
