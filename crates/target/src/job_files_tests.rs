use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use super::*;
use crate::loop_devices::{Loop, MIB, detach, eventually, run, unmount};
use crate::resolve;
use crate::testing::{host, host_under};

#[path = "job_files_disk_tests.rs"]
mod disks;

/// A single file.
fn lay_out(
    plan: &FilePlan,
    host: &Host,
    permission: &Permission,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<LaidOut, TargetError> {
    survey(vec![plan.clone()], host, permission)?.remove(0).lay_out(host, permission, None, watcher)
}

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn plan(path: PathBuf, fill: Fill, will_write: bool) -> FilePlan {
    FilePlan { path, size_bytes: 3 * MIB + 1000, create: true, fill, keeps: false, will_write }
}

fn lay(plan: &FilePlan, allowed: &[&Path]) -> Result<LaidOut, TargetError> {
    let allow_write = allowed.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    let permission = Permission { allow_write, ..Permission::default() };
    lay_out(plan, &host(Vec::new()), &permission, &mut go_on)
}

/// Returns why a file is refused; asserts that it is unchanged.
fn refused(plan: &FilePlan, allowed: &[&Path]) -> TargetError {
    let before = fs::read(&plan.path).unwrap();
    let error = lay(plan, allowed).unwrap_err();
    assert!(fs::read(&plan.path).unwrap() == before, "{error}: and it has changed");
    error
}

#[test]
fn a_file_to_read_is_written_in_full_and_reused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("job.0.0");
    let plan = plan(path.clone(), Fill::Written, false);
    let mut seen = Vec::new();
    let laid = lay_out(&plan, &host_under(dir.path()), &Permission::default(), &mut |bytes| {
        seen.push(bytes);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, [0, MIB, 2 * MIB, 3 * MIB, 3 * MIB + 1000]);
    assert!(laid.is_new() && laid.write().is_none());
    assert_eq!(
        (laid.written_bytes(), laid.access().read().size_bytes()),
        (3 * MIB + 1000, 3 * MIB + 1000)
    );
    assert_eq!(laid.access().name(), path.canonicalize().unwrap().to_str().unwrap());

    let data = fs::read(&path).unwrap();
    assert_eq!(data.len() as u64, 3 * MIB + 1000);
    let blocks: std::collections::HashSet<&[u8]> = data.chunks(512).collect();
    assert_eq!(blocks.len(), data.len().div_ceil(512));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o133, 0);

    // Large enough: used as it is, also by a job that needs less.
    let smaller = FilePlan { size_bytes: MIB, create: false, ..plan };
    let again = lay(&smaller, &[]).unwrap();
    assert!(!again.is_new());
    assert_eq!((again.written_bytes(), again.identity()), (0, laid.identity()));
    assert_eq!(fs::read(&path).unwrap(), data);
}

#[test]
fn a_file_to_write_is_laid_out_as_planned() {
    let dir = tempfile::tempdir().unwrap();
    let size = 3 * MIB + 1000;
    for (fill, length, allocated) in [
        (Fill::None, 0, false),
        (Fill::Allocate, size, true),
        (Fill::AllocateKeepingSize, 0, true),
        (Fill::Truncate, size, false),
        (Fill::Written, size, true),
    ] {
        let path = dir.path().join(format!("{fill:?}"));
        let laid = lay(&plan(path.clone(), fill, true), &[]).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.len(), length, "{fill:?}");
        assert_eq!(metadata.blocks() * 512 >= size, allocated, "{fill:?}");
        // The size that a job may fill, even if the file has yet to grow.
        let write = laid.write().unwrap();
        assert_eq!(write.as_read().size_bytes(), size, "{fill:?}");
        let file = write.open(OpenHow { direct: false, ..OpenHow::default() }).unwrap();
        rustix::io::pwrite(&file, b"written", 0).unwrap();
        assert_eq!(&fs::read(&path).unwrap()[..7], b"written");
        assert_eq!(laid.remove_if_ours().unwrap(), Removed::Yes);
        assert_eq!(laid.remove_if_ours().unwrap(), Removed::AlreadyGone);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_somebody_made_needs_its_path_for_writing_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("theirs");
    fs::write(&path, vec![7; 4 << 20]).unwrap();
    let read = lay(&plan(path.clone(), Fill::Written, false), &[]).unwrap();
    assert_eq!(read.remove_if_ours().unwrap(), Removed::NotOurs);

    let write = plan(path.clone(), Fill::Allocate, true);
    let error = refused(&write, &[]);
    let expected = format!("if all data on it may be lost: --allow-write {}", path.display());
    assert_eq!(error.next_step(), expected);
    refused(&write, &[dir.path(), Path::new("theirs")]);
    // One that is too small would be replaced, even for reading.
    let larger = FilePlan { size_bytes: 8 * MIB, ..plan(path.clone(), Fill::Written, false) };
    refused(&larger, &[]);

    // By any spelling of its path.
    symlink(&path, dir.path().join("link")).unwrap();
    let laid = lay(&write, &[&dir.path().join("link")]).unwrap();
    assert_eq!(laid.remove_if_ours().unwrap(), Removed::NotOurs);
    assert_eq!(fs::read(&path).unwrap(), vec![7; 4 << 20]);

    let target = resolve(&host(Vec::new()), path.to_str().unwrap()).unwrap().remove(0);
    assert_eq!(
        target.data_at_risk(&host(Vec::new())),
        ["a file of 4 MiB that iodyno did not make"]
    );
    let permission = Permission {
        allow_write: vec![path.to_str().unwrap().into(), "typo".into()],
        ..Permission::default()
    };
    let clearance = target.clear_for_writing(&host(Vec::new()), &permission).unwrap();
    assert_eq!(crate::unmatched_permissions(&permission, [&clearance]), ["typo"]);
}

#[test]
fn an_empty_file_is_written_as_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("touched");
    for (fill, will_write) in [(Fill::None, true), (Fill::Written, false)] {
        fs::write(&path, "").unwrap();
        let laid = lay(&plan(path.clone(), fill, will_write), &[]).unwrap();
        assert_eq!(laid.access().read().size_bytes(), 3 * MIB + 1000);
        drop(laid);
        assert!(is_laid_out(&path));
        // Data that somebody else writes into it is theirs.
        fs::write(&path, "x").unwrap();
        refused(&plan(path.clone(), fill, will_write), &[]);
    }
}

#[test]
fn a_removed_file_gives_its_space_back_unless_it_has_another_name() {
    let dir = tempfile::tempdir().unwrap();
    for has_another_name in [false, true] {
        let path = dir.path().join("job.0.0");
        let laid = lay(&plan(path.clone(), Fill::Written, true), &[]).unwrap();
        if has_another_name {
            fs::hard_link(&path, dir.path().join("kept")).unwrap();
        }
        assert_eq!(laid.remove_if_ours().unwrap(), Removed::Yes);
        // It is still open: a job may be using it.
        let held = rustix::fs::fstat(laid.write().unwrap()).unwrap();
        assert_eq!(held.st_blocks > 0, has_another_name, "{held:?}");
    }
    assert_eq!(fs::metadata(dir.path().join("kept")).unwrap().len(), 3 * MIB + 1000);
}

#[test]
fn a_file_that_iodyno_laid_out_is_written_again_and_its_copy_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ours");
    let write = plan(path.clone(), Fill::Truncate, true);
    let first = lay(&write, &[]).unwrap();
    let again = lay(&write, &[]).unwrap();
    assert!(!again.is_new() && again.identity() == first.identity());
    drop((first, again));
    // It grows in place.
    let larger = FilePlan { size_bytes: 5 * MIB, fill: Fill::Written, ..write.clone() };
    let laid = lay(&larger, &[]).unwrap();
    assert_eq!((laid.is_new(), laid.written_bytes()), (false, 5 * MIB));
    assert_eq!(fs::metadata(&path).unwrap().len(), 5 * MIB);

    let copy = dir.path().join("copy");
    run("cp", &["--preserve=all", path.to_str().unwrap(), copy.to_str().unwrap()]);
    let error = refused(&FilePlan { path: copy, ..write.clone() }, &[]);
    assert!(matches!(error, TargetError::NotAllowed { .. }), "{error}");
    assert_eq!(laid.remove_if_ours().unwrap(), Removed::Yes);

    // Another file took its place meanwhile.
    let laid = lay(&write, &[]).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(dir.path().join("new"), b"theirs").unwrap();
    fs::rename(dir.path().join("new"), &path).unwrap();
    assert_eq!(laid.remove_if_ours().unwrap(), Removed::NotOurs);
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
}

/// Simulates the writes of a job.
fn worked_on(plan: &FilePlan) {
    let laid = lay(plan, &[]).unwrap();
    let write = laid.write().unwrap();
    let file = write.open(OpenHow { direct: false, ..OpenHow::default() }).unwrap();
    for offset in (0..plan.size_bytes).step_by(4096) {
        rustix::io::pwrite(&file, b"by a job", offset).unwrap();
    }
}

#[test]
fn data_that_others_write_into_an_iodyno_file_is_theirs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ours");
    let write = plan(path.clone(), Fill::Written, true);
    let length = write.size_bytes as usize;
    let theirs: Vec<u8> = b"precious ".iter().copied().cycle().take(length).collect();
    let with_its_time = |change: &dyn Fn()| {
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        change();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    let beside = dir.path().join("beside");
    let put: [(&str, &dyn Fn()); 6] = [
        ("by >", &|| fs::write(&path, &theirs).unwrap()),
        ("by cp", &|| {
            fs::write(&beside, &theirs).unwrap();
            run("cp", &["--preserve=all", beside.to_str().unwrap(), path.to_str().unwrap()]);
        }),
        ("by rename", &|| {
            fs::write(&beside, &theirs).unwrap();
            fs::rename(&beside, &path).unwrap();
        }),
        ("shorter", &|| {
            with_its_time(&|| {
                fs::File::options().write(true).open(&path).unwrap().set_len(4096).unwrap()
            });
        }),
        ("longer", &|| {
            use std::io::Write as _;
            fs::File::options().append(true).open(&path).unwrap().write_all(b"a line").unwrap();
        }),
        // As within one tick of the kernel's clock.
        ("at the same time", &|| with_its_time(&|| fs::write(&path, &theirs).unwrap())),
    ];
    for (how, put) in put {
        worked_on(&write);
        // iodyno's own writes keep it its own.
        worked_on(&write);
        assert!(is_laid_out(&path), "{how}");
        put();
        assert!(!is_laid_out(&path), "{how}");
        let error = refused(&write, &[]);
        assert!(matches!(error, TargetError::NotAllowed { .. }), "{how}: {error}");
        // Nor is it removed (unlink) by a job that only reads.
        let read = FilePlan { will_write: false, size_bytes: 1, ..write.clone() };
        let laid = lay(&read, &[]).unwrap();
        assert_eq!(laid.remove_if_ours().unwrap(), Removed::NotOurs, "{how}");
        // Being allowed once does not make it iodyno's.
        drop(lay(&write, &[&path]).unwrap());
        assert!(!is_laid_out(&path), "{how}");
        fs::remove_file(&path).unwrap();
    }
    // While a job reads it.
    worked_on(&write);
    let laid = lay(&FilePlan { will_write: false, ..write.clone() }, &[]).unwrap();
    fs::write(&path, &theirs).unwrap();
    assert_eq!(laid.remove_if_ours().unwrap(), Removed::NotOurs);
    assert!(fs::read(&path).unwrap() == theirs);
}

#[test]
fn a_new_file_that_is_only_read_is_removed_also_where_no_mark_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ours");
    let unmarked = || {
        let laid = lay(&plan(path.clone(), Fill::Written, false), &[]).unwrap();
        // As on NFS and in old tmpfs.
        let _ = rustix::fs::removexattr(&path, "user.iodyno.laid_out");
        assert!(!is_laid_out(&path));
        laid
    };
    assert_eq!(unmarked().remove_if_ours().unwrap(), Removed::Yes);
    let laid = unmarked();
    fs::write(&path, b"theirs").unwrap();
    assert_eq!(laid.remove_if_ours().unwrap(), Removed::NotOurs);
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
}

#[test]
fn a_kill_during_layout_leaves_a_file_that_needs_permission() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("killed");
    let write = plan(path.clone(), Fill::Written, true);
    drop(lay(&write, &[]).unwrap());
    assert!(is_laid_out(&path));
    let laid = lay(&write, &[]).unwrap();
    let file = laid.write().unwrap().open(OpenHow::default()).unwrap();
    let block = vec![1; 2 * 4096];
    let aligned = block.as_ptr().align_offset(4096);
    rustix::io::pwrite(&file, &block[aligned..aligned + 4096], 0).unwrap();
    // As a kill does: nothing is marked afterwards.
    std::mem::forget(laid);
    assert!(!is_laid_out(&path));
}

#[test]
#[ignore = "needs root"]
fn a_file_in_use_is_refused_whatever_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let plan = plan(path.clone(), Fill::Written, true);
    drop(lay(&plan, &[]).unwrap());

    let mut holder = Command::new("sleep")
        .arg("1000")
        .stdin(fs::File::open(&path).unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let error = std::panic::catch_unwind(|| refused(&plan, &[&path]));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let error = error.unwrap();
    assert!(error.to_string().contains("open by sleep"), "{error}");
    eventually("it is free", || lay(&plan, &[&path]).is_ok());

    let device = run("losetup", &["--find", "--show", path.to_str().unwrap()]);
    let error = std::panic::catch_unwind(|| refused(&plan, &[&path]));
    detach(&device);
    let error = error.unwrap();
    assert!(error.to_string().contains("backs loop"), "{error}");
    assert!(matches!(error, TargetError::InUse { .. }), "{error}");
}

#[test]
#[ignore = "needs root"]
fn non_files_and_forbidden_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/file");
    let plan_of = |path: &Path| plan(path.to_path_buf(), Fill::Written, true);

    let not_made = FilePlan { create: false, ..plan_of(&path) };
    assert!(matches!(lay(&not_made, &[]), Err(TargetError::NotToBeMade { .. })));
    assert!(matches!(lay(&plan_of(dir.path()), &[]), Err(TargetError::Refused { .. })));
    let error = lay(&plan_of(Path::new("/dev/null")), &[]).unwrap_err();
    assert!(matches!(error, TargetError::NotStorage { .. }), "{error}");
    let error = lay(&plan_of(Path::new("/proc/iodyno-test")), &[]).unwrap_err();
    assert!(matches!(error, TargetError::Refused { .. }), "{error}");
    // In memory it may be created: the job chose the place.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let laid = lay(&plan_of(&memory.path().join("file")), &[]).unwrap();
    assert!(laid.is_new() && laid.written_bytes() > 0);

    // No file is created through a dangling link.
    let link = dir.path().join("link");
    symlink(dir.path().join("nothing"), &link).unwrap();
    assert!(lay(&plan_of(&link), &[]).is_err());
    assert!(!dir.path().join("nothing").exists());
    // Nor through a link that another user made, wherever it leads.
    let theirs = dir.path().join("theirs");
    fs::write(dir.path().join("data"), vec![1; 4 << 20]).unwrap();
    symlink(dir.path().join("data"), &theirs).unwrap();
    run("chown", &["--no-dereference", "65534", theirs.to_str().unwrap()]);
    let error = refused(&plan_of(&theirs), &[&theirs]);
    assert!(error.to_string().contains("another user"), "{error}");

    // Directories are not created: something should perhaps be mounted there.
    let error = lay(&plan_of(&path), &[]).unwrap_err();
    let a = dir.path().join("a");
    let said = format!(": no directory {} (needed for {}/b)", a.display(), a.display());
    assert!(error.to_string().ends_with(&said), "{error}");
    assert!(error.next_step().ends_with(&format!("mkdir -p {}/b", a.display())), "{error}");
    assert!(!a.exists());
}

#[test]
fn all_files_are_checked_before_one_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, ours) = (dir.path().join("theirs"), dir.path().join("ours"));
    fs::write(&theirs, vec![7; 5000]).unwrap();
    drop(lay(&plan(ours.clone(), Fill::Truncate, true), &[]).unwrap());
    let before = fs::read(&ours).unwrap();
    let named = Permission {
        allow_write: vec![ours.to_str().unwrap().to_owned()],
        ..Permission::default()
    };
    let larger = FilePlan { size_bytes: 8 * MIB, ..plan(ours.clone(), Fill::Written, true) };
    let fine = || vec![plan(dir.path().join("new"), Fill::Written, true), larger.clone()];
    for bad in [
        plan(theirs.clone(), Fill::Written, false),
        plan(dir.path().join("none/file"), Fill::None, true),
        plan(dir.path().to_path_buf(), Fill::None, true),
        FilePlan { create: false, ..plan(dir.path().join("other"), Fill::None, true) },
        FilePlan { size_bytes: 1 << 60, ..plan(dir.path().join("huge"), Fill::Written, true) },
    ] {
        let plans = fine().into_iter().chain([bad]).collect();
        let error = survey(plans, &host(Vec::new()), &named).unwrap_err();
        assert!(fs::read(&ours).unwrap() == before, "{error}");
        assert!(fs::read(&theirs).unwrap() == vec![7; 5000], "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "{error}");
    }
    // Two names of a file that does not exist yet are one file.
    let twice = [dir.path().join("new"), dir.path().join("./new")];
    let plans = twice.map(|path| plan(path, Fill::Truncate, true)).to_vec();
    let surveyed = survey(plans, &host(Vec::new()), &named).unwrap();
    let lay_out = |one: Surveyed| one.lay_out(&host(Vec::new()), &named, None, &mut go_on).unwrap();
    let laid: Vec<_> = surveyed.into_iter().map(lay_out).collect();
    assert_eq!(laid[0].identity(), laid[1].identity());
}

#[test]
fn the_content_of_a_file_stays_when_it_is_extended() {
    let dir = tempfile::tempdir().unwrap();
    let size = 2 * MIB + 500;
    for (fill, ours, will_write) in [
        (Fill::Written, false, false),
        (Fill::Written, false, true),
        (Fill::Written, true, true),
        (Fill::Allocate, false, true),
        (Fill::Truncate, true, true),
        (Fill::None, true, true),
    ] {
        let path = dir.path().join("file");
        if ours {
            let first = FilePlan { size_bytes: size, ..plan(path.clone(), Fill::Written, true) };
            lay(&first, &[]).unwrap();
        }
        // Not to the end of a block.
        fs::write(&path, vec![9; size as usize]).unwrap();
        let longer = FilePlan { keeps: ours, ..plan(path.clone(), fill, will_write) };
        let laid = lay(&longer, &[&path]).unwrap();
        let after = fs::read(&path).unwrap();
        assert!(after[..size as usize] == vec![9; size as usize], "{fill:?}, ours: {ours}");
        let written = if fill == Fill::Written { longer.size_bytes - size } else { 0 };
        assert_eq!(laid.written_bytes(), written, "{fill:?}");
        if fill == Fill::Written {
            assert_eq!(after.len() as u64, longer.size_bytes);
            assert!(after[size as usize..].iter().any(|byte| *byte != after[size as usize]));
        }
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn an_interruption_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path().join("file"), Fill::Written, true);
    let mut stop = |bytes| match bytes {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let error = lay_out(&plan, &host(Vec::new()), &Permission::default(), &mut stop).unwrap_err();
    assert!(error.to_string().ends_with("the file is removed"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
