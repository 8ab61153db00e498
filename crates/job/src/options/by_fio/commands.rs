//! Commands, their fields and priorities that only fio's I/O engines send.

use super::by_fio;
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    by_fio!(
        "num_range",
        Kind::Number,
        "1",
        ["1"],
        "a trim is of one range",
        "ranges of one trim command"
    ),
    by_fio!(
        "fdp",
        Kind::Bool,
        "0",
        ["0"],
        "placement directives are not sent",
        "flexible data placement"
    ),
    by_fio!(
        "dataplacement" | "data_placement",
        Kind::Words(vec!["none", "fdp", "streams"]),
        "none",
        ["none"],
        "placement directives are not sent",
        "data placement"
    ),
    by_fio!(
        "priohint",
        Kind::Number,
        "",
        ["0"],
        "hints are not set",
        "hint beside the I/O priority"
    ),
    by_fio!(
        "write_hint",
        Kind::Words(vec!["none", "short", "medium", "long", "extreme"]),
        "none",
        ["none"],
        "lifetime hints are not set",
        "how long data is expected to live"
    ),
    by_fio!(
        "hipri_percentage",
        Kind::Percent,
        "100",
        ["100"],
        "either all completions are polled for, or none",
        "percent of I/Os that are polled for (pvsync2)"
    ),
    by_fio!(
        "libaio_vectored",
        Kind::Bool,
        "0",
        ["0"],
        "I/Os have one buffer each",
        "libaio's I/Os with vectors"
    ),
    by_fio!(
        "thp",
        Kind::Number,
        "",
        ["0"],
        "mappings are of files",
        "transparent huge pages (mmap)"
    ),
    by_fio!(
        "cmdprio_percentage",
        Kind::Percent,
        "0",
        ["0"],
        "priorities are of jobs",
        "percent of I/Os with another priority"
    ),
    by_fio!("cmdprio_class", Kind::Number, "", ["0"], "priorities are of jobs", "its class"),
    by_fio!("cmdprio", Kind::Number, "0", ["0"], "priorities are of jobs", "its level"),
    by_fio!("cmdprio_hint", Kind::Number, "0", ["0"], "priorities are of jobs", "its hint"),
    by_fio!(
        "cmdprio_bssplit",
        Kind::Text,
        "",
        [],
        "priorities are of jobs",
        "priorities by block size"
    ),
    by_fio!(
        "write_mode",
        Kind::Text,
        "write",
        ["write"],
        "writes are writes (io_uring_cmd)",
        "another command in place of writes"
    ),
    by_fio!(
        "verify_mode",
        Kind::Words(vec!["read", "compare"]),
        "read",
        ["read"],
        "what is verified is read (io_uring_cmd)",
        "read or compare commands"
    ),
    by_fio!(
        "read_mode",
        Kind::Words(vec!["read", "prefetch"]),
        "read",
        ["read"],
        "bsg is SCSI, and commands are NVMe's",
        "another command in place of reads"
    ),
    by_fio!(
        "cdb_len",
        Kind::Number,
        "0",
        ["0"],
        "bsg is SCSI, and commands are NVMe's",
        "bytes of a SCSI command"
    ),
    by_fio!(
        "verify_bytchk",
        Kind::Number,
        "0",
        ["0"],
        "bsg is SCSI, and commands are NVMe's",
        "a field of SCSI's VERIFY"
    ),
    by_fio!(
        "md_per_io_size",
        Kind::Size,
        "0",
        ["0"],
        "blocks carry no metadata",
        "bytes of metadata of each I/O (io_uring_cmd)"
    ),
    by_fio!(
        "pi_act",
        Kind::Bool,
        "1",
        ["0", "1"],
        "blocks carry no metadata",
        "the controller adds and takes out protection information"
    ),
    by_fio!(
        "pi_chk",
        Kind::Text,
        "",
        [],
        "blocks carry no metadata",
        "what of protection information is checked"
    ),
    by_fio!(
        "apptag",
        Kind::Number,
        "0x1234",
        ["0x1234"],
        "blocks carry no metadata",
        "application tag"
    ),
    by_fio!(
        "apptag_mask",
        Kind::Number,
        "0xffff",
        ["0xffff", "0xFFFF"],
        "blocks carry no metadata",
        "its mask"
    ),
    by_fio!(
        "deac",
        Kind::Bool,
        "0",
        ["0"],
        "write zeroes is not sent",
        "deallocates with write zeroes"
    ),
    by_fio!(
        "gpu_dev_id",
        Kind::Number,
        "0",
        ["0"],
        "buffers are in the host's memory",
        "GPU with the buffers"
    ),
];
