//! Tests the job files of examples/, as shown in the README.

use std::path::Path;

use assert_cmd::Command;

#[test]
fn every_example_runs() {
    // Beside the build, where O_DIRECT works; /tmp may be a tmpfs.
    let beside = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, vec![7; 16 << 20]).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let examples = examples.canonicalize().unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        let output = Command::cargo_bin("iodyno")
            .unwrap()
            // A verifying job leaves its state file where it runs, as in fio.
            .current_dir(folder.path())
            .env("IODYNO_STORE", folder.path().join("store.sqlite"))
            .env("TARGET", &target)
            .env("DIR", folder.path())
            .env("SIZE", "8m")
            .env("RUNTIME", "1")
            .arg("run")
            .arg(&path)
            .args(["--output-format=json", "--quiet"])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}: {told}", path.display());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for job in document["jobs"].as_array().unwrap() {
            let ios = ["read", "write"].map(|side| job[side]["total_ios"].as_u64().unwrap());
            assert!(ios.iter().sum::<u64>() > 0, "{}: {job}", path.display());
            assert_eq!(job["error"], 0);
        }
        seen += 1;
    }
    assert_eq!(seen, 5);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap()).collect();
    let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("iodyno-")), "{names:?}");
}
