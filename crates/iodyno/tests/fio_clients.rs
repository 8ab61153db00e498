//! Tests calls of programs that use fio: each command line as the client issues it, with reduced
//! sizes and times, and the fields that the client reads.

use std::fs;
use std::process::Command;

use crate::common::{World, json, text};
use serde_json::Value;

/// A client's call.
struct Call {
    client: &'static str,
    /// Job file of this name and text, written before.
    file: Option<(&'static str, &'static str)>,
    line: &'static str,
    /// The client's use of the output.
    reads: fn(&str),
}

const KUBESTR: &str = "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ngtod_reduce=1\n\
    [job1]\nname=read_iops\nbs=4K\niodepth=64\nsize=1M\nreadwrite=randread\ntime_based\nramp_time=0s\nruntime=1s\n\
    [job2]\nname=write_iops\nbs=4K\niodepth=64\nsize=1M\nreadwrite=randwrite\ntime_based\nramp_time=0s\nruntime=1s\n";
const KBENCH: &str = "[rand-write-lat]\nreadwrite=randwrite\ninclude kbench-include.fio\n\
    [seq-read-lat]\nreadwrite=read\ninclude kbench-include.fio\n";
const KBENCH_INCLUDE: &str = "bs=4k\niodepth=4\nstonewall=1\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ntime_based=1\nramp_time=0s\nruntime=1s\n";
const PHORONIX: &str = "[global]\nrw=randwrite\nioengine=io_uring\niodepth=64\nsize=1m\ndirect=0\nbuffered=1\n\
    startdelay=0\nforce_async=4\nramp_time=0\nruntime=2\ngroup_reporting=1\nnumjobs=2\ntime_based\ndisk_util=0\n\
    clat_percentiles=0\ndisable_lat=1\ndisable_clat=1\ndisable_slat=1\nfilename=dataset/fiofile\n\
    [test]\nname=test\nbs=4k\nstonewall\n";
// `%%`: configparser requires the sign to be doubled.
const BENCH_FIO: &str = "[FIOJOB]\nioengine=libaio\ndirect=1\nloops=1\nbs=4k\niodepth=2\nnumjobs=1\nrw=randread\n\
    size=1m\nruntime=1\ntime_based=1\ninvalidate=1\nlog_avg_msec=250\ngroup_reporting=1\ndirectory=dataset\n\
    steadystate=iops:0.1%%\nss_dur=2\nwrite_bw_log=log\nwrite_lat_log=log\nwrite_iops_log=log\n";
const PUNCH: &str = "[global]\ndirectory=dataset\nfilesize=1m\nsize=999G\ncontinue_on_error=write\nignore_error=,ENOSPC\n\
    error_dump=0\ncreate_on_open=1\nfallocate=none\nexitall=1\n\
    [raicer]\nioengine=libaio\niodepth=128*1\nbs=128k\ndirect=1\nnumjobs=2\nrw=randwrite\nruntime=1*1\ntime_based\nfilename=racer\n\
    [falloc]\nioengine=falloc\nruntime=1*1\niodepth=1\nbssplit=128k/80:512k/10:32k/10\nrw=randwrite\nfilename=racer\n\
    [punch]\nioengine=falloc\nruntime=1*1\nbs=4k\ntime_based=10\nrw=randtrim\nnumjobs=2\nfilename=racer\n\
    [verifier]\nioengine=libaio\niodepth=128*1\nverify=crc32c-intel\nverify_fatal=1\nverify_dump=1\nverify_backlog=1024\n\
    verify_async=4\nverifysort=1\ndirect=1\nbs=4k\nrw=randwrite\nfilename=verifier\n";

const CALLS: &[Call] = &[
    Call {
        client: "kubestr",
        file: Some(("kubestr", KUBESTR)),
        line: "--directory dataset kubestr --output-format=json",
        reads: |out| {
            let document = json(out.as_bytes());
            assert_eq!(document["global options"]["gtod_reduce"], "1");
            for (job, name, side) in [(0, "read_iops", "read"), (1, "write_iops", "write")] {
                let job = &document["jobs"][job];
                assert_eq!(
                    (&job["jobname"], &job["job options"]["name"]),
                    (&name.into(), &name.into())
                );
                let side = &job[side];
                for figure in ["iops", "bw", "bw_mean", "iops_mean"] {
                    assert!(side[figure].as_f64().unwrap() > 0.0, "{figure}: {side}");
                }
            }
        },
    },
    Call {
        client: "dbench",
        file: None,
        line: "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=rw_mix \
               --filename=dataset/fiotest --bs=4k --iodepth=64 --size=1M --readwrite=randrw \
               --rwmixread=75 --time_based --ramp_time=0s --runtime=1s",
        reads: |out| {
            for (side, of_all) in
                [("  read: IOPS=", "   READ: bw="), (" write: IOPS=", "  WRITE: bw=")]
            {
                assert!(out.contains(side) && out.contains(of_all), "{side}: {out}");
            }
        },
    },
    Call {
        client: "dbench: latency",
        file: None,
        line: "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=read_latency \
               --filename=dataset/fiotest --bs=4K --iodepth=4 --size=1M --readwrite=randread \
               --time_based --ramp_time=0s --runtime=1s",
        reads: |out| assert!(out.contains("\n     lat (") && out.contains(", avg="), "{out}"),
    },
    Call {
        client: "kbench",
        file: Some(("kbench.fio", KBENCH)),
        line: "kbench.fio --idle-prof=percpu --filename=dataset/kbench --size=1m --output-format=json \
               --output=./temp --rate_iops=3000",
        reads: |_| {},
    },
    Call {
        client: "Phoronix",
        file: Some(("test.fio", PHORONIX)),
        line: "test.fio",
        reads: |out| {
            // The bandwidth line, followed by the IOPS line.
            let lines: Vec<&str> = out.lines().collect();
            let at = lines.iter().position(|line| line.starts_with("   bw (")).unwrap();
            for (line, begins) in [(lines[at], "   bw ("), (lines[at + 1], "   iops        : min=")]
            {
                let average = line.split_once(", avg=").unwrap().1.split(',').next().unwrap();
                assert!(
                    line.starts_with(begins) && average.parse::<f64>().unwrap() > 0.0,
                    "{line}"
                );
            }
        },
    },
    Call {
        client: "bench-fio",
        file: Some(("bench.fio", BENCH_FIO)),
        line: "--output-format=json --output=randread-2-1.json bench.fio",
        reads: |_| {},
    },
    Call {
        client: "blktests: _have_fio",
        file: None,
        line: "--parse-only --terse-version=4",
        reads: |out| assert_eq!(out, ""),
    },
    // It looks for the word: zoned devices are not supported.
    Call {
        client: "blktests: _have_fio_zbd_zonemode",
        file: None,
        line: "--cmdhelp=zonemode",
        reads: |out| assert!(out.contains("strided") && !out.contains("zbd"), "{out}"),
    },
    Call {
        client: "blktests: _have_fio_ver",
        file: None,
        line: "--version",
        reads: |out| assert_eq!(out.trim_end().strip_prefix("fio-"), Some("3.42")),
    },
    Call {
        client: "blktests: _run_fio_rand_io",
        file: None,
        line: "--output=fio_perf --output-format=terse --terse-version=4 --group_reporting=1 --runtime=1 \
               --bs=4k --rw=randread --norandommap --numjobs=2 --name=reads --direct=1 --size=1m \
               --directory=dataset",
        reads: |_| {},
    },
    Call {
        client: "blktests: _run_fio_verify_io",
        file: None,
        line: "--output=verified --output-format=terse --terse-version=4 --group_reporting=1 --name=verify \
               --rw=randwrite --direct=1 --ioengine=libaio --bs=4k --iodepth=16 --verify=crc32c \
               --size=1m --directory=dataset",
        reads: |out| assert_eq!(out, ""),
    },
    Call {
        client: "xfstests: _require_fio",
        file: Some(("punch.fio", PUNCH)),
        line: "--warnings-fatal --showcmd punch.fio",
        reads: |out| {
            assert!(out.contains("--ioengine=falloc") && out.contains("--rw=randtrim"), "{out}")
        },
    },
    Call {
        client: "xfstests: generic/300",
        file: Some(("punch.fio", PUNCH)),
        line: "punch.fio --ignore_error=,EIO --output=punched",
        reads: |out| assert_eq!(out, ""),
    },
];

#[test]
fn clients_of_fio_get_what_they_ask_for() {
    let world = World::new();
    let link = world.directory("bin").join("fio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iodyno"), &link).unwrap();
    let work = world.directory("work");
    fs::create_dir(work.join("dataset")).unwrap();
    fs::write(work.join("kbench-include.fio"), KBENCH_INCLUDE).unwrap();
    for Call { client, file, line, reads } in CALLS {
        if let Some((name, contents)) = file {
            fs::write(work.join(name), contents).unwrap();
        }
        let mut command = world.with_environment(Command::new(&link));
        let output = command.current_dir(&work).args(line.split_whitespace()).output().unwrap();
        // Clients take any text on standard error for a failure.
        let said = (output.status.code(), text(&output.stderr));
        assert_eq!(said, (Some(0), String::new()), "{client}: {line}");
        reads(&text(&output.stdout));
    }
    let read = |name: &str| fs::read_to_string(work.join(name)).unwrap();
    let document = |name: &str| -> Value { json(read(name).as_bytes()) };

    let kbench = document("temp");
    assert!(kbench["cpu_idleness"]["system"].as_f64().is_some());
    assert!(kbench["jobs"][0]["write"]["lat_ns"]["mean"].as_f64().unwrap() > 0.0);
    assert!(kbench["jobs"][1]["read"]["clat_ns"]["percentile"]["99.000000"].as_u64().unwrap() > 0);

    let bench = document("randread-2-1.json");
    let job = &bench["jobs"][0];
    assert_eq!(job["job options"]["iodepth"], "2");
    assert!(job["steadystate"]["data"]["iops"].is_array(), "{}", job["steadystate"]);
    for log in
        ["log_bw.1.log", "log_iops.1.log", "log_lat.1.log", "log_clat.1.log", "log_slat.1.log"]
    {
        assert!(read(log).lines().count() > 1, "{log}");
    }

    // One line, with the fields that blktests cuts out.
    let terse = read("fio_perf");
    let fields: Vec<&str> = terse.trim_end().split(';').collect();
    let number = |field: usize| fields[field - 1].trim_end_matches('%').parse::<f64>().unwrap();
    assert_eq!(terse.lines().count(), 1, "{terse}");
    assert!(number(6) > 0.0 && number(8) > 0.0 && number(131) >= 0.0, "{terse}");
    assert_eq!(number(134), 100.0, "depth 1: {terse}");
}
