//! What is known of which I/O was made.

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
///
/// In JSON it is a flat object of words, as fio's options are written: `{"bs": "4096", "rw": "read"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "Options", from = "Json")]
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
    pub options: BTreeMap<String, String>,
}

type Options = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Flat(Options),
    /// As it was stored before.
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
    /// A value that is no number of its kind stays an option as it is written.
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
