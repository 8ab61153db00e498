//! Options that only modify another one, which is refused itself.

use super::dependent;
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    dependent!("merge_blktrace_scalars", Kind::Floats, "", "merge_blktrace_file"),
    dependent!("merge_blktrace_iters", Kind::Floats, "", "merge_blktrace_file"),
    dependent!("zonecapacity", Kind::Size, "0", "zonemode=zbd"),
    dependent!("read_beyond_wp", Kind::Bool, "0", "zonemode=zbd"),
    dependent!("max_open_zones", Kind::Number, "0", "zonemode=zbd"),
    dependent!("job_max_open_zones", Kind::Number, "0", "zonemode=zbd"),
    dependent!("ignore_zone_limits", Kind::Bool, "0", "zonemode=zbd"),
    dependent!("zone_reset_threshold", Kind::Floats, "", "zonemode=zbd"),
    dependent!("zone_reset_frequency", Kind::Floats, "", "zonemode=zbd"),
    dependent!("recover_zbd_write_error", Kind::Bool, "0", "zonemode=zbd"),
    dependent!("write_zone_remainder", Kind::Bool, "0", "zonemode=zbd"),
    dependent!("plid_select" | "fdp_pli_select", Kind::Text, "roundrobin", "fdp and dataplacement"),
    dependent!("plids" | "fdp_pli", Kind::Text, "", "fdp and dataplacement"),
    dependent!("dp_scheme", Kind::Text, "", "fdp and dataplacement"),
    dependent!("flow_watermark", Kind::Number, "", since "fio itself took it out"),
    dependent!("cgroup_nodelete", Kind::Bool, "0", "cgroup"),
];
