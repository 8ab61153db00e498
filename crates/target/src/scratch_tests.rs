use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use super::*;
use crate::resolve;
use crate::testing::{host, host_under};

/// A plan of a few chunks, so that tests do not wear out a disk.
fn small_plan(directory: &Path, named: bool) -> ScratchPlan {
    let name = directory.to_str().unwrap();
    let target = resolve(&host_under(directory), name).unwrap().remove(0);
    ScratchPlan::unchecked(&target, CHUNK_BYTES as u64, 4 * CHUNK_BYTES as u64, named)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn go_on(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_quarter_of_the_free_space_within_256_mib_and_8_gib() {
    const MIB: u64 = 1 << 20;
    assert_eq!(most_bytes(0), None);
    assert_eq!(most_bytes(1024 * MIB - 1), None);
    assert_eq!(most_bytes(1024 * MIB), Some(256 * MIB));
    assert_eq!(most_bytes(4001 * MIB), Some(1000 * MIB));
    assert_eq!(most_bytes(u64::MAX), Some(8192 * MIB));
}

#[test]
fn it_is_full_of_random_data_and_leaves_nothing() {
    for named in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let plan = small_plan(dir.path(), named);
        let mut seen = Vec::new();
        let mut scratch = ScratchFile::create(&plan, &mut |bytes, _| {
            seen.push(bytes);
            ControlFlow::Continue(())
        })
        .unwrap();
        let chunk = CHUNK_BYTES as u64;
        assert_eq!(seen, [0, chunk, 2 * chunk, 3 * chunk]);
        assert_eq!(scratch.size_bytes(), 4 * chunk);
        if named {
            assert_eq!(entries(dir.path()), [plan.path().to_path_buf()]);
            let mode = rustix::fs::stat(plan.path()).unwrap().st_mode;
            assert_eq!(mode & 0o7777, 0o600);
        }

        let clearance = scratch.clear_for_reading().unwrap();
        assert_eq!(Path::new(clearance.name()), dir.path().canonicalize().unwrap());
        let flags = rustix::fs::fcntl_getfl(&clearance).unwrap();
        assert_eq!(flags & OFlags::RWMODE, OFlags::RDONLY);

        // Read through the page cache, so that no aligned buffer is needed: through the
        // descriptor's own file, even without a name.
        let file = fs::File::open(format!("/proc/self/fd/{}", {
            use std::os::fd::{AsFd, AsRawFd};
            clearance.as_fd().as_raw_fd()
        }))
        .unwrap();
        let mut blocks = std::collections::HashSet::new();
        let mut block = vec![0; 4096];
        for index in 0..scratch.size_bytes() / 4096 {
            file.read_exact_at(&mut block, index * 4096).unwrap();
            assert!(blocks.insert(block.clone()), "block {index} is a copy of another");
        }

        scratch.remove().unwrap();
        scratch.remove().unwrap();
        assert_eq!(scratch.identity(), None);
        assert!(entries(dir.path()).is_empty());
        // A clearance outlives the name.
        file.read_exact_at(&mut block, 0).unwrap();
    }
}

#[test]
fn dropping_it_removes_it() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = ScratchFile::create(&small_plan(dir.path(), true), &mut go_on).unwrap();
    assert!(scratch.identity().is_some());
    assert_eq!(entries(dir.path()).len(), 1);
    drop(scratch);
    assert!(entries(dir.path()).is_empty());
}

#[test]
fn it_ends_when_the_time_is_over_but_not_before_the_least_size() {
    let dir = tempfile::tempdir().unwrap();
    let chunk = CHUNK_BYTES as u64;
    let plan =
        ScratchPlan { least_bytes: 2 * chunk, writing_ns: 0, ..small_plan(dir.path(), false) };
    let scratch = ScratchFile::create(&plan, &mut go_on).unwrap();
    assert_eq!(scratch.size_bytes(), 2 * chunk);
}

#[test]
fn an_interruption_or_a_panic_leaves_nothing() {
    for named in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let plan = small_plan(dir.path(), named);
        let stop = |bytes, _| match bytes {
            0 => ControlFlow::Continue(()),
            _ => {
                assert_eq!(entries(dir.path()).len(), usize::from(named));
                ControlFlow::Break(())
            }
        };
        let error = ScratchFile::create(&plan, &mut { stop }).unwrap_err();
        assert!(matches!(error, TargetError::Interrupted { .. }), "{error}");
        assert!(entries(dir.path()).is_empty());

        let plan = small_plan(dir.path(), named);
        let panicked = std::panic::catch_unwind(|| {
            ScratchFile::create(&plan, &mut |_, _| panic!("a panic of the caller's"))
        });
        assert!(panicked.is_err());
        assert!(entries(dir.path()).is_empty());
    }
}

#[test]
fn plans_are_for_directories_that_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, [0; 4096]).unwrap();
    let host = host(Vec::new());
    let target = resolve(&host, file.to_str().unwrap()).unwrap().remove(0);
    assert!(matches!(ScratchPlan::of(&target, &host, 0), Err(TargetError::Refused { .. })));

    // The directory is gone, or a file exists already: it stays.
    let plan = small_plan(dir.path(), true);
    fs::write(plan.path(), b"somebody else's").unwrap();
    assert!(matches!(ScratchFile::create(&plan, &mut go_on), Err(TargetError::Io { .. })));
    assert_eq!(fs::read(plan.path()).unwrap(), b"somebody else's");
    for named in [false, true] {
        let gone = tempfile::tempdir().unwrap();
        let plan = small_plan(gone.path(), named);
        gone.close().unwrap();
        let error = ScratchFile::create(&plan, &mut go_on).unwrap_err();
        assert!(error.to_string().contains("could not make a scratch file"), "{error}");
    }
}

#[test]
fn only_our_own_scratch_file_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("{PREFIX}{:032x}{SUFFIX}", 7);
    let path = dir.path().join(&name);
    let remove = |path: &Path, identity| remove_if_ours(path, identity).unwrap();

    assert_eq!(remove(&path, None), Removed::AlreadyGone);
    assert_eq!(remove(&dir.path().join("gone").join(&name), None), Removed::AlreadyGone);

    fs::write(&path, b"data").unwrap();
    let stat = rustix::fs::stat(&path).unwrap();
    let ours = FileIdentity { device: stat.st_dev, inode: stat.st_ino };
    let other = FileIdentity { inode: ours.inode + 1, ..ours };
    assert_eq!(remove(&path, Some(other)), Removed::NotOurs);
    assert!(path.exists());
    assert_eq!(remove(&path, Some(ours)), Removed::Yes);
    assert_eq!(remove(&path, Some(ours)), Removed::AlreadyGone);

    // A directory, a symbolic link, another name.
    fs::create_dir(&path).unwrap();
    assert_eq!(remove(&path, None), Removed::NotOurs);
    fs::remove_dir(&path).unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, b"data").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    assert_eq!(remove(&path, None), Removed::NotOurs);
    assert_eq!(remove(&precious, None), Removed::NotOurs);
    assert!(precious.exists() && path.is_symlink());
}

/// Set in the child process of the next test: whether the file has a name, and its directory.
const CHILD: &str = "IODYNO_TEST_SCRATCH_CHILD";

#[test]
fn a_kill_leaves_only_what_clean_up_removes() {
    if let Ok(what) = std::env::var(CHILD) {
        let (named, directory) = what.split_once(':').expect("the parent writes it so");
        write_until_killed(Path::new(directory), named == "true");
    }
    for named in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "scratch::tests::a_kill_leaves_only_what_clean_up_removes"])
            .arg("--nocapture")
            .env(CHILD, format!("{named}:{}", dir.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let path = stdout
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("written ").map(PathBuf::from))
            .expect("the child says that it has written");
        child.kill().unwrap();
        child.wait().unwrap();

        if named {
            assert_eq!(entries(dir.path()), std::slice::from_ref(&path));
            assert_eq!(remove_if_ours(&path, None).unwrap(), Removed::Yes);
        }
        // Without a name the kernel has removed it already.
        assert!(entries(dir.path()).is_empty());
        assert_eq!(remove_if_ours(&path, None).unwrap(), Removed::AlreadyGone);
    }
}

/// Writes a part of a scratch file, reports it, and waits to be killed.
fn write_until_killed(directory: &Path, named: bool) -> ! {
    let plan = small_plan(directory, named);
    let _ = ScratchFile::create(&plan, &mut |bytes, _| {
        if bytes > 0 {
            writeln!(std::io::stdout(), "\nwritten {}", plan.path().display()).unwrap();
            // Until it is killed, or its parent is gone.
            let _ = std::io::stdin().read(&mut [0]);
        }
        ControlFlow::Continue(())
    });
    std::process::exit(1)
}
