use super::*;
use crate::loop_devices::{Ext4, MIB};

#[test]
#[ignore = "needs root"]
fn a_disk_has_to_have_room_for_all_files_together() {
    let small = Ext4::new(64 * MIB, "rw");
    let plan = |name: &str| FilePlan {
        size_bytes: 40 * MIB,
        ..plan(small.at.join(name), Fill::Written, true)
    };
    let nobody = Permission::default();
    survey(vec![plan("a")], &host(Vec::new()), &nobody).unwrap();
    let error = survey(vec![plan("a"), plan("b")], &host(Vec::new()), &nobody).unwrap_err();
    assert!(matches!(error, TargetError::NoRoom { .. }), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_full_disk_is_reported_first_and_one_that_fills_up_is_cleaned() {
    let small = Ext4::new(64 * MIB, "rw");
    let path = small.at.join("file");
    let plan = FilePlan { size_bytes: 1 << 30, ..plan(path.clone(), Fill::Written, true) };
    let mut never = |_| panic!("it writes");
    let error = lay_out(&plan, &host(Vec::new()), &Permission::default(), &mut never).unwrap_err();
    assert!(matches!(error, TargetError::NoRoom { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("{} needs 1 GiB, but ", path.display())));
    assert!(!path.exists());

    // The free space is gone when it is laid out.
    let size = 40 * MIB;
    let plan = FilePlan { size_bytes: size, ..plan };
    let mut hog = |_| {
        let other = fs::File::create(small.at.join("hog")).unwrap();
        let _ = rustix::fs::fallocate(other.as_fd(), rustix::fs::FallocateFlags::empty(), 0, size);
        ControlFlow::Continue(())
    };
    // Its space is allocated first, so that nobody can take it.
    let laid = lay_out(&plan, &host(Vec::new()), &Permission::default(), &mut hog).unwrap();
    assert_eq!(laid.remove_if_ours().unwrap(), Removed::Yes);
}

#[test]
#[ignore = "needs root"]
fn a_disk_that_fills_up_meanwhile_keeps_nothing_of_the_file() {
    // ext2 cannot preallocate.
    let disk = Loop::new(64 * MIB);
    run("mkfs.ext2", &["-q", "-m", "0", &disk.device]);
    let at = disk.directory.path().join("mounted");
    fs::create_dir(&at).unwrap();
    run("mount", &[&disk.device, at.to_str().unwrap()]);
    let found = std::panic::catch_unwind(|| {
        let plan = FilePlan { size_bytes: 40 * MIB, ..plan(at.join("file"), Fill::Written, false) };
        let hog = at.join("hog");
        let mut fill_up = |_| {
            if !hog.exists() {
                fs::write(&hog, vec![1; 40 << 20]).unwrap();
            }
            ControlFlow::Continue(())
        };
        let error = lay_out(&plan, &host(Vec::new()), &Permission::default(), &mut fill_up);
        let error = error.unwrap_err();
        assert!(matches!(error, TargetError::Full { .. }), "{error}");
        assert!(error.to_string().contains("MiB not written"), "{error}");
        assert!(!plan.path.exists());
    });
    unmount(at.to_str().unwrap());
    found.unwrap();
}
