//! Content of a report, and how to print it.

use iodyno_job::{Job, LatencyTarget, Percentiles, SteadyState, Unified};
use iodyno_model::{DiskUse, Measurement};

/// fio version whose formats are written.
pub const SHAPE: &str = "fio-3.42";

/// Content of a report in fio's formats.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// Version of iodyno: `0.1.0`.
    pub version: &'a str,
    /// Time of writing, ns since 1970 UTC.
    pub written_ns: i64,
    /// Process that ran the jobs; fio prints one for each job.
    pub pid: u32,
    /// Options of `[global]`, as written.
    pub global_options: Vec<(String, String)>,
    /// Jobs, in the order of the job file.
    pub jobs: Vec<ReportJob<'a>>,
    /// Activity of the block devices below the targets during the run.
    pub disks: Vec<DiskUse>,
    /// `--idle-prof`.
    pub idleness: Option<CpuIdleness>,
}

/// CPU idleness while the jobs ran.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuIdleness {
    /// Idle time of all CPUs together, percent.
    pub system_percent: f64,
    /// Idle time of each CPU, percent; empty if not requested.
    pub cpu_percent: Vec<f64>,
    /// Duration of a unit of work on a CPU: mean and standard deviation over CPUs, us.
    pub unit_us: (f64, f64),
}

impl CpuIdleness {
    /// Formats the lines after the disks in normal output.
    pub(super) fn normal(&self) -> String {
        let cpus: Vec<String> = self.cpu_percent.iter().map(|one| format!("{one:3.2}%")).collect();
        let cpus = match cpus.is_empty() {
            true => String::new(),
            false => format!("  percpu: {}\n", cpus.join(", ")),
        };
        format!("\nCPU idleness:\n  system: {:3.2}%\n{cpus}{}", self.system_percent, self.unit())
    }

    /// Formats the line of the unit of work.
    pub fn unit(&self) -> String {
        let (mean, deviation) = self.unit_us;
        format!("  unit work: mean={mean:3.2}us, stddev={deviation:3.2}\n")
    }
}

/// A job, with all of its clones.
#[derive(Debug, Clone)]
pub struct ReportJob<'a> {
    /// Results. Clones are its parts with [`iodyno_model::Part::clone`].
    pub measurement: &'a Measurement,
    /// Options of its section, as written.
    pub options: Vec<(String, String)>,
    /// Reporting options.
    pub reporting: Reporting,
}

/// Reporting options of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Reporting {
    /// `group_reporting`: the jobs of its group are reported as one, with the first one's name.
    pub group: bool,
    /// `description`.
    pub description: Option<String>,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// Percentiles to report, and of which latencies.
    pub percentiles: Percentiles,
    /// JSON has percentiles of the total latency, requested or not.
    pub total_percentiles: bool,
    /// Submission latencies are reported (not `disable_slat`).
    pub slat: bool,
    /// Completion latencies are reported (not `disable_clat`).
    pub clat: bool,
    /// Total latencies are reported (not `disable_lat`).
    pub lat: bool,
    /// `kb_base`: 1024 or 1000; decides which unit comes first in normal output.
    pub kb_base: u32,
    /// `unit_base=1`: bits instead of bytes in normal output.
    pub bits: bool,
    /// `continue_on_error`: errors are counted on a separate line.
    pub continue_on_error: bool,
    /// `latency_target` and related options.
    pub latency_target: Option<LatencyTarget>,
    /// `steadystate`.
    pub steadystate: Option<SteadyState>,
    /// `verify_only` of a job with writes.
    pub verify_only: bool,
    /// `prioclass` and `prio`, as in ioprio_set(2); 0 if not set.
    pub priority: u16,
}

impl Default for Reporting {
    /// fio's defaults, with percentiles of the total latency as well.
    fn default() -> Self {
        Self::of(&Job::default())
    }
}

impl Reporting {
    /// Reporting options of `job`. In JSON total latencies always have percentiles: they are what
    /// iodyno measures.
    pub fn of(job: &Job) -> Self {
        let report = &job.report;
        let latencies = !report.gtod_reduce;
        let continues = job.errors.continue_on();
        Self {
            group: job.threads.group_reporting,
            description: job.description.clone(),
            unified: report.unified,
            percentiles: report.percentiles.clone(),
            total_percentiles: true,
            slat: latencies && !report.disable_slat,
            clat: latencies && !report.disable_clat,
            lat: latencies && !report.disable_lat,
            kb_base: report.kb_base,
            bits: report.unit_base == 1,
            continue_on_error: continues.read || continues.write || continues.verify,
            latency_target: job.pace.latency_target,
            steadystate: job.time.steadystate,
            verify_only: job.verify.verify_only && job.verify.is_on(),
            priority: job.threads.priority.ioprio(),
        }
    }

    /// Requested percentiles, percent, ascending: `percentile_list`, or fio's default list (`man
    /// fio`).
    pub(super) fn percentile_list(&self) -> Vec<f64> {
        const USUAL: [f64; 17] = [
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ];
        let mut list = self.percentiles.list.clone();
        if list.is_empty() {
            list = USUAL.to_vec();
        }
        list.sort_by(f64::total_cmp);
        list
    }
}

impl Report<'_> {
    /// Value in place of fio's version. Parsers look for `fio-MAJOR.MINOR` and know suffixes
    /// (`fio-3.36-19-ge7e53`, a build between releases), so iodyno's is one.
    pub(super) fn fio_version(&self) -> String {
        format!("{SHAPE}-iodyno-{}", self.version)
    }

    /// Time of writing, ms since 1970 UTC.
    pub(super) const fn written_ms(&self) -> i64 {
        self.written_ns / 1_000_000
    }

    /// Time of writing in the format of ctime(3), in the local time zone: `Sat Nov 21 14:43:13
    /// 2026`.
    pub(super) fn written(&self) -> String {
        let zone = jiff::tz::TimeZone::system();
        let time = jiff::Timestamp::from_nanosecond(self.written_ns.into());
        time.map_or(String::new(), |time| {
            time.to_zoned(zone).strftime("%a %b %e %H:%M:%S %Y").to_string()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_match_the_options() {
        let mut job = Job::default();
        assert_eq!((Reporting::of(&job).kb_base, Reporting::of(&job).bits), (1024, false));
        for (name, value) in [("kb_base", "1000"), ("unit_base", "1")] {
            iodyno_job::apply(&mut job, name, value).unwrap();
        }
        assert_eq!((Reporting::of(&job).kb_base, Reporting::of(&job).bits), (1000, true));
    }
}
