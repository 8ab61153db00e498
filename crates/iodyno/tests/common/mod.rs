//! Test environment for the binary, with its own store and target directory.

pub(crate) mod listening;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// Runs a program, and prints the most memory of any process of it, KiB (getrusage(2)).
const PEAK: &str = "\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
";

/// A temporary folder with a store, on the disk of the build: tmpfs would be refused as a target.
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

    /// Creates a directory, for example as a target.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Creates a sparse file of `size` bytes.
    pub(crate) fn sparse(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        std::fs::File::create(&path).unwrap().set_len(size).unwrap();
        path
    }

    /// Command of the binary, with this world's store and without the user's settings.
    pub(crate) fn command(&self) -> Command {
        self.with_environment(Command::new(env!("CARGO_BIN_EXE_iodyno")))
    }

    /// Sets the same environment for a command that starts the binary.
    pub(crate) fn with_environment(&self, mut command: Command) -> Command {
        command
            .env("IODYNO_STORE", self.path("store.sqlite"))
            .env("XDG_CONFIG_HOME", self.path("configuration"))
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100")
            // Files that it writes do not end up in the source tree.
            .current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Peak memory of a run that succeeds, its worker included, KiB.
    pub(crate) fn peak_kib(&self, arguments: &[&str]) -> u64 {
        // A child of this process would begin with the peak of this one.
        let mut command = self.with_environment(Command::new("python3"));
        command.args(["-c", PEAK, env!("CARGO_BIN_EXE_iodyno")]).args(arguments);
        let output = command.output().unwrap();
        status(&output, 0);
        text(&output.stdout).trim().parse().unwrap()
    }

    /// Runs `iodyno run` with these words.
    pub(crate) fn jobs(&self, words: &[&str]) -> Output {
        self.run(&[&["run"], words].concat())
    }

    /// Expects exit status 2, all of `words` on standard error, and nothing on standard output.
    /// Returns standard error.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str], words: &[&str]) -> String {
        let output = self.run(arguments);
        status(&output, 2);
        let message = text(&output.stderr);
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
        assert!(!message.contains("panicked"), "{message}");
        assert!(output.stdout.is_empty(), "nothing half done: {}", text(&output.stdout));
        message
    }

    /// Names of the files in a directory, hidden ones included.
    pub(crate) fn files(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts the exit status; prints both outputs if it differs.
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

/// Asserts the exit status, and these words on standard error.
#[track_caller]
pub(crate) fn says(output: &Output, expected: i32, words: &str) {
    status(output, expected);
    let said = text(&output.stderr);
    assert!(said.contains(words), "`{words}` is missing in: {said}");
}

pub(crate) fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap()
}

/// JSON on the standard output of a command that succeeded.
#[track_caller]
pub(crate) fn printed(output: &Output) -> serde_json::Value {
    status(output, 0);
    json(&output.stdout)
}

/// Checks a document against its published schema, for example `iodyno.run.2`.
#[track_caller]
pub(crate) fn validate(document: &serde_json::Value, schema: &str) {
    let path = format!("{}/../../docs/schema/{schema}.json", env!("CARGO_MANIFEST_DIR"));
    let schema = json(&std::fs::read(path).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A path as a word for a shell: the workspace's may hold a blank.
pub(crate) fn word(path: &Path) -> String {
    iodyno_model::shell_word(path.to_str().unwrap())
}

/// Output of a tool that must exist and succeed.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} (this test needs root): {said}");
    text(&output.stdout).trim().to_owned()
}

/// Mounts tracefs at its usual place, unless mounted already.
pub(crate) fn mount_tracefs() {
    static MOUNTED: Once = Once::new();
    MOUNTED.call_once(|| {
        if !Path::new("/sys/kernel/tracing/trace").exists() {
            tool("mount", &["-t", "tracefs", "none", "/sys/kernel/tracing"]);
        }
    });
}

/// Waits until a condition holds, for at most a minute.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Process id of the worker of the iodyno started as `pid`.
pub(crate) fn worker_of(pid: u32) -> u32 {
    let mut worker = None;
    eventually("it has a worker", || {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        worker = children.unwrap_or_default().split_whitespace().next().map(str::to_owned);
        worker.is_some()
    });
    worker.unwrap().parse().unwrap()
}

/// A loop device over a file of a world, with data in every block.
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

    /// Name: `loop3`.
    pub(crate) fn name(&self) -> &str {
        self.device.strip_prefix("/dev/").unwrap()
    }

    /// Word that permits writing, for `--allow-write`.
    pub(crate) fn word(&self) -> String {
        format!("{}:{}", self.name(), self.bytes().len())
    }

    /// Runs a command on it with all permissions, and further words.
    pub(crate) fn allowed(&self, command: &[&str], more: &[&str]) -> Output {
        let word = self.word();
        let allowing = ["--allow-write", &word, "--discard-data", &word];
        self.world.run(&[command, &allowing[..], more].concat())
    }

    /// Waits for this many further writes to it.
    pub(crate) fn wait_for_writes(&self, count: u64) {
        let stat = format!("/sys/block/{}/stat", self.name());
        // The fifth counter is writes completed.
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

/// Creates an executable script. Another process writes it: programs that other tests start
/// meanwhile would inherit the open file, and running it would fail (ETXTBSY).
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

/// Compares `shown` with the file `name` in `captured`; `UPDATE_EXPECT=1` rewrites that.
#[track_caller]
pub(crate) fn as_captured(name: &str, shown: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured").join(name);
    expect_test::expect_file![file].assert_eq(shown);
}
