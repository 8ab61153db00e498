//! Data sheet claims of a drive, with their conditions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Capacities that the figures of a data sheet entry apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimScope {
    /// This exact capacity.
    Exact,
    /// Read figures are for this capacity, all others are the best of the series.
    ExactRead,
    /// Best of the series: an upper bound, never a reason to fail.
    SeriesMax,
}

/// How sure it is that the model strings of an entry are the drive on the data sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchConfidence {
    /// By the vendor's own words.
    #[default]
    Certain,
    /// By the vendor's scheme of names.
    Likely,
    /// Without a source; never a reason to fail.
    Guess,
}

/// Figures of a data sheet, each optional. MB/s are decimal, IOPS are for 4 KiB unless `rand_cond`
/// differs, latencies are in us.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Vendor.
    pub vendor: String,
    /// Product family.
    #[serde(default)]
    pub family: String,
    /// Name on the data sheet.
    pub model: String,
    /// Capacity, GB (decimal); absent if the sheet covers a whole series.
    pub capacity_gb: Option<u64>,
    /// PCIe generation of the drive.
    pub pcie_gen: Option<u8>,
    /// PCIe lanes of the drive.
    pub lanes: Option<u8>,
    /// Regular expressions for the trimmed model string, case sensitive.
    #[serde(rename = "match")]
    pub patterns: Vec<String>,
    /// How sure `match` is.
    #[serde(default)]
    pub match_confidence: MatchConfidence,
    /// Sequential read, MB/s.
    pub seq_read_mbs: Option<f64>,
    /// Sequential write, MB/s.
    pub seq_write_mbs: Option<f64>,
    /// Sequential write once the SLC cache is full, MB/s.
    pub after_cache_write_mbs: Option<f64>,
    /// Size of the SLC cache, GB.
    pub slc_cache_gb: Option<f64>,
    /// Random read, IOPS.
    pub rand_read_iops: Option<f64>,
    /// Random write, IOPS.
    pub rand_write_iops: Option<f64>,
    /// 70 % reads and 30 % writes, IOPS.
    pub mix7030_iops: Option<f64>,
    /// Read latency, us.
    pub lat_read_us: Option<f64>,
    /// Write latency, us.
    pub lat_write_us: Option<f64>,
    /// Drive writes per day.
    pub dwpd: Option<f64>,
    /// Endurance, TB written.
    pub tbw_tb: Option<f64>,
    /// Conditions of the sequential figures, as printed.
    #[serde(default)]
    pub seq_cond: String,
    /// Conditions of the random figures, as printed.
    #[serde(default)]
    pub rand_cond: String,
    /// Conditions of the latencies, as printed.
    #[serde(default)]
    pub lat_cond: String,
    /// Capacities that the figures apply to.
    pub scope: ClaimScope,
    /// Source of the figures.
    pub source: String,
    /// `datasheet`, `vendor guide`, `review`, `secondary`, …
    #[serde(default)]
    pub source_kind: String,
    /// `high`, `medium`, `low`.
    #[serde(default)]
    pub confidence: String,
    /// Remarks.
    #[serde(default)]
    pub note: String,
}

/// Figure of a claim that a measurement was compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimFigure {
    /// Claimed value in the metric's base unit (bytes per second, per second, ns).
    pub value: f64,
    /// Conditions of the figure, as printed.
    pub conditions: String,
    /// Name of the drive on the data sheet.
    pub model: String,
    /// Capacities that the figure applies to.
    pub scope: ClaimScope,
    /// Source of the figure.
    pub source: String,
}
