//! Preparations of drives: their jobs, and their announcements.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use iodyno_campaign::{Preparation, Preparing};
use iodyno_host::{Captured, Depth, snapshot};
use iodyno_job::{Operation, Request, Room, Stream};
use iodyno_judge::ClaimBook;
use iodyno_model::{
    Bytes, Direction, DirectionResult, DriveState, EndReason, Fact, FillState, Host, Measurement,
    PreparationState, PurgeMethod, Purpose, Run, RunRecord, RunState,
};
use iodyno_store::Store;
use iodyno_target::{Target, resolve};
use proptest::prelude::*;

/// A machine with NVMe drives, of which only facts are known.
fn machine() -> Host {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");
    snapshot(&Captured::open(path).unwrap(), Depth::Full)
}

/// Two namespaces of the machine, of this size.
fn two(host: &mut Host, size_bytes: u64) -> Vec<Target> {
    let names: Vec<String> =
        host.drives.iter().map(|drive| drive.namespaces[0].name.clone()).take(2).collect();
    for block in host.blocks.iter_mut().filter(|block| names.contains(&block.name)) {
        block.size = Fact::Read(Bytes(size_bytes));
    }
    names.iter().map(|name| resolve(host, name).unwrap().remove(0)).collect()
}

fn how(purge: Option<PurgeMethod>, fill: Option<f64>) -> Preparation {
    Preparation { purge, fill, ..Preparation::default() }
}

/// Extents of `target` (offset, length) that the jobs of this name write, in order.
fn stretches(plan: &Preparing, name: &str, target: &Target, size_bytes: u64) -> Vec<(u64, u64)> {
    let room = Room { size_bytes, block_bytes: 512 };
    let path = target.path().to_str().unwrap();
    let jobs = plan.jobs.script.phases.iter().flat_map(|phase| &phase.jobs);
    let own = jobs.filter(|one| one.job.name.starts_with(name) && one.job.files.paths == [path]);
    own.flat_map(|one| {
        let mut stream = Stream::new(&one.job, &[room], 0, 0).unwrap();
        let mut next = [Request { offset: 0, length: 0, file: 0, operation: Operation::Write }];
        let made = std::iter::from_fn(move || {
            (stream.fill(&mut next) > 0).then_some((next[0].offset, u64::from(next[0].length)))
        });
        made.collect::<Vec<_>>()
    })
    .collect()
}

/// A run that has written this much of a fill, and its last partial block if `with_rest`.
fn stopped(target: &Target, written_bytes: u64, with_rest: bool) -> RunRecord {
    let measurement = |name: &str, purpose, bytes: u64, end: EndReason| Measurement {
        purpose,
        phase: 1,
        targets: vec![target.name().into()],
        duration_ns: Some(1),
        total: vec![DirectionResult {
            whole_bytes: Some(bytes),
            ..DirectionResult::unknown(Direction::Write)
        }],
        end,
        ..Measurement::unknown(name)
    };
    let mut measurements =
        vec![measurement("filled", Purpose::Fill, written_bytes, EndReason::Interrupted)];
    measurements
        .extend(with_rest.then(|| measurement("rest", Purpose::FillRest, 512, EndReason::Done)));
    RunRecord { run: run(), snapshots: Vec::new(), measurements }
}

fn run() -> Run {
    Run { state: RunState::Interrupted, plan_name: "prepare".into(), ..Run::new("1", 0) }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]
    /// For any size, each device is discarded once and filled as often as asked, from its first to
    /// its last byte, except for its last partial block, which is written once.
    #[test]
    fn every_block_is_reached(blocks in 1_u64..1 << 21, times in 1_u32..4) {
        let (size, mut host) = (blocks * 512, machine());
        let targets = two(&mut host, size);
        let plan = how(Some(PurgeMethod::Discard), Some(times.into())).of(&targets).unwrap();
        for target in &targets {
            for (name, times) in [("discard", 1), ("fill", times)] {
                let mut counts: BTreeMap<(u64, u64), u32> = BTreeMap::new();
                for stretch in stretches(&plan, name, target, size) {
                    *counts.entry(stretch).or_default() += 1;
                }
                let mut next = 0;
                for ((offset, length), count) in counts {
                    prop_assert_eq!(offset, next);
                    next += length;
                    let whole = name == "discard" || length == 128 << 10;
                    prop_assert_eq!(count, if whole { times } else { 1 });
                }
                prop_assert_eq!(next, size);
            }
        }
        // Both devices go through each step at the same time.
        let phases = &plan.jobs.script.phases;
        prop_assert!(phases.iter().all(|phase| phase.jobs.len() == 2));
    }

    /// However far a fill came, the rest begins where it stopped, and in the end every block was
    /// written as often as asked, in the same order.
    #[test]
    fn stopped_fill_resumes(
        blocks in 1_u64..1 << 12,
        times in 1_u32..4,
        share in 0.0..1.0_f64,
        with_rest in any::<bool>(),
    ) {
        let (size, mut host) = (blocks * 512, machine());
        let targets = &two(&mut host, size)[..1];
        let how = how(Some(PurgeMethod::Format), Some(times.into()));
        let all = stretches(&how.of(targets).unwrap(), "fill", &targets[0], size);
        let whole: Vec<_> = all.iter().filter(|one| one.1 == 128 << 10).copied().collect();
        let done = (whole.len() as f64 * share) as usize;
        // A block was under way.
        let written = (done as u64 * (128 << 10)) + 4096;
        let left = how.left(&stopped(&targets[0], written, false), targets).unwrap().unwrap();
        let left = stretches(&left, "fill", &targets[0], size);
        let again: Vec<_> = left.iter().filter(|one| one.1 == 128 << 10).copied().collect();
        prop_assert_eq!(&whole[done..], &again[..]);
        let rests = left.iter().filter(|one| one.1 != 128 << 10).count();
        prop_assert_eq!(rests, usize::from(size % (128 << 10) > 0));
        let full = stopped(&targets[0], whole.len() as u64 * (128 << 10), with_rest);
        let is_over = how.left(&full, targets).unwrap().is_none();
        prop_assert_eq!(is_over, !whole.is_empty() && (with_rest || size % (128 << 10) == 0));
    }
}

#[test]
fn half_a_fill_is_half() {
    let (size, mut host) = ((1 << 30) + 512, machine());
    let targets = two(&mut host, size);
    let plan = how(None, Some(0.5)).of(&targets).unwrap();
    let half = stretches(&plan, "fill", &targets[0], size);
    assert_eq!(half.last(), Some(&((1 << 29) - (128 << 10), 128 << 10)));
    assert_eq!(half.len(), 1 << 12);
    let plan = how(Some(PurgeMethod::SanitizeBlock), None).of(&targets).unwrap();
    assert!(plan.jobs.script.phases.is_empty() && plan.condition.is_none());
}

#[test]
fn outline_states_the_cost() {
    let mut host = machine();
    let targets = two(&mut host, 960_197_124_096);
    let fill = how(Some(PurgeMethod::Discard), Some(2.0)).of(&targets).unwrap();
    let mut claims = ClaimBook::default();
    let mut store = Store::in_memory().unwrap();
    let said = fill.outline(&targets, &host, &claims, &store).unwrap().join("\n");
    assert!(said.contains("Destroys all data of nvme0n1 (discard)."), "{said}");
    assert!(said.contains("Writes 1.92 TB to nvme0n1, 2x its size. Duration unknown"), "{said}");
    assert!(said.ends_with("All 2 are filled at the same time."), "{said}");

    let drive = host.drives[0].clone();
    for drive in &mut host.drives {
        drive.model = Fact::Read("DYNO 960".into());
        drive.virtual_disk = None;
        drive.capacity = Fact::Read(Bytes(960_197_124_096));
        drive.namespaces[0].size = Fact::Read(Bytes(960_197_124_096));
    }
    let sheet = "[[drive]]\nvendor = \"X\"\nmodel = \"DYNO 960\"\ncapacity_gb = 960\n\
                 match = [\"^DYNO 960$\"]\nseq_write_mbs = 2000.0\nafter_cache_write_mbs = 500.0\n\
                 tbw_tb = 1000.0\nscope = \"exact\"\nsource = \"here\"\n";
    claims.add_toml(sheet, "sheet").unwrap();
    let said = fill.outline(&targets, &host, &claims, &store).unwrap().join("\n");
    assert!(said.contains(", 0.19 % of the 1 PB rated by its data sheet."), "{said}");
    assert!(said.contains("about 64 min at 500 MB/s, its data sheet's rate"), "{said}");
    assert!(said.contains("at the same time: about 64 min in all"), "{said}");

    // A measured rate takes precedence over a claimed one.
    let state = DriveState {
        serial: drive.serial.value().unwrap(),
        nsid: drive.namespaces[0].nsid.value().unwrap(),
        run_id: None,
        at_ns: 1,
        state: PreparationState::Done,
        purge: None,
        fill: Some(FillState { written_bytes: 1_000_000_000, duration_ns: 1_000_000_000 }),
        condition: None,
        capacity_bytes: Some(960_197_124_096),
        host_written_bytes: None,
    };
    store.add_drive_state(&state).unwrap();
    let fill = how(Some(PurgeMethod::Discard), Some(2.0)).of(&targets[..1]).unwrap();
    let said = fill.outline(&targets[..1], &host, &claims, &store).unwrap().join("\n");
    assert!(said.contains("about 32 min at 1000 MB/s, the rate of its last fill"), "{said}");
}
