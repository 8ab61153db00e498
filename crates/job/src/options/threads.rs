//! Options of jobs, threads and CPUs.

use super::codecs::{Count, Flag, List, Optional, Size, Text, Words, print_time};
use super::{Kind, OptionSpec, ignored, off, row};
use crate::value::{TimeUnit, parse_list, parse_signed, parse_time};
use crate::{CpuPolicy, ExitWhat, MemoryPolicy};

const EXIT_WHAT: &[(&str, ExitWhat)] =
    &[("group", ExitWhat::Group), ("stonewall", ExitWhat::Stonewall), ("all", ExitWhat::All)];

pub(super) static ROWS: &[OptionSpec] = &[
    row!("numjobs", threads.numjobs, Count(1, 4096), "1", ["16"], "number of clones of the job"),
    off!("thread", threads.thread, Flag, "use threads instead of processes; iodyno always does"),
    off!("group_reporting", threads.group_reporting, Flag, "report the jobs of a group as one"),
    off!("new_group", threads.new_group, Flag, "start a new reporting group"),
    off!(
        "stonewall" | "wait_for_previous",
        threads.stonewall,
        Flag,
        "start when all previous jobs are done"
    ),
    row!(
        "wait_for",
        threads.wait_for,
        Optional(Text),
        "",
        ["writers"],
        "start when the job of this name is done"
    ),
    OptionSpec {
        name: "startdelay",
        default: "0",
        examples: &["10", "500ms", "1-3"],
        help: "delay the start by this time, or by a random time from a range",
        kind: || Kind::Time(TimeUnit::Seconds),
        parse: |job, value| {
            let (low, high) =
                value.text.split_once(['-', ',', ':']).unwrap_or((value.text, value.text));
            let (low, high) =
                (parse_time(low, TimeUnit::Seconds)?, parse_time(high, TimeUnit::Seconds)?);
            job.threads.startdelay_ns = (low.min(high), low.max(high));
            Ok(())
        },
        print: |job| {
            let (low, high) = job.threads.startdelay_ns;
            let (first, last) = (print_time(low), print_time(high));
            if low == high { first } else { format!("{first}-{last}") }
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "exec_prerun",
        threads.exec_prerun,
        Optional(Text),
        "",
        ["true"],
        "command to run before the job; requires --allow-exec"
    ),
    row!(
        "exec_postrun",
        threads.exec_postrun,
        Optional(Text),
        "",
        ["true"],
        "command to run after the job; requires --allow-exec"
    ),
    off!("exitall", threads.exitall, Flag, "end other jobs when this one ends"),
    row!(
        "exit_what",
        threads.exit_what,
        Words(EXIT_WHAT),
        "group",
        ["stonewall", "all"],
        "jobs that exitall ends"
    ),
    off!(
        "exitall_on_error",
        threads.exitall_on_error,
        Flag,
        "end all other jobs if this one fails"
    ),
    row!("cpus_allowed", threads.cpus_allowed, List, "", ["0-3,8", "1"], "CPUs of the job"),
    OptionSpec {
        name: "cpumask",
        examples: &["0x3"],
        help: "CPUs of the job as a bit mask",
        kind: || Kind::Number,
        parse: |job, value| {
            let mask = value.number_within(1, u32::MAX.into())?;
            job.threads.cpus_allowed = (0..32).filter(|cpu| mask & (1 << cpu) != 0).collect();
            Ok(())
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "cpus_allowed_policy",
        threads.cpus_allowed_policy,
        Words(&[("shared", CpuPolicy::Shared), ("split", CpuPolicy::Split)]),
        "shared",
        ["split"],
        "whether jobs and clones share these CPUs or get one each"
    ),
    row!(
        "numa_cpu_nodes",
        threads.numa_cpu_nodes,
        List,
        "",
        ["0-1"],
        "NUMA nodes of the job's CPUs"
    ),
    OptionSpec {
        name: "numa_mem_policy",
        default: "default",
        examples: &["local", "prefer:1", "bind:0,1", "interleave:0-1"],
        help: "NUMA nodes of the buffers",
        kind: || Kind::Words(vec!["default", "local", "prefer", "bind", "interleave"]),
        parse: |job, value| {
            let (word, nodes) = value.text.split_once(':').unwrap_or((value.text, ""));
            let list = parse_list(nodes)?;
            job.threads.numa_mem_policy = match (word, list.as_slice()) {
                ("default", []) => MemoryPolicy::Default,
                ("local", []) => MemoryPolicy::Local,
                ("prefer", [node]) => MemoryPolicy::Prefer(*node),
                ("bind", [_, ..]) => MemoryPolicy::Bind(list),
                ("interleave", [_, ..]) => MemoryPolicy::Interleave(list),
                _ => {
                    let expected = "default, local, prefer:NODE, bind:NODES or interleave:NODES";
                    return Err(format!("expected {expected}").into());
                }
            };
            Ok(())
        },
        print: |job| {
            let nodes =
                |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            match &job.threads.numa_mem_policy {
                MemoryPolicy::Default => "default".into(),
                MemoryPolicy::Local => "local".into(),
                MemoryPolicy::Prefer(node) => format!("prefer:{node}"),
                MemoryPolicy::Bind(list) => format!("bind:{}", nodes(list)),
                MemoryPolicy::Interleave(list) => format!("interleave:{}", nodes(list)),
            }
        },
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        name: "nice",
        default: "0",
        examples: &["-5", "10"],
        help: "nice value of the job's threads, -20 to 19",
        kind: || Kind::Number,
        parse: |job, value| {
            let nice =
                parse_signed(value.text, value.units).ok().filter(|n| (-20..=19).contains(n));
            job.threads.nice = nice.ok_or("expected a number from -20 to 19")? as i32;
            Ok(())
        },
        print: |job| job.threads.nice.to_string(),
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        name: "prioclass",
        examples: &["1", "2", "3"],
        help: "I/O priority: 1 real time, 2 best effort, 3 idle",
        kind: || Kind::Number,
        parse: |job, value| {
            let class = value.number_within(0, 3)? as u8;
            job.threads.priority.class = (class > 0).then_some(class);
            Ok(())
        },
        print: |job| job.threads.priority.class.map_or(String::new(), |class| class.to_string()),
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        name: "prio",
        examples: &["0", "7"],
        help: "I/O priority in its class, 0 (highest) to 7",
        kind: || Kind::Number,
        parse: |job, value| {
            job.threads.priority.level = Some(value.number_within(0, 7)? as u8);
            Ok(())
        },
        print: |job| job.threads.priority.level.map_or(String::new(), |level| level.to_string()),
        ..OptionSpec::DEFAULT
    },
    row!(
        "lockmem",
        threads.lockmem_bytes,
        Size(0, u64::MAX),
        "0",
        ["1g"],
        "pin this much memory to shrink the page cache; 128 MiB stay free"
    ),
    ignored!(
        "comm",
        Text,
        "",
        ["reader"],
        "a name in the list of processes changes no I/O",
        "name of the job's process"
    ),
    ignored!(
        "threads",
        Text,
        "",
        ["1"],
        "it is of fio's profile tiobench and changes no job; it is no `thread`",
        "threads of fio's profile tiobench"
    ),
];
