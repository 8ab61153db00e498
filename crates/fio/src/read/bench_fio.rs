//! Parses bench-fio's file names: `TARGET/4k/randread-64-32.json`, for mixes
//! `TARGET/randrw75/4k/randrw-64-32.json`; its logs are named
//! `randread-iodepth-64-numjobs-32_bw.1.log`.

use std::path::Path;

use iodyno_job::parse_size;
use iodyno_model::Workload;

/// Workload and target from the name of a result or log, without its extension; `None` if it is not
/// bench-fio's.
pub(super) fn named(folder: &Path, stem: &str) -> Option<(Workload, Option<String>)> {
    const RW: [&str; 10] = [
        "read",
        "write",
        "randread",
        "randwrite",
        "rw",
        "readwrite",
        "randrw",
        "trim",
        "randtrim",
        "trimwrite",
    ];
    let words: Vec<&str> = stem.split('-').collect();
    let (rw, iodepth, numjobs) = match words[..] {
        [rw, "iodepth", iodepth, "numjobs", numjobs] => (rw, iodepth, numjobs),
        [rw, iodepth, numjobs] => (rw, iodepth, numjobs),
        _ => return None,
    };
    let mut workload = Workload {
        rw: Some(rw.to_owned()).filter(|rw| RW.contains(&rw.as_str())),
        iodepth: iodepth.parse().ok(),
        numjobs: numjobs.parse().ok(),
        ..Workload::default()
    };
    if workload.rw.is_none() || workload.iodepth.is_none() || workload.numjobs.is_none() {
        return None;
    }
    let mut folders = folder.iter().rev().filter_map(|name| name.to_str());
    // A number without a unit may be a date, a ticket number or any count.
    let sizes = |name: &&str| {
        let unit = name.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_unit = !unit.is_empty() && unit.chars().all(|c| c.is_ascii_alphabetic());
        is_unit && unit.len() < name.len()
    };
    let Some(bs) = folders.next().filter(sizes).and_then(|name| parse_size(name).ok()) else {
        return Some((workload, None));
    };
    workload.bs = Some(bs);
    let mut target = folders.next();
    let share =
        target.and_then(|name| name.strip_prefix(rw)).and_then(|share| share.parse::<u8>().ok());
    if let Some(share) = share {
        workload.options.insert("rwmixread".into(), share.to_string());
        target = folders.next();
    }
    Some((workload, target.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_workload_and_target() {
        let (workload, target) =
            named(Path::new("out/nvme0n1/randrw75/4k"), "randrw-64-32").unwrap();
        assert_eq!(workload.label(), "rw=randrw bs=4k iodepth=64 numjobs=32 rwmixread=75");
        assert_eq!(target.as_deref(), Some("nvme0n1"));
        let (workload, target) = named(Path::new("sdb/1m"), "read-iodepth-8-numjobs-1").unwrap();
        assert_eq!(
            (workload.bs, workload.iodepth, target.as_deref()),
            (Some(1 << 20), Some(8), Some("sdb"))
        );
        assert!(
            named(Path::new("4k"), "my-1-2").is_none() && named(Path::new(""), "read").is_none()
        );
        for folder in ["plain", "2024", "sdb/4096", "2026-11-22", "10*10k", "k"] {
            let (workload, target) = named(Path::new(folder), "read-1-2").unwrap();
            assert_eq!((workload.bs, target), (None, None), "{folder}");
        }
    }
}
