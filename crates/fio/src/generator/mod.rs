//! fio as a load generator.
//!
//! fio runs as a child with `--status-interval`: it then repeats its whole
//! report, JSON+ with all bins, every half second or so. Their differences are
//! the intervals, exactly: each I/O is in one of them, and the last report,
//! which fio writes at its end or on SIGINT, completes them. (Its logs with
//! `log_avg_msec` have means only and grow with the run; its ETA line has
//! rounded rates of all jobs together.)

mod child;
mod job_file;
mod outputs;
mod progress;
mod run;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use iodyno_job::Job;
use iodyno_load::{ClearedJob, LoadError, LoadGenerator, Observer, PhaseReport, ProbeSample};
use iodyno_target::ReadClearance;
use thiserror::Error;

/// fio as a load generator.
#[derive(Debug, Clone)]
pub struct FioGenerator {
    program: PathBuf,
    version: String,
    patience: Duration,
    /// Options for fio alone, by the name of their job.
    foreign: BTreeMap<String, Vec<(String, String)>>,
    /// Sections of the phases so far: the logs of the next ones are numbered from there on.
    sections: usize,
}

/// How long a stopped fio is waited for: as long as the native generator waits
/// for I/O in flight, NVMe's own time-out of 30 s with what follows it.
const PATIENCE: Duration = Duration::from_secs(90);

/// Set in the environment of whatever is asked whether it is fio: an iodyno that is called as
/// fio says then that it is not.
pub const WANTS_FIO: &str = "IODYNO_WANTS_FIO";

/// Why fio cannot be used.
#[derive(Debug, Error)]
pub enum FioError {
    /// It is not there, or cannot be started.
    #[error(
        "cannot run {}: {error}; install the package `fio` (apt install fio, dnf install fio) \
         or use --generator native",
        .program.display()
    )]
    NotRun {
        /// What was tried.
        program: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// Something else has its name.
    #[error("{} is not fio: to --version it says {said:?}", .program.display())]
    NotFio {
        /// What was tried.
        program: PathBuf,
        /// Its first words.
        said: String,
    },
    /// It has no JSON+ with nanoseconds.
    #[error("{} is {version}: fio 3.0 or later is needed", .program.display())]
    TooOld {
        /// What was tried.
        program: PathBuf,
        /// Its version.
        version: String,
    },
}

impl FioGenerator {
    /// The fio at `path`, or the one that the shell would find.
    ///
    /// # Errors
    /// It is not there, is not fio, or is older than 3.0.
    pub fn find(path: Option<&Path>) -> Result<Self, FioError> {
        let program = path.unwrap_or_else(|| Path::new("fio")).to_path_buf();
        let mut version = Command::new(&program);
        version.arg("--version").env(WANTS_FIO, "1").stdin(Stdio::null());
        let output = version.output();
        let output = match output {
            Ok(output) => output,
            Err(error) => return Err(FioError::NotRun { program, error }),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said.lines().next().unwrap_or_default().trim();
        let Some(version) = said.strip_prefix("fio-") else {
            let said = said.chars().take(80).collect();
            return Err(FioError::NotFio { program, said });
        };
        let major: Option<u32> = version.split('.').next().and_then(|major| major.parse().ok());
        match major {
            Some(3..) => Ok(Self {
                program,
                version: version.to_owned(),
                patience: PATIENCE,
                foreign: BTreeMap::new(),
                sections: 0,
            }),
            _ => Err(FioError::TooOld { program, version: said.to_owned() }),
        }
    }

    /// The same, but a fio that was asked to end is killed after `patience`
    /// (else 90 s).
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same, but the jobs of this name get `options`, too, as written in
    /// their section: those that only fio does, and that a [`iodyno_job::Job`]
    /// has no room for.
    #[must_use]
    pub fn with_options(mut self, job: &str, options: Vec<(String, String)>) -> Self {
        self.foreign.insert(job.to_owned(), options);
        self
    }
}

impl FioGenerator {
    fn foreign_of(&self, job: &Job) -> &[(String, String)] {
        self.foreign.get(&job.name).map_or(&[], Vec::as_slice)
    }
}

impl LoadGenerator for FioGenerator {
    fn source(&self) -> String {
        format!("fio {}", self.version)
    }

    fn keeps_to_zones(&self, job: &Job) -> bool {
        let mode = self.foreign_of(job).iter().rfind(|(name, _)| name == "zonemode");
        mode.is_some_and(|(_, mode)| mode == "zbd")
    }

    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        run::run(self, jobs, observer)
    }

    fn probe(
        &mut self,
        target: &ReadClearance,
        _: &[u64],
        _: u32,
        _: u64,
    ) -> Result<Vec<ProbeSample>, LoadError> {
        let what = "fio cannot sample blocks: use the native generator for it".to_owned();
        Err(LoadError::Unfit { target: target.name().to_owned(), what })
    }
}
