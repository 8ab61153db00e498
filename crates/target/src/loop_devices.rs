//! Loop devices and file systems on them, for tests. Needs root, losetup, mkfs.ext4 and mount;
//! fails if one is missing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use iodyno_model::{BlockKind, Fact, Host};
use tempfile::TempDir;

use crate::testing::{block, host};
use crate::{Target, resolve};

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = try_to_run(program, arguments);
    output.unwrap_or_else(|said| panic!("{program} {arguments:?} (this test needs root): {said}"))
}

pub(crate) fn try_to_run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Waits until `holds`. A process that another test is just starting inherits this one's
/// descriptors until its exec(2), so they may stay open a moment after being closed here.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn unmount(path: &str) {
    eventually(path, || try_to_run("umount", &[path]).is_ok());
}

/// Detaches a loop device, whole: while anybody has it open, the kernel detaches it at the last
/// close only, and until then it backs what it did.
pub(crate) fn detach(device: &str) {
    let name = device.strip_prefix("/dev/").unwrap();
    let backing = || fs::read(format!("/sys/block/{name}/loop/backing_file")).ok();
    let before = backing();
    let detached = try_to_run("losetup", &["--detach", device]);
    // A failed test may still use it; its own panic matters.
    if !std::thread::panicking() {
        detached.unwrap_or_else(|said| panic!("{device}: {said}"));
        eventually(device, || backing() != before);
    }
}

/// A loop device on a file in a directory of its own.
pub(crate) struct Loop {
    pub(crate) device: String,
    pub(crate) directory: TempDir,
}

impl Loop {
    pub(crate) fn new(size_bytes: u64) -> Self {
        Self::with(size_bytes, &[])
    }

    /// As [`Self::new`], with more losetup options.
    pub(crate) fn with(size_bytes: u64, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::File::create(&image).unwrap().set_len(size_bytes).unwrap();
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(image.to_str().unwrap());
        let device = run("losetup", &arguments);
        Self { device, directory }
    }

    pub(crate) fn name(&self) -> &str {
        self.device.strip_prefix("/dev/").unwrap()
    }

    /// Content: the file behind it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.directory.path().join("image")).unwrap()
    }

    /// The word that allows writing it.
    pub(crate) fn word(&self) -> String {
        format!("{}:{}", self.name(), self.bytes().len())
    }

    /// A host with only this device.
    pub(crate) fn host(&self) -> Host {
        let number = fs::metadata(&self.device).unwrap().rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let mut device = block(self.name(), major, minor);
        device.kind =
            BlockKind::Loop { backing_file: Some("/image".into()), backing: Fact::Absent };
        host(vec![device])
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        detach(&self.device);
    }
}

/// An ext4 file system on a loop device, mounted.
pub(crate) struct Ext4 {
    pub(crate) at: PathBuf,
    pub(crate) disk: Loop,
}

impl Ext4 {
    pub(crate) fn new(size_bytes: u64, options: &str) -> Self {
        let disk = Loop::new(size_bytes);
        run("mkfs.ext4", &["-q", "-m", "0", &disk.device]);
        let at = disk.directory.path().join("mounted");
        fs::create_dir(&at).unwrap();
        run("mount", &["-o", options, &disk.device, at.to_str().unwrap()]);
        Self { at, disk }
    }

    pub(crate) fn target(&self) -> Target {
        resolve(&self.disk.host(), self.at.to_str().unwrap()).unwrap().remove(0)
    }

    pub(crate) fn scratch_files(&self) -> usize {
        let names = fs::read_dir(&self.at).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".iodyno")).count()
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        unmount(self.at.to_str().unwrap());
    }
}

/// A partition of a loop device, in the kernel only.
pub(crate) struct Partition<'d>(&'d Loop);

impl<'d> Partition<'d> {
    pub(crate) fn new(disk: &'d Loop) -> Self {
        run("addpart", &[&disk.device, "1", "2048", "8192"]);
        Self(disk)
    }

    pub(crate) fn device(&self) -> String {
        format!("{}p1", self.0.device)
    }
}

impl Drop for Partition<'_> {
    fn drop(&mut self) {
        eventually("delpart", || try_to_run("delpart", &[&self.0.device, "1"]).is_ok());
    }
}
