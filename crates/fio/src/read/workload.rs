//! Builds workloads from options as written.

use std::collections::BTreeMap;

use iodyno_job::{Job, Pattern, Units, apply_all, parse_size_in};
use iodyno_model::Workload;

/// Builds the workload of `options`.
pub(super) fn workload(mut options: BTreeMap<String, String>) -> Workload {
    let mut take = |names: [&str; 2]| names.iter().find_map(|name| options.remove(*name));
    let rw = take(["rw", "readwrite"]).map(canonical_rw);
    let bs = take(["bs", "blocksize"]);
    let iodepth = take(["iodepth", ""]);
    let numjobs = take(["numjobs", ""]);
    let ioengine = take(["ioengine", ""]);
    let direct = take(["direct", ""]);
    let size = take(["size", ""]);
    options.remove("filename");
    // The measurement has the name.
    options.remove("name");
    let mut workload = Workload { rw, ioengine, ..Workload::default() };
    let units = Units { kb_base: if is_decimal(&options) { 1000 } else { 1024 } };
    // Values that are not a single number stay as written.
    let mut number = |name: &str, text: Option<String>, parsed: &dyn Fn(&str) -> Option<u64>| {
        let text = text?;
        let number = parsed(&text);
        if number.is_none() {
            options.insert(name.to_owned(), text);
        }
        number
    };
    let plain = |text: &str| text.parse().ok();
    let bytes = |text: &str| parse_size_in(text, units).ok();
    workload.bs = number("bs", bs, &bytes);
    workload.size = number("size", size, &bytes);
    workload.iodepth = number("iodepth", iodepth, &plain).and_then(|n| u32::try_from(n).ok());
    workload.numjobs = number("numjobs", numjobs, &plain).and_then(|n| u32::try_from(n).ok());
    workload.direct = number("direct", direct, &plain).map(|n| n == 1);
    workload.options = options;
    compare_sizes(&mut workload);
    workload
}

/// States sizes by direction (`bs=4k,64k`) as [`Job::workload`] does, so that equal workloads are equal.
fn compare_sizes(workload: &mut Workload) {
    let Some(text) = workload.options.get("bs").filter(|text| text.contains(',')) else { return };
    let kb_base = workload.options.get("kb_base").map(|base| ("kb_base", Some(base.as_str())));
    let rw = workload.rw.as_deref().map(|rw| ("rw", Some(rw)));
    let mut entries: Vec<_> = [kb_base, rw].into_iter().flatten().collect();
    entries.push(("bs", Some(text)));
    let mut job = Job::default();
    if apply_all(&mut job, &entries).is_ok() {
        let known = job.workload(None);
        workload.bs = known.bs;
        workload.options.remove("bs");
        workload.options.extend(known.options);
    }
}

/// True for `kb_base=1000`: `k` is 1000 bytes, in options and in fio 2's text.
pub(super) fn is_decimal(options: &BTreeMap<String, String>) -> bool {
    options.get("kb_base").is_some_and(|base| base.trim() == "1000")
}

/// True for `group_reporting`: a group's jobs are reported as one.
pub(super) fn is_group_reporting(options: &BTreeMap<String, String>) -> bool {
    options.get("group_reporting").is_some_and(|value| value.trim() != "0")
}

/// Fills in fio's defaults (fio(1)): its JSON lists all options that were set, so absent ones had
/// their defaults.
pub(super) fn with_defaults(workload: &mut Workload) {
    let has = |name: &str| workload.options.contains_key(name);
    let has_sizes = ["bs", "bsrange", "blocksize_range", "bssplit"].into_iter().any(has);
    let is_buffered = workload.options.get("buffered").map(|value| value != "0");
    workload.rw.get_or_insert_with(|| "read".into());
    if !has_sizes {
        workload.bs.get_or_insert(4096);
    }
    workload.iodepth.get_or_insert(1);
    workload.numjobs.get_or_insert(1);
    workload.ioengine.get_or_insert_with(|| "psync".into());
    workload.direct.get_or_insert(is_buffered == Some(false));
}

/// Completes `workload` with what only `other` knows.
pub(super) fn complete(workload: &mut Workload, other: Workload) {
    let Workload { rw, bs, iodepth, numjobs, ioengine, direct, size, options } = other;
    workload.rw = workload.rw.take().or(rw);
    workload.bs = workload.bs.or(bs);
    workload.iodepth = workload.iodepth.or(iodepth);
    workload.numjobs = workload.numjobs.or(numjobs);
    workload.ioengine = workload.ioengine.take().or(ioengine);
    workload.direct = workload.direct.or(direct);
    workload.size = workload.size.or(size);
    for (name, value) in options {
        workload.options.entry(name).or_insert(value);
    }
}

/// Splits names at `:`; `\:` is a colon within a name.
pub(super) fn split_names(names: &str) -> Vec<String> {
    let marked = names.replace("\\:", "\0");
    marked.split(':').map(|name| name.replace('\0', ":")).collect()
}

/// Replaces an alias in a value of `rw` by the pattern's first name, so that equal workloads are equal.
fn canonical_rw(rw: String) -> String {
    let (word, step) = rw.split_at(rw.find(':').unwrap_or(rw.len()));
    match Pattern::ALL.into_iter().find(|(name, _)| *name == word) {
        Some((_, pattern)) => format!("{}{step}", pattern.name()),
        None => rw,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_direction_are_stated_as_by_a_job() {
        let read = |rw: &str, bs: &str| {
            let options = [("rw", rw), ("bs", bs)];
            let of = workload(options.map(|(name, value)| (name.into(), value.into())).into());
            (of.bs, of.options.get("bs").cloned())
        };
        let native = |rw: &str, bs: &str| {
            let mut job = Job::default();
            apply_all(&mut job, &[("rw", Some(rw)), ("bs", Some(bs))]).unwrap();
            let of = job.workload(None);
            (of.bs, of.options.get("bs").cloned())
        };
        assert_eq!(read("randrw", "4k,64k"), (None, Some("4096,65536,65536".into())));
        for (rw, bs) in
            [("randrw", "4k,64k"), ("rw", ",64k"), ("randread", "8k,64k"), ("rw", "8k,8k")]
        {
            assert_eq!(read(rw, bs), native(rw, bs), "{rw} {bs}");
        }
        assert_eq!(native("randread", "8k,64k").0, Some(8192));
        assert_eq!(native("rw", "8k,8k").0, Some(8192));
    }

    #[test]
    fn mixed_workloads_have_one_name() {
        let rw = |text: &str| workload([("rw".to_owned(), text.to_owned())].into()).rw;
        assert_eq!(rw("readwrite").as_deref(), Some("rw"));
        assert_eq!(rw("readwrite:8").as_deref(), Some("rw:8"));
        assert_eq!(rw("randrw").as_deref(), Some("randrw"));
        assert_eq!(rw("randreadwrite").as_deref(), Some("randrw"));
        assert_eq!(rw("upwards").as_deref(), Some("upwards"));
    }
}
