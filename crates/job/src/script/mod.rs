//! Compiles sections of job files and of the command line to phases of resolved jobs.
//!
//! The rules of [`compile`] are those of fio's `add_job` (init.c): jobs run at the same time until
//! a `stonewall`, and a section with `numjobs` becomes that many jobs.

mod compiler;
mod error;
mod files;

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::Job;
use crate::iolog::{self, IologError, IologReader};
use crate::syntax::{Entry, Place, Section};

use compiler::Compiler;
pub use error::{ScriptError, ScriptErrors};
pub use files::is_special;

/// An option as written: its name, and its value if it has one.
pub type WrittenOption = (String, Option<String>);

/// All jobs of a run in phases, with their sections and notes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Run one after the other.
    pub phases: Vec<Phase>,
    /// Sections in the order written.
    pub sections: Vec<ScriptSection>,
    /// Options of `[global]`, as written: fio's "global options".
    pub global: Vec<WrittenOption>,
    /// Notes for the user, each once: surprising behaviour of fio that applies here.
    pub notes: Vec<String>,
    /// Warnings that fio would print: the job's name, and a sentence.
    pub warnings: Vec<(String, &'static str)>,
    /// `--readonly`: files are not even laid out.
    pub readonly: bool,
}

impl Script {
    /// Files that its jobs name, by path.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let jobs = self.phases.iter().flat_map(|phase| &phase.jobs);
        jobs.flat_map(|of| of.job.files.paths.iter().map(String::as_str))
    }
}

/// Jobs that run at the same time, between two stonewalls. A job's `startdelay` and `wait_for`
/// apply within it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Phase {
    /// In fio's order: the first clone of a section, then the others from the last to the second.
    pub jobs: Vec<ScriptJob>,
}

/// A job of one thread; each clone is a job of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptJob {
    /// With `threads.{clone, number, group}` and `files.paths` filled. Its name is the section's;
    /// an option `name` renames the first clone only, as in fio. `files.filename` includes the
    /// names of `[global]`. Without paths, the clone makes no I/O, as in fio.
    pub job: Job,
    /// Index of its section.
    pub section: usize,
    /// True if no option gives the size of its files: missing files cannot be laid out, and fio
    /// asks for `size=`.
    pub needs_size: bool,
}

/// A section as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSection {
    /// Text between the brackets, or the value of `--name`.
    pub name: String,
    /// Place of its header.
    pub place: Place,
    /// Its own options without those of `[global]`: fio's "job options".
    pub options: Vec<WrittenOption>,
}

/// Most jobs that fio starts (fio.h, REAL_MAX_JOBS).
const MOST_JOBS: usize = 4096;

/// Options of [`compile`].
#[derive(Clone, Copy)]
pub struct CompileOptions<'a> {
    /// fio will run the script: options that only fio supports are accepted. Its job file is
    /// [`crate::syntax::write_file`] of the same sections, which keeps every option as written;
    /// the script only says what to expect.
    pub for_fio: bool,
    /// Most jobs in all, clones included.
    pub most_jobs: usize,
    /// Allow [`crate::Job::commands`].
    pub exec: bool,
    /// `--readonly`: refuse jobs that write or trim.
    pub readonly: bool,
    /// Appended to every section; a `filename` replaces all others.
    pub overrides: &'a [Entry],
    /// True if this name exists and is not a regular file: a section `[/dev/nvme0n1]` without
    /// `filename` means the device. [`is_special`] asks the file system.
    pub is_special: &'a dyn Fn(&str) -> bool,
}

impl Default for CompileOptions<'_> {
    fn default() -> Self {
        Self {
            for_fio: false,
            most_jobs: MOST_JOBS,
            exec: false,
            readonly: false,
            overrides: &[],
            is_special: &is_special,
        }
    }
}

/// Opens a log of I/O for reading.
pub type OpenLog<'a> = &'a dyn Fn(&str) -> std::io::Result<Box<dyn BufRead + Send>>;

impl Script {
    /// Reads the logs that its jobs replay, and sets the files, directions and block sizes of these
    /// jobs to those of their logs. With `readonly`, only reads are replayed.
    ///
    /// # Errors
    /// Logs that are unreadable or cannot be replayed; logs that several jobs would write.
    pub fn read_logs(&mut self, readonly: bool, open: OpenLog<'_>) -> Result<(), ScriptErrors> {
        let mut errors = Vec::new();
        let mut written = BTreeSet::new();
        for ScriptJob { job, section, needs_size } in
            self.phases.iter_mut().flat_map(|phase| &mut phase.jobs)
        {
            let place = self.sections[*section].place.clone();
            if let Some(log) = job.replay.write_iolog.clone()
                && !written.insert(log.clone())
            {
                errors.push(ScriptError::LogWrittenTwice { place, job: job.name.clone(), log });
                continue;
            }
            let Some(log) = job.replay.log_of(job.threads.clone) else { continue };
            // As fio: a log that is read is not written as well.
            job.replay.write_iolog = None;
            if readonly {
                (job.replay.skip[1], job.replay.skip[2]) = (true, true);
            }
            let read = || -> Result<_, IologError> {
                iolog::scan(IologReader::new(open(&log)?, &job.replay)?)
            };
            match read() {
                Ok(summary) => {
                    summary.apply_to(job);
                    *needs_size = false;
                }
                Err(error) => {
                    let (job, error) = (job.name.clone(), error.to_string());
                    errors.push(ScriptError::Log { place, job, log, error });
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(ScriptErrors(errors)) }
    }
}

/// Compiles sections to a script.
///
/// # Errors
/// All errors at once, each with its place: unknown or unsupported options, bad values, conflicting
/// options, jobs that wait for an unknown job, too many jobs or files.
pub fn compile(sections: &[Section], options: &CompileOptions<'_>) -> Result<Script, ScriptErrors> {
    let mut compiler = Compiler::new(options);
    for section in sections {
        compiler.section(section);
    }
    compiler.finish()
}
