//! Share of blocks ever written on a target, and the evidence for it.

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::json::estimate;
use crate::{Estimate, PurgeMethod, StatedBlocks, Told, format_duration_ns};

/// Whether the measured blocks were ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenState {
    /// All contain data.
    Written,
    /// Some were never written.
    Partly,
    /// None, or too few to measure, were ever written.
    Unwritten,
    /// Not known.
    Unknown,
}

/// Order in which blocks were written. Reads of randomly written data are many small pieces for a
/// drive, however large the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FillOrder {
    /// Sequential.
    Sequential,
    /// Random.
    Random,
}

/// Share of a target's blocks ever written, from samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenShare {
    /// Target.
    pub target: String,
    /// Number of sampled blocks.
    pub samples: u32,
    /// Share of blocks with data, 0..1, with its interval.
    #[serde(with = "estimate")]
    #[schemars(with = "Option<Estimate>")]
    pub share: Estimate,
    /// Resulting state.
    pub state: WrittenState,
    /// Evidence for the share.
    #[serde(serialize_with = "with_text", deserialize_with = "value_or_sentence")]
    #[schemars(with = "Told<WrittenEvidence>")]
    pub evidence: WrittenEvidence,
}

/// Evidence for the share of blocks ever written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WrittenEvidence {
    /// No sampled block could be read.
    Unreadable,
    /// Sampled blocks.
    Sampled {
        /// Readable samples.
        samples: u32,
        /// Readable samples filled with a single byte value.
        uniform: u32,
        /// Proof that these were never written; null: none.
        proof: Option<UnwrittenProof>,
    },
    /// Namespace utilization reported by the drive (NVM Command Set: NUSE).
    NamespaceUse {
        /// Share of the namespace in use, 0..1.
        share: f64,
    },
    /// Allocation reported by the device mapper.
    ThinVolume {
        /// Share of the volume allocated in its pool, 0..1.
        share: f64,
    },
    /// Allocation reported by the file system (SEEK_DATA).
    FileSystem {
        /// Share of the file with data, 0..1.
        share: f64,
    },
    /// The scratch file was written before the measurement.
    ScratchFile,
    /// The blocks lie between those known to be written.
    BetweenWritten,
    /// Trimmed by this run.
    Trimmed,
    /// Purged by iodyno, and not written since.
    Purged {
        /// Purge method.
        method: PurgeMethod,
    },
    /// Stated by the user for results of another program.
    Stated {
        /// Stated content of the blocks.
        blocks: StatedBlocks,
    },
    /// Sentence of an earlier version.
    Said {
        /// Text of the sentence.
        words: String,
    },
}

/// Proof that blocks filled with a single byte value were never written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum UnwrittenProof {
    /// The drive reports no more data than the other blocks hold.
    NamespaceUse {
        /// Share of the namespace in use, 0..1.
        share: f64,
    },
    /// The thin volume has allocated no more than the other blocks.
    ThinVolume {
        /// Share of the volume allocated in its pool, 0..1.
        share: f64,
    },
    /// They are read faster than blocks with data.
    Faster {
        /// Median latency of these blocks at depth 1, ns.
        uniform_ns: f64,
        /// Median latency of blocks with data at depth 1, ns.
        data_ns: f64,
    },
}

impl fmt::Display for WrittenEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("no block was readable"),
            Self::Sampled { samples, uniform: 0, .. } => {
                write!(f, "all {samples} sampled blocks contain data")
            }
            Self::Sampled { samples, uniform, proof: None } => write!(
                f,
                "{uniform} of {samples} sampled blocks contain a single byte value, which proves nothing: not read faster than the others, or too few to compare"
            ),
            Self::Sampled { samples, uniform, proof: Some(proof) } => {
                let percent = 100.0 * f64::from(*uniform) / f64::from(*samples);
                write!(f, "{percent:.1} % of {samples} sampled blocks were never written ({proof})")
            }
            Self::NamespaceUse { share } => namespace_use(f, *share),
            Self::ThinVolume { share } => thin_volume(f, *share),
            Self::FileSystem { share } => {
                let percent = 100.0 * share;
                write!(f, "{percent:.1} % of the file is allocated (SEEK_DATA)")
            }
            Self::ScratchFile => f.write_str("the scratch file was written just before"),
            Self::BetweenWritten => f.write_str("blocks between the written ranges"),
            Self::Trimmed => f.write_str("trimmed by this run, not written since"),
            Self::Purged { method } => {
                write!(f, "purged by iodyno ({}), not written since", method.name())
            }
            Self::Stated { blocks } => write!(f, "stated: {}", blocks.name()),
            Self::Said { words } => f.write_str(words),
        }
    }
}

impl fmt::Display for UnwrittenProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamespaceUse { share } => namespace_use(f, *share),
            Self::ThinVolume { share } => thin_volume(f, *share),
            Self::Faster { uniform_ns, data_ns } => write!(
                f,
                "they read as deallocated in {} at depth 1, blocks with data in {}",
                format_duration_ns(*uniform_ns),
                format_duration_ns(*data_ns)
            ),
        }
    }
}

fn namespace_use(f: &mut fmt::Formatter<'_>, share: f64) -> fmt::Result {
    write!(f, "NUSE: {:.1} % of the namespace in use", share * 100.0)
}

fn thin_volume(f: &mut fmt::Formatter<'_>, share: f64) -> fmt::Result {
    write!(f, "{:.1} % of the thin volume allocated", share * 100.0)
}

impl<T: Into<String>> From<T> for WrittenEvidence {
    fn from(words: T) -> Self {
        Self::Said { words: words.into() }
    }
}

fn with_text<S: Serializer>(one: &WrittenEvidence, to: S) -> Result<S::Ok, S::Error> {
    Told::of(one).serialize(to)
}

/// Reads the value, or the sentence that earlier versions stored.
fn value_or_sentence<'de, D: Deserializer<'de>>(from: D) -> Result<WrittenEvidence, D::Error> {
    match Value::deserialize(from)? {
        Value::String(words) => Ok(words.into()),
        value => WrittenEvidence::deserialize(value).map_err(D::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_has_value_and_sentence_and_reads_sentences() {
        let proof = Some(UnwrittenProof::Faster { uniform_ns: 12e3, data_ns: 80e3 });
        let of = WrittenShare {
            target: "nvme0n1".into(),
            samples: 4096,
            share: Estimate::bare(0.75),
            state: WrittenState::Partly,
            evidence: WrittenEvidence::Sampled { samples: 4096, uniform: 1024, proof },
        };
        let mut json = serde_json::to_value(&of).unwrap();
        let evidence = &json["evidence"];
        assert_eq!((&evidence["kind"], &evidence["uniform"]), (&"sampled".into(), &1024.into()));
        assert_eq!(
            evidence["text"],
            "25.0 % of 4096 sampled blocks were never written (they read as deallocated in \
             12 us at depth 1, blocks with data in 80 us)"
        );
        assert_eq!(serde_json::from_value::<WrittenShare>(json.clone()).unwrap(), of);
        json["evidence"] = "every sample holds data".into();
        let read: WrittenShare = serde_json::from_value(json).unwrap();
        assert_eq!(read.evidence, "every sample holds data".into());
    }
}
