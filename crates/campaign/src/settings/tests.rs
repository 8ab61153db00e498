//! Settings in a directory instead of sysfs.

use std::path::PathBuf;

use iodyno_model::{Run, RunState};
use iodyno_store::{JournalEntry, SettingChange, Store};

use super::*;

const SCHEDULER: &str = "/sys/block/sda/queue/scheduler";
const REQUESTS: &str = "/sys/block/sda/queue/nr_requests";
const RUN: &str = "0001";

/// A machine with two CPUs and a disk, and the journal of a run that is over.
struct Machine {
    folder: tempfile::TempDir,
    store: Store,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut machine = Self { folder, store: Store::in_memory().unwrap() };
        machine.write(SCHEDULER, "mq-deadline");
        machine.write(REQUESTS, "256");
        machine.write(&governor(0), "powersave");
        machine.write(&governor(1), "powersave");
        let run = Run { state: RunState::Interrupted, ..Run::new(RUN, 0) };
        machine.store.create_run(&run).unwrap();
        machine
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.path().join(&path[1..])
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.file(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.file(path)).unwrap()
    }

    /// Values of all files that can be set.
    fn state(&self) -> Vec<String> {
        let files = [SCHEDULER.to_owned(), REQUESTS.to_owned(), governor(0), governor(1)];
        files.iter().map(|file| self.read(file)).collect()
    }

    fn apply(&mut self, wanted: &[Wanted]) -> Result<Applied, CampaignError> {
        self.apply_as(RUN, wanted)
    }

    fn apply_as(&mut self, run: &str, wanted: &[Wanted]) -> Result<Applied, CampaignError> {
        Applied::new(Sysfs::at(self.folder.path()), &mut self.store, run, wanted)
    }

    fn pending(&self) -> usize {
        self.store.journal_pending(Some(RUN)).unwrap().len()
    }
}

fn governor(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
}

fn wanted(path: &str, value: &str) -> Wanted {
    Wanted { path: path.into(), value: value.into() }
}

fn all() -> Vec<Wanted> {
    vec![
        wanted(SCHEDULER, "none"),
        wanted(REQUESTS, "64"),
        wanted(&governor(0), "performance"),
        wanted(&governor(1), "performance"),
    ]
}

#[test]
fn settings_are_restored() {
    let mut machine = Machine::new();
    let before = machine.state();
    let mut applied = machine.apply(&all()).unwrap();
    assert_eq!(machine.state(), ["none", "64", "performance", "performance"]);
    assert_eq!(machine.pending(), 4);
    // A condition of all CPUs is reported once.
    assert_eq!(applied.conditions.len(), 3);
    assert_eq!(applied.conditions[2].path, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
    assert_eq!((&*applied.conditions[1].before, &*applied.conditions[1].value), ("256", "64"));
    // The kernel resets it with the scheduler.
    machine.write(SCHEDULER, "none");
    assert_eq!(applied.restore_sysfs(&mut machine.store, RUN).unwrap(), Vec::<String>::new());
    assert_eq!(machine.state(), before);
    assert_eq!(machine.pending(), 0);
}

#[test]
fn setting_already_in_effect_is_a_condition_and_no_change() {
    let mut machine = Machine::new();
    let applied = machine.apply(&[wanted(SCHEDULER, "mq-deadline")]).unwrap();
    assert_eq!((applied.conditions.len(), machine.pending()), (1, 0));
}

#[test]
fn failed_setting_restores_the_others() {
    let mut machine = Machine::new();
    let before = machine.state();
    let mut wanted_too = all();
    wanted_too.push(wanted("/sys/block/sdb/queue/scheduler", "none"));
    let said = machine.apply(&wanted_too).unwrap_err().to_string();
    assert!(said.contains("sdb/queue/scheduler cannot be set to none"), "{said}");
    assert_eq!((machine.state(), machine.pending()), (before, 0));
}

#[test]
fn settings_changed_by_others_are_left_alone() {
    let mut machine = Machine::new();
    let mut applied = machine.apply(&all()).unwrap();
    machine.write(REQUESTS, "128");
    std::fs::remove_file(machine.file(&governor(1))).unwrap();
    let told = applied.restore_sysfs(&mut machine.store, RUN).unwrap();
    assert_eq!(told.len(), 1, "a CPU that is gone needs nothing: {told:?}");
    assert!(told[0].contains("nr_requests was set by somebody else"), "{told:?}");
    assert_eq!((machine.read(&governor(0)), machine.pending()), ("powersave".into(), 0));
    // It stays although the scheduler was restored, which resets it.
    assert_eq!(
        (machine.read(SCHEDULER), machine.read(REQUESTS)),
        ("mq-deadline".into(), "128".into())
    );
}

#[test]
fn what_the_kernel_resets_with_a_scheduler_is_restored() {
    let machine = Machine::new();
    let tunable = |name: &str| format!("/sys/block/sda/queue/iosched/{name}");
    machine.write(&tunable("read_expire"), "77");
    machine.write("/sys/block/sda/queue/wbt_lat_usec", "75000");
    let sysfs = Sysfs::at(machine.folder.path());
    let mut resets = sysfs.reset_with(SCHEDULER);
    let paths: Vec<&str> = resets.iter().map(|reset| &*reset.path).collect();
    assert_eq!(paths, [REQUESTS, "/sys/block/sda/queue/wbt_lat_usec", &*tunable("read_expire")]);
    assert_eq!(sysfs.reset_with(REQUESTS), []);
    // As the kernel leaves it: the tunables are new ones after each change.
    resets[0].after = Some("62".into());
    let change = SettingChange {
        path: SCHEDULER.into(),
        before: "mq-deadline".into(),
        value: "none".into(),
        with_it: None,
        resets,
        boot_id: None,
        disk: None,
    };
    for (now, then) in [("62", "256"), ("128", "128")] {
        machine.write(SCHEDULER, "none");
        machine.write(REQUESTS, now);
        machine.write(&tunable("read_expire"), "500");
        assert_eq!(restore(&sysfs, &change).unwrap(), Restored::Yes);
        assert_eq!(
            (machine.read(REQUESTS), machine.read(&tunable("read_expire"))),
            (then.into(), "77".into())
        );
    }
}

#[test]
#[ignore = "needs root"]
fn a_scheduler_of_the_kernel_comes_back_with_its_tunables() {
    let disk = crate::layouts::testing::Disk::new();
    let name = disk.device.trim_start_matches("/dev/");
    let file = |name_of: &str| format!("/sys/block/{name}/queue/{name_of}");
    let read = |name_of: &str| std::fs::read_to_string(file(name_of)).unwrap();
    let state = || ["scheduler", "nr_requests", "iosched/read_expire"].map(read);
    std::fs::write(file("scheduler"), "mq-deadline").unwrap();
    std::fs::write(file("nr_requests"), "99").unwrap();
    std::fs::write(file("iosched/read_expire"), "77").unwrap();
    let before = state();
    let mut store = Store::in_memory().unwrap();
    store.create_run(&Run { state: RunState::Interrupted, ..Run::new(RUN, 0) }).unwrap();
    let both = [wanted(&file("scheduler"), "none"), wanted(&file("nr_requests"), "32")];
    let mut applied = Applied::new(Sysfs::default(), &mut store, RUN, &both).unwrap();
    assert!(read("scheduler").contains("[none]") && read("nr_requests").trim() == "32");
    assert_eq!(applied.restore_sysfs(&mut store, RUN).unwrap(), Vec::<String>::new());
    assert_eq!(state(), before);
    std::fs::write(file("scheduler"), "none").unwrap();
}

#[test]
fn a_setting_of_another_run_is_not_changed() {
    let mut machine = Machine::new();
    let other = "0002";
    let run = Run { state: RunState::Interrupted, name: "other".into(), ..Run::new(other, 0) };
    machine.store.create_run(&run).unwrap();
    let mut first = machine.apply(&[wanted(SCHEDULER, "none")]).unwrap();
    // One of the same disk counts, since the kernel resets it with the scheduler; so does one that
    // has the wanted value, which the other run takes back.
    for one in [wanted(SCHEDULER, "kyber"), wanted(SCHEDULER, "none"), wanted(REQUESTS, "64")] {
        let said = machine.apply_as(other, &[one]).unwrap_err().to_string();
        assert!(
            said.contains("run 0001 has set it") && said.contains("iodyno clean-up 0001"),
            "{said}"
        );
        assert_eq!(
            (machine.read(SCHEDULER), machine.read(REQUESTS)),
            ("none".into(), "256".into())
        );
    }
    assert_eq!(machine.store.journal_pending(Some(other)).unwrap(), []);
    machine.apply_as(other, &[wanted(&governor(0), "performance")]).unwrap();
    first.restore_sysfs(&mut machine.store, RUN).unwrap();
    machine.apply_as(other, &[wanted(SCHEDULER, "kyber")]).unwrap();
    assert_eq!(machine.read(SCHEDULER), "kyber");
}

#[test]
fn another_disk_with_the_kernel_name_is_left_alone() {
    let mut machine = Machine::new();
    machine.write("/sys/block/sda/diskseq", "7\n");
    drop(machine.apply(&[wanted(SCHEDULER, "none")]).unwrap());
    let pending = machine.store.journal_pending(Some(RUN)).unwrap().remove(0);
    let Ok(JournalEntry::Setting(mut change)) = pending.entry else { panic!() };
    assert_eq!(change.disk.as_deref(), Some("diskseq 7"));
    machine.write("/sys/block/sda/diskseq", "8\n");
    let sysfs = Sysfs::at(machine.folder.path());
    assert_eq!(restore(&sysfs, &change).unwrap(), Restored::Gone);
    assert_eq!(machine.read(SCHEDULER), "none");
    // A row of an earlier version.
    let mut row = serde_json::to_value(&change).unwrap();
    row.as_object_mut().unwrap().retain(|key, _| !["disk", "resets"].contains(&key.as_str()));
    change = serde_json::from_value(row).unwrap();
    assert_eq!(restore(&sysfs, &change).unwrap(), Restored::Yes);
    assert_eq!(machine.read(SCHEDULER), "mq-deadline");
}

#[test]
fn after_a_kill_the_journal_restores_it() {
    let mut machine = Machine::new();
    let before = machine.state();
    drop(machine.apply(&all()).unwrap());
    let sysfs = Sysfs::at(machine.folder.path());
    for pending in machine.store.journal_pending(Some(RUN)).unwrap() {
        let Ok(JournalEntry::Setting(change)) = pending.entry else { panic!() };
        assert_eq!(restore(&sysfs, &change).unwrap(), Restored::Yes);
        // Restoring again changes nothing.
        assert_eq!(restore(&sysfs, &change).unwrap(), Restored::Yes);
    }
    assert_eq!(machine.state(), before);
}

#[test]
fn tampered_journal_touches_nothing_else() {
    let machine = Machine::new();
    let sysfs = Sysfs::at(machine.folder.path());
    let others = [
        "/etc/passwd",
        "/sys/block/sda/queue/../../../../etc/passwd",
        "/sys/block/../queue/scheduler",
        "/sys/block/sda/queue/wbt_lat_usec",
        "/sys/devices/system/cpu/cpu0/cpufreq/../online",
        "/sys/devices/system/cpu/cpu0/../cpufreq/scaling_governor",
        "sys/block/sda/queue/scheduler",
        "",
    ];
    for path in others {
        if path.len() > 1 && !path.contains("..") && path.starts_with('/') {
            machine.write(path, "set");
        }
        let change = SettingChange {
            path: path.into(),
            before: "before".into(),
            value: "set".into(),
            with_it: Some((path.into(), "before".into())),
            resets: Vec::new(),
            boot_id: None,
            disk: None,
        };
        assert!(restore(&sysfs, &change).is_err(), "{path}");
    }
    assert_eq!(machine.read("/etc/passwd"), "set");
}

#[test]
fn plans_set_write_caches() {
    let settings: Settings = toml::from_str("write_cache = \"off\"").unwrap();
    assert_eq!(settings.write_cache, Some(WriteCacheState::Off));
    assert!(!settings.is_empty());
    assert!(toml::from_str::<Settings>("write_cache = \"maybe\"").is_err());
    for preset in ["snia-iops", "snia-throughput", "snia-latency", "snia-wsat", "snia-hir"] {
        let study = crate::Study::preset(preset).unwrap();
        assert_eq!(study.settings.write_cache, Some(WriteCacheState::Off), "{preset}");
        // The stored plan says the same when the run is resumed.
        let again = crate::Study::parse(&study.to_toml().unwrap(), preset).unwrap();
        assert_eq!(again.settings, study.settings);
    }
}

#[test]
fn only_drives_that_have_a_write_cache_and_say_so_are_switched() {
    use iodyno_model::Drive;
    let drive = |name: &str, write_cache_on| Drive {
        name: name.into(),
        serial: Fact::Read(format!("S-{name}")),
        write_cache_on,
        ..Drive::default()
    };
    let (with, without) = (drive("nvme0", Fact::Read(true)), drive("nvme1", Fact::Absent));
    let caches = write_cache::caches(&[&with, &without]).unwrap();
    let only = iodyno_target::WriteCache { controller: "nvme0".into(), serial: "S-nvme0".into() };
    assert_eq!(caches, [only]);
    let unknown = drive("nvme2", Fact::NeedsRoot);
    let said = write_cache::caches(&[&with, &unknown]).unwrap_err().to_string();
    for words in ["nvme2", "needs root", "--write-cache keep"] {
        assert!(said.contains(words), "{said}");
    }
}
