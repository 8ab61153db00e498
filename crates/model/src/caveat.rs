//! What qualifies a measurement: values with their quantities. Their `Display` is the one place
//! of their sentences.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Bytes, Failure};

/// What qualifies a measurement: of its target, or of how its I/O was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caveat {
    /// The target is a file in a file system that answers or changes I/O by itself.
    FileSystem {
        /// Its kind, as the kernel names it.
        name: String,
        /// What it does.
        effect: FileSystemEffect,
    },
    /// The device below is memory.
    Memory {
        /// What it is.
        device: String,
    },
    /// The target is a loop device.
    LoopDevice {
        /// The file behind it.
        file: String,
        /// The file system of that file, where it is in memory.
        memory: Option<String>,
    },
    /// A part of the file has no blocks.
    PartlyAllocated {
        /// Bytes that have.
        allocated_bytes: u64,
        /// Size of the file, bytes.
        size_bytes: u64,
    },
    /// The target takes no `O_DIRECT`.
    NoDirect,
    /// Fewer I/Os could be outstanding than asked.
    DepthReduced {
        /// `iodepth` of the job.
        asked: u32,
        /// The depth in effect.
        possible: u32,
        /// What is in the way.
        limit: DepthLimit,
    },
    /// The engine makes one I/O at a time.
    DepthIgnored {
        /// `ioengine`.
        engine: String,
        /// `iodepth` of the job.
        asked: u32,
    },
    /// `hipri` has no effect.
    NotPolled {
        /// Why.
        why: NotPolled,
    },
    /// The kernel did not register the files of a ring.
    FilesNotRegistered {
        /// What it said.
        why: Failure,
    },
    /// The kernel did not register the buffers of a ring.
    BuffersNotRegistered {
        /// Their size.
        bytes: u64,
        /// `RLIMIT_MEMLOCK`, bytes; absent: unlimited.
        limit_bytes: Option<u64>,
        /// What it said.
        why: Failure,
    },
    /// A block is larger than the largest buffer that the kernel registers.
    BlockTooLargeToRegister,
    /// I/Os failed.
    IosFailed {
        /// So many.
        failed: u64,
        /// Of so many.
        ios: u64,
        /// The first of them.
        first: Failure,
    },
    /// A block does not hold what was written.
    Mismatch {
        /// Its offset, bytes.
        offset: u64,
        /// Its length, bytes.
        length: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Writes that could not be verified, since there is not enough memory.
    NotVerified {
        /// So many.
        writes: u64,
    },
    /// Options that the load generator did not get.
    NotPassedOn {
        /// Their names.
        options: Vec<String>,
        /// The generator.
        generator: String,
    },
    /// A command of a job did not succeed.
    CommandFailed {
        /// The option that names it.
        option: String,
        /// The command.
        command: String,
        /// What came of it.
        why: String,
    },
    /// A file that a job writes beside its targets is not complete, or not where it belongs.
    LogNotWritten {
        /// The option that asks for it.
        option: String,
        /// What was in the way.
        why: String,
    },
    /// Our own I/O beside the measurement failed.
    BesideFailed {
        /// What it did, as fio's `rw`.
        rw: String,
        /// Its target.
        target: String,
        /// Why.
        why: String,
    },
    /// Words of another program, or of an earlier version of this one.
    Said {
        /// A sentence.
        words: String,
    },
}

/// What a file system does beside storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileSystemEffect {
    /// It is in memory.
    InMemory,
    /// Another file system is underneath.
    Overlay,
    /// Another machine serves it.
    Network,
    /// It has a cache and a compression of its own.
    OwnCache,
    /// A process serves it.
    UserSpace,
    /// It compresses what is written.
    Compresses,
    /// It decompresses what is read.
    Decompresses,
}

/// What keeps I/Os from being outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepthLimit {
    /// `fs.aio-max-nr`.
    AioMaxNr,
    /// The largest ring of io_uring.
    RingSize,
}

/// Why completions are not polled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotPolled {
    /// The device has no poll queues.
    NoPollQueues,
    /// Linux ignores it for `ioengine=pvsync2`: measured with 6.1, as many interrupts as I/Os.
    Kernel,
    /// libaio cannot.
    Libaio,
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSystem { name, effect } => match effect {
                FileSystemEffect::InMemory => write!(
                    f,
                    "on {name}: in memory, so that no storage is measured, with O_DIRECT or not"
                ),
                FileSystemEffect::Overlay => write!(
                    f,
                    "on {name}: another file system does the I/O underneath, and the drive is not \
                     known"
                ),
                FileSystemEffect::Network => write!(
                    f,
                    "on {name}: the network and another machine's cache are part of what is \
                     measured"
                ),
                FileSystemEffect::OwnCache => write!(
                    f,
                    "on {name}: its own cache and compression are part of what is measured"
                ),
                FileSystemEffect::UserSpace => {
                    write!(f, "on {name}: the process that serves it is part of what is measured")
                }
                FileSystemEffect::Compresses => {
                    write!(f, "{name} compresses: other data than random would give other figures")
                }
                FileSystemEffect::Decompresses => {
                    write!(f, "{name} decompresses what it reads: a CPU may be the limit")
                }
            },
            Self::Memory { device } => write!(f, "{device}, not storage"),
            Self::LoopDevice { memory: Some(memory), .. } => {
                write!(f, "a loop device on {}: memory, not storage", memory.escape_debug())
            }
            Self::LoopDevice { file, memory: None } => write!(
                f,
                "a loop device: the file system of {} is part of what is measured",
                file.escape_debug()
            ),
            Self::PartlyAllocated { allocated_bytes, size_bytes } => write!(
                f,
                "only {} of {} are allocated: reads of the rest never reach a drive",
                Bytes(*allocated_bytes).binary(),
                Bytes(*size_bytes).binary()
            ),
            Self::NoDirect => {
                f.write_str("no O_DIRECT on its file system: the page cache serves what it can")
            }
            Self::DepthReduced { asked, possible, limit } => {
                write!(f, "iodepth={possible} instead of {asked}: ")?;
                f.write_str(match limit {
                    DepthLimit::AioMaxNr => {
                        "fs.aio-max-nr is used up; raise it with `sysctl fs.aio-max-nr`"
                    }
                    DepthLimit::RingSize => "io_uring has no larger ring; use numjobs",
                })
            }
            Self::DepthIgnored { engine, asked } => {
                write!(
                    f,
                    "iodepth={asked} has no effect: ioengine={engine} makes one I/O at a time"
                )
            }
            Self::NotPolled { why } => f.write_str(match why {
                NotPolled::NoPollQueues => {
                    "hipri has no effect: the device has no poll queues; boot with \
                     nvme.poll_queues=N, or reload the nvme module with poll_queues=N"
                }
                NotPolled::Kernel => {
                    "hipri has no effect: since version 6 Linux ignores it for ioengine=pvsync2; \
                     take io_uring"
                }
                NotPolled::Libaio => "libaio cannot poll for completions; use io_uring for hipri",
            }),
            Self::FilesNotRegistered { why } => write!(f, "targets are not registered: {why}"),
            Self::BuffersNotRegistered { bytes, limit_bytes, why } => {
                write!(
                    f,
                    "buffers of {bytes} bytes are not registered: {why}; RLIMIT_MEMLOCK is "
                )?;
                match limit_bytes {
                    Some(limit) => write!(f, "{limit} bytes")?,
                    None => f.write_str("unlimited")?,
                }
                f.write_str(", raise it with `ulimit -l`")
            }
            Self::BlockTooLargeToRegister => f.write_str(
                "buffers are not registered: a block is larger than what the kernel registers",
            ),
            Self::IosFailed { failed, ios, first } => {
                write!(f, "{failed} of {ios} I/Os failed, the first: {first}")
            }
            Self::Mismatch { offset, what, .. } => write!(f, "verify: offset {offset}: {what}"),
            Self::NotVerified { writes } => write!(
                f,
                "{writes} writes were not verified: there is not enough memory to keep them in mind"
            ),
            Self::NotPassedOn { options, generator } => {
                write!(f, "{} were not passed on to {generator}", options.join(" and "))
            }
            Self::CommandFailed { option, command, why } => write!(f, "{option}={command}: {why}"),
            Self::LogNotWritten { option, why } => write!(f, "{option} is not complete: {why}"),
            Self::BesideFailed { rw, target, why } => {
                write!(f, "beside it rw={rw} on {target} failed: {why}")
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

/// A value with its sentence, as JSON has it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Told{T}")]
pub struct Told<T> {
    /// The value.
    #[serde(flatten)]
    pub value: T,
    /// Its sentence.
    pub text: String,
}

impl<T: Clone + fmt::Display> Told<T> {
    /// A value with what it displays.
    pub(crate) fn of(value: &T) -> Self {
        Self { value: value.clone(), text: value.to_string() }
    }
}

/// JSON of a list of caveats, each with its sentence; read back, the value counts. What version
/// 1 wrote is the sentence alone.
pub mod told {
    use serde::de::Error;
    use serde_json::Value;

    use super::*;

    /// Writes values and sentences.
    ///
    /// # Errors
    /// Of the serializer.
    pub fn serialize<S: Serializer>(all: &[Caveat], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(all.iter().map(Told::of))
    }

    /// Reads values, or the sentences that version 1 wrote.
    ///
    /// # Errors
    /// Something else is there.
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
    fn values_stand_in_json_with_their_sentences() {
        let first = Failure::of(5, "EIO at offset 0");
        let shortfalls = vec![Caveat::NoDirect, Caveat::IosFailed { failed: 2, ios: 9, first }];
        let conditions = Conditions { shortfalls, ..Conditions::default() };
        let json = serde_json::to_value(&conditions).unwrap();
        let failed = &json["shortfalls"][1];
        assert_eq!((&failed["kind"], &failed["failed"]), (&"ios_failed".into(), &2.into()));
        assert_eq!(failed["first"]["cause"]["errno"], 5);
        assert_eq!(failed["text"], "2 of 9 I/Os failed, the first: EIO at offset 0");
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
