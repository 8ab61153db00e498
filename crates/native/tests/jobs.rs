//! Whole jobs given as fio's options, on files laid out for them: writes, verification, syncs,
//! trims and timing.
#![allow(clippy::unwrap_used)] // Helpers of tests, outside of test functions.

use std::ops::ControlFlow;

use iodyno_job::Job;
use iodyno_load::{ClearedJob, Flow, Interval, IoRow, JobReport, LoadGenerator, Observer};
use iodyno_model::{Caveat, Host};
use iodyno_native::NativeGenerator;
use iodyno_target::{FilePlan, Fill, LaidOut, Permission, survey};

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 200;
const ENGINES: [&str; 3] = ["io_uring", "libaio", "psync"];

/// A file laid out for writing, beside the build (where O_DIRECT works).
struct Place {
    _directory: tempfile::TempDir,
    file: LaidOut,
}

impl Place {
    fn new() -> Self {
        let beside = std::env::current_exe().unwrap();
        let directory = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
        let plan = FilePlan {
            path: directory.path().join("place"),
            size_bytes: BLOCKS * BLOCK,
            create: true,
            fill: Fill::Written,
            keeps: false,
            will_write: true,
        };
        let go_on = &mut |_| ControlFlow::Continue(());
        // Files need no facts of the host.
        let (host, permission) = (Host::default(), Permission::default());
        let surveyed = survey(vec![plan], &host, &permission).unwrap().remove(0);
        let file = surveyed.lay_out(&host, &permission, None, go_on).unwrap();
        Self { _directory: directory, file }
    }
}

/// Sums over intervals, by job: counted I/Os, and all.
#[derive(Default)]
struct Sums {
    counted: Vec<u64>,
    all: Vec<u64>,
    active_ns: Vec<u64>,
    longest_ns: u64,
    rows: Vec<IoRow>,
}

impl Observer for Sums {
    fn observe(&mut self, interval: &Interval) -> Flow {
        for sums in [&mut self.counted, &mut self.all, &mut self.active_ns] {
            sums.resize(interval.jobs.len(), 0);
        }
        for (index, job) in interval.jobs.iter().enumerate() {
            self.all[index] += job.ios();
            self.active_ns[index] += job.active_ns;
            self.rows.extend_from_slice(&job.rows);
            if !job.ramping {
                self.counted[index] += job.ios();
            }
        }
        self.longest_ns = self.longest_ns.max(interval.duration_ns);
        Flow::Continue
    }
}

impl Sums {
    /// An interval may end before the control thread learns that the job did.
    fn is_active_while_it_ran(&self, job: usize, report: &JobReport) {
        let beyond_ns = self.active_ns[job].checked_sub(report.account.elapsed_ns);
        assert!(beyond_ns.is_some_and(|ns| ns <= self.longest_ns), "{beyond_ns:?}");
    }
}

/// Runs jobs at the same time, each given as fio's options.
fn run(place: &Place, jobs: &[&str]) -> (Vec<JobReport>, Sums) {
    let jobs: Vec<ClearedJob<'_>> = (0..)
        .zip(jobs)
        .map(|(number, options)| {
            let mut job = Job { name: format!("job{number}"), ..Job::default() };
            for option in format!("bs=4k direct=1 {options}").split_whitespace() {
                let (name, value) = option.split_once('=').unwrap();
                iodyno_job::apply(&mut job, name, value).unwrap();
            }
            job.threads.number = number;
            ClearedJob { job, files: vec![place.file.access()] }
        })
        .collect();
    let mut sums = Sums::default();
    let report = NativeGenerator::new().run(&jobs, &mut sums).unwrap();
    for report in &report.jobs {
        assert_eq!(report.whole.read.errors + report.whole.write.errors, 0, "{report:?}");
    }
    (report.jobs, sums)
}

/// Runs one job that succeeds. Returns its report and the sums of its intervals.
fn run_one(options: &str) -> (JobReport, Sums) {
    let (mut reports, sums) = run(&Place::new(), &[options]);
    let report = reports.remove(0);
    assert_eq!(report.failure, None, "{options}");
    (report, sums)
}

#[test]
fn a_job_by_size_loses_nothing_in_the_drain() {
    for engine in ENGINES {
        for depth in [1, 32] {
            let (report, sums) =
                run_one(&format!("ioengine={engine} iodepth={depth} rw=randwrite loops=3"));
            assert_eq!(report.whole.write.ios, 3 * BLOCKS);
            assert_eq!(report.whole.write.bytes, 3 * BLOCKS * BLOCK);
            assert_eq!((sums.counted[0], sums.all[0]), (3 * BLOCKS, 3 * BLOCKS));
            sums.is_active_while_it_ran(0, &report);
        }
    }
}

#[test]
fn written_blocks_are_verified_once() {
    for engine in ENGINES {
        for backlog in [0, 1, 7, 64, 1000] {
            let (report, _) = run_one(&format!(
                "ioengine={engine} iodepth=8 rw=randwrite verify=crc32c verify_backlog={backlog}"
            ));
            let whole = report.whole;
            assert_eq!((whole.write.ios, whole.read.ios), (BLOCKS, BLOCKS), "{engine} {backlog}");
            assert_eq!((report.account.verified, report.account.mismatches), (BLOCKS, 0));
        }
    }
}

#[test]
fn blocks_that_start_between_multiples_of_their_size_are_verified() {
    for options in [
        "rw=write:512",
        "rw=write:1k loops=2",
        "rw=write:-6k",
        "rw=randwrite blockalign=512 serialize_overlap=1",
        "rw=write zonemode=strided zonesize=16k zonerange=32k zoneskip=10k",
        "rw=randwrite zonemode=strided zonesize=16k zonerange=32k zoneskip=10k",
    ] {
        let options = format!("ioengine=libaio iodepth=4 verify=crc32c {options}");
        let (report, _) = run_one(&options);
        assert!(report.account.verified > 0 && report.account.mismatches == 0, "{options}");
    }
}

#[test]
fn patterns_begin_with_each_block_that_was_written() {
    for pattern in ["%o", "0xdeadbeefcc"] {
        let options =
            format!("rw=write bssplit=4k/50:8k/50 verify=pattern verify_pattern={pattern}");
        let (report, _) = run_one(&options);
        assert!(report.account.verified > 0 && report.account.mismatches == 0, "{options}");
    }
}

#[test]
fn either_of_two_overlapping_writes_may_be_the_last() {
    for engine in ["ioengine=psync io_submit_mode=offload", "ioengine=libaio", "ioengine=io_uring"]
    {
        let options = format!("{engine} iodepth=32 rw=randwrite norandommap=1 size=32k loops=64");
        let (report, _) = run_one(&format!("{options} verify=crc32c"));
        assert!(report.account.verified > 0 && report.account.mismatches == 0, "{options}");
    }
}

#[test]
fn each_loop_is_written_and_verified_once() {
    for options in ["rw=randwrite", "rw=write verify_backlog=64", "rw=write number_ios=100"] {
        let line = format!("ioengine=libaio iodepth=8 loops=3 verify=crc32c {options}");
        let (report, _) = run_one(&line);
        let blocks = if options.contains("number_ios") { 100 } else { BLOCKS };
        let ios = (report.whole.write.ios, report.whole.read.ios);
        assert_eq!(ios, (3 * blocks, 3 * blocks), "{options}");
        assert_eq!(report.account.mismatches, 0);
    }
}

#[test]
fn writing_and_verifying_have_separate_times() {
    let times = |options: &str| {
        let line = format!("ioengine=libaio iodepth=8 verify=crc32c {options}");
        let (report, _) = run_one(&line);
        (report.active_ns, report.account.counted_ns)
    };
    // Half a second, excluding the ramp.
    let (active, counted_ns) = times("rw=randwrite rate_iops=400 ramp_time=300ms");
    let both_ns = active.write.unwrap() + active.read.unwrap();
    assert!(both_ns > 0 && both_ns <= counted_ns + 1_000_000, "{both_ns} {counted_ns}");
    assert_eq!(active.trim, active.write);
    // Its own reads are counted with those that verify, in the time of both.
    let (active, _) = times("rw=randrw");
    assert!(active.read.is_none() && active.write.is_some(), "{active:?}");
}

#[test]
fn block_sizes_by_order_have_buffers() {
    for engine in ENGINES {
        for rw in ["randread", "randread percentage_random=50", "randwrite"] {
            let options = "bs=4k,32k bs_is_seq_rand=1 iodepth=4";
            let (report, _) = run_one(&format!("ioengine={engine} rw={rw} {options}"));
            assert!(report.whole.read.bytes + report.whole.write.bytes > 0, "{engine} {rw}");
        }
    }
}

#[test]
fn syncs_come_between_writes_and_at_the_end() {
    for engine in ENGINES {
        for (options, expected) in [
            ("fsync=8", BLOCKS / 8 - 1),
            ("fdatasync=7", BLOCKS / 7),
            ("fsync=8 rate_iops=100000", BLOCKS / 8 - 1),
            ("fsync=8 serialize_overlap=1", BLOCKS / 8 - 1),
            ("fsync=8 verify=md5 verify_backlog=16", BLOCKS / 8 - 1),
            // fsync covers both where both are due.
            ("fsync=8 fdatasync=20", BLOCKS / 8 - 1 + BLOCKS / 20 - BLOCKS / 40),
            ("end_fsync=1", 0),
            ("fsync=8 end_fsync=1", BLOCKS / 8 - 1),
        ] {
            let (report, _) =
                run_one(&format!("ioengine={engine} iodepth=4 rw=randwrite {options}"));
            assert_eq!(report.account.sync.count(), expected, "{engine} {options}");
            assert_eq!(report.whole.write.ios, BLOCKS, "{engine} {options}");
        }
    }
}

#[test]
fn trimmed_blocks_read_as_zeros() {
    for engine in ENGINES {
        let place = Place::new();
        let trim = format!("ioengine={engine} iodepth=4 rw=randtrim");
        let (reports, _) = run(&place, &[&trim]);
        assert_eq!((reports[0].whole.trim.ios, &reports[0].failure), (BLOCKS, &None));
        assert_eq!(reports[0].account.depth_levels[0], BLOCKS, "{engine}: one at a time");
        let held = std::fs::read(place.file.path()).unwrap();
        assert!(held.iter().all(|byte| *byte == 0), "{engine}");
        assert_eq!(held.len() as u64, BLOCKS * BLOCK, "a hole is no end");
    }
}

#[test]
fn a_paced_job_takes_its_time_and_burns_no_core() {
    for engine in ENGINES {
        for pace in ["rate_iops=200", "thinktime=5ms", "thinktime=5ms gtod_reduce=1"] {
            let (report, _) = run_one(&format!(
                "ioengine={engine} iodepth=8 rw=randread number_ios=50 runtime=60 {pace}"
            ));
            assert_eq!(report.whole.read.ios, 50, "{engine} {pace}");
            let elapsed_ns = report.account.elapsed_ns;
            // 49 times 5 ms, by another clock.
            assert!(elapsed_ns >= 240_000_000, "{engine} {pace}: {elapsed_ns}");
            let cpu = report.account.cpu;
            // Waits end 60 µs early: 1.2 % at 200 IOPS.
            assert!(cpu.user + cpu.system < 0.3, "{engine} {pace}: {cpu:?}");
        }
    }
}

#[test]
fn each_direction_of_a_mix_has_its_rate() {
    let (report, _) = run_one(
        "ioengine=libaio iodepth=4 rw=randrw number_ios=200 runtime=60 rate_iops=150,50 \
         rwmixread=10",
    );
    let (read, write) = (report.whole.read.ios, report.whole.write.ios);
    assert_eq!(read + write, 200);
    // After a stall the mix, with ten times as many writes, decides.
    assert!(read > write, "{read} {write}");
    let seconds = report.account.elapsed_ns as f64 / 1e9;
    assert!(read as f64 <= 150.0 * seconds + 2.0, "{read} in {seconds} s");
    assert!(write as f64 <= 50.0 * seconds + 2.0, "{write} in {seconds} s");
}

#[test]
fn ramp_and_delay_are_not_counted() {
    let place = Place::new();
    let (reports, sums) = run(
        &place,
        &[
            "ioengine=psync rw=randread time_based=1 runtime=300ms ramp_time=200ms",
            "ioengine=psync rw=randread time_based=1 runtime=300ms startdelay=150ms",
        ],
    );
    let account = |job: usize| &reports[job].account;
    assert!(account(0).elapsed_ns >= 500_000_000 && account(1).elapsed_ns >= 300_000_000);
    assert_eq!(account(0).elapsed_ns - account(0).counted_ns, 200_000_000);
    assert!(sums.counted[0] < sums.all[0] && sums.counted[0] > 0);
    assert_eq!(sums.counted[1], sums.all[1]);
    assert!(account(1).started_ns.unwrap() >= account(0).started_ns.unwrap() + 150_000_000);
    for (report, all) in reports.iter().zip(&sums.all) {
        assert_eq!(report.whole.read.ios, *all);
    }
}

#[test]
fn a_job_that_ends_within_its_ramp_says_so() {
    let (report, _) = run_one("ioengine=psync rw=read ramp_time=10");
    let is_told = |of: &Caveat| matches!(of, Caveat::EndedInRamp { ramp_ns: 10_000_000_000, .. });
    assert_eq!(
        (report.account.counted_ns, report.shortfalls.iter().filter(|of| is_told(of)).count()),
        (0, 1)
    );
}

#[test]
fn times_beyond_2_to_the_64_ns_end_nothing() {
    let ages = "18446744073"; // s: nearly 2^64 ns
    let (report, _) =
        run_one(&format!("ioengine=psync rw=read runtime={ages} ramp_time={ages} startdelay=1ms"));
    assert_eq!(report.whole.read.ios, BLOCKS);
}

#[test]
fn a_waiting_job_counts_from_its_own_start() {
    let place = Place::new();
    let (reports, sums) =
        run(&place, &["ioengine=psync rw=write", "ioengine=psync rw=read wait_for=job0"]);
    assert_eq!(sums.counted, [BLOCKS, BLOCKS]);
    let (first, second) = (&reports[0].account, &reports[1].account);
    assert!(second.started_ns.unwrap() >= first.started_ns.unwrap() + first.elapsed_ns as i64);
    sums.is_active_while_it_ran(1, &reports[1]);
}

#[test]
fn fine_logs_make_short_intervals() {
    let (_, sums) = run_one(
        "ioengine=psync rw=randread rate_iops=200 write_bw_log=x log_avg_msec=20 time_based=1 \
         runtime=1",
    );
    let (_, usual) = run_one("ioengine=psync rw=randread rate_iops=200 time_based=1 runtime=500ms");
    assert!(usual.longest_ns >= 100_000_000);
    assert!(sums.active_ns[0] >= 1_000_000_000);
}

#[test]
fn without_time_stamps_nothing_is_stalled() {
    let (report, _) =
        run_one("ioengine=io_uring iodepth=8 rw=randread gtod_reduce=1 time_based=1 runtime=300ms");
    assert!(report.whole.read.ios > 0);
}

#[test]
fn a_job_below_its_minimum_rate_ends() {
    let place = Place::new();
    let (reports, _) = run(
        &place,
        &[
            "ioengine=psync rw=randread time_based=1 runtime=20 rate_iops=50 rate_iops_min=1",
            "ioengine=psync rw=randread time_based=1 runtime=20 rate_iops=50 rate_min=100m exitall=1",
        ],
    );
    let failure = reports[1].failure.as_ref().unwrap();
    assert!(failure.contains("rate_min=104857600 was not met"), "{failure}");
    assert_eq!(reports[0].failure, None);
    assert!(reports[1].account.elapsed_ns < 20_000_000_000);
}

#[test]
fn a_job_whose_io_takes_too_long_ends_as_fios_does() {
    let place = Place::new();
    let (reports, _) = run(&place, &["ioengine=psync rw=randread max_latency=1"]);
    let report = &reports[0];
    assert_eq!((report.account.error, report.whole.read.ios), (110, 1), "ETIMEDOUT");
    assert!(report.failure.as_ref().unwrap().contains("longer than max_latency"));
}

#[test]
fn max_latency_and_logs_imply_time_stamps() {
    let (report, sums) =
        run_one("ioengine=psync rw=randread gtod_reduce=1 max_latency=1h write_lat_log=x");
    assert_eq!((report.whole.read.ios, sums.rows.len() as u64), (BLOCKS, BLOCKS));
    let elapsed_ns = report.account.elapsed_ns;
    assert!(sums.rows.iter().all(|row| row.latency_ns <= elapsed_ns), "{:?}", sums.rows);
}

#[test]
fn buffered_libaio_submits_one_by_one() {
    let calls = |options: &str| {
        let (report, _) = run_one(&format!("rw=randread ioengine=libaio iodepth=8 {options}"));
        report.account.submit_levels[1]
    };
    assert_eq!(calls("direct=0"), BLOCKS, "each block by a call of its own");
    assert!(calls("direct=1") < BLOCKS);
    assert!(calls("direct=0 iodepth_batch=8") < BLOCKS, "unless it is asked for");
}

#[test]
fn split_latencies_exist_where_requested() {
    for (options, apart) in [
        ("ioengine=libaio slat_percentiles=1", true),
        ("ioengine=io_uring write_lat_log=log", true),
        ("ioengine=io_uring write_lat_log=log disable_slat=1", false),
        ("ioengine=io_uring", false),
        // It has no separate submission.
        ("ioengine=psync slat_percentiles=1", false),
    ] {
        let (report, sums) = run_one(&format!("{options} rw=randread iodepth=4"));
        let split = report.split.read.as_ref();
        assert_eq!(
            split.map(|split| split.submission.count()),
            apart.then_some(BLOCKS),
            "{options}"
        );
        assert!(sums.rows.iter().all(|row| row.split_ns.is_some() == apart), "{options}");
    }
}

#[test]
fn jobs_of_a_flow_share_it_by_their_weights() {
    let place = Place::new();
    let common = "rw=randread norandommap=1 io_size=40m number_ios=9000 ioengine=psync";
    let jobs = [1, 3].map(|flow| format!("{common} flow={flow} exitall=1"));
    let (reports, _) = run(&place, &[&jobs[0], &jobs[1]]);
    let [one, three] = [&reports[0], &reports[1]].map(|report| report.whole.read.ios);
    assert_eq!(three, 9_000, "who has more of it is done first, and ends the other");
    // Until the other job notices the end.
    assert!((2_990..=4_000).contains(&one), "{one}");
}

#[test]
fn verify_only_of_a_mix_reads_the_writes() {
    let place = Place::new();
    for rw in ["randrw", "rw"] {
        let job =
            format!("rw={rw} verify=crc32c ioengine=libaio iodepth=8 verify_write_sequence=0");
        let (written, _) = run(&place, &[&format!("{job} do_verify=0")]);
        let writes = written[0].whole.write.ios;
        let (verified, _) = run(&place, &[&format!("{job} verify_only=1")]);
        let (whole, account) = (&verified[0].whole, &verified[0].account);
        assert!(writes > 0 && writes < BLOCKS, "{writes}");
        assert_eq!((whole.read.ios, whole.write.ios), (writes, 0), "{rw}");
        assert_eq!((account.verified, account.mismatches), (writes, 0), "{rw}");
    }
}

#[test]
fn writes_are_trimmed_and_verified_as_zeros() {
    for engine in ENGINES {
        let job = format!("ioengine={engine} iodepth=8 rw=randwrite verify=crc32c");
        // As many as in fio.
        for (options, trims, reads) in [
            ("trim_percentage=100 trim_backlog=16", BLOCKS - 8, BLOCKS),
            ("trim_percentage=100 trim_backlog=16 trim_verify_zero=0", BLOCKS - 8, 8),
            ("trim_percentage=100 trim_backlog=20 trim_backlog_batch=5", 10 * 5, BLOCKS),
            ("trim_percentage=100 trim_backlog=16 verify_backlog=50", BLOCKS - 8, BLOCKS),
            ("trim_percentage=100 trim_backlog=16 do_verify=0", BLOCKS - 8, 0),
            ("trim_percentage=100", 0, BLOCKS),
            ("trim_backlog=16", 0, BLOCKS),
        ] {
            let (report, _) = run_one(&format!("{job} {options}"));
            let whole = &report.whole;
            assert_eq!((whole.write.ios, whole.trim.ios), (BLOCKS, trims), "{engine} {options}");
            assert_eq!(
                (whole.read.ios, report.account.mismatches),
                (reads, 0),
                "{engine} {options}"
            );
        }
        let (report, _) = run_one(&format!("{job} trim_percentage=30 trim_backlog=1"));
        let trims = report.whole.trim.ios;
        assert!((30..=90).contains(&trims), "{trims} of {BLOCKS}");
    }
}

#[test]
fn a_pattern_restarts_within_blocks() {
    for (engine, depth) in [("libaio", 8), ("psync", 1)] {
        for every in [10, 129, 512, 4089] {
            let place = Place::new();
            let job = format!("ioengine={engine} iodepth={depth} rw=randwrite offset=1k size=100k");
            let verify = format!("verify_pattern=1%o verify_pattern_interval={every}");
            let (reports, _) = run(&place, &[&format!("{job} verify=pattern {verify}")]);
            let (report, account) = (&reports[0], &reports[0].account);
            assert_eq!((&report.failure, account.verified), (&None, 25), "{every}");
            // Each piece of each block holds its offset, as in fio.
            let held = std::fs::read(place.file.path()).unwrap();
            for (n, block) in held[1024..][..25 * BLOCK as usize].chunks(BLOCK as usize).enumerate()
            {
                for (m, piece) in block.chunks(every).enumerate() {
                    let offset = 1024 + n as u64 * BLOCK + (m * every) as u64;
                    let period = [&[1][..], &offset.to_le_bytes()].concat();
                    let expected = period.iter().cycle().take(piece.len());
                    assert!(piece.iter().eq(expected), "{every}: block {n}, piece {m}");
                }
            }
            let (reports, _) = run(&place, &[&format!("{job} verify=pattern_hdr {verify}")]);
            let account = &reports[0].account;
            assert_eq!((account.verified, account.mismatches), (25, 0), "{every}");
        }
    }
}
