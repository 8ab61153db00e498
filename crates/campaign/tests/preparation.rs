//! What a preparation of drives comes to: its jobs, and what is said before.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use iodyno_campaign::{Plan, Preparation};
use iodyno_host::{Captured, Depth, snapshot};
use iodyno_job::{Request, Room, Stream};
use iodyno_judge::ClaimBook;
use iodyno_model::{
    Bytes, Direction, DriveState, Fact, FillState, Host, PreparationState, PurgeMethod,
};
use iodyno_store::Store;
use iodyno_target::{Target, resolve};
use proptest::prelude::*;

/// A machine with NVMe drives, of which nothing but facts is there.
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

/// The stretches of `target` (offset, length) that the jobs of this name make,
/// in their order.
fn stretches(plan: &Plan, name: &str, target: &Target, size_bytes: u64) -> Vec<(u64, u64)> {
    let room = Room { size_bytes, block_bytes: 512 };
    let path = target.path().to_str().unwrap();
    let jobs = plan.script.iter().flat_map(|script| &script.phases).flat_map(|phase| &phase.jobs);
    let own = jobs.filter(|one| one.job.name.starts_with(name) && one.job.files.paths == [path]);
    own.flat_map(|one| {
        let mut stream = Stream::new(&one.job, &[room], 0, 0).unwrap();
        let mut next = [Request { offset: 0, length: 0, file: 0, direction: Direction::Write }];
        let made = std::iter::from_fn(move || {
            (stream.fill(&mut next) > 0).then_some((next[0].offset, u64::from(next[0].length)))
        });
        made.collect::<Vec<_>>()
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]
    /// Whatever its size, each device is discarded once and filled so many
    /// times, from its first to its last byte; what does not fill a block of
    /// the fill's once.
    #[test]
    fn every_block_is_reached(blocks in 1_u64..1 << 21, times in 1_u32..4) {
        let (size, mut host) = (blocks * 512, machine());
        let targets = two(&mut host, size);
        let how = Preparation { purge: Some(PurgeMethod::Discard), fill: Some(times.into()) };
        let plan = how.plan(&targets).unwrap();
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
        // Each step of one device is at the same time as that of the other.
        let phases = plan.script.iter().flat_map(|script| &script.phases);
        prop_assert!(phases.into_iter().all(|phase| phase.jobs.len() == 2));
    }
}

#[test]
fn half_a_fill_is_half() {
    let (size, mut host) = ((1 << 30) + 512, machine());
    let targets = two(&mut host, size);
    let plan = Preparation { purge: None, fill: Some(0.5) }.plan(&targets).unwrap();
    let half = stretches(&plan, "fill", &targets[0], size);
    assert_eq!(half.last(), Some(&((1 << 29) - (128 << 10), 128 << 10)));
    assert_eq!(half.len(), 1 << 12);
    assert_eq!(plan.text, "fill = 0.5\n");
    let commanded = Preparation { purge: Some(PurgeMethod::SanitizeBlock), fill: None };
    let plan = commanded.plan(&targets).unwrap();
    assert!(plan.script.unwrap().phases.is_empty());
    assert_eq!(plan.text, "purge = \"sanitize-block\"\n");
}

#[test]
fn what_it_costs_is_said_before() {
    let mut host = machine();
    let targets = two(&mut host, 960_197_124_096);
    let fill = Preparation { purge: Some(PurgeMethod::Discard), fill: Some(2.0) };
    let mut claims = ClaimBook::default();
    let mut store = Store::in_memory().unwrap();
    let said = fill.outline(&targets, &host, &claims, &store).unwrap().join("\n");
    assert!(said.contains("Destroys all data of nvme0n1 (discard)."), "{said}");
    assert!(said.contains("Writes 1.75 TiB to nvme0n1, 2x its size. How long"), "{said}");
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
    assert!(
        said.contains(", 0.19 % of the 1 PB that its data sheet rates the drive for."),
        "{said}"
    );
    assert!(said.contains("about 64 min at 500 MB/s, its data sheet's rate"), "{said}");
    assert!(said.contains("at the same time: about 64 min in all"), "{said}");

    // What was measured goes before what is claimed.
    let state = DriveState {
        serial: drive.serial.value().unwrap(),
        nsid: drive.namespaces[0].nsid.value().unwrap(),
        run_id: None,
        at_ns: 1,
        state: PreparationState::Done,
        purge: None,
        fill: Some(FillState { written_bytes: 1_000_000_000, duration_ns: 1_000_000_000 }),
        capacity_bytes: Some(960_197_124_096),
        host_written_bytes: None,
    };
    store.add_drive_state(&state).unwrap();
    let said = fill.outline(&targets[..1], &host, &claims, &store).unwrap().join("\n");
    assert!(said.contains("about 32 min at 1000 MB/s, the rate of its last fill"), "{said}");
}
