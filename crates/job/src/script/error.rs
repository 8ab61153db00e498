//! Errors in scripts.

use thiserror::Error;

use crate::syntax::Place;
use crate::value::JobError;

/// All errors in a script, in the order written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ScriptErrors(pub Vec<ScriptError>);

/// An error in a script: what, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// An error in an option.
    #[error("{place}: {error}")]
    Option {
        /// Its place.
        place: Place,
        /// The error.
        error: JobError,
    },
    /// An error in a job as a whole.
    #[error("{place}: job `{job}`: {error}")]
    Job {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
        /// The error.
        error: JobError,
    },
    /// A log of I/O that cannot be replayed.
    #[error("{place}: job `{job}`: read_iolog={log}: {error}")]
    Log {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
        /// The log's path.
        log: String,
        /// The error.
        error: String,
    },
    /// A log that several jobs would write.
    #[error("{place}: job `{job}`: write_iolog={log}: another job writes this log")]
    LogWrittenTwice {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
        /// The log's path.
        log: String,
    },
    /// A device name that is split at its own colons.
    #[error("{place}: `filename={value}`: a colon ends a name; write `filename={meant}`")]
    CutAtColon {
        /// Its place.
        place: Place,
        /// As written.
        value: String,
        /// The likely intention.
        meant: String,
    },
    /// A job that waits for itself.
    #[error("{place}: job `{job}` waits for itself (`wait_for={job}`); name another one")]
    WaitsForItself {
        /// Its place.
        place: Place,
        /// The job.
        job: String,
    },
    /// A job that waits for an unknown job.
    #[error("{place}: `wait_for={name}`: no job before it has this name{}", last_jobs(.known))]
    WaitsForNone {
        /// Its place.
        place: Place,
        /// As written.
        name: String,
        /// The last few jobs before it.
        known: Vec<String>,
    },
    /// A job that waits for an ambiguous name.
    #[error("{place}: `wait_for={name}`: {count} jobs have this name; name them differently")]
    WaitsForSeveral {
        /// Its place.
        place: Place,
        /// As written.
        name: String,
        /// Number of jobs with this name.
        count: usize,
    },
    /// A command that is not allowed.
    #[error("{place}: `{option}={command}` would run a command; allow it with `--allow-exec`")]
    Command {
        /// Its place.
        place: Place,
        /// The option.
        option: &'static str,
        /// The command.
        command: String,
    },
    /// A job that writes, with `--readonly`.
    #[error(
        "{place}: job `{job}` writes or trims, and --readonly was given; use rw=read or randread"
    )]
    Writes {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
    },
    /// Jobs of a reporting group that measure different latencies.
    #[error(
        "{place}: job `{job}`: lat_percentiles differs within its reporting group; set it in [global], or new_group"
    )]
    GroupDiffers {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
    },
    /// More jobs than fio accepts.
    #[error("{place}: job `{job}` makes more than {max} jobs with its clones; lower numjobs")]
    TooManyJobs {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
        /// The limit.
        max: usize,
    },
    /// More files than can be handled.
    #[error(
        "{place}: job `{job}` makes more than {max} files over all jobs; lower nrfiles or numjobs, or run less at once with --section"
    )]
    TooManyFiles {
        /// The place of its section.
        place: Place,
        /// Its name.
        job: String,
        /// The limit.
        max: usize,
    },
}

fn last_jobs(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; the last are {}", known.join(", ")) }
}
