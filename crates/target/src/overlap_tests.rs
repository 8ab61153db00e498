//! Loop devices that share bytes with something in use. Needs root, losetup, addpart, mkfs.ext4,
//! mount and unshare; fails if one is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use iodyno_host::{Depth, Live, Source, snapshot};

use crate::lease::{OpenElsewhere, tests::while_open_unseen};
use crate::loop_devices::{MIB, detach, eventually, run, try_to_run, unmount};
use crate::testing::Faked;
use crate::{Permission, TargetError, WriteClearance, resolve};

/// A file for several loop devices, with a place to mount one of them.
struct Image {
    directory: tempfile::TempDir,
    size_bytes: u64,
}

impl Image {
    fn new(size_bytes: u64) -> Self {
        let image = Self { directory: tempfile::tempdir().unwrap(), size_bytes };
        fs::File::create(image.path()).unwrap().set_len(size_bytes).unwrap();
        image
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("image")
    }

    fn at(&self, options: &[&str]) -> Bound {
        Bound::over(&self.path(), options)
    }

    fn mount(&self, device: &str) -> Mounted {
        let at = self.directory.path().join("mounted");
        fs::create_dir_all(&at).unwrap();
        run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,nodiscard", device]);
        run("mount", &["-o", "ro,noload", device, at.to_str().unwrap()]);
        Mounted(at.to_str().unwrap().to_owned())
    }

    /// Asserts that writing this file is refused, in these words.
    fn is_in_use_at(&self, path: &Path, words: &str) {
        let before = fs::read(path).unwrap();
        let path = path.to_str().unwrap();
        let error = clear(path, path).unwrap_err();
        assert!(matches!(error, TargetError::InUse { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(before.len() as u64, self.size_bytes);
        assert!(fs::read(path).unwrap() == before, "{error}: and its bytes have changed");
    }
}

/// A loop device, detached on drop.
struct Bound(String);

impl Bound {
    fn over(path: &Path, options: &[&str]) -> Self {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(path.to_str().unwrap());
        Self(run("losetup", &arguments))
    }

    fn name(&self) -> &str {
        self.0.strip_prefix("/dev/").unwrap()
    }

    fn word(&self) -> String {
        format!("{}:{}", self.name(), run("blockdev", &["--getsize64", &self.0]))
    }

    fn clear(&self) -> Result<WriteClearance, TargetError> {
        clear(&self.0, &self.word())
    }

    fn is_in_use(&self, words: &str) {
        let error = self.clear().unwrap_err();
        assert!(matches!(error, TargetError::InUse { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

struct Mounted(String);

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// A process that has a file open until dropped.
struct Holder(Child);

impl Holder {
    fn of(path: &Path) -> Self {
        let file = fs::File::open(path).unwrap();
        Self(Command::new("sleep").arg("1000").stdin(file).spawn().unwrap())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn clear(target: &str, word: &str) -> Result<WriteClearance, TargetError> {
    clear_with(&Live::new(), target, word)
}

fn clear_with(
    source: &dyn Source,
    target: &str,
    word: &str,
) -> Result<WriteClearance, TargetError> {
    let host = snapshot(source, Depth::Quick);
    let permission = Permission {
        allow_write: vec![word.into()],
        discard_data: vec![word.into()],
        ..Permission::default()
    };
    resolve(&host, target).unwrap().remove(0).clear_with(source, &host, &permission)
}

#[test]
#[ignore = "needs root"]
fn another_loop_over_the_mounted_part_of_a_file_is_in_use_and_one_beside_it_is_not() {
    let image = Image::new(32 * MIB);
    let lower = image.at(&["--offset", "1048576", "--sizelimit", "8388608"]);
    let mounted = image.mount(&lower.0);
    let is_mounted = format!("{}: mounted at ", lower.name());
    {
        let whole = image.at(&[]);
        whole.is_in_use(&is_mounted);
    }
    {
        let last_sector = image.at(&["--offset", "9436672"]);
        last_sector.is_in_use(&is_mounted);
    }
    let beside = image.at(&["--offset", "9437184"]);
    eventually("the part beside it is free", || beside.clear().is_ok());
    drop(mounted);
}

#[test]
#[ignore = "needs root"]
fn a_loop_over_the_same_bytes_is_a_use_without_any_mount() {
    let image = Image::new(8 * MIB);
    let (one, other) = (image.at(&[]), image.at(&["--offset", "4194304"]));
    one.is_in_use(&format!("{}: overlaps it", other.name()));
    other.is_in_use(&format!("{}: overlaps it", one.name()));
}

#[test]
#[ignore = "needs root"]
fn a_backing_file_that_was_renamed_is_the_same_file() {
    let image = Image::new(8 * MIB);
    let lower = image.at(&[]);
    let host = snapshot(&Live::new(), Depth::Quick);
    let renamed = image.directory.path().join("renamed");
    fs::rename(image.path(), &renamed).unwrap();
    fs::write(image.path(), b"another file").unwrap();
    let mounted = image.mount(&lower.0);
    image.is_in_use_at(&renamed, &format!("backs {}", lower.name()));
    let upper = Bound::over(&renamed, &[]);
    upper.is_in_use(&format!("{}: mounted at ", lower.name()));

    // Nor does an old snapshot mistake the file that has its path now for it.
    let path = image.path();
    let path = path.to_str().unwrap();
    fs::write(path, vec![0; 8192]).unwrap();
    let permission = Permission { allow_write: vec![path.into()], ..Permission::default() };
    let another = resolve(&host, path).unwrap().remove(0);
    eventually("another file is free", || another.clear_for_writing(&host, &permission).is_ok());
    drop(mounted);
}

#[test]
#[ignore = "needs root"]
fn a_backing_file_that_was_unlinked_and_lives_on_is_the_same_file() {
    let image = Image::new(8 * MIB);
    let lower = image.at(&[]);
    let link = image.directory.path().join("link");
    fs::hard_link(image.path(), &link).unwrap();
    fs::remove_file(image.path()).unwrap();
    fs::write(image.path(), b"another file in its place").unwrap();
    let mounted = image.mount(&lower.0);
    image.is_in_use_at(&link, &format!("backs {}", lower.name()));
    let upper = Bound::over(&link, &[]);
    upper.is_in_use(&format!("{}: mounted at ", lower.name()));
    drop(mounted);
}

#[test]
#[ignore = "needs root"]
fn a_loop_that_was_made_in_another_mount_namespace_is_a_use() {
    let image = Image::new(8 * MIB);
    let script = "mount --bind \"$0\" /mnt && losetup --find --show /mnt/image";
    let directory = image.directory.path().to_str().unwrap();
    let namespace = ["--mount", "--propagation", "private", "sh", "-c", script, directory];
    let theirs = Bound(run("unshare", &namespace));
    image.is_in_use_at(&image.path(), &format!("backs {}", theirs.name()));
    let mounted = image.mount(&theirs.0);
    image.at(&[]).is_in_use(&format!("{}: mounted at ", theirs.name()));
    drop(mounted);
}

#[test]
#[ignore = "needs root"]
fn a_process_that_has_the_backing_file_open_is_a_use_of_the_loop() {
    let image = Image::new(8 * MIB);
    let disk = image.at(&[]);
    let holder = Holder::of(&image.path());
    disk.is_in_use(&format!("{}: open by sleep ({})", image.path().display(), holder.0.id()));
    drop(holder);
    eventually("it is free again", || disk.clear().is_ok());
}

#[test]
#[ignore = "needs root"]
fn swap_in_the_backing_file_is_a_use_of_the_loop() {
    let image = Image::new(8 * MIB);
    fs::write(image.path(), vec![0; 8 << 20]).unwrap();
    let path = image.path();
    run("chmod", &["600", path.to_str().unwrap()]);
    run("mkswap", &[path.to_str().unwrap()]);
    let disk = image.at(&[]);
    run("swapon", &["--priority", "0", path.to_str().unwrap()]);
    let found = std::panic::catch_unwind(|| disk.is_in_use(&format!("{}: swap", path.display())));
    run("swapoff", &[path.to_str().unwrap()]);
    found.unwrap();
}

#[test]
#[ignore = "needs root"]
fn a_partition_of_one_loop_and_another_loop_over_its_sectors_are_the_same_bytes() {
    let image = Image::new(32 * MIB);
    let disk = image.at(&["--partscan"]);
    // From 1 MiB, 8 MiB long.
    run("addpart", &[&disk.0, "1", "2048", "16384"]);
    let found = std::panic::catch_unwind(|| {
        let part = format!("{}p1", disk.0);
        let word = format!("{}:32M-part1", disk.name());
        {
            let mounted = image.mount(&part);
            let over = image.at(&["--offset", "4194304", "--sizelimit", "1048576"]);
            over.is_in_use(&format!("{}p1: mounted at ", disk.name()));
            drop((mounted, over));
        }
        let over = image.at(&["--offset", "4194304", "--sizelimit", "1048576"]);
        let error = clear(&part, &word).unwrap_err();
        assert!(error.to_string().contains(over.name()), "{error}");
        drop(over);
        let beside = image.at(&["--offset", "16777216"]);
        eventually("a loop beside it is no hindrance", || clear(&part, &word).is_ok());
        drop(beside);
    });
    eventually("delpart", || try_to_run("delpart", &[&disk.0, "1"]).is_ok());
    found.unwrap();
}

/// An overlay with a file in its lower and one in its upper layer.
struct Overlay {
    image: Image,
    _mounted: Mounted,
}

impl Overlay {
    fn new() -> Self {
        Self::of(Path::to_owned)
    }

    /// With layers that are named so.
    fn of(named: impl Fn(&Path) -> PathBuf) -> Self {
        let image = Image::new(8 * MIB);
        let at = |name: &str| image.directory.path().join(name);
        for name in ["lower", "two words", "work", "m"] {
            fs::create_dir(at(name)).unwrap();
        }
        for file in ["lower/low", "two words/file"] {
            fs::write(at(file), vec![7; 8 << 20]).unwrap();
        }
        let layers = ["lower", "two words", "work"].map(|name| named(&at(name)));
        let [lower, upper, work] = layers.each_ref().map(|layer| layer.display());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let merged = at("m").to_str().unwrap().to_owned();
        let script = "cd \"$0\" && mount -t overlay -o \"$1\" overlay \"$2\"";
        let folder = image.directory.path().to_str().unwrap();
        run("sh", &["-c", script, folder, &options, &merged]);
        Self { image, _mounted: Mounted(merged) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.image.directory.path().join(name)
    }
}

#[test]
#[ignore = "needs root"]
fn a_file_of_an_overlay_is_in_use_where_its_upper_one_is() {
    let overlay = Overlay::new();
    let (file, path) = (overlay.at("two words/file"), overlay.at("m/file"));
    let name = path.to_str().unwrap();
    let twice = clear(name, name).unwrap();
    clear(name, name).unwrap();
    drop(twice);
    let disk = Bound::over(&file, &[]);
    overlay.image.is_in_use_at(&path, &format!("backs {}", disk.name()));
    drop(disk);
    let holder = Holder::of(&file);
    overlay.image.is_in_use_at(&path, "open by sleep");
    drop(holder);
    eventually("nobody has it open", || clear(name, name).is_ok());
}

#[test]
#[ignore = "needs root"]
fn a_file_of_a_layer_is_in_use_where_its_overlays_one_is() {
    let overlay = Overlay::new();
    for (of_layer, of_overlay) in [("two words/file", "m/file"), ("lower/low", "m/low")] {
        let file = overlay.at(of_layer);
        let holder = Holder::of(&overlay.at(of_overlay));
        overlay.image.is_in_use_at(&file, "open by sleep");
        let disk = Bound::over(&file, &[]);
        disk.is_in_use("open by sleep");
        drop(holder);
        eventually("nobody has it open", || disk.clear().is_ok());
    }
}

#[test]
#[ignore = "needs root"]
fn loops_over_a_layers_file_and_over_its_overlays_are_the_same_bytes() {
    let overlay = Overlay::new();
    let (file, path) = (overlay.at("two words/file"), overlay.at("m/file"));
    for (mounted, other) in [(&path, &file), (&file, &path)] {
        let disk = Bound::over(mounted, &[]);
        let at = overlay.image.mount(&disk.0);
        overlay.image.is_in_use_at(other, &format!("backs {}", disk.name()));
        let over = Bound::over(other, &[]);
        over.is_in_use(&format!("{}: mounted at ", disk.name()));
        drop((over, at));
    }
}

#[test]
#[ignore = "needs root"]
fn a_loop_over_a_file_of_an_overlay_of_relative_layers_may_be_over_any() {
    let overlay = Overlay::of(|layer| layer.file_name().unwrap().into());
    let theirs = Bound::over(&overlay.at("m/file"), &[]);
    let disk = Bound::over(&overlay.at("two words/file"), &[]);
    let error = disk.clear().unwrap_err();
    assert!(matches!(error, TargetError::NotKnown { .. }), "{error}");
    let said = format!("the backing of {} is unknown", theirs.name());
    assert!(error.to_string().contains(&said), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_file_system_that_is_mounted_from_the_backing_file_is_a_use_of_the_loop() {
    let image = Image::new(8 * MIB);
    let disk = image.at(&[]);
    let at = image.directory.path().join("from a file");
    fs::create_dir(&at).unwrap();
    let (at, path) = (at.to_str().unwrap(), image.path());
    // As with EROFS; tmpfs takes any source.
    run("mount", &["-t", "tmpfs", path.to_str().unwrap(), at]);
    let mounted = Mounted(at.to_owned());
    disk.is_in_use(&format!("{}: mounted at {at}", path.display()));
    drop(mounted);
    eventually("it is free again", || disk.clear().is_ok());
}

#[test]
fn a_file_that_no_process_shows_and_the_kernel_knows_to_be_open_is_in_use() {
    let image = Image::new(8192);
    let path = image.path();
    while_open_unseen(&path, || image.is_in_use_at(&path, "no process shows it"));
    let path = path.to_str().unwrap();
    eventually("nobody has it open", || clear(path, path).is_ok());
}

#[test]
#[ignore = "needs root"]
fn where_only_root_may_ask_what_a_loop_lies_on_that_is_said() {
    let image = Image::new(8 * MIB);
    let (theirs, mine) = (image.at(&[]), Image::new(8 * MIB));
    let mut source = Faked::new();
    source.denied.push(format!("/ioctl/{}.backing", theirs.name()));
    let disk = mine.at(&[]);
    let error = clear_with(&source, &disk.0, &disk.word()).unwrap_err();
    let said = format!("the backing of {} is unknown", theirs.name());
    assert!(matches!(error, TargetError::NotKnown { .. }), "{error}");
    assert!(error.to_string().contains(&said), "{error}");

    // A file is distinguished from it by the path, if that still exists.
    let file = mine.directory.path().join("file");
    let path = file.to_str().unwrap();
    fs::write(&file, vec![0; 8192]).unwrap();
    eventually("it is another file", || clear_with(&source, path, path).is_ok());
    // Otherwise, a file that nobody has open is under no loop device.
    fs::remove_file(image.path()).unwrap();
    clear_with(&source, path, path).unwrap();
    let under = fs::File::open(mine.path()).unwrap().into();
    assert_eq!(OpenElsewhere::check(&under), OpenElsewhere::Yes, "a loop device has it open");
    let _open = fs::File::open(&file).unwrap();
    let error = clear_with(&source, path, path).unwrap_err();
    assert!(error.to_string().contains(&said), "{error}");
}
