//! Defines when I/Os are of the same kind.

use std::collections::BTreeMap;

use iodyno_model::Workload;

/// Options that make another workload, and the default of each that counts as not set. All others
/// are conditions, which may differ.
const SHAPE: [(&str, &str); 21] = [
    ("bs", ""),
    ("bsrange", ""),
    ("bssplit", ""),
    ("bs_is_seq_rand", "0"),
    ("fdatasync", "0"),
    ("flow", "0"),
    ("fsync", "0"),
    ("latency_target", "0"),
    ("percentage_random", ""),
    ("random_distribution", "random"),
    ("rate", ""),
    ("rate_iops", ""),
    ("rate_process", "linear"),
    ("rwmixread", "50"),
    ("rwmixwrite", "50"),
    ("sync", "0"),
    ("thinktime", "0"),
    ("thinktime_blocks", "1"),
    ("thinktime_iotime", "0"),
    ("zonemode", "none"),
    ("verify", "0"),
];

/// Returns true if an option makes another workload.
pub(crate) fn is_workload_option(option: &str) -> bool {
    SHAPE.iter().any(|(name, _)| *name == option)
}

/// Kind of a workload's I/Os, for any depth and number of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape<'a> {
    rw: Option<&'a str>,
    bs: Option<u64>,
    /// Known to go through the page cache.
    buffered: bool,
    /// Options that make another workload, as set.
    pub(crate) options: BTreeMap<&'static str, &'a str>,
}

impl<'a> Shape<'a> {
    pub(crate) fn of(workload: &'a Workload) -> Self {
        let set = SHAPE.into_iter().filter_map(|(name, default)| {
            let value = workload.options.get(name)?.as_str();
            // A known size is in `bs`.
            let is_in_bs = name == "bs" && workload.bs.is_some();
            (value != default && !is_in_bs).then_some((name, value))
        });
        Self {
            rw: workload.rw.as_deref(),
            bs: workload.bs,
            buffered: workload.is_buffered() == Some(true),
            options: set.collect(),
        }
    }

    /// The same for blocks of any size.
    pub(crate) fn of_any_size(self) -> Self {
        Self { bs: None, ..self }
    }
}

/// Reduces a workload to what must be equal for figures to be compared: the kind of its I/Os, and
/// depth and jobs unless the depth was searched for.
pub fn comparable(workload: &Workload, is_searched: bool) -> Workload {
    let Shape { buffered, options, .. } = Shape::of(workload);
    let options = options.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Workload {
        rw: workload.rw.clone(),
        bs: workload.bs,
        iodepth: workload.iodepth.filter(|_| !is_searched),
        numjobs: (!is_searched).then(|| workload.numjobs.unwrap_or(1)),
        direct: Some(!buffered),
        options: options.collect(),
        ..Workload::default()
    }
}
