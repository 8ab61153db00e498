//! The phase: jobs that run at the same time, and how they are measured. Schedules produce phases,
//! the executor runs them.

use iodyno_job::Job;
use iodyno_model::{Host, Purpose, RunRecord};

use crate::targets::PreparedTarget;
use crate::watch::Watcher;

/// Decides what runs next. Makes no I/O itself.
pub(crate) trait Schedule {
    /// Returns the next phase; `None` at the end. Called until then, or until the run is
    /// interrupted. Conclusions are reported to `watcher`.
    fn next(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) -> Option<Phase>;

    /// True if it decides by the run's snapshots, which are kept in memory for that alone.
    fn reads_hosts(&self) -> bool {
        false
    }
}

/// State of a run that a schedule decides by.
pub(crate) struct RunView<'a> {
    pub(crate) host: &'a Host,
    /// The run with all measurements so far; without snapshots unless [`Schedule::reads_hosts`].
    pub(crate) record: &'a RunRecord,
    /// Targets of the jobs, with what is known of them by now.
    pub(crate) targets: &'a [PreparedTarget],
    /// IOPS of the last phase, if it was a trial that succeeded.
    pub(crate) trial_iops: Option<f64>,
    /// Longest time of all phases and rests so far, ns.
    pub(crate) spent_ns: u64,
    /// Wall time of the run so far, overhead included, ns.
    pub(crate) elapsed_ns: u64,
}

/// Jobs that run at the same time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phase {
    pub(crate) jobs: Vec<PhaseJob>,
    pub(crate) measured: Measured,
    pub(crate) purpose: Purpose,
    pub(crate) end: End,
    /// Longest duration, ns; 0: until its work is done.
    pub(crate) most_ns: u64,
    /// Longest time of this phase and all that may follow, ns.
    pub(crate) left_ns: u64,
    /// Number of its round.
    pub(crate) round: Option<u32>,
    /// Longest rest of the drives before it, ns.
    pub(crate) rest_ns: u64,
    /// Read the links while it runs.
    pub(crate) reads_links: bool,
    /// Read temperatures while it runs. The kernel sends an admin command for that: never set where
    /// single latencies are measured.
    pub(crate) reads_temperature: bool,
    /// Trace block I/O with the kernel's tracepoints at its beginning.
    pub(crate) traces_blocks: bool,
    /// Give up targets on which it fails.
    pub(crate) gives_up: bool,
    /// Depths tried before it, with their IOPS.
    pub(crate) depths_tried: Vec<(u32, f64)>,
    /// Keys of files to remove after it, if its jobs made them.
    pub(crate) unlink: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct PhaseJob {
    pub(crate) job: Job,
    /// Jobs of one section are measured as one.
    pub(crate) section: usize,
    /// Target that the job is fitted to: its CPUs, its written blocks. `None`: the job runs as
    /// written, on the files that it names.
    pub(crate) on: Option<PreparedTarget>,
}

/// How the measurements of a phase are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Measured {
    /// One measurement for each section, with fio's rules for clones.
    #[default]
    Sections,
    /// One measurement of this many first jobs, the same on each target. The others run as
    /// background load.
    Targets(usize),
    /// A trial with this many outstanding I/Os: only its rate is kept, for the schedule. Lasts its
    /// longest time.
    Trial(u32),
}

/// When a phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum End {
    /// When its jobs end.
    #[default]
    ByThemselves,
    /// Once it is known precisely enough.
    Known {
        /// Minimum duration in autocorrelation times.
        least_times: f64,
        /// Relative half width required of the p99's interval, too.
        p99: Option<f64>,
        /// Its rate has to be steady over rounds, too.
        steady: bool,
    },
}

impl Phase {
    /// Phase of jobs that are fitted to targets.
    pub(crate) fn fitted(jobs: Vec<PhaseJob>, measured: Measured, most_ns: u64) -> Self {
        let end = End::Known { least_times: iodyno_stats::LONG, p99: None, steady: false };
        Self { jobs, measured, end, most_ns, gives_up: true, ..Self::default() }
    }

    /// Number of its jobs that are measured.
    pub(crate) fn measured_jobs(&self) -> usize {
        match self.measured {
            Measured::Targets(count) => count,
            Measured::Sections | Measured::Trial(_) => self.jobs.len(),
        }
    }

    /// Names of its measured jobs.
    pub(crate) fn name(&self) -> String {
        let measured = self.jobs.iter().take(self.measured_jobs());
        let mut names: Vec<&str> = measured.map(|one| one.job.name.as_str()).collect();
        names.dedup();
        names.join(" ")
    }
}
