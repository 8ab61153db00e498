//! What is known of which I/O was made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction of an I/O.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Trim (deallocate).
    Trim,
    /// Directions reported together (fio's unified_rw_reporting).
    Mixed,
}

impl Direction {
    /// As fio names it: `read`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Mixed => "mixed",
        }
    }
}

/// What is known of a workload, in fio's option names; what is not known is
/// absent, never a default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Workload {
    /// fio's `rw`: `read`, `randread`, …
    pub rw: Option<String>,
    /// Block size, bytes.
    pub bs: Option<u64>,
    /// Depth of each job.
    pub iodepth: Option<u32>,
    /// Jobs.
    pub numjobs: Option<u32>,
    /// I/O engine that was in effect.
    pub ioengine: Option<String>,
    /// Page cache bypassed.
    pub direct: Option<bool>,
    /// Bytes of the target that were in reach.
    pub size: Option<u64>,
    /// Everything else, by fio's option name, sorted.
    pub options: std::collections::BTreeMap<String, String>,
}

impl Workload {
    /// Whether it went through the page cache, by engine and `direct`; `None`: not known.
    pub fn is_buffered(&self) -> Option<bool> {
        match self.ioengine.as_deref() {
            // Commands that are passed to a drive know no page cache, whatever `direct` says:
            // the character devices of NVMe drives take no O_DIRECT.
            // The last ones move no data.
            Some("io_uring_cmd" | "sg" | "null" | "falloc") => Some(false),
            Some("mmap") => Some(true),
            _ => self.direct.map(|direct| !direct),
        }
    }

    /// As one line of fio's options, the known ones: `rw=randread bs=4k iodepth=64`.
    pub fn label(&self) -> String {
        let mut words = Vec::new();
        let mut push = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.push(format!("{name}={value}"));
            }
        };
        push("rw", self.rw.clone());
        push("bs", self.bs.map(short_size));
        push("iodepth", self.iodepth.map(|depth| depth.to_string()));
        push("numjobs", self.numjobs.map(|jobs| jobs.to_string()));
        for (name, value) in &self.options {
            push(name, Some(value.clone()));
        }
        words.join(" ")
    }
}

/// A size as fio writes it: `4k`, `1m`, `512`.
fn short_size(bytes: u64) -> String {
    match bytes {
        b if b > 0 && b % (1 << 20) == 0 => format!("{}m", b >> 20),
        b if b > 0 && b % (1 << 10) == 0 => format!("{}k", b >> 10),
        b => b.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_and_direct_say_whether_the_page_cache_is_in_the_way() {
        let is_buffered = |engine: &str, direct: Option<bool>| {
            Workload { ioengine: Some(engine.into()), direct, ..Workload::default() }.is_buffered()
        };
        assert_eq!(is_buffered("io_uring_cmd", Some(false)), Some(false));
        assert_eq!(is_buffered("mmap", Some(true)), Some(true));
        assert_eq!(is_buffered("io_uring", Some(false)), Some(true));
        assert_eq!(is_buffered("io_uring", Some(true)), Some(false));
        assert_eq!(is_buffered("io_uring", None), None);
    }
}
