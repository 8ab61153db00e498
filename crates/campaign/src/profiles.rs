//! Application profiles: the built-in ones, and their jobs on a target.

use iodyno_job::Job;
use iodyno_job::script::{CompileOptions, Script, ScriptJob, compile};
use iodyno_job::syntax::{Entry, Environment, Place, Section, parse_file};
use iodyno_judge::fit::fill_in_jobs;
use iodyno_model::{IoOf, PROFILE_FORMAT, Profile, ProfileTarget, RunRecord, Scaled, placeholders};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::plan::PlanError;

/// Returns the built-in profile of this name, with its text.
///
/// # Panics
/// If a built-in profile is invalid, which a test excludes.
pub fn profile(name: &str) -> Option<(Profile, &'static str)> {
    let (_, text) = PROFILES.iter().find(|(known, _)| *known == name)?;
    Some((Profile::parse(text).expect("profiles are parsed in a test"), text))
}

/// Names of the built-in profiles.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// JSON schema of profiles.
pub fn profile_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let profile = generator.subschema_for::<Profile>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": PROFILE_FORMAT,
        "description": "Storage requirements of an application: I/O, bounds, settings.",
        "anyOf": [profile],
        "$defs": generator.take_definitions(true),
    })
}

/// Beginning of the names of files that a profile makes in a directory.
pub const FIT_FILES: &str = ".iodyno-fit.";

/// Their names.
const FILES: &str = ".iodyno-fit.$jobname.$jobnum.$filenum";

/// Error for a profile that names a path.
const NAMED_ALONE: &str = "only the command line names the target";

/// Jobs of a profile on a target: files in a directory, which are removed at the end, or the device
/// itself.
///
/// # Errors
/// A mistake in its jobs, with the line in its job file; a figure of a job that does not exist.
pub fn profile_script(profile: &Profile, target: &str) -> Result<Script, PlanError> {
    script(profile, target, None)
}

/// The same, given what was `measured` so far in its jobs.
pub(crate) fn script(
    profile: &Profile,
    target: &str,
    measured: Option<&RunRecord>,
) -> Result<Script, PlanError> {
    let wrong = |text: String| PlanError { name: profile.name.clone(), text };
    let environment = Environment {
        variable: &|_| None,
        read: &|_| Err(std::io::Error::other("profiles include no files")),
        page_size_bytes: rustix::param::page_size() as u64,
        cpus: std::thread::available_parallelism().map_or(1, usize::from) as u64,
        memory_mib: 0,
    };
    let source = "jobs".to_owned();
    let jobs = fill_in_jobs(profile, measured);
    let mut file = parse_file(jobs.as_bytes(), &source, &environment)
        .map_err(|error| wrong(error.to_string()))?;
    let refused = file.sections.iter().flat_map(|section| &section.entries).find_map(|entry| {
        let path = entry.value.as_deref().unwrap_or_default();
        let is_device = profile.on == ProfileTarget::Device;
        let why = match entry.name.as_str() {
            "directory" | "read_iolog" | "write_iolog" => NAMED_ALONE,
            "filename" | "filename_format" if is_device || path.contains(['/', ':']) => NAMED_ALONE,
            "fill_device" | "fill_fs" if !is_device => "it would leave no space for others",
            _ => return None,
        };
        Some(format!("{}: {why}", entry.name))
    });
    if let Some(why) = refused {
        return Err(wrong(why));
    }
    let set = |name: &str, value: &str| Entry {
        name: name.into(),
        value: Some(value.into()),
        place: Place { source: source.clone(), line: None },
    };
    let target = target.replace(':', "\\:");
    let places = match profile.on {
        ProfileTarget::Directory => {
            vec![set("directory", &target), set("filename_format", FILES)]
        }
        ProfileTarget::Device => vec![set("filename", &target)],
    };
    // In front, since `directory` applies to the names after it.
    for section in &mut file.sections {
        section.entries.splice(..0, places.iter().cloned());
        section.inherited += places.len();
    }
    // A job's files are named after it, even if a directory or device has that name.
    let how = CompileOptions { is_special: &|_| false, ..CompileOptions::default() };
    let mut script = compile(&file.sections, &how).map_err(|errors| wrong(errors.to_string()))?;
    for one in script.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        let files = &mut one.job.files;
        files.unlink |= !files.paths.is_empty() && files.paths.iter().all(|path| is_made(path));
    }
    check_jobs(profile, &script)
        .and_then(|()| check_order(profile, &file.sections, &script))
        .map_err(wrong)?;
    Ok(script)
}

/// Checks that each round ends, and that its jobs make the figures that are asked for.
fn check_jobs(profile: &Profile, script: &Script) -> Result<(), String> {
    let jobs = || script.phases.iter().flat_map(|phase| &phase.jobs);
    for ScriptJob { job, needs_size, .. } in jobs() {
        let is_of_files =
            !job.engine.ioengine.is_diskless() && !job.engine.ioengine.creates_entries();
        if *needs_size && is_of_files && profile.on == ProfileTarget::Directory {
            return Err(format!("job `{}`: `size` is missing", job.name));
        }
        if job.time.runtime_ns.is_none_or(|ns| ns == 0) {
            return Err(format!("job `{}`: `runtime` is missing", job.name));
        }
    }
    let makes = |job: &Job, io: IoOf| match io {
        IoOf::Data(direction) => job.pattern.rw.has(direction),
        IoOf::Sync => job.flush.fsync > 0 || job.flush.fdatasync > 0,
    };
    for of in profile.figures() {
        let its: Vec<&ScriptJob> = jobs().filter(|one| one.job.name == of.job).collect();
        let Some(first) = its.first() else {
            return Err(format!("`{of}`: it has no job of that name"));
        };
        if its.iter().any(|one| one.section != first.section) {
            return Err(format!("`{of}`: several jobs have that name"));
        }
        if !its.iter().any(|one| makes(&one.job, of.io)) {
            return Err(format!("`{of}`: its job does no such I/O"));
        }
    }
    Ok(())
}

/// Checks that each job ends before its figures are used in others.
fn check_order(profile: &Profile, sections: &[Section], script: &Script) -> Result<(), String> {
    let phases = |is: &dyn Fn(&ScriptJob) -> bool| -> Vec<usize> {
        let phases = script.phases.iter().enumerate();
        phases.filter(|(_, phase)| phase.jobs.iter().any(is)).map(|(n, _)| n).collect()
    };
    for (line, text) in (1..).zip(profile.jobs.lines()) {
        let users = phases(&|one| {
            sections[one.section].entries.iter().any(|entry| entry.place.line == Some(line))
        });
        let Some(first) = users.first() else { continue };
        let figures = placeholders(text).filter_map(|word| Some(word.parse::<Scaled>().ok()?.of));
        for of in figures {
            if phases(&|one| one.job.name == of.job).last() >= Some(first) {
                return Err(format!(
                    "jobs, line {line}: `{of}`: expected its job in front, and `stonewall` between"
                ));
            }
        }
    }
    Ok(())
}

/// True for a file that is made for the profile, and so is removed at the end.
pub(crate) fn is_made(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(FIT_FILES))
}

macro_rules! listed {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*]
    };
}

const PROFILES: &[(&str, &str)] = listed![
    "etcd",
    "kubernetes-node",
    "postgresql",
    "mysql",
    "scylla",
    "redpanda",
    "kafka",
    "ceph-osd",
    "io-cost",
    "mlperf-training",
    "mlperf-checkpoint",
    "ethereum",
    "polkadot",
];

#[cfg(test)]
mod tests {
    use iodyno_job::Amount;

    use super::*;

    #[test]
    fn every_profile_is_valid() {
        for name in profile_names() {
            let (profile, _) = profile(name).unwrap();
            assert_eq!(profile.name, name);
            let script = profile_script(&profile, "/nowhere").unwrap();
            let jobs: Vec<_> = script.phases.iter().flat_map(|one| &one.jobs).collect();
            assert!(jobs.iter().all(|one| one.job.time.time_based), "{name}");
            let paths = || jobs.iter().flat_map(|one| &one.job.files.paths);
            assert!(
                paths().count() > 0 && paths().all(|one| one.starts_with("/nowhere")),
                "{name}"
            );
            // Sequential readers of the same file would read from the cache what another one read.
            for one in jobs.iter().filter(|one| !one.job.pattern.rw.is_random()) {
                let clones = jobs.iter().filter(|other| other.section == one.section);
                let same = clones.filter(|other| other.job.files.paths == one.job.files.paths);
                let is_apart = one.job.space.offset_increment != Amount::Bytes(0);
                assert!(is_apart || same.count() == 1, "{name}: {} overlaps", one.job.name);
            }
            for bound in profile.quantities.iter().flat_map(|one| &one.bounds) {
                assert!(bound.source.len() > 5, "{name}");
                let (year, month) = bound.date.split_once('-').unwrap();
                assert!((2020..2100).contains(&year.parse::<u32>().unwrap()), "{name}");
                assert!((1..=12).contains(&month.parse::<u32>().unwrap()), "{name}");
            }
        }
    }

    #[test]
    fn job_name_is_not_taken_for_a_directory() {
        assert!(std::path::Path::new("src").is_dir());
        let (profile, _) = profile("etcd").unwrap();
        let of = Profile {
            jobs: "[src]\nrw=write\nsize=1m\nruntime=1".into(),
            quantities: Vec::new(),
            settings: Vec::new(),
            ..profile
        };
        let script = profile_script(&of, "/a").unwrap();
        assert_eq!(script.phases[0].jobs[0].job.files.paths, ["/a/.iodyno-fit.src.0.0"]);
    }

    #[test]
    fn files_that_are_made_for_a_profile_are_removed() {
        let (profile, _) = profile("etcd").unwrap();
        let jobs = "[global]\nruntime=1\n[a]\nrw=write\nsize=1m\n[b]\nrw=read\nsize=1m\nfilename=own\n\
                    [c]\nrw=write\nsize=1m\nunlink=0\nfilename=.iodyno-fit.shared";
        let of =
            Profile { jobs: jobs.into(), quantities: Vec::new(), settings: Vec::new(), ..profile };
        let script = profile_script(&of, "/x").unwrap();
        let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
        let unlinked: Vec<bool> = jobs.map(|one| one.job.files.unlink).collect();
        assert_eq!(unlinked, [true, false, true], "a file of the user's stays");
    }

    #[test]
    fn figures_are_made_by_one_job_and_before_they_are_used() {
        let said = |jobs: &str, of: &str| {
            let text = format!(
                "format = \"iodyno.profile/1\"\nname = \"x\"\nabout = \"x\"\non = \"directory\"\n\
                 jobs = \"\"\"\n[global]\n{jobs}\"\"\"\n[[quantity]]\nname = \"x\"\nof = \"{of}\"\n"
            );
            let script = profile_script(&Profile::parse(&text).unwrap(), "/a");
            script.map_or_else(|error| error.text, |_| String::new())
        };
        let timed = "size=1m\nruntime=1\n";
        let paced = "rw=read\nrate_iops={peak read iops * 0.5}\n";
        let peak = "[peak]\nrw=read\n";
        let of = |jobs: &str, of: &str| said(&format!("{timed}{jobs}"), of);
        let read = "peak read iops";
        assert_eq!(of(&format!("{peak}[paced]\nstonewall\n{paced}"), read), "");
        let late = |line| {
            format!(
                "jobs, line {line}: `{read}`: expected its job in front, and `stonewall` between"
            )
        };
        assert_eq!(of(&format!("[paced]\n{paced}{peak}stonewall\n"), read), late(6));
        assert_eq!(of(&format!("{peak}[paced]\n{paced}"), read), late(8));
        assert_eq!(of(&format!("[peak]\n{paced}"), read), late(6));
        assert_eq!(of(&format!("{paced}{peak}"), read), late(5), "in [global]");
        assert_eq!(
            of(&format!("{peak}{peak}"), read),
            "`peak read iops`: several jobs have that name"
        );
        for figure in ["peak write p99", "peak sync p99"] {
            assert_eq!(of(peak, figure), format!("`{figure}`: its job does no such I/O"));
        }
        assert_eq!(said(&format!("size=1m\n{peak}"), read), "job `peak`: `runtime` is missing");
        assert_eq!(said(&format!("runtime=1\n{peak}"), read), "job `peak`: `size` is missing");
    }

    #[test]
    fn profiles_must_not_name_paths_or_fill_file_systems() {
        let (profile, _) = profile("etcd").unwrap();
        for (jobs, is_right) in [
            ("[a]\nrw=write\nfilename=own\nsize=1m", true),
            ("[a]\nrw=write\nfilename=../other\nsize=1m", false),
            ("[a]\nrw=write\ndirectory=/etc\nsize=1m", false),
            ("[a]\nrw=write\nfilename=own\nsize=1m\nwrite_iolog=/etc/log", false),
            ("[a]\nrw=write\nfilename=own\nread_iolog=/etc/log", false),
            ("[a]\nrw=write\nfilename=own\nfill_fs=1", false),
        ] {
            let of = Profile {
                jobs: format!("{jobs}\nruntime=1"),
                quantities: Vec::new(),
                settings: Vec::new(),
                ..profile.clone()
            };
            let script = profile_script(&of, "/a:b");
            assert_eq!(script.is_ok(), is_right, "{jobs}");
            let paths = script.map(|of| of.phases[0].jobs[0].job.files.paths.clone());
            assert_eq!(paths.unwrap_or_else(|_| vec!["/a:b/own".into()]), ["/a:b/own"]);
        }
    }
}
