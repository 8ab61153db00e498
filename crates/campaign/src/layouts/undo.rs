//! What was built, taken down if it is still ours.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iodyno_host::{Depth, Live, snapshot};
use iodyno_layout::{Command, take_down};
use iodyno_model::{Built, Host, Use};

use super::program;

/// What is still busy after this long is in use.
const MOST_BUSY: Duration = Duration::from_secs(10);
/// So often it is tried again.
const LOOK: Duration = Duration::from_millis(100);

/// What is found of something that was built.
enum Found {
    /// It stands, and is ours.
    Ours,
    /// Nothing is left of it.
    Gone,
    /// Something else has its place.
    Another,
}

/// Takes it down, if it is there and ours; what came of it, in words.
///
/// # Errors
/// Why it cannot be taken down.
pub(crate) fn undo(built: &Built) -> Result<String, String> {
    let words = match find(built)? {
        Found::Gone => "was gone already",
        Found::Another => "left alone: something else has its place now",
        Found::Ours => {
            for command in take_down(built) {
                once_let_go(&command)?;
            }
            "taken down"
        }
    };
    match built {
        // A directory that something else lies in stays.
        Built::Mount { at, .. } => drop(std::fs::remove_dir(at)),
        Built::BackingFile { path } if Path::new(path).exists() => {
            for device in loops_over(path)? {
                asked(&command("losetup", &["--detach", &device]), &[0])?;
            }
            std::fs::remove_file(path).map_err(|error| format!("{path}: {error}"))?;
        }
        _ => {}
    }
    Ok(words.to_owned())
}

/// The loop devices over a file.
fn loops_over(path: &str) -> Result<Vec<String>, String> {
    let words = ["--associated", path, "--output", "NAME", "--noheadings"];
    let said = asked(&command("losetup", &words), &[0])?;
    Ok(said.split_whitespace().map(str::to_owned).collect())
}

/// Runs a command that takes something down. The kernel lets go of the files of
/// a ring some time after its process has ended, and tells nobody when; udev
/// looks at what was just closed.
fn once_let_go(command: &Command) -> Result<String, String> {
    let start = Instant::now();
    loop {
        match asked(command, &[0]) {
            Err(why) if why.contains("busy") && start.elapsed() < MOST_BUSY => {
                std::thread::sleep(LOOK);
            }
            done => return done,
        }
    }
}

/// What a program says; undoing is not interrupted.
fn asked(command: &Command, fine: &[i32]) -> Result<String, String> {
    program::run(command, fine, &AtomicBool::new(false)).map_err(|error| error.to_string())
}

fn command(program: &'static str, arguments: &[&str]) -> Command {
    Command { program, arguments: arguments.iter().map(|word| (*word).to_owned()).collect() }
}

fn find(built: &Built) -> Result<Found, String> {
    let host = snapshot(&Live::new(), Depth::Quick);
    let is_there = |path: &str| Path::new(path).exists();
    Ok(match built {
        Built::Mount { device, at } => match mounted(&host, at) {
            Some(on) if is_device(&host, &on, device) => Found::Ours,
            Some(_) => Found::Another,
            None => Found::Gone,
        },
        Built::FileSystem { device, label } => match is_there(device) {
            true => same(&value_of(device, "LABEL")?, label),
            false => Found::Gone,
        },
        Built::BackingFile { path } => {
            if is_there(path) {
                Found::Ours
            } else {
                Found::Gone
            }
        }
        Built::Mapping { name } => match is_there(&format!("/dev/mapper/{name}")) {
            true => Found::Ours,
            false => Found::Gone,
        },
        // Of an array that is stopped its members still tell.
        Built::Array { device, name, members } => {
            let of = |member: &String| {
                let export = command("mdadm", &["--examine", "--export", member]);
                Ok::<_, String>(asked(&export, &[0, 1])?.contains(name.as_str()))
            };
            let ours = members.iter().filter(|member| is_there(member)).map(of);
            match ours.collect::<Result<Vec<bool>, _>>()?.contains(&true) {
                true => Found::Ours,
                false if array_of(&host, device, members) => Found::Ours,
                false => Found::Gone,
            }
        }
        Built::VolumeGroup { name, devices } => {
            let said = lvm("vgs", devices, &["--noheadings", "--options", "vg_name", name])?;
            if said.trim() == name { Found::Ours } else { Found::Gone }
        }
        // A group of another name came after ours.
        Built::PhysicalVolumes { devices } => {
            let marked = devices.iter().map(|device| value_of(device, "TYPE"));
            let marked = marked.collect::<Result<Vec<_>, _>>()?;
            if !marked.iter().any(|kind| kind == "LVM2_member") {
                return Ok(Found::Gone);
            }
            let said = lvm("pvs", devices, &["--noheadings", "--options", "vg_name"])?;
            if said.trim().is_empty() { Found::Ours } else { Found::Another }
        }
    })
}

/// The device that is mounted at `at`.
fn mounted(host: &Host, at: &str) -> Option<String> {
    let is_at = |used: &Use| matches!(used, Use::Mounted(mount) if mount.at == at);
    let device = host.blocks.iter().find(|block| block.used_by.iter().any(is_at))?;
    Some(device.name.clone())
}

/// Whether a path leads to the block device of this kernel name.
fn is_device(host: &Host, name: &str, path: &str) -> bool {
    let real = Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
    let mapped = host.blocks.iter().find(|block| match &block.kind {
        iodyno_model::BlockKind::DeviceMapper(mapped) => {
            path == format!("/dev/mapper/{}", mapped.name)
        }
        _ => false,
    });
    real == Path::new("/dev").join(name) || mapped.is_some_and(|block| block.name == name)
}

/// Whether an array of this name stands on these members alone.
fn array_of(host: &Host, device: &str, members: &[String]) -> bool {
    let name = device.trim_start_matches("/dev/");
    host.block(name).is_some_and(|block| {
        let ours = |on: &String| members.contains(&format!("/dev/{on}"));
        !block.stands_on.is_empty() && block.stands_on.iter().all(ours)
    })
}

/// What blkid reads of a device, past every cache.
fn value_of(device: &str, value: &str) -> Result<String, String> {
    let probe = command("blkid", &["-p", "-o", "value", "-s", value, device]);
    // 2: there is nothing.
    Ok(asked(&probe, &[0, 2])?.trim().to_owned())
}

fn lvm(program: &'static str, devices: &[String], words: &[&str]) -> Result<String, String> {
    let mut command = iodyno_layout::lvm_command(program, devices);
    command.arguments.extend(words.iter().map(|word| (*word).to_owned()));
    // 5: there is nothing of that name.
    asked(&command, &[0, 5])
}

fn same(found: &str, ours: &str) -> Found {
    match found {
        "" => Found::Gone,
        found if found == ours => Found::Ours,
        _ => Found::Another,
    }
}
