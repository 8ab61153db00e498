//! `iodyno fit`: tells whether an application will run well here, and with which settings.

use std::fmt::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use iodyno_campaign::{FIT_FILES, Work, foresee, profile, profile_names, profile_script};
use iodyno_host::Depth;
use iodyno_job::script::Script;
use iodyno_job::{Amount, Job};
use iodyno_judge::ClaimBook;
use iodyno_judge::fit::{is_valid, setting_texts};
use iodyno_model::{Bytes, Profile, ProfileTarget, RunRecord, own_command, shell_word};
use iodyno_native::NativeGenerator;
use iodyno_target::resolve_all;

use crate::arguments::Fit;
use crate::commands::prepare::{losses, refusals};
use crate::commands::present::{JudgeOptions, judge_and_print};
use crate::commands::rejudge;
use crate::commands::setup::Setup;
use crate::context::{Context, Usage, bail_usage, read, write as write_file};
use crate::output::{Content, refuse_other};
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Fit) -> Result<u8> {
    if arguments.list {
        terminal::print(&list())?;
        return Ok(0);
    }
    let name = arguments.profile.as_deref().unwrap_or_default();
    let (profile, text) = named(name)?;
    if arguments.explain {
        terminal::print(&profile_text(&profile))?;
        return Ok(0);
    }
    let Some(word) = arguments.target.as_deref().filter(|word| !word.is_empty()) else {
        let what = match profile.on {
            ProfileTarget::Directory => "the directory that it will use",
            ProfileTarget::Device => "a whole device, whose data it destroys",
        };
        bail_usage!("name {what}: iodyno fit {name} TARGET");
    };
    context.refuse_captured("cannot be measured")?;
    let target = target(&profile, word)?;
    let script = profile_script(&profile, &target)?;
    if arguments.dry_run {
        return dry_run(context, arguments, &profile, &script, &target);
    }
    if let Some(path) = &arguments.write {
        if profile.settings.is_empty() {
            bail_usage!("--write: {name} has no settings");
        }
        refuse_other(context, path, Content::Settings)?;
    }
    refuse_leftovers(&script)?;
    refuse_crowding(&profile, &script, &target)?;
    let work = Work::of_profile(profile.clone(), &target, text)?;
    let mut setup = Setup::of(context, &arguments.load_options)?;
    let options = arguments.load_options.options(&arguments.naming);
    let record = setup.measure(context, &work, &[], &options, &mut NativeGenerator::new())?;
    let judging = JudgeOptions {
        require_verdict: arguments.require_verdict,
        ..JudgeOptions::latest(&setup.claims, &arguments.load_options.table)
    };
    let status = judge_and_print(context, &mut setup.store, &record, &judging)?;
    let written = match &arguments.write {
        Some(path) => write(context, path, &profile, &record, &setup.claims),
        None => Ok(()),
    };
    match written {
        Ok(()) => Ok(status),
        // The verdict stands; without one the output is incomplete.
        Err(error) => {
            terminal::print_error(&error);
            Ok(if status == 0 { 4 } else { status })
        }
    }
}

/// Describes the run; a device is checked like one that is written.
fn dry_run(
    context: &Context,
    arguments: &Fit,
    profile: &Profile,
    script: &Script,
    target: &str,
) -> Result<u8> {
    let host = iodyno_host::snapshot(context.source()?.as_ref(), Depth::Quick);
    let work = Work::of_profile(profile.clone(), target, String::new())?;
    foresee(&host, &work, &arguments.load_options.permissions.permission())?;
    let mut lines = Vec::new();
    if profile.on == ProfileTarget::Device {
        let setup = Setup::of(context, &arguments.load_options)?;
        let targets = resolve_all(&setup.host, &[target.to_owned()])?;
        let refused = refusals(&setup, &targets, "refused");
        if !refused.is_empty() {
            terminal::print(&format!("{}\n", refused.join("\n")))?;
            return Ok(2);
        }
        lines = losses(&setup, &targets);
    }
    lines.insert(0, plan_text(profile, script, target));
    terminal::print(&format!("{}\n", lines.join("\n")))?;
    Ok(0)
}

/// The profile of this name or in this file, with its text.
fn named(name: &str) -> Result<(Profile, String)> {
    if let Some((profile, text)) = profile(name) {
        return Ok((profile, text.to_owned()));
    }
    let path = Path::new(name);
    if !path.exists() {
        let next = match iodyno_job::nearest_name(name, profile_names()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "iodyno fit --list shows the profiles".into(),
        };
        bail_usage!("{name} is neither a profile nor a file; {next}");
    }
    let text = read(path)?;
    let profile = Profile::parse(&text).map_err(|error| Usage(format!("{name}: {error}")))?;
    Ok((profile, text))
}

/// Resolves the target as the profile's jobs name it.
///
/// # Errors
/// It is not of the profile's kind.
fn target(profile: &Profile, word: &str) -> Result<String> {
    let device = Path::new("/dev").join(word);
    let path = match (word.contains('/') || Path::new(word).exists(), profile.on) {
        (false, ProfileTarget::Device) => device.clone(),
        _ => PathBuf::from(word),
    };
    let name = &profile.name;
    let mount = "name a directory on its file system";
    let is_block = |path: &Path| path.metadata().is_ok_and(|it| it.file_type().is_block_device());
    let wrong = match profile.on {
        ProfileTarget::Directory if path.is_dir() => None,
        ProfileTarget::Directory if path.is_file() => {
            Some(format!("{word} is a file; {name} needs the directory that it will use"))
        }
        ProfileTarget::Directory if path.exists() || is_block(&device) => {
            Some(format!("{word} is a device; {name} needs a directory: {mount}"))
        }
        ProfileTarget::Directory => {
            Some(format!("{word}: no such directory; name the one that {name} will use"))
        }
        ProfileTarget::Device if path.is_dir() => Some(format!(
            "{word} is a directory; {name} needs a whole device, whose data it destroys: \
             iodyno list names them"
        )),
        ProfileTarget::Device if !path.exists() => {
            Some(format!("{word}: no such device; iodyno list names them"))
        }
        ProfileTarget::Device if !is_block(&path) => Some(format!(
            "{word} is no block device; {name} needs a whole one, whose data it destroys: \
             iodyno list names them"
        )),
        ProfileTarget::Device => None,
    };
    match (wrong, path.into_os_string().into_string()) {
        (Some(what), _) => Err(Usage(what).into()),
        (None, Ok(path)) => Ok(path),
        (None, Err(_)) => Err(Usage(format!("{word}: not UTF-8")).into()),
    }
}

/// Maximum size of each file of a job, bytes; 0: given in percent.
fn max_file_bytes(job: &Job) -> u64 {
    let bytes = |amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(_) => 0,
    };
    let space = &job.space;
    match space.filesize {
        Some((_, most)) => most,
        None => {
            let each = space.size.map_or(0, bytes) / job.files.paths.len().max(1) as u64;
            let step = bytes(space.offset_increment).saturating_mul(job.threads.clone.into());
            each.saturating_add(bytes(space.offset)).saturating_add(step)
        }
    }
}

/// Files used by the jobs with their final sizes, bytes.
fn files(script: &Script) -> Vec<(&str, u64)> {
    let jobs = script.phases.iter().flat_map(|phase| &phase.jobs).map(|one| &one.job);
    let mut files: Vec<(&str, u64)> = jobs
        .flat_map(|job| job.files.paths.iter().map(|path| (path.as_str(), max_file_bytes(job))))
        .collect();
    // Of several jobs with the same file the largest size counts.
    files.sort_unstable_by(|a, b| b.cmp(a));
    files.dedup_by_key(|(path, _)| *path);
    files
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

/// True if new files of `bytes` would crowd a file system of `all` bytes: they take more than half
/// of the free space and leave less than 10 % free, at which Kubernetes evicts pods
/// (nodefs.available<10%).
const fn is_crowded(bytes: u64, free: u64, all: u64) -> bool {
    bytes > free / 2 && free.saturating_sub(bytes) < all / 10
}

/// Refuses to run beside the files of another fit, which is at work or was killed.
fn refuse_leftovers(script: &Script) -> Result<()> {
    let is_ours = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(FIT_FILES.as_bytes()))
    };
    let files = files(script);
    let there = files
        .iter()
        .map(|(path, _)| Path::new(*path))
        .find(|path| is_ours(path) && path.symlink_metadata().is_ok());
    let Some(folder) = there.and_then(Path::parent) else { return Ok(()) };
    let pattern = format!("{}/{FIT_FILES}*", shell_word(&folder.to_string_lossy()));
    bail_usage!(
        "{} has files of another fit: wait for it, or, if it was killed: {}, else rm {pattern}",
        folder.display(),
        own_command("clean-up")
    );
}

/// Refuses to fill the directory that an application lives in.
fn refuse_crowding(profile: &Profile, script: &Script, target: &str) -> Result<()> {
    let Ok(space) = rustix::fs::statvfs(target) else { return Ok(()) };
    let there = |path: &str| Path::new(path).metadata().map_or(0, |found| found.len());
    let files = files(script);
    let made = sum(files.iter().map(|(path, bytes)| bytes.saturating_sub(there(path))));
    let [free, all] = [space.f_bavail, space.f_blocks].map(|n| n.saturating_mul(space.f_frsize));
    if profile.on == ProfileTarget::Device || !is_crowded(made, free, all) {
        return Ok(());
    }
    let [made, free] = [made, free].map(|bytes| Bytes(bytes).decimal());
    let name = &profile.name;
    Err(Usage(format!(
        "{name} writes {made} to {target}, where {free} are free: too little would be left \
         for others; free some space, or name a directory on a larger file system"
    ))
    .into())
}

/// Describes what would be measured, written and removed, and how long that takes.
fn plan_text(profile: &Profile, script: &Script, target: &str) -> String {
    let phases = script.phases.iter();
    let longest =
        phases.filter_map(|phase| phase.jobs.iter().filter_map(|one| one.job.longest_ns()).max());
    let round_ns: u64 = longest.sum();
    let (rounds, name) = (profile.rounds, &profile.name);
    let seconds = |times: u32| round_ns.saturating_mul(times.into()).div_ceil(1_000_000_000);
    let (round_s, least_s) = (seconds(1), seconds(rounds));
    let files = files(script);
    let bytes = Bytes(sum(files.iter().map(|(_, bytes)| *bytes)));
    let what = match profile.on {
        ProfileTarget::Directory => {
            format!("Temporary files in {target}: {}, {} together.", files.len(), bytes.decimal())
        }
        ProfileTarget::Device => format!("Writes to {target}: its data is lost."),
    };
    let longer = match profile.quantities.iter().any(|one| !one.bounds.is_empty()) {
        true => format!("; up to {} s if a bound is undecided", seconds(2 * rounds)),
        false => String::new(),
    };
    format!(
        "{name} on {target}: {rounds} rounds of {round_s} s, total {least_s} s{longer}.\n{what}"
    )
}

fn list() -> String {
    let mut text = String::new();
    for (profile, _) in profile_names().filter_map(profile) {
        let _ = writeln!(text, "{:17}  {}", profile.name, profile.about);
    }
    text
}

/// Describes a profile: its measurements and bounds.
fn profile_text(profile: &Profile) -> String {
    let Profile { about, rounds, .. } = profile;
    let mut text = format!("{about}\n\nBounds:\n");
    for quantity in &profile.quantities {
        let _ = writeln!(text, "  {} ({})", quantity.name, quantity.of);
        for bound in &quantity.bounds {
            let level = match bound.level.as_str() {
                "" => String::new(),
                level => format!(" for {level}"),
            };
            let _ = writeln!(text, "    {}{level}: {} ({})", bound.limit, bound.source, bound.date);
        }
        if quantity.bounds.is_empty() {
            text.push_str("    no bound is published\n");
        }
    }
    for note in &profile.notes {
        let _ = writeln!(text, "\n{note}");
    }
    let _ = write!(text, "\nJobs, repeated {rounds} times:\n\n{}", profile.jobs);
    text
}

/// Writes the settings that are shown; invalid measurements yield none. The file may have changed
/// while it was measured.
fn write(
    context: &Context,
    path: &Path,
    profile: &Profile,
    record: &RunRecord,
    claims: &ClaimBook,
) -> Result<()> {
    let assessment = rejudge(record, claims);
    let text = setting_texts(profile, record, is_valid(&assessment))
        .map_err(|missing| Usage(format!("{}: not written, since {missing}", path.display())))?;
    refuse_other(context, path, Content::Settings)?;
    write_file(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is_crowded;

    #[test]
    fn crowded_file_systems_are_recognised() {
        for (bytes, free, all, expected) in [
            (4, 5, 100, true),
            (4, 3, 100, true),
            // A file system made for this purpose, and one that has long been nearly full.
            (40, 60, 100, false),
            (4, 9, 100, false),
            (0, 0, 100, false),
            // The file system reports no size.
            (4, 0, 0, false),
        ] {
            assert_eq!(is_crowded(bytes, free, all), expected, "{bytes} of {free} of {all}");
        }
    }
}
