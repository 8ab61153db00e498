//! A script: what runs when, and every job of it resolved.
//!
//! [`compile`] makes it of the sections of job files and of the command line,
//! in the way of fio's `add_job` (init.c): jobs run at the same time until a
//! `stonewall`, and a section with `numjobs` becomes so many jobs.

mod compiler;
mod error;
mod files;
mod inheritance;

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::Job;
use crate::iolog::{self, IologError, IologReader};
use crate::syntax::{Entry, Place, Section};

use compiler::Compiler;
pub use error::{ScriptError, ScriptErrors};
pub use files::is_special;

/// An option as it was written: its name, and its value if there is one.
pub type Written = (String, Option<String>);

/// What runs when.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// One after the other.
    pub phases: Vec<Phase>,
    /// In the order written.
    pub sections: Vec<ScriptSection>,
    /// Options of `[global]`, as written: fio's "global options".
    pub global: Vec<Written>,
    /// What to tell the user, each once: what fio does and nobody expects.
    pub notes: Vec<String>,
    /// What fio would warn of: the job's name, and a sentence.
    pub warnings: Vec<(String, &'static str)>,
}

/// What runs at the same time: jobs between two stonewalls. A job's
/// `startdelay` and `wait_for` hold within it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Phase {
    /// In fio's order: the first clone of a section, then the others from the
    /// last to the second.
    pub jobs: Vec<ScriptJob>,
}

/// A job, which is one thread: each clone is one of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptJob {
    /// With `threads.{clone, number, group}` and `files.paths` filled. Its name
    /// is the section's; an option `name` changes that of the first clone
    /// alone, as in fio. `files.filename` has the names of `[global]`, too.
    /// No paths: fio leaves this clone without files, and it makes no I/O.
    pub job: Job,
    /// Number of its section.
    pub section: usize,
    /// Nothing says how much of a file it uses: files that do not exist yet
    /// cannot be laid out, and fio asks for `size=`.
    pub needs_size: bool,
}

/// A section, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSection {
    /// Text between the brackets, or value of `--name`.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// Its own options without those of `[global]`: fio's "job options".
    pub options: Vec<Written>,
}

/// So many jobs fio starts at most (fio.h, REAL_MAX_JOBS).
const MOST_JOBS: usize = 4096;

/// How sections are compiled.
#[derive(Clone, Copy)]
pub struct Compile<'a> {
    /// fio will run the script: options that fio alone does are taken. The job
    /// file for it is [`crate::syntax::write_file`] of the same sections, which
    /// keeps every option as it was written; the script says what to expect.
    pub for_fio: bool,
    /// Jobs that it may have in all, clones included.
    pub most_jobs: usize,
    /// [`crate::Job::commands`] are allowed.
    pub exec: bool,
    /// `--readonly`: jobs that write or trim are refused.
    pub readonly: bool,
    /// [`crate::syntax::CommandLine::global`], which tells the options of
    /// sections on the command line apart.
    pub global: &'a [Entry],
    /// Come last in every section; a `filename` replaces all others.
    pub overrides: &'a [Entry],
    /// Whether something of this name exists and is no regular file: a section
    /// `[/dev/nvme0n1]` without `filename` means the device. [`is_special`]
    /// asks the file system.
    pub is_special: &'a dyn Fn(&str) -> bool,
}

impl Default for Compile<'_> {
    fn default() -> Self {
        Self {
            for_fio: false,
            most_jobs: MOST_JOBS,
            exec: false,
            readonly: false,
            global: &[],
            overrides: &[],
            is_special: &is_special,
        }
    }
}

/// Opens a log of I/O for reading.
pub type OpenLog<'a> = &'a dyn Fn(&str) -> std::io::Result<Box<dyn BufRead + Send>>;

impl Script {
    /// Reads the logs that its jobs make again: from now on these have the files, the directions
    /// and the block size of their logs. With `readonly` only the reads are made.
    ///
    /// # Errors
    /// Logs that cannot be read, or made again; those that several jobs would write.
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
            if readonly {
                (job.replay.skip[1], job.replay.skip[2]) = (true, true);
            }
            let read = || -> Result<_, IologError> {
                iolog::scan(IologReader::new(open(&log)?, &job.replay)?)
            };
            match read() {
                Ok(scanned) => {
                    scanned.settle(job);
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

/// Makes a script of sections.
///
/// # Errors
/// Everything that is wrong at once, each with its place: options that are
/// unknown or not done by the native generator, values that are not taken,
/// options that contradict each other, jobs that wait for none, too many jobs
/// or files.
pub fn compile(sections: &[Section], how: &Compile<'_>) -> Result<Script, ScriptErrors> {
    let mut compiler = Compiler::new(how);
    for section in sections {
        compiler.section(section);
    }
    compiler.finish()
}
