//! Known settings of the I/O of a measurement.

use std::collections::BTreeMap;

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
    /// fio's name: `read`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Mixed => "mixed",
        }
    }
}

/// Known settings of a workload, by fio's option names; unknown ones are absent, never defaults.
///
/// In JSON a flat object of strings, like fio's options: `{"bs": "4096", "rw": "read"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "Options", from = "Json")]
pub struct Workload {
    /// I/O pattern, fio's `rw`: `read`, `randread`, …
    pub rw: Option<String>,
    /// Block size, bytes.
    pub bs: Option<u64>,
    /// Queue depth per job.
    pub iodepth: Option<u32>,
    /// Number of jobs.
    pub numjobs: Option<u32>,
    /// Effective I/O engine.
    pub ioengine: Option<String>,
    /// True if the page cache was bypassed.
    pub direct: Option<bool>,
    /// Size of the I/O region, bytes.
    pub size: Option<u64>,
    /// All other options, by fio's name, sorted.
    pub options: BTreeMap<String, String>,
}

type Options = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Flat(Options),
    /// Form stored by earlier versions.
    Fields {
        rw: Option<String>,
        bs: Option<u64>,
        iodepth: Option<u32>,
        numjobs: Option<u32>,
        ioengine: Option<String>,
        direct: Option<bool>,
        size: Option<u64>,
        options: Options,
    },
}

impl From<Workload> for Options {
    fn from(of: Workload) -> Self {
        let mut options = of.options;
        let known = [
            ("rw", of.rw),
            ("bs", of.bs.map(|bs| bs.to_string())),
            ("iodepth", of.iodepth.map(|depth| depth.to_string())),
            ("numjobs", of.numjobs.map(|jobs| jobs.to_string())),
            ("ioengine", of.ioengine),
            ("direct", of.direct.map(|direct| u8::from(direct).to_string())),
            ("size", of.size.map(|size| size.to_string())),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        options.extend(known);
        options
    }
}

impl From<Json> for Workload {
    /// Values that do not parse as numbers stay in `options` as text.
    fn from(json: Json) -> Self {
        fn number<T: std::str::FromStr>(options: &mut Options, name: &str) -> Option<T> {
            let value = options.get(name)?.parse().ok()?;
            options.remove(name);
            Some(value)
        }
        match json {
            Json::Flat(mut options) => Self {
                rw: options.remove("rw"),
                ioengine: options.remove("ioengine"),
                bs: number(&mut options, "bs"),
                iodepth: number(&mut options, "iodepth"),
                numjobs: number(&mut options, "numjobs"),
                size: number(&mut options, "size"),
                direct: number::<u8>(&mut options, "direct").map(|direct| direct == 1),
                options,
            },
            Json::Fields { rw, bs, iodepth, numjobs, ioengine, direct, size, options } => {
                Self { rw, bs, iodepth, numjobs, ioengine, direct, size, options }
            }
        }
    }
}

impl JsonSchema for Workload {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Workload".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Options::json_schema(generator)
    }
}

impl Workload {
    /// True if the page cache was used, by engine and `direct`; `None`: not known.
    pub fn is_buffered(&self) -> Option<bool> {
        match self.ioengine.as_deref() {
            // Passthrough commands bypass the page cache, whatever `direct` says: the character
            // devices of NVMe drives do not support O_DIRECT. The last two engines move no data.
            Some("io_uring_cmd" | "sg" | "null" | "falloc") => Some(false),
            Some("mmap") => Some(true),
            _ => self.direct.map(|direct| !direct),
        }
    }

    /// Formats the known options as one line: `rw=randread bs=4k iodepth=64`.
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

/// Formats a size as fio does: `4k`, `1m`, `512`.
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
    fn engine_and_direct_determine_page_cache_use() {
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
