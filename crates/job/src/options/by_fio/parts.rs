//! Options that change nothing but how another one works, which only fio does
//! and which is refused itself.

use super::part;
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    part!(
        "merge_blktrace_scalars",
        Kind::Floats,
        "",
        "only merge_blktrace_file looks at it, which fio alone does",
        "time of each trace in percent"
    ),
    part!(
        "merge_blktrace_iters",
        Kind::Floats,
        "",
        "only merge_blktrace_file looks at it, which fio alone does",
        "how often each trace is run"
    ),
    part!(
        "zonecapacity",
        Kind::Size,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "what can be written of a zone"
    ),
    part!(
        "read_beyond_wp",
        Kind::Bool,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "reads behind the write pointer"
    ),
    part!(
        "max_open_zones",
        Kind::Number,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "zones that are written at the same time"
    ),
    part!(
        "job_max_open_zones",
        Kind::Number,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "the same, of one job"
    ),
    part!(
        "ignore_zone_limits",
        Kind::Bool,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "whatever the device's limits are"
    ),
    part!(
        "zone_reset_threshold",
        Kind::Floats,
        "",
        "only zonemode=zbd looks at it, which fio alone does",
        "share of written zones from which some are reset"
    ),
    part!(
        "zone_reset_frequency",
        Kind::Floats,
        "",
        "only zonemode=zbd looks at it, which fio alone does",
        "how often"
    ),
    part!(
        "recover_zbd_write_error",
        Kind::Bool,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "goes on behind a write that failed"
    ),
    part!(
        "write_zone_remainder",
        Kind::Bool,
        "0",
        "only zonemode=zbd looks at it, which fio alone does",
        "fills the ends of zones"
    ),
    part!(
        "plid_select" | "fdp_pli_select",
        Kind::Text,
        "roundrobin",
        "only fdp and dataplacement look at it, which fio alone does",
        "which placement comes next"
    ),
    part!(
        "plids" | "fdp_pli",
        Kind::Text,
        "",
        "only fdp and dataplacement look at it, which fio alone does",
        "placements that are used"
    ),
    part!(
        "dp_scheme",
        Kind::Text,
        "",
        "only fdp and dataplacement look at it, which fio alone does",
        "a file with placements of offsets"
    ),
    part!(
        "flow_watermark",
        Kind::Number,
        "",
        "fio itself took it out",
        "how far ahead a job might be"
    ),
    part!(
        "cgroup_nodelete",
        Kind::Bool,
        "0",
        "only cgroup looks at it, which fio alone does",
        "the group is left behind"
    ),
];
