//! Options of the I/O engine.

use super::codecs::{Bool, Codec, Count, Flag, NonZero, Optional, Words};
use super::value::{Refusal, unknown_word};
use super::{Kind, OptionSpec, Support, ignored, off, row};
use crate::{CommandType, IoEngine, StatType, Sync};

/// I/O engines of fio that `--generator fio` runs, if the job only reads: they work on the job's
/// targets alone. On a partition sg writes to the whole drive.
pub const READING_ENGINES_OF_FIO: [&str; 1] = ["sg"];

/// fio's other I/O engines, as its manual lists them: over a network, into a library that they load,
/// or, as libpmem, into files that they only were to read.
const OTHERS: &[&str] = &[
    "solarisaio",
    "windowsaio",
    "net",
    "netsplice",
    "rdma",
    "e4defrag",
    "rados",
    "rbd",
    "http",
    "gfapi",
    "gfapi_async",
    "libhdfs",
    "mtd",
    "filesetxattr",
    "filelistxattr",
    "libpmem",
    "pmemblk",
    "dev-dax",
    "cpp_null",
    "libiscsi",
    "nbd",
    "libcufile",
    "libhipfile",
    "libblkio",
    "libzbc",
    "nfs",
    "xnvme",
    "ime_psync",
    "ime_psyncv",
    "ime_aio",
    "dfs",
    "librpma_apm_client",
    "librpma_apm_server",
    "librpma_gpspm_client",
    "librpma_gpspm_server",
    "guasi",
    "syslet-rw",
    "sheepdog",
    "external",
    "spdk",
    "spdk_bdev",
];

const SYNC: &[(&str, Sync)] = &[
    ("none", Sync::None),
    ("sync", Sync::Sync),
    ("dsync", Sync::Dsync),
    ("0", Sync::None),
    ("1", Sync::Sync),
];

const MEMORY: [(&str, Option<bool>); 7] = [
    ("malloc", Some(false)),
    ("mmaphuge", Some(true)),
    ("shm", Some(false)),
    ("mmap", Some(false)),
    ("mmapshared", Some(false)),
    ("shmhuge", Some(true)),
    ("cudamalloc", None),
];

pub(super) static ROWS: &[OptionSpec] = &[
    OptionSpec {
        name: "ioengine",
        default: "psync",
        examples: &[
            "auto",
            "io_uring",
            "io_uring_cmd",
            "libaio",
            "psync",
            "pvsync2",
            "sync",
            "mmap",
            "splice",
            "posixaio",
            "falloc",
            "ftruncate",
            "null",
            "page_fault",
            "cpuio",
            "exec",
            "filecreate",
            "filestat",
            "filedelete",
            "dircreate",
            "dirstat",
            "dirdelete",
        ],
        help: "I/O engine; `auto` (iodyno only) is the best that works; pvsync and vsync run as pvsync2",
        kind: || Kind::Words(IoEngine::ALL.map(|(word, _)| word).to_vec()),
        parse: |job, value| {
            let engine = IoEngine::ALL.into_iter().find(|(name, _)| *name == value.text);
            if let Some((_, engine)) = engine {
                job.engine.ioengine = engine;
                return Ok(());
            }
            let word = value.text.split(':').next().unwrap_or_default();
            if READING_ENGINES_OF_FIO.contains(&word) {
                return Err(Refusal::FioOnly("fio has this I/O engine, for reading".into()));
            }
            if OTHERS.contains(&word) || word.contains('/') {
                return Err(Refusal::Foreign("it is an I/O engine of fio's own".into()));
            }
            Err(unknown_word(word, IoEngine::ALL.iter().map(|(name, _)| *name)))
        },
        print: |job| job.engine.ioengine.name().into(),
        ..OptionSpec::DEFAULT
    },
    off!("direct", engine.direct, Bool, "bypass the page cache (O_DIRECT)"),
    OptionSpec {
        name: "buffered",
        default: "1",
        examples: &["0", "1"],
        help: "use the page cache; the opposite of direct",
        kind: || Kind::Bool,
        parse: |job, value| {
            job.engine.direct = !Bool.parse(value)?;
            Ok(())
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "sync",
        engine.sync,
        Words(SYNC),
        "none",
        ["sync", "dsync", "1"],
        "open files with O_SYNC or O_DSYNC"
    ),
    off!("hipri", engine.hipri, Flag, "poll for completions (io_uring, pvsync2)"),
    row!(
        "fixedbufs",
        engine.fixedbufs,
        Flag,
        "0",
        ["1", "0"],
        "register buffers with the kernel; iodyno always does where possible"
    ),
    row!(
        "registerfiles",
        engine.registerfiles,
        Flag,
        "0",
        ["1", "0"],
        "register files with the kernel; iodyno always does where possible"
    ),
    off!(
        "sqthread_poll",
        engine.sqthread_poll,
        Flag,
        "submit from a polling kernel thread (io_uring)"
    ),
    row!(
        "sqthread_poll_cpu",
        engine.sqthread_poll_cpu,
        Optional(Count(0, 65_535)),
        "",
        ["3"],
        "CPU of the polling thread"
    ),
    OptionSpec {
        name: "nonvectored",
        default: "-1",
        support: Support::Ignored("I/O never uses vectors but with ioengine=pvsync2"),
        examples: &["1", "-1", "0"],
        help: "use non-vectored reads and writes",
        kind: || Kind::Number,
        parse: |job, value| {
            job.engine.nonvectored = value.text != "0" && {
                crate::value::parse_signed(value.text, value.units)?;
                true
            };
            Ok(())
        },
        print: |job| u8::from(job.engine.nonvectored).to_string(),
        ..OptionSpec::DEFAULT
    },
    row!(
        "force_async",
        engine.force_async,
        NonZero(Count(0, u32::MAX)),
        "",
        ["4"],
        "every Nth I/O is issued from a kernel worker (io_uring)"
    ),
    off!("nowait", engine.nowait, Bool, "RWF_NOWAIT: fail instead of waiting"),
    off!("uncached", engine.uncached, Flag, "uncached buffered I/O (RWF_DONTCACHE)"),
    off!(
        "atomic",
        engine.atomic,
        Bool,
        "write all or nothing: RWF_ATOMIC (io_uring, libaio, pvsync2); implies direct=1"
    ),
    row!(
        "stat_type",
        engine.stat_type,
        Words(&[("stat", StatType::Stat), ("lstat", StatType::Lstat), ("statx", StatType::Statx)]),
        "stat",
        ["lstat", "statx"],
        "system call of ioengine=filestat and dirstat"
    ),
    OptionSpec {
        name: "cmd_type",
        default: "nvme",
        examples: &["nvme"],
        help: "type of io_uring_cmd passthrough commands (bsg: by fio)",
        kind: || Kind::Words(vec!["nvme", "bsg"]),
        parse: |job, value| {
            let kind = value.word(&[("nvme", Some(CommandType::Nvme)), ("bsg", None)])?;
            job.engine.cmd_type = kind
                .ok_or_else(|| Refusal::FioOnly("bsg is SCSI, and commands are NVMe's".into()))?;
            Ok(())
        },
        print: |job| match job.engine.cmd_type {
            CommandType::Nvme => "nvme".into(),
        },
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        name: "mem",
        aliases: &["iomem"],
        default: "malloc",
        support: Support::Ignored(
            "buffers are in huge pages wherever that is worth it and the kernel grants them",
        ),
        no_effect: &[],
        examples: &["malloc", "shm", "mmap", "mmaphuge"],
        help: "memory type of the buffers (cudamalloc: by fio)",
        kind: || Kind::Words(MEMORY.map(|(word, _)| word).to_vec()),
        parse: |job, value| {
            let huge = value.word(&MEMORY)?;
            job.engine.huge_pages =
                huge.ok_or_else(|| Refusal::FioOnly("buffers are in the host's memory".into()))?;
            Ok(())
        },
        print: |job| if job.engine.huge_pages { "mmaphuge" } else { "malloc" }.into(),
    },
    ignored!(
        "userspace_reap",
        Flag,
        "0",
        ["1"],
        "completions are picked up without a system call wherever they can be",
        "reap libaio completions in user space"
    ),
    ignored!(
        "clocksource",
        Words(&[("gettimeofday", 0), ("clock_gettime", 1), ("cpu", 2)]),
        "",
        ["gettimeofday", "clock_gettime", "cpu"],
        "time is taken from the CPU's counter, checked against the kernel's clock",
        "clock used for time stamps"
    ),
    ignored!(
        "gtod_cpu",
        Count(0, 65_535),
        "",
        ["0"],
        "reading the time costs less than what this would spare",
        "dedicate this CPU to reading the clock"
    ),
];
