//! Commands, their and their fields that only fio's I/O engines send.

use super::by_fio;
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    by_fio!("num_range", Kind::Number, "1", ["1"], "a trim is of one range"),
    by_fio!("fdp", Kind::Bool, "0", ["0"], "placement directives are not sent"),
    by_fio!(
        "dataplacement" | "data_placement",
        Kind::Words(vec!["none", "fdp", "streams"]),
        "none",
        ["none"],
        "placement directives are not sent"
    ),
    by_fio!("priohint", Kind::Number, "", ["0"], "hints are not set"),
    by_fio!(
        "write_hint",
        Kind::Words(vec!["none", "short", "medium", "long", "extreme"]),
        "none",
        ["none"],
        "lifetime hints are not set"
    ),
    by_fio!(
        "hipri_percentage",
        Kind::Percent,
        "100",
        ["100"],
        "either all completions are polled for, or none"
    ),
    by_fio!("libaio_vectored", Kind::Bool, "0", ["0"], "I/Os have one buffer each"),
    by_fio!("thp", Kind::Number, "", ["0"], "mappings are of files"),
    by_fio!("write_mode", Kind::Text, "write", ["write"], "writes are writes (io_uring_cmd)"),
    by_fio!(
        "verify_mode",
        Kind::Words(vec!["read", "compare"]),
        "read",
        ["read"],
        "what is verified is read (io_uring_cmd)"
    ),
    by_fio!(
        "read_mode",
        Kind::Words(vec!["read", "prefetch"]),
        "read",
        ["read"],
        "bsg is SCSI, and commands are NVMe's"
    ),
    by_fio!("cdb_len", Kind::Number, "0", ["0"], "bsg is SCSI, and commands are NVMe's"),
    by_fio!("verify_bytchk", Kind::Number, "0", ["0"], "bsg is SCSI, and commands are NVMe's"),
    by_fio!("md_per_io_size", Kind::Size, "0", ["0"], "blocks carry no metadata"),
    by_fio!("pi_act", Kind::Bool, "1", ["0", "1"], "blocks carry no metadata"),
    by_fio!("pi_chk", Kind::Text, "", [], "blocks carry no metadata"),
    by_fio!("apptag", Kind::Number, "0x1234", ["0x1234"], "blocks carry no metadata"),
    by_fio!(
        "apptag_mask",
        Kind::Number,
        "0xffff",
        ["0xffff", "0xFFFF"],
        "blocks carry no metadata"
    ),
    by_fio!("deac", Kind::Bool, "0", ["0"], "write zeroes is not sent"),
    by_fio!("gpu_dev_id", Kind::Number, "0", ["0"], "buffers are in the host's memory"),
];
