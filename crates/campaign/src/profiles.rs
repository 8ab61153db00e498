//! Profiles of applications: those that are compiled in, and how one becomes jobs on a target.

use iodyno_job::script::{Compile, Script, compile};
use iodyno_job::syntax::{Entry, Environment, Place, parse_file};
use iodyno_model::{Profile, ProfileTarget};

use crate::plan::PlanError;

/// The profile of this name, if there is one, with its text.
///
/// # Panics
/// Where a profile that is compiled in is broken, which a test excludes.
pub fn profile(name: &str) -> Option<(Profile, &'static str)> {
    let (_, text) = PROFILES.iter().find(|(known, _)| *known == name)?;
    Some((Profile::parse(text).expect("profiles are parsed in a test"), text))
}

/// Names of the profiles that are compiled in.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// Prefix of the files that a profile makes in a directory.
const FILES: &str = ".iodyno-fit.$jobname.$jobnum.$filenum";

/// The jobs of a profile on a target: files in a directory, which are removed at the end, or the
/// device itself.
///
/// # Errors
/// What is wrong with its jobs, with the line in its job file; figures of jobs that it has not.
pub fn profile_script(profile: &Profile, target: &str) -> Result<Script, PlanError> {
    let wrong = |text: String| PlanError { name: profile.name.clone(), text };
    let environment = Environment {
        variable: &|_| None,
        read: &|_| Err(std::io::Error::other("a profile includes no files")),
        page_size_bytes: rustix::param::page_size() as u64,
        cpus: std::thread::available_parallelism().map_or(1, usize::from) as u64,
        memory_mib: 0,
    };
    let source = format!("profile {}", profile.name);
    let file = parse_file(profile.jobs.as_bytes(), &source, &environment)
        .map_err(|error| wrong(error.to_string()))?;
    let set = |name: &str, value: &str| Entry {
        name: name.into(),
        value: Some(value.into()),
        place: Place { source: source.clone(), line: None },
    };
    let overrides = match profile.on {
        ProfileTarget::Directory => {
            vec![set("directory", target), set("filename_format", FILES)]
        }
        ProfileTarget::Device => vec![set("filename", target)],
    };
    let how = Compile { overrides: &overrides, ..Compile::default() };
    let script = compile(&file.sections, &how).map_err(|errors| wrong(errors.to_string()))?;
    let has = |name: &str| {
        script.phases.iter().flat_map(|phase| &phase.jobs).any(|one| one.job.name == name)
    };
    match profile.figures().find(|of| !has(&of.job)) {
        Some(of) => Err(wrong(format!("`{of}`: its jobs have none of that name"))),
        None => Ok(script),
    }
}

macro_rules! listed {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*]
    };
}

const PROFILES: &[(&str, &str)] = listed!["etcd", "ceph-osd", "postgresql", "ethereum"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_compiles_and_has_the_jobs_that_it_speaks_of() {
        for name in profile_names() {
            let (profile, _) = profile(name).unwrap();
            assert_eq!(profile.name, name);
            let script = profile_script(&profile, "/nowhere").unwrap();
            assert!(
                script
                    .phases
                    .iter()
                    .flat_map(|phase| &phase.jobs)
                    .all(|one| one.job.time.time_based)
            );
        }
    }
}
