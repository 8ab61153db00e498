//! Matches logs to the measurements that wrote them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use iodyno_model::Measurement;

use super::bench_fio;
use super::folder::{Found, Log, open};
use super::imported::stream;
use super::json::version_of;
use super::log::ReportInfo;
use super::plain::{plain, plain_name};

/// Bytes of a report that are read to interpret its logs: its head and a few jobs.
const BEGINNING_BYTES: u64 = 2 << 20;

/// Properties of a run's logs stated in its report.
pub(super) fn known_from(measurement: &Measurement) -> ReportInfo {
    let version = measurement.source.strip_prefix("fio ").and_then(version_of);
    let avg = measurement.workload.options.get("log_avg_msec");
    ReportInfo { version, log_avg_msec: avg.and_then(|ms| ms.parse().ok()) }
}

/// Properties of a log from a report in its folder: one named like the log, or one of a few.
pub(super) fn known_from_folder(folder: &Path, stem: &str) -> ReportInfo {
    const FEW: usize = 16;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().filter_map(Result::ok);
    let reports = entries.map(|entry| entry.path());
    let name_of = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        plain_name(&name).to_owned()
    };
    let stem_of = |path: &Path| name_of(path).trim_end_matches(".json").to_owned();
    let reports = reports.filter(|path| name_of(path).ends_with(".json"));
    let mut reports: Vec<PathBuf> = reports.filter(|path| path.is_file()).collect();
    if reports.len() > FEW {
        let log = bench_fio::named(folder, stem);
        reports.retain(|path| {
            let name = stem_of(path);
            name == stem || log.is_some() && log == bench_fio::named(folder, &name)
        });
    }
    let mut found = Vec::new();
    for path in reports {
        // Properties of all jobs are at the beginning.
        let beginning = |input| stream("", plain(input)?.take(BEGINNING_BYTES));
        let Ok(imported) = open(&path).and_then(beginning) else { continue };
        found.extend(imported.measurements.into_iter().map(|measurement| Found {
            folder: folder.to_owned(),
            stem: stem_of(&path),
            measurement,
        }));
    }
    let owner = Owners::among(&found).of(folder, stem).first().copied();
    owner.map_or_else(ReportInfo::default, |owner| known_from(&found[owner].measurement))
}

/// Index of measurements by the names their logs may have: the options that named them, else the
/// file name, bench-fio's name, or the job's name.
pub(super) struct Owners<'a> {
    found: BTreeMap<(&'a Path, MatchBy, String), Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchBy {
    LogOption,
    Stem,
    BenchFio,
    Name,
}

impl<'a> Owners<'a> {
    pub(super) fn among(found: &'a [Found]) -> Self {
        const OPTIONS: [&str; 4] =
            ["write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"];
        let mut owners = BTreeMap::<_, Vec<usize>>::new();
        for (n, one) in found.iter().enumerate() {
            let options = &one.measurement.workload.options;
            let given = OPTIONS.iter().filter_map(|name| options.get(*name));
            let given = given.filter_map(|given| Path::new(given).file_name()?.to_str());
            let mut keys: BTreeSet<_> =
                given.map(|name| (MatchBy::LogOption, name.to_owned())).collect();
            keys.insert((MatchBy::Stem, one.stem.clone()));
            keys.extend(of_bench_fio(&one.folder, &one.stem));
            keys.insert((MatchBy::Name, one.measurement.name.clone()));
            for (rule, name) in keys {
                owners.entry((one.folder.as_path(), rule, name)).or_default().push(n);
            }
        }
        Self { found: owners }
    }

    /// Measurements that logs of this stem may belong to.
    pub(super) fn of(&self, folder: &Path, stem: &str) -> Vec<usize> {
        let named = |rule| Some((rule, stem.to_owned()));
        let keys = [
            named(MatchBy::LogOption),
            named(MatchBy::Stem),
            of_bench_fio(folder, stem),
            named(MatchBy::Name),
        ];
        let mut keys = keys.into_iter().flatten();
        keys.find_map(|(rule, name)| self.found.get(&(folder, rule, name)))
            .cloned()
            .unwrap_or_default()
    }
}

fn of_bench_fio(folder: &Path, stem: &str) -> Option<(MatchBy, String)> {
    bench_fio::named(folder, stem).map(|said| (MatchBy::BenchFio, format!("{said:?}")))
}

/// Assigns logs to measurements: without `group_reporting` each of several has its own, in job
/// order.
pub(super) fn assign_logs(
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
    // Logs of one run cannot belong to several files.
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
