//! Figures whose unit depends on fio's version or an option: `kb_base`, bins of JSON+.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

use iodyno_fio::read::{Imported, text};
use iodyno_model::{Direction, DirectionResult, LatencyKind, Measurement};

fn only(found: &Imported) -> &Measurement {
    let [one] = &found.measurements[..] else { panic!("{found:#?}") };
    one
}

fn read(of: &Measurement) -> &DirectionResult {
    of.result(Direction::Read).unwrap()
}

/// fio's JSON has options as written.
#[test]
fn sizes_in_json_are_those_of_its_kb_base() {
    for options in [["--kb_base=1000", "--name=a"], ["--name=a", "--kb_base=1000"]] {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new("fio")
            .current_dir(&folder)
            .args(["--filename=data", "--rw=read", "--output-format=json"])
            .args(options)
            .args(["--bs=4k", "--size=400k"])
            .output()
            .expect("these tests need fio: make deps");
        let found = text("", &String::from_utf8(output.stdout).unwrap());
        let one = only(&found);
        assert_eq!((one.workload.bs, one.workload.size), (Some(4000), Some(400_000)));
        assert_eq!((read(one).bytes, read(one).ios), (Some(400_000), Some(100)));
    }
}

/// fio 2.6's text: `KB` is `kb_base` bytes, which no line of the job states (stat.c: `num2str(…,
/// i2p, …)`).
fn text_of_2_6(base: u64, bs: &str) -> String {
    const IOS: u64 = 262_144;
    const MS: u64 = 4000;
    let bytes = IOS * 4000;
    let old = |bytes: u64| format!("{}KB", bytes / base);
    let (io, bw) = (old(bytes), old(bytes * 1000 / MS));
    format!(
        "a: (g=0): rw=read, bs={bs}, ioengine=libaio, iodepth=4\n\
         fio-2.6\nStarting 1 process\n\n\
         a: (groupid=0, jobs=1): err= 0: pid=7: Sat Nov 21 14:43:13 2026\n  \
         read : io={io}, bw={bw}/s, iops=65536, runt=  {MS}msec\n    \
         clat (usec): min=2, max=500, avg=14.07, stdev= 9.02\n  \
         cpu          : usr=7.83%, sys=32.08%, ctx=161411, majf=0, minf=11\n  \
         IO depths    : 1=0.1%, 2=0.1%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%\n     \
         issued    : total=r={IOS}/w=0/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n\n\
         Run status group 0 (all jobs):\n   \
         READ: io={io}, aggrb={bw}/s, minb={bw}/s, maxb={bw}/s, mint={MS}msec, maxt={MS}msec\n"
    )
}

#[test]
fn kb_in_text_of_2_6_is_what_was_issued() {
    let bytes = 262_144 * 4000;
    let blocks = "4000-4000/4000-4000/4000-4000";
    for base in [1000, 1024] {
        let found = text("", &text_of_2_6(base, blocks));
        let one = only(&found);
        assert_eq!(read(one).bytes, Some(bytes), "{base}");
        let rate = read(one).bandwidth.unwrap().value;
        assert!((rate - 262_144_000.0).abs() < 1.0, "{base}: {rate}");
    }
    // Several block sizes: the command has the unit.
    let mixed = "4000-8000/4000-8000/4000-8000";
    let command = "$ fio --name=a --kb_base=1000 --bsrange=4k-8k --rw=read\n";
    let whole = format!("{command}{}", text_of_2_6(1000, mixed));
    // Its block is cut off except for the group's.
    let group = format!("{command}{}", &whole[whole.find("Run status").unwrap()..]);
    for said in [&whole, &group] {
        let found = text("", said);
        let off = read(only(&found)).bytes.unwrap().abs_diff(bytes);
        assert!(off < 1000, "{off}");
    }
}

/// JSON+ of fio 2: a direction with these bins and a mean of 4 ms.
fn json_plus(version: &str, bins: &str) -> String {
    format!(
        r#"{{ "fio version" : "{version}", "jobs" : [ {{ "jobname" : "a", "groupid" : 0,
        "error" : 0, "read" : {{ "io_bytes" : 409600, "io_kbytes" : 400, "bw" : 4000,
        "iops" : 1000.0, "runtime" : 100, "total_ios" : 100, "clat" : {{ "min" : 100,
        "max" : 9000, "mean" : 4000.0, "stddev" : 100.0, "percentile" : {{
        "50.000000" : 4016 }}, "bins" : {{ {bins} }} }} }} }} ] }}"#
    )
}

/// fio's commit 129e4193, in 2.20 and 2.21: the middle of a bin instead of its number.
#[test]
fn bins_of_json_plus_are_values_since_2_20() {
    let constants =
        r#""FIO_IO_U_PLAT_BITS" : 6, "FIO_IO_U_PLAT_VAL" : 64, "FIO_IO_U_PLAT_NR" : 1216"#;
    // 4016 us is the middle of bin 445, 104 us that of bin 104.
    let numbered = format!(r#""104" : 10, "445" : 90, {constants}"#);
    let valued = r#""104" : 10, "4016" : 90"#.to_owned();
    for (version, bins) in [
        ("fio-2.3", &numbered),
        ("fio-2.19", &numbered),
        ("fio-2.20", &valued),
        ("fio-2.21", &valued),
        ("fio-2.20-12-g18e7", &valued),
    ] {
        let found = text("", &json_plus(version, bins));
        let bins = read(only(&found)).bins(LatencyKind::Completion).unwrap();
        let (p5, p50) = (bins.quantile_ns(0.05).unwrap(), bins.quantile_ns(0.5).unwrap());
        assert!((103_000..106_000).contains(&p5), "{version}: {p5}");
        assert!((4_000_000..4_032_000).contains(&p50), "{version}: {p50}");
    }
}
