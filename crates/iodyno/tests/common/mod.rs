//! A scratch world for the binary: a store and a target directory of its own.

pub(crate) mod listening;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// A temporary folder with a store, on the disk that the build is on: tmpfs
/// would be refused as a target.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        std::fs::create_dir_all(base).unwrap();
        Self { folder: tempfile::tempdir_in(base).unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A directory to be checked.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// A file of `size` bytes that takes no room.
    pub(crate) fn sparse(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        std::fs::File::create(&path).unwrap().set_len(size).unwrap();
        path
    }

    /// The binary, with this world's store and nothing of the user's.
    pub(crate) fn command(&self) -> Command {
        self.with_environment(Command::new(env!("CARGO_BIN_EXE_iodyno")))
    }

    /// The same surroundings for a command that starts the binary.
    pub(crate) fn with_environment(&self, mut command: Command) -> Command {
        command
            .env("IODYNO_STORE", self.path("store.sqlite"))
            .env("XDG_CONFIG_HOME", self.path("configuration"))
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100")
            // What it writes beside itself is not left in the tree.
            .current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Files in a directory, hidden ones too.
    pub(crate) fn files(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts the exit status, with both outputs in full where it differs.
#[track_caller]
pub(crate) fn status(output: &Output, expected: i32) {
    assert_eq!(
        output.status.code(),
        Some(expected),
        "\n--- standard output ---\n{}\n--- standard error ---\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

pub(crate) fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The document holds to its published schema, `iodyno.run.2`.
#[track_caller]
pub(crate) fn validate(document: &serde_json::Value, schema: &str) {
    let path = format!("{}/../../docs/schema/{schema}.json", env!("CARGO_MANIFEST_DIR"));
    let schema = json(&std::fs::read(path).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// What a tool says, which has to be there and to succeed.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} (this test needs root): {said}");
    text(&output.stdout).trim().to_owned()
}

/// Mounts tracefs where it is usually mounted, if nothing has mounted it yet.
pub(crate) fn mount_tracefs() {
    static MOUNTED: Once = Once::new();
    MOUNTED.call_once(|| {
        if !Path::new("/sys/kernel/tracing/trace").exists() {
            tool("mount", &["-t", "tracefs", "none", "/sys/kernel/tracing"]);
        }
    });
}

/// Waits until it is so, for no longer than a minute.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The process in which the iodyno that was started as `pid` works.
pub(crate) fn worker_of(pid: u32) -> u32 {
    let mut worker = None;
    eventually("it has a worker", || {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        worker = children.unwrap_or_default().split_whitespace().next().map(str::to_owned);
        worker.is_some()
    });
    worker.unwrap().parse().unwrap()
}

/// A loop device on a file of a world, with data in every block.
pub(crate) struct Loop<'w> {
    pub(crate) world: &'w World,
    image: String,
    pub(crate) device: String,
}

impl<'w> Loop<'w> {
    pub(crate) fn new(world: &'w World, image: &str, bytes: u64) -> Self {
        let path = world.path(image);
        std::fs::write(&path, vec![7; bytes as usize]).unwrap();
        let device = tool("losetup", &["--find", "--show", path.to_str().unwrap()]);
        Self { world, image: image.into(), device }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        tool("sync", &[]);
        std::fs::read(self.world.path(&self.image)).unwrap()
    }

    /// `loop3`.
    pub(crate) fn name(&self) -> &str {
        self.device.strip_prefix("/dev/").unwrap()
    }

    /// The word that allows to write it.
    pub(crate) fn word(&self) -> String {
        format!("{}:{}", self.name(), self.bytes().len())
    }

    /// A command on it with what allows everything, and more.
    pub(crate) fn allowed(&self, command: &[&str], more: &[&str]) -> Output {
        let word = self.word();
        let allowing = ["--allow-write", &word, "--discard-data", &word];
        self.world.run(&[command, &allowing[..], more].concat())
    }

    /// Waits until so many writes more have come to it.
    pub(crate) fn wait_for_writes(&self, count: u64) {
        let stat = format!("/sys/block/{}/stat", self.name());
        // The fifth counter: writes completed.
        let written = || -> u64 {
            let counters = std::fs::read_to_string(&stat).unwrap();
            counters.split_ascii_whitespace().nth(4).unwrap().parse().unwrap()
        };
        let (before, begun) = (written(), std::time::Instant::now());
        while written() < before + count {
            assert!(begun.elapsed().as_secs() < 60, "nothing is written");
            std::thread::yield_now();
        }
    }
}

impl Drop for Loop<'_> {
    fn drop(&mut self) {
        let detached = Command::new("losetup").args(["--detach", &self.device]).status();
        assert!(detached.unwrap().success() || std::thread::panicking());
    }
}

/// Makes a script that can be run. Another process writes it: what other tests start meanwhile
/// would inherit it as open for writing, and nobody could run it (ETXTBSY).
pub(crate) fn script(path: &Path, text: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// Compares `shown` with the file `name` in `captured`, which `UPDATE_EXPECT=1` writes anew.
#[track_caller]
pub(crate) fn as_captured(name: &str, shown: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured").join(name);
    expect_test::expect_file![file].assert_eq(shown);
}
