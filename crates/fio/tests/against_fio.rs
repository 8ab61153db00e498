//! Compares iodyno's output with fio's for the same run: reads the real fio's JSON+, writes it
//! again, and compares with what fio printed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::LazyLock;

use common::{fio, members, near, parts, report};
use iodyno_fio::out::{Reporting, json, json_plus, normal, terse};
use iodyno_fio::read::documents;
use iodyno_job::{Percentiles, Unified};

/// Every latency with its bins, so that nothing is lost.
const PERCENTILES: &str = "lat_percentiles=1\nclat_percentiles=1\nslat_percentiles=1\n";

fn cases() -> Vec<(&'static str, String, Reporting)> {
    let global = format!("[global]\nfilename=data\nsize=4m\n{PERCENTILES}");
    let null = format!("[global]\nioengine=null\nsize=8m\n{PERCENTILES}");
    let all = Percentiles { slat: true, clat: true, lat: true, list: Vec::new(), decimals: 2 };
    let usual = Reporting { percentiles: all, ..Reporting::default() };
    vec![
        (
            "clones, groups and syncs",
            format!(
                "{global}[mix]\nrw=randrw\nioengine=libaio\ndirect=1\niodepth=4\nnumjobs=2\n\
                 [apart]\nstonewall\nrw=write\nbs=8k\nfsync=16\n\
                 [together]\nstonewall\nrw=randread\nnumjobs=3\ngroup_reporting\nbs=16k\n"
            ),
            usual.clone(),
        ),
        (
            "trims, and directions of different lengths",
            format!("{null}[trim]\nrw=randtrim\n[trimwrite]\nstonewall\nrw=trimwrite\nbs=64k\n"),
            usual.clone(),
        ),
        (
            "directions together",
            format!("{null}[a]\nrw=randrw\nunified_rw_reporting=mixed\n"),
            Reporting { unified: Unified::Mixed, ..usual.clone() },
        ),
        (
            "directions apart and together",
            format!("{null}[a]\nrw=randrw\nunified_rw_reporting=both\n"),
            Reporting { unified: Unified::Both, ..usual.clone() },
        ),
        (
            "a list of percentiles, a description, errors",
            format!(
                "{null}[a]\nrw=read\npercentile_list=50:90:99.9999\ndescription=what it is\n\
                 continue_on_error=all\n"
            ),
            Reporting {
                percentiles: Percentiles {
                    list: vec![99.9999, 50.0, 90.0],
                    decimals: 4,
                    ..usual.percentiles.clone()
                },
                description: Some("what it is".into()),
                continue_on_error: true,
                ..usual.clone()
            },
        ),
        (
            "thousands and bits",
            format!("{null}[a]\nrw=read\nkb_base=1000\nunit_base=1\n"),
            Reporting { kb_base: 1000, bits: true, ..usual },
        ),
    ]
}

/// Runs each case with fio's output for it.
static OUTPUTS: LazyLock<Vec<(&str, String, Reporting)>> = LazyLock::new(|| {
    let run = |(title, job, reporting): (&'static str, String, Reporting)| {
        let directory = tempfile::tempdir().unwrap();
        (title, fio(directory.path(), &job), reporting)
    };
    cases().into_iter().map(run).collect()
});

/// Members that fio 3.42 has and earlier versions lack.
const NEWER: [&str; 7] = [
    "job_start",
    "read_sectors",
    "write_sectors",
    "aggr_read_sectors",
    "aggr_write_sectors",
    "latency_target_ns",
    "latency_window_us",
];

#[test]
fn json_has_fios_members_in_fios_order_with_fios_values() {
    for (title, output, reporting) in OUTPUTS.iter() {
        let (_, fios, _) = parts(output);
        let document = documents(output).unwrap().remove(0);
        let ours = json_plus(&report(output, &document, reporting));
        let (ours, about) = ours.split_once("  \"iodyno\" : ").unwrap();
        assert!(about.contains("\"version\" : \"0.0.0\""), "{about}");
        let (ours, fios) = (members(ours), members(fios));
        // Options are sorted by name when read back.
        let (mut ours, mut fios) = (ours, fios);
        sort_options(&mut ours);
        sort_options(&mut fios);
        let newer = |member: &&(usize, &str, &str)| !NEWER.contains(&member.1);
        let ours: Vec<_> = ours.iter().filter(newer).collect();
        let fios: Vec<_> = fios.iter().filter(newer).collect();
        let mut block = "";
        for (ours, fios) in ours.iter().zip(&fios) {
            assert_eq!((ours.0, ours.1), (fios.0, fios.1), "{title}");
            if fios.2 == "{" {
                block = fios.1;
            }
            let (relative, absolute) = match (block, ours.1) {
                // Not in fio's JSON, or only known to fio.
                ("iodepth_submit" | "iodepth_complete", _) => continue,
                (_, "fio version" | "eta" | "elapsed") => continue,
                (_, name) if name.starts_with("bw_") && name != "bw_bytes" => continue,
                (_, name) if name.starts_with("iops_") => continue,
                // From percentages, and from bins.
                ("iodepth_level", _) => (SYNCED, 0.1),
                ("latency_ns" | "latency_us" | "latency_ms", _) => (0.0, 10.0),
                (_, "util" | "stddev") => (1e-3, 0.0),
                _ => (1e-6, 0.0),
            };
            assert!(near(ours.2, fios.2, relative, absolute), "{title}: {block} {ours:?} {fios:?}");
            assert_eq!(ours.2.contains('.'), fios.2.contains('.'), "{title}: {ours:?} {fios:?}");
        }
        assert_eq!(ours.len(), fios.len(), "{title}");
    }
}

/// fio's depth shares count an fsync as an I/O, but their total does not: with one per 16 I/Os they
/// add up to 106 %. Iodyno's add up to 100 %.
const SYNCED: f64 = 0.07;

fn sort_options(members: &mut [(usize, &str, &str)]) {
    for start in 1..members.len() {
        if members[start - 1].1.ends_with("options") {
            let depth = members[start].0;
            let rest = members[start..].iter();
            let end = start + rest.take_while(|member| member.0 == depth).count();
            members[start..end].sort_unstable();
        }
    }
}

#[test]
fn terse_has_fios_fields() {
    for (title, output, reporting) in OUTPUTS.iter() {
        let (fios, ..) = parts(output);
        let document = documents(output).unwrap().remove(0);
        let ours = terse(&report(output, &document, reporting), 5);
        assert_eq!(ours.lines().count(), fios.len());
        for (ours, fios) in ours.lines().zip(fios) {
            let ours: Vec<&str> = ours.split(';').collect();
            let fios: Vec<&str> = fios.split(';').collect();
            assert_eq!(ours.len(), fios.len(), "{title}: {ours:?}\n{fios:?}");
            // 47 fields for each direction after the first five, the last eleven of them rate
            // samples; then CPU, depths, latencies.
            let lanes = if reporting.unified == Unified::Both { 4 } else { 3 };
            let end = 5 + 47 * lanes;
            for (n, (ours, fios)) in ours.iter().zip(&fios).enumerate() {
                let (relative, absolute) = match n.checked_sub(end) {
                    None if n == 1 || (n >= 5 && (n - 5) % 47 >= 36) => continue,
                    Some(5..12) => (SYNCED, 0.1),
                    Some(12..34) => (0.0, 10.0),
                    // Utilization of the disk, from a ratio.
                    Some(42) => (0.01, 0.0),
                    _ => (1e-3, 0.0),
                };
                assert!(near(ours, fios, relative, absolute), "{title}: field {n}: {ours} {fios}");
            }
        }
    }
}

#[test]
fn terse_has_as_many_fields_as_its_version() {
    let (_, output, reporting) = &OUTPUTS[0];
    let document = documents(output).unwrap().remove(0);
    let disks = 9 * document.disks.len();
    for (version, fields) in [(2, 161), (3, 121 + disks), (4, 162 + disks), (5, 180 + disks)] {
        let text = terse(&report(output, &document, reporting), version);
        assert!(text.starts_with(&format!("{version};")));
        assert_eq!(text.lines().next().unwrap().split(';').count(), fields);
    }
}

#[test]
fn normal_has_fios_lines() {
    for (title, output, reporting) in OUTPUTS.iter() {
        let (_, _, fios) = parts(output);
        let document = documents(output).unwrap().remove(0);
        let ours = normal(&report(output, &document, reporting));
        // Rate samples are not in fio's JSON.
        let compared = |line: &&str| !line.starts_with("   bw (") && !line.starts_with("   iops ");
        let ours: Vec<&str> = ours.lines().filter(compared).collect();
        let fios: Vec<&str> = fios.lines().filter(compared).collect();
        for (ours, fios) in ours.iter().zip(&fios) {
            // Earlier versions do not name syncfs.
            let (ours, fios) = (&*ours.replace("/syncfs", ""), &*fios.replace("/syncfs", ""));
            let tokens = |line: &str| -> Vec<String> {
                line.split([' ', '=', '[', ']', ',']).map(str::to_owned).collect()
            };
            let title_of = |line: &str| line.split([':', '=']).next().unwrap_or("").to_owned();
            assert_eq!(title_of(ours), title_of(fios), "{title}:\n{ours}\n{fios}");
            let (a, b) = (tokens(ours), tokens(fios));
            let relative = if ours.starts_with("  IO depths") { SYNCED } else { 0.01 };
            // Not in fio's JSON: batches, the process, the disks' sectors.
            let same = ours.starts_with("     submit")
                // fio prints zeros here with unified_rw_reporting=both.
                || fios.starts_with("  mixed: IOPS=0, BW=0 (0)")
                || ours.starts_with("     complete")
                || ours.contains("pid=")
                // Earlier versions have no units here, and have zone resets of every write.
                || ours.starts_with("     latency   : target=")
                || fios.strip_suffix("; 0 zone resets") == Some(ours)
                || ours.contains("util=")
                || ours.starts_with("  lat (")
                || (a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| near(a, b, relative, 0.0)));
            assert!(same, "{title}:\n{ours}\n{fios}");
        }
        assert_eq!(ours.len(), fios.len(), "{title}:\n{ours:#?}\n{fios:#?}");
    }
}

#[test]
fn written_reports_are_read_again() {
    let (_, output, reporting) = &OUTPUTS[0];
    let document = documents(output).unwrap().remove(0);
    let again = documents(&json_plus(&report(output, &document, reporting))).unwrap().remove(0);
    assert_eq!(again.version, "fio-3.42-iodyno-0.0.0");
    assert_eq!(again.measurements.len(), document.measurements.len());
    for (again, first) in again.measurements.iter().zip(&document.measurements) {
        assert_eq!((&again.name, again.group), (&first.name, first.group));
        // What fio omits is its default; of iodyno's own documents only what is stated is known.
        let (mut ours, fios) = (again.workload.clone(), first.workload.clone());
        ours.bs = ours.bs.or(fios.bs);
        ours.iodepth = ours.iodepth.or(fios.iodepth);
        ours.numjobs = ours.numjobs.or(fios.numjobs);
        ours.ioengine = ours.ioengine.or_else(|| fios.ioengine.clone());
        ours.direct = ours.direct.or(fios.direct);
        assert_eq!(ours, fios);
        for (again, first) in again.total.iter().zip(&first.total) {
            assert_eq!((again.ios, again.bytes), (first.ios, first.bytes));
            assert!(again.latency.bins().eq(first.latency.bins()));
        }
    }
    let plain = json(&report(output, &document, reporting));
    assert!(!plain.contains("\"bins\"") && plain.contains("\"percentile\""));
}
