//! Commands and fields of commands that only fio's I/O engines send.

use super::fio_only;
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    fio_only!("num_range", Kind::Number, "1", ["1"], "a trim is of one range"),
    fio_only!("fdp", Kind::Bool, "0", ["0"], "placement directives are not sent"),
    fio_only!(
        "dataplacement" | "data_placement",
        Kind::Words(vec!["none", "fdp", "streams"]),
        "none",
        ["none"],
        "placement directives are not sent"
    ),
    fio_only!("priohint", Kind::Number, "", ["0"], "hints are not set"),
    fio_only!(
        "write_hint",
        Kind::Words(vec!["none", "short", "medium", "long", "extreme"]),
        "none",
        ["none"],
        "lifetime hints are not set"
    ),
    fio_only!(
        "hipri_percentage",
        Kind::Percent,
        "100",
        ["100"],
        "either all completions are polled for, or none"
    ),
    fio_only!("libaio_vectored", Kind::Bool, "0", ["0"], "I/Os have one buffer each"),
    fio_only!("thp", Kind::Number, "", ["0"], "mappings are of files"),
    fio_only!("write_mode", Kind::Text, "write", ["write"], "writes are writes (io_uring_cmd)"),
    fio_only!(
        "verify_mode",
        Kind::Words(vec!["read", "compare"]),
        "read",
        ["read"],
        "what is verified is read (io_uring_cmd)"
    ),
    fio_only!(
        "read_mode",
        Kind::Words(vec!["read", "prefetch"]),
        "read",
        ["read"],
        "bsg is SCSI, and commands are NVMe's"
    ),
    fio_only!("cdb_len", Kind::Number, "0", ["0"], "bsg is SCSI, and commands are NVMe's"),
    fio_only!("verify_bytchk", Kind::Number, "0", ["0"], "bsg is SCSI, and commands are NVMe's"),
    fio_only!("md_per_io_size", Kind::Size, "0", ["0"], "blocks carry no metadata"),
    fio_only!("pi_act", Kind::Bool, "1", ["0", "1"], "blocks carry no metadata"),
    fio_only!("pi_chk", Kind::Text, "", [], "blocks carry no metadata"),
    fio_only!("apptag", Kind::Number, "0x1234", ["0x1234"], "blocks carry no metadata"),
    fio_only!(
        "apptag_mask",
        Kind::Number,
        "0xffff",
        ["0xffff", "0xFFFF"],
        "blocks carry no metadata"
    ),
    fio_only!("deac", Kind::Bool, "0", ["0"], "write zeroes is not sent"),
    fio_only!("gpu_dev_id", Kind::Number, "0", ["0"], "buffers are in the host's memory"),
];
