//! Options that change nothing but how another one works, which only fio does
//! and which is refused itself.

use super::part;
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    part!("merge_blktrace_scalars", Kind::Floats, "", "merge_blktrace_file"),
    part!("merge_blktrace_iters", Kind::Floats, "", "merge_blktrace_file"),
    part!("zonecapacity", Kind::Size, "0", "zonemode=zbd"),
    part!("read_beyond_wp", Kind::Bool, "0", "zonemode=zbd"),
    part!("max_open_zones", Kind::Number, "0", "zonemode=zbd"),
    part!("job_max_open_zones", Kind::Number, "0", "zonemode=zbd"),
    part!("ignore_zone_limits", Kind::Bool, "0", "zonemode=zbd"),
    part!("zone_reset_threshold", Kind::Floats, "", "zonemode=zbd"),
    part!("zone_reset_frequency", Kind::Floats, "", "zonemode=zbd"),
    part!("recover_zbd_write_error", Kind::Bool, "0", "zonemode=zbd"),
    part!("write_zone_remainder", Kind::Bool, "0", "zonemode=zbd"),
    part!("plid_select" | "fdp_pli_select", Kind::Text, "roundrobin", "fdp and dataplacement"),
    part!("plids" | "fdp_pli", Kind::Text, "", "fdp and dataplacement"),
    part!("dp_scheme", Kind::Text, "", "fdp and dataplacement"),
    part!("flow_watermark", Kind::Number, "", since "fio itself took it out"),
    part!("cgroup_nodelete", Kind::Bool, "0", "cgroup"),
];
