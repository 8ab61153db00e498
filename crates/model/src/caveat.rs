//! Caveats of a measurement, as values. Their sentences are written in one place, `Display`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Bytes, Failure};

/// Caveat of a measurement, about its target or how its I/O was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caveat {
    /// The target is a file on a file system that serves or changes I/O by itself.
    FileSystem {
        /// File system type, as the kernel names it.
        name: String,
        /// Effect of the file system.
        effect: FileSystemEffect,
    },
    /// The underlying device is memory.
    Memory {
        /// Kind of memory device.
        device: String,
    },
    /// The target is a loop device.
    LoopDevice {
        /// Path of the backing file.
        file: String,
        /// File system of the backing file, if that is in memory.
        memory: Option<String>,
    },
    /// Parts of the file have no blocks allocated.
    PartlyAllocated {
        /// Allocated bytes.
        allocated_bytes: u64,
        /// Size of the file, bytes.
        size_bytes: u64,
    },
    /// The target does not support `O_DIRECT`.
    NoDirect,
    /// Fewer outstanding I/Os are possible than requested.
    DepthReduced {
        /// `iodepth` of the job.
        asked: u32,
        /// Effective depth.
        possible: u32,
        /// Cause of the limit.
        limit: DepthLimit,
    },
    /// The engine issues one I/O at a time, so `iodepth` has no effect.
    DepthIgnored {
        /// `ioengine` of the job.
        engine: String,
        /// `iodepth` of the job.
        asked: u32,
    },
    /// The job ended by itself before its `ramp_time`, so that nothing was counted.
    EndedInRamp {
        /// Time that it ran, ns.
        ran_ns: u64,
        /// `ramp_time`, ns.
        ramp_ns: u64,
    },
    /// `hipri` has no effect.
    NotPolled {
        /// Reason.
        why: NotPolled,
    },
    /// The kernel did not register the files with the io_uring ring.
    FilesNotRegistered {
        /// Kernel's reason.
        why: Failure,
    },
    /// The kernel did not register the buffers with the io_uring ring.
    BuffersNotRegistered {
        /// Size of the buffers, bytes.
        bytes: u64,
        /// `RLIMIT_MEMLOCK`, bytes; absent: unlimited.
        limit_bytes: Option<u64>,
        /// Kernel's reason.
        why: Failure,
    },
    /// The block size exceeds the largest buffer that the kernel registers.
    BlockTooLargeToRegister,
    /// I/Os failed.
    IosFailed {
        /// Number of failed I/Os.
        failed: u64,
        /// Number of all I/Os.
        ios: u64,
        /// First failure.
        first: Failure,
    },
    /// A block does not contain the data that was written.
    Mismatch {
        /// Offset of the block, bytes.
        offset: u64,
        /// Length of the block, bytes.
        length: u64,
        /// Difference found.
        what: String,
    },
    /// Writes could not be verified for lack of memory.
    NotVerified {
        /// Number of such writes.
        writes: u64,
    },
    /// Options were not passed on to the load generator.
    NotPassedOn {
        /// Names of the options.
        options: Vec<String>,
        /// Name of the load generator.
        generator: String,
    },
    /// A command of a job failed.
    CommandFailed {
        /// Option that sets the command.
        option: String,
        /// Command line.
        command: String,
        /// Reason of the failure.
        why: String,
    },
    /// A log or other file that a job writes is incomplete or not where it belongs.
    LogNotWritten {
        /// Option that requests the file.
        option: String,
        /// Reason.
        why: String,
    },
    /// Background I/O of iodyno itself failed during the measurement.
    BesideFailed {
        /// Its I/O pattern, as fio's `rw`.
        rw: String,
        /// Its target.
        target: String,
        /// Reason.
        why: String,
    },
    /// Message of another program, or of an earlier version of iodyno.
    Said {
        /// Text of the message.
        words: String,
    },
}

/// Effect of a file system on the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileSystemEffect {
    /// Files are in memory.
    InMemory,
    /// Another file system below does the I/O (overlay).
    Overlay,
    /// Another machine serves the files.
    Network,
    /// Has its own cache and compression.
    OwnCache,
    /// A user-space process serves the files.
    UserSpace,
    /// Compresses written data.
    Compresses,
    /// Decompresses read data.
    Decompresses,
}

/// Limit on the number of outstanding I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepthLimit {
    /// `fs.aio-max-nr` is used up.
    AioMaxNr,
    /// Largest io_uring ring.
    RingSize,
}

/// Why completions are not polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotPolled {
    /// The device has no poll queues.
    NoPollQueues,
    /// Linux ignores it for `ioengine=pvsync2`: measured on 6.1, one interrupt per I/O.
    Kernel,
    /// libaio cannot poll.
    Libaio,
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSystem { name, effect } => match effect {
                FileSystemEffect::InMemory => write!(
                    f,
                    "on {name}: in memory, so no storage is measured, even with O_DIRECT"
                ),
                FileSystemEffect::Overlay => write!(
                    f,
                    "on {name}: another file system below does the I/O; drive not known"
                ),
                FileSystemEffect::Network => write!(
                    f,
                    "on {name}: includes the network and another machine's cache"
                ),
                FileSystemEffect::OwnCache => write!(
                    f,
                    "on {name}: includes its own cache and compression"
                ),
                FileSystemEffect::UserSpace => {
                    write!(f, "on {name}: includes the process that serves it")
                }
                FileSystemEffect::Compresses => {
                    write!(f, "{name} compresses: non-random data would give other results")
                }
                FileSystemEffect::Decompresses => {
                    write!(f, "{name} decompresses reads: a CPU may be the limit")
                }
            },
            Self::Memory { device } => write!(f, "{device}, not storage"),
            Self::LoopDevice { memory: Some(memory), .. } => {
                write!(f, "a loop device on {}: memory, not storage", memory.escape_debug())
            }
            Self::LoopDevice { file, memory: None } => write!(
                f,
                "a loop device: includes the file system of {}",
                file.escape_debug()
            ),
            Self::PartlyAllocated { allocated_bytes, size_bytes } => write!(
                f,
                "only {} of {} are allocated: reads of the rest never reach a drive",
                Bytes(*allocated_bytes).binary(),
                Bytes(*size_bytes).binary()
            ),
            Self::NoDirect => {
                f.write_str("no O_DIRECT on its file system: the page cache is used")
            }
            Self::DepthReduced { asked, possible, limit } => {
                write!(f, "iodepth={possible} instead of {asked}: ")?;
                f.write_str(match limit {
                    DepthLimit::AioMaxNr => {
                        "fs.aio-max-nr is used up; raise it with `sysctl fs.aio-max-nr`"
                    }
                    DepthLimit::RingSize => "larger than io_uring's ring; use numjobs",
                })
            }
            Self::DepthIgnored { engine, asked } => {
                write!(
                    f,
                    "iodepth={asked} has no effect: ioengine={engine} does one I/O at a time"
                )
            }
            Self::EndedInRamp { ran_ns, ramp_ns } => {
                let [ran, ramp] = [ran_ns, ramp_ns].map(|ns| *ns as f64 / 1e9);
                write!(f, "nothing counted: it ended after {ran:.3} s, within ramp_time={ramp}")
            }
            Self::NotPolled { why } => f.write_str(match why {
                NotPolled::NoPollQueues => {
                    "hipri has no effect: the device has no poll queues; boot with \
                     nvme.poll_queues=N, or reload the nvme module with poll_queues=N"
                }
                NotPolled::Kernel => {
                    "hipri has no effect: Linux 6 and later ignore it for ioengine=pvsync2; use io_uring"
                }
                NotPolled::Libaio => "libaio cannot poll for completions; use io_uring for hipri",
            }),
            Self::FilesNotRegistered { why } => write!(f, "files not registered: {why}"),
            Self::BuffersNotRegistered { bytes, limit_bytes, why } => {
                write!(
                    f,
                    "buffers of {bytes} bytes not registered: {why}; RLIMIT_MEMLOCK is "
                )?;
                match limit_bytes {
                    Some(limit) => write!(f, "{limit} bytes")?,
                    None => f.write_str("unlimited")?,
                }
                f.write_str("; raise it with `ulimit -l`")
            }
            Self::BlockTooLargeToRegister => f.write_str(
                "buffers not registered: block size above the kernel's limit",
            ),
            Self::IosFailed { failed, ios, first } => {
                write!(f, "{failed} of {ios} I/Os failed, first: {first}")
            }
            Self::Mismatch { offset, what, .. } => write!(f, "verify: offset {offset}: {what}"),
            Self::NotVerified { writes } => write!(
                f,
                "{writes} writes not verified: not enough memory to record them"
            ),
            Self::NotPassedOn { options, generator } => {
                write!(f, "{} not passed on to {generator}", options.join(" and "))
            }
            Self::CommandFailed { option, command, why } => write!(f, "{option}={command}: {why}"),
            Self::LogNotWritten { option, why } => write!(f, "{option} is incomplete: {why}"),
            Self::BesideFailed { rw, target, why } => {
                write!(f, "concurrent rw={rw} on {target} failed: {why}")
            }
            Self::Said { words } => f.write_str(words),
        }
    }
}

impl<T: Into<String>> From<T> for Caveat {
    fn from(words: T) -> Self {
        Self::Said { words: words.into() }
    }
}

/// A value with its sentence, as written to JSON.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Told{T}")]
pub struct Told<T> {
    /// Value.
    #[serde(flatten)]
    pub value: T,
    /// The value as a sentence.
    pub text: String,
}

impl<T: Clone + fmt::Display> Told<T> {
    /// Pairs a value with its `Display` text.
    pub(crate) fn of(value: &T) -> Self {
        Self { value: value.clone(), text: value.to_string() }
    }
}

/// JSON form of a list of caveats, each with its sentence. Reading uses the value; version 1 wrote
/// the sentence alone.
pub mod told {
    use serde::de::Error;
    use serde_json::Value;

    use super::*;

    /// Writes values and their sentences.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(all: &[Caveat], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(all.iter().map(Told::of))
    }

    /// Reads values, or the sentences of version 1.
    ///
    /// # Errors
    /// If the JSON is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Caveat>, D::Error> {
        let read = |one| match one {
            Value::String(words) => Ok(words.into()),
            value => Caveat::deserialize(value).map_err(D::Error::custom),
        };
        Vec::<Value>::deserialize(from)?.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Conditions, EndReason};

    #[test]
    fn json_has_values_and_sentences() {
        let first = Failure::of(5, "EIO at offset 0");
        let shortfalls = vec![Caveat::NoDirect, Caveat::IosFailed { failed: 2, ios: 9, first }];
        let conditions = Conditions { shortfalls, ..Conditions::default() };
        let json = serde_json::to_value(&conditions).unwrap();
        let failed = &json["shortfalls"][1];
        assert_eq!((&failed["kind"], &failed["failed"]), (&"ios_failed".into(), &2.into()));
        assert_eq!(failed["first"]["cause"]["errno"], 5);
        assert_eq!(failed["text"], "2 of 9 I/Os failed, first: EIO at offset 0");
        assert_eq!(serde_json::from_value::<Conditions>(json).unwrap(), conditions);
    }

    #[test]
    fn sentences_of_version_1_are_read() {
        let mut json = serde_json::to_value(Conditions::default()).unwrap();
        json["shortfalls"] = vec!["verify: offset 4096: it is old"].into();
        let read: Conditions = serde_json::from_value(json).unwrap();
        assert_eq!(read.shortfalls, ["verify: offset 4096: it is old".into()]);
        let end = serde_json::from_str::<EndReason>(r#"{"failed": "EIO"}"#).unwrap();
        assert_eq!(end, EndReason::Failed("EIO".into()));
        let end = EndReason::Failed(Failure { cause: Cause::Unfit, text: "too small".into() });
        let json = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<EndReason>(&json).unwrap(), end);
    }
}
