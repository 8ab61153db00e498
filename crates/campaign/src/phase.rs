//! What runs at the same time and what is made of it: schedules ask for it, the executor does it.

use iodyno_job::Job;
use iodyno_model::{Host, Purpose, RunRecord};

use crate::targets::PreparedTarget;
use crate::watch::Watcher;

/// Says what is carried out next. It makes no I/O itself.
pub(crate) trait Schedule {
    /// The next phase; `None`: all is done. It is asked until then, or until the run is
    /// interrupted. `watcher` is told what follows from what is known.
    fn next(&mut self, seen: &Seen<'_>, watcher: &mut dyn Watcher) -> Option<Phase>;

    /// It judges by the hosts of the run, which are kept in memory for that alone.
    fn reads_hosts(&self) -> bool {
        false
    }
}

/// What a schedule decides by.
pub(crate) struct Seen<'a> {
    pub(crate) host: &'a Host,
    /// The run with all that was measured. Without its snapshots, unless
    /// [`Schedule::reads_hosts`] wants them.
    pub(crate) record: &'a RunRecord,
    /// What jobs can work on, with what is known of it by now.
    pub(crate) targets: &'a [PreparedTarget],
    /// What the last phase came to, where it was a trial that did not fail, I/Os per second.
    pub(crate) trial_iops: Option<f64>,
    /// What phases and rests took so far at most, ns.
    pub(crate) spent_ns: u64,
    /// What the run took so far by the clock, with all that is no phase, ns.
    pub(crate) elapsed_ns: u64,
}

/// What runs at the same time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phase {
    pub(crate) jobs: Vec<PhaseJob>,
    pub(crate) measured: Measured,
    pub(crate) purpose: Purpose,
    pub(crate) end: End,
    /// It ends then at the latest, ns; 0: when its work is done.
    pub(crate) most_ns: u64,
    /// It and all that may follow take so long at most, ns.
    pub(crate) left_ns: u64,
    /// The round that it belongs to.
    pub(crate) round: Option<u32>,
    /// Before it drives rest for so long at most, ns.
    pub(crate) rest_ns: u64,
    /// The host is read again while it runs.
    pub(crate) reads_links: bool,
    /// Temperatures are read while it runs. That makes the kernel send an admin command: never
    /// while single latencies are what is measured.
    pub(crate) reads_temperature: bool,
    /// The kernel's tracepoints tell at its beginning where I/Os are.
    pub(crate) traces_blocks: bool,
    /// A target on which it fails is given up.
    pub(crate) gives_up: bool,
    /// What depths gave on the way to it, I/Os per second.
    pub(crate) depths_tried: Vec<(u32, f64)>,
    /// Keys of files that are removed after it, where its jobs made them.
    pub(crate) unlink: Vec<String>,
}

/// A job of a phase.
#[derive(Debug, Clone)]
pub(crate) struct PhaseJob {
    pub(crate) job: Job,
    /// Jobs of the same section are measured as one.
    pub(crate) section: usize,
    /// The target that the job is fitted to: its CPUs, its written blocks. `None`: it does what
    /// it says, on the files that it names.
    pub(crate) on: Option<PreparedTarget>,
}

/// What is made of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Measured {
    /// A measurement of each section, with all that fio says of its clones.
    #[default]
    Sections,
    /// One measurement of the first so many jobs, the same on each target. The others go on
    /// beside them.
    Targets(usize),
    /// Nothing is kept but the rate, which the schedule is told: so many I/Os are outstanding. It
    /// lasts its longest time.
    Trial(u32),
}

/// When a phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum End {
    /// Its jobs say so themselves.
    #[default]
    ByThemselves,
    /// Once it is known well enough.
    Known {
        /// For so many autocorrelation times it has to last.
        least_times: f64,
        /// Relative half width of the interval of its p99 that is asked for, too.
        p99: Option<f64>,
        /// Its rate has to be steady over rounds, too.
        steady: bool,
    },
}

impl Phase {
    /// A phase of jobs that are fitted to targets.
    pub(crate) fn fitted(jobs: Vec<PhaseJob>, measured: Measured, most_ns: u64) -> Self {
        let end = End::Known { least_times: iodyno_stats::LONG, p99: None, steady: false };
        Self { jobs, measured, end, most_ns, gives_up: true, ..Self::default() }
    }

    /// How many of its jobs are measured.
    pub(crate) fn measured_jobs(&self) -> usize {
        match self.measured {
            Measured::Targets(count) => count,
            Measured::Sections | Measured::Trial(_) => self.jobs.len(),
        }
    }

    /// Its name: those of what is measured.
    pub(crate) fn name(&self) -> String {
        let measured = self.jobs.iter().take(self.measured_jobs());
        let mut names: Vec<&str> = measured.map(|one| one.job.name.as_str()).collect();
        names.dedup();
        names.join(" ")
    }
}
