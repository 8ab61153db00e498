//! Runs fio as a load generator.
//!
//! fio runs as a child with `--status-interval`: it then repeats its whole report, JSON+ with all
//! bins, every half second or so. The differences between reports are the exact intervals: each I/O
//! is in one of them, and the last report, which fio writes at its end or on SIGINT, completes
//! them. (Its logs with `log_avg_msec` contain only means and grow with the run; its ETA line has
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

use iodyno_job::{Job, Unfit};
use iodyno_load::{ClearedJob, LoadError, LoadGenerator, Observer, PhaseReport, ProbeSample};
use iodyno_target::ReadClearance;
use thiserror::Error;

/// Runs fio as a load generator.
#[derive(Debug, Clone)]
pub struct FioGenerator {
    program: PathBuf,
    version: String,
    patience: Duration,
    /// Options that only fio knows, by job name.
    fio_only: BTreeMap<String, Vec<(String, String)>>,
    /// Number of sections in earlier phases: the logs of the next one are numbered from there on.
    sections: usize,
}

/// Time that a stopped fio has to end: as in the native generator for I/O in flight, NVMe's timeout
/// of 30 s plus what follows it.
const PATIENCE: Duration = Duration::from_secs(90);

/// Environment variable set when a program is asked whether it is fio: an iodyno installed under
/// fio's name then denies it.
pub const FIO_PROBE_ENV: &str = "IODYNO_WANTS_FIO";

/// Reason why fio cannot be used.
#[derive(Debug, Error)]
pub enum FioError {
    /// fio is missing or cannot be started.
    #[error(
        "cannot run {}: {error}; install the package `fio` (apt install fio, dnf install fio) \
         or use --generator native",
        .program.display()
    )]
    NotRun {
        /// Program that was tried.
        program: PathBuf,
        /// Error of the kernel.
        error: io::Error,
    },
    /// Another program has its name.
    #[error("{} is not fio: --version prints {said:?}; name it with --fio PATH", .program.display())]
    NotFio {
        /// Program that was tried.
        program: PathBuf,
        /// First line of its output.
        said: String,
    },
    /// It has no JSON+ with nanoseconds.
    #[error("{} is {version}: fio 3.0 or later is needed", .program.display())]
    TooOld {
        /// Program that was tried.
        program: PathBuf,
        /// Its version.
        version: String,
    },
}

impl FioGenerator {
    /// Finds the fio at `path`, or the first in `PATH` that is one: a link of that name to iodyno is
    /// passed over.
    ///
    /// # Errors
    /// It is missing, not fio, or older than 3.0.
    pub fn find(path: Option<&Path>) -> Result<Self, FioError> {
        if let Some(path) = path {
            return Self::at(path.to_path_buf());
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let programs = std::env::split_paths(&folders).map(|folder| folder.join("fio"));
        let mut other = None;
        for program in programs.filter(|program| program.is_file()) {
            match Self::at(program) {
                Err(error @ FioError::NotFio { .. }) => _ = other.get_or_insert(error),
                found => return found,
            }
        }
        other.map_or_else(|| Self::at("fio".into()), Err)
    }

    fn at(program: PathBuf) -> Result<Self, FioError> {
        let mut version = Command::new(&program);
        version.arg("--version").env(FIO_PROBE_ENV, "1").stdin(Stdio::null());
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
                fio_only: BTreeMap::new(),
                sections: 0,
            }),
            _ => Err(FioError::TooOld { program, version: said.to_owned() }),
        }
    }

    /// Sets the time after which a fio asked to end is killed (default 90 s).
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Adds `options` to the jobs of this name, as written in their section: options that only fio
    /// supports, and that a [`iodyno_job::Job`] cannot represent.
    #[must_use]
    pub fn with_options(mut self, job: &str, options: Vec<(String, String)>) -> Self {
        self.fio_only.insert(job.to_owned(), options);
        self
    }
}

impl FioGenerator {
    fn fio_only_options(&self, job: &Job) -> &[(String, String)] {
        self.fio_only.get(&job.name).map_or(&[], Vec::as_slice)
    }
}

impl LoadGenerator for FioGenerator {
    fn source(&self) -> String {
        format!("fio {}", self.version)
    }

    fn takes(&self, job: &Job) -> Result<(), Unfit> {
        let mut file = job_file::JobFile::default();
        file.add(0, job, &[], u64::MAX, self.fio_only_options(job)).map_err(Unfit)
    }

    fn writes_zones(&self, job: &Job) -> bool {
        let mode = self.fio_only_options(job).iter().rfind(|(name, _)| name == "zonemode");
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
