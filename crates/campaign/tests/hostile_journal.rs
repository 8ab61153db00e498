//! A journal written by somebody else: `clean_up` touches nothing that iodyno did not make. Needs
//! root, losetup and mount.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_campaign::{Outcome, clean_up};
use iodyno_model::{Run, RunState};
use iodyno_store::{JournalEntry, Store, boot_id};
use proptest::prelude::*;
use serde_json::{Value, json};

const MARK: &str = "00112233445566778899aabbccddeeff";
const SIZE: u64 = 4 << 20;

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} (this test needs root): {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Other people's things that a journal may name.
struct Victims {
    folder: tempfile::TempDir,
    device: String,
}

impl Victims {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["plain", &format!("iodyno-{MARK}-0.img"), "iodyno-0190-0.img", "disk"] {
            fs::write(at(name), noise()).unwrap();
        }
        std::os::unix::fs::symlink(at("plain"), at("link")).unwrap();
        fs::create_dir(at("mounted")).unwrap();
        fs::create_dir(at("empty")).unwrap();
        run("mount", &["-t", "tmpfs", "victim", at("mounted").to_str().unwrap()]);
        fs::write(at("mounted/inside"), "kept").unwrap();
        let device = run("losetup", &["--find", "--show", at("disk").to_str().unwrap()]);
        Self { folder, device }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// State that must not change.
    fn state(&self) -> Vec<(String, Vec<u8>)> {
        let mut state = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                let content = if kind.is_file() { fs::read(entry.path()).unwrap() } else { vec![] };
                state.push((format!("{} {kind:?}", entry.path().display()), content));
                if kind.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        state.sort();
        state.push(("the device".into(), fs::read(&self.device).unwrap()));
        for file in ["scheduler", "nr_requests"] {
            state.push((file.into(), fs::read(self.queue(file)).unwrap()));
        }
        state
    }

    fn queue(&self, file: &str) -> String {
        format!("/sys/block/{}/queue/{file}", self.device.trim_start_matches("/dev/"))
    }

    /// Word that names the device for writing, as in a journal.
    fn word(&self) -> String {
        format!("{}:{}M", self.device.trim_start_matches("/dev/"), SIZE >> 20)
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        // A failed test may have lost them; its own panic is the one to show.
        let at = self.path("mounted");
        let _ = Command::new("umount").arg(at).output();
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
    }
}

/// Data that the guard takes for nothing that anybody misses.
fn noise() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..)).take(SIZE as usize).collect()
}

/// Other spellings of a path.
fn spelled(path: &Path, spelling: usize) -> String {
    let path = path.to_str().unwrap();
    match spelling {
        0 => path.to_owned(),
        1 => format!("/run/iodyno/../..{path}"),
        2 => path.replacen("/tmp/", "/tmp/./", 1),
        3 => format!("//{path}"),
        4 => format!("{path}/../{}", Path::new(path).file_name().unwrap().to_str().unwrap()),
        _ => format!("/proc/self/root{path}"),
    }
}

/// Every kind of entry that names `path`, as written by this and earlier versions.
fn entries(victims: &Victims, path: &str, marked: bool) -> Vec<Value> {
    let device = victims.device.as_str();
    let (word, boot) = (victims.word(), boot_id());
    let mut built = vec![
        json!({ "backing_file": { "path": path } }),
        json!({ "mount": { "at": path } }),
        json!({ "array": { "device": path, "name": "iodyno-abcde" } }),
        json!({ "array": { "device": device, "name": "iodyno-abcde" } }),
        json!({ "mapping": { "name": path } }),
        json!({ "drive": { "device": path, "word": word, "tag": "abcde", "boot_id": boot } }),
        json!({ "drive": { "device": device, "word": word, "tag": "", "boot_id": boot } }),
    ];
    if marked {
        for one in &mut built {
            let inner = one.as_object_mut().unwrap().values_mut().next().unwrap();
            inner["mark"] = json!(MARK);
        }
    }
    let now = fs::read_to_string(victims.queue("nr_requests")).unwrap();
    let setting = |path: &str, value: &str| {
        json!({ "setting": {
            "path": path, "before": "64", "value": value, "with_it": [path, "64"],
        } })
    };
    let mut all: Vec<Value> = built.into_iter().map(|one| json!({ "built": one })).collect();
    all.push(json!({ "scratch_file": { "path": path, "identity": null } }));
    all.push(setting(path, "kept"));
    let mut set_now = setting(&victims.queue("nr_requests"), now.trim());
    all.push(set_now.clone());
    set_now["setting"]["boot_id"] = json!("another machine, or an earlier boot");
    all.push(set_now);
    all
}

#[test]
#[ignore = "needs root"]
fn nothing_that_iodyno_did_not_make_is_touched() {
    let victims = Victims::new();
    let before = victims.state();
    let names = ["plain", "link", "mounted", "mounted/inside", "empty", "disk"].map(String::from);
    let alike = [format!("iodyno-{MARK}-0.img"), "iodyno-0190-0.img".into()];
    let names: Vec<String> = names.into_iter().chain(alike).collect();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 16,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let chosen = (prop::sample::select(names), 0_usize..6, any::<bool>());
    let outcome = runner.run(&chosen, |(name, spelling, marked)| {
        let path = spelled(&victims.path(&name), spelling);
        let mut store = Store::in_memory().unwrap();
        let run = Run { state: RunState::Interrupted, ..Run::new(iodyno_store::new_id(), 0) };
        store.create_run(&run).unwrap();
        for entry in entries(&victims, &path, marked) {
            let entry: JournalEntry = serde_json::from_value(entry).unwrap();
            store.journal_add(&run.id, &entry).unwrap();
            let said = clean_up(&mut store, None);
            prop_assert!(victims.state() == before, "{entry:?} changed something: {said:?}");
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
#[ignore = "needs root"]
fn drive_under_a_standing_layer_is_not_emptied() {
    let victims = Victims::new();
    let uuid = "00112233-4455-6677-8899-aabbccddeeff";
    run("mkfs.ext4", &["-q", "-F", "-U", uuid, "-L", "iodyno-00112", &victims.device]);
    let at = format!("/run/iodyno/{MARK}");
    fs::create_dir_all(&at).unwrap();
    run("mount", &["-t", "tmpfs", "busy", &at]);
    let mut busy = Command::new("sleep").arg("600").current_dir(&at).spawn().unwrap();
    let before = victims.state();
    let mut store = Store::in_memory().unwrap();
    let left = Run { state: RunState::Interrupted, ..Run::new(iodyno_store::new_id(), 0) };
    store.create_run(&left).unwrap();
    for built in [
        json!({ "drive": { "device": victims.device, "word": victims.word(), "mark": MARK } }),
        json!({ "mount": { "at": at, "mark": MARK } }),
    ] {
        let entry: JournalEntry = serde_json::from_value(json!({ "built": built })).unwrap();
        store.journal_add(&left.id, &entry).unwrap();
    }
    let refused = clean_up(&mut store, None);
    let is_kept = victims.state() == before;
    busy.kill().unwrap();
    busy.wait().unwrap();
    let done: Vec<Outcome> =
        clean_up(&mut store, None).unwrap().into_iter().map(|one| one.outcome).collect();
    assert!(is_kept, "{refused:?}");
    let refused: Vec<Outcome> = refused.unwrap().into_iter().map(|one| one.outcome).collect();
    assert!(matches!(&refused[..], [Outcome::Failed(_), Outcome::Failed(_)]), "{refused:?}");
    assert_eq!(done, [Outcome::TakenDown, Outcome::Emptied]);
}
