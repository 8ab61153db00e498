//! What can be wrong with a script.

use thiserror::Error;

use crate::syntax::Place;
use crate::value::JobError;

/// Everything that is wrong with a script, in the order written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ScriptErrors(pub Vec<ScriptError>);

/// What is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// An option.
    #[error("{place}: {error}")]
    Option {
        /// Where it stands.
        place: Place,
        /// What is wrong.
        error: JobError,
    },
    /// A job as a whole.
    #[error("{place}: job `{job}`: {error}")]
    Job {
        /// Where it begins.
        place: Place,
        /// Its name.
        job: String,
        /// What is wrong.
        error: JobError,
    },
    /// A log of I/O that cannot be made again.
    #[error("{place}: job `{job}`: read_iolog={log}: {error}")]
    Log {
        /// Where the job begins.
        place: Place,
        /// Its name.
        job: String,
        /// The log's path.
        log: String,
        /// What is wrong.
        error: String,
    },
    /// A log that several jobs would write.
    #[error("{place}: job `{job}`: write_iolog={log}: another job writes this log")]
    LogWrittenTwice {
        /// Where the job begins.
        place: Place,
        /// Its name.
        job: String,
        /// The log's path.
        log: String,
    },
    /// A name of a device that its own colons cut into pieces.
    #[error("{place}: `filename={value}`: a colon ends a name; write `filename={meant}`")]
    CutAtColon {
        /// Where it stands.
        place: Place,
        /// As written.
        value: String,
        /// What was meant.
        meant: String,
    },
    /// A job that waits for itself.
    #[error("{place}: job `{job}` waits for itself (`wait_for={job}`); name another one")]
    WaitsForItself {
        /// Where it stands.
        place: Place,
        /// The job.
        job: String,
    },
    /// A job that waits for none.
    #[error("{place}: `wait_for={name}`: no job before it has this name{}", told(.known))]
    WaitsForNone {
        /// Where it stands.
        place: Place,
        /// As written.
        name: String,
        /// The last few jobs before it.
        known: Vec<String>,
    },
    /// A job that waits for one of several.
    #[error("{place}: `wait_for={name}`: {count} jobs have this name; name them differently")]
    WaitsForSeveral {
        /// Where it stands.
        place: Place,
        /// As written.
        name: String,
        /// How many.
        count: usize,
    },
    /// A command that was not allowed.
    #[error("{place}: `{option}={command}` would run a command; allow it with `--allow-exec`")]
    Command {
        /// Where it stands.
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
        /// Where it begins.
        place: Place,
        /// Its name.
        job: String,
    },
    /// Jobs of a reporting group that measure differently.
    #[error(
        "{place}: job `{job}`: lat_percentiles differs within its reporting group; set it in [global], or new_group"
    )]
    GroupDiffers {
        /// Where it begins.
        place: Place,
        /// Its name.
        job: String,
    },
    /// More jobs than fio takes.
    #[error("{place}: job `{job}` makes more than {max} jobs with its clones; lower numjobs")]
    TooManyJobs {
        /// Where it begins.
        place: Place,
        /// Its name.
        job: String,
        /// The most there may be.
        max: usize,
    },
    /// More files than can be handled.
    #[error(
        "{place}: job `{job}` makes more than {max} files over all jobs; lower nrfiles or numjobs, or run less at once with --section"
    )]
    TooManyFiles {
        /// Where it begins.
        place: Place,
        /// Its name.
        job: String,
        /// The most there may be.
        max: usize,
    },
}

fn told(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; the last are {}", known.join(", ")) }
}
