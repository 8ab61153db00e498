//! Which logs belong to which measurements.

use std::path::{Path, PathBuf};

use iodyno_model::Measurement;

use super::bench_fio;
use super::folder::{Found, Log, open};
use super::imported::stream;
use super::json::version_of;
use super::log::Known;

/// What the report of a run tells of its logs.
pub(super) fn known_from(measurement: &Measurement) -> Known {
    let version = measurement.source.strip_prefix("fio ").and_then(version_of);
    let avg = measurement.workload.options.get("log_avg_msec");
    Known { version, log_avg_msec: avg.and_then(|ms| ms.parse().ok()) }
}

/// What a report beside a log tells of it: one that is called like the log, or
/// one of a few.
pub(super) fn known_beside(folder: &Path, stem: &str) -> Known {
    const FEW: usize = 16;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().filter_map(Result::ok);
    let reports = entries.map(|entry| entry.path());
    let reports = reports.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let mut reports: Vec<PathBuf> = reports.filter(|path| path.is_file()).collect();
    let stem_of = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    if reports.len() > FEW {
        let log = bench_fio::named(folder, stem);
        reports.retain(|path| {
            let name = stem_of(path).unwrap_or_default();
            name == stem || log.is_some() && log == bench_fio::named(folder, &name)
        });
    }
    let mut found = Vec::new();
    for path in reports {
        let Ok(imported) = open(&path).and_then(|input| stream("", input)) else { continue };
        found.extend(imported.measurements.into_iter().map(|measurement| Found {
            folder: folder.to_owned(),
            stem: stem_of(&path).unwrap_or_default(),
            measurement,
        }));
    }
    let owner = owners(&found, folder, stem).first().copied();
    owner.map_or_else(Known::default, |owner| known_from(&found[owner].measurement))
}
/// The measurements that logs of this stem may belong to: by the options that
/// named them, else by the name of the file, of bench-fio's, or of the job.
pub(super) fn owners(found: &[Found], folder: &Path, stem: &str) -> Vec<usize> {
    const OPTIONS: [&str; 4] =
        ["write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"];
    let asked = |one: &Found| {
        let options = &one.measurement.workload.options;
        let mut given = OPTIONS.iter().filter_map(|name| options.get(*name));
        given.any(|given| Path::new(given).file_name().is_some_and(|name| name == stem))
    };
    let rules: [&dyn Fn(&Found) -> bool; 4] = [
        &asked,
        &|one| one.stem == stem,
        &|one| {
            let log = bench_fio::named(folder, stem);
            log.is_some() && log == bench_fio::named(&one.folder, &one.stem)
        },
        &|one| one.measurement.name == stem,
    ];
    let by = |rule: &dyn Fn(&Found) -> bool| -> Vec<usize> {
        let here = |n: &usize| found[*n].folder == folder && rule(&found[*n]);
        (0..found.len()).filter(here).collect()
    };
    rules.into_iter().map(by).find(|owners| !owners.is_empty()).unwrap_or_default()
}

/// The logs of each measurement: of several without `group_reporting` each has
/// its own, in the order of the jobs.
pub(super) fn shares(
    owners: &[usize],
    found: &[Found],
    logs: &[Log],
) -> Option<Vec<(usize, Vec<Log>)>> {
    let [first, _, ..] = owners else {
        return Some(vec![(*owners.first()?, logs.to_vec())]);
    };
    let mut jobs: Vec<u32> = logs.iter().map(|(name, _)| name.job).collect::<Option<_>>()?;
    jobs.sort_unstable();
    jobs.dedup();
    let clones = |owner: &usize| found[*owner].measurement.parts.len().max(1);
    // Of several files the same run cannot be all.
    if owners.iter().any(|owner| found[*owner].stem != found[*first].stem)
        || owners.iter().map(clones).sum::<usize>() != jobs.len()
    {
        return None;
    }
    let mut jobs = jobs.into_iter();
    let share = |owner: &usize| {
        let own: Vec<u32> = jobs.by_ref().take(clones(owner)).collect();
        let is_own = |log: &&Log| log.0.job.is_some_and(|job| own.contains(&job));
        (*owner, logs.iter().filter(is_own).cloned().collect())
    };
    Some(owners.iter().map(share).collect())
}
