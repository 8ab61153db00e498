//! Parses every job file of a corpus, and compares with its known sections and options.
//!
//! `IODYNO_CORPUS` names a folder of `NAME.txt` with `NAME.meta.json`
//! (`expected.sections`, `expected.options` with aliases folded); without it
//! our own files under `tests/jobs` are read, and the test says which it was.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test says which files it read")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use iodyno_job::syntax::{Entry, Environment, parse_file};
use serde_json::Value;

/// fio's second names for options (options.c and its engines).
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("io_limit", "io_size"),
    ("fill_fs", "fill_device"),
    ("fileoffset", "offset"),
    ("blocksize", "bs"),
    ("blockalign", "ba"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("allrandrepeat", "randrepeat"),
    ("nr_files", "nrfiles"),
    ("timeout", "runtime"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    ("data_placement", "dataplacement"),
    ("fdp_pli_select", "plid_select"),
    ("fdp_pli", "plids"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("wait_for_previous", "stonewall"),
    ("log_max_value", "log_window_value"),
    ("log_unix_epoch", "log_alternate_epoch"),
    ("disable_bw", "disable_bw_measurement"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("ss_interval", "steadystate_check_interval"),
    ("chunck_size", "chunk_size"),
    ("proto", "protocol"),
    ("proto", "verb"),
];

/// The contents of a job file: names of sections, and values of options in order.
type Content = (Vec<String>, BTreeMap<String, Vec<String>>);

const PAGE_SIZE_BYTES: u64 = 4096;
const CPUS: u64 = 8;
const MEMORY_MIB: u64 = 16_384;

fn folder() -> PathBuf {
    std::env::var_os("IODYNO_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs"), PathBuf::from)
}

/// Parses a file without expanding variables and with empty includes, and undoes inheritance by the
/// place of each entry.
fn content(text: &[u8], name: &str) -> Content {
    let included = RefCell::new(Vec::new());
    let environment = Environment {
        variable: &|name| Some(format!("${{{name}}}")),
        read: &|path| {
            included.borrow_mut().push(path.to_owned());
            io::Result::Ok(Vec::new())
        },
        page_size_bytes: PAGE_SIZE_BYTES,
        cpus: CPUS,
        memory_mib: MEMORY_MIB,
    };
    // A last job, which inherits all [global] sections.
    let text = [text, b"\n[last]\n"].concat();
    let mut sections = parse_file(&text, name, &environment)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .sections;
    let mut entries: Vec<Entry> = sections.iter().flat_map(|s| s.entries.clone()).collect();
    entries.sort_by_key(|entry| entry.place.line);
    entries.dedup_by_key(|entry| entry.place.line);
    assert_eq!(sections.pop().map(|section| section.name).as_deref(), Some("last"));
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in entries {
        let folded = ALIASES.iter().find(|(alias, _)| *alias == entry.name).map(|(_, name)| *name);
        let name = folded.unwrap_or(&entry.name).to_owned();
        options.entry(name).or_default().push(entry.value.unwrap_or_default());
    }
    let included = included.into_inner();
    if !included.is_empty() {
        options.insert("include".into(), included);
    }
    (sections.into_iter().map(|section| section.name).collect(), options)
}

fn expected(meta: &Value) -> Content {
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect()
    };
    let keywords = |text: String| {
        text.replace("$pagesize", &PAGE_SIZE_BYTES.to_string())
            .replace("$mb_memory", &MEMORY_MIB.to_string())
            .replace("$ncpus", &CPUS.to_string())
    };
    let mut sections = strings(&meta["expected"]["sections"]);
    sections.retain(|name| !name.starts_with("global"));
    let options = meta["expected"]["options"].as_object().unwrap();
    let options = options
        .iter()
        .map(|(name, values)| (name.clone(), strings(values).into_iter().map(keywords).collect()));
    (sections, options.collect())
}

#[test]
fn sections_and_options_are_as_expected() {
    let folder = folder();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    println!("{} job files in {}", files.len(), folder.display());
    assert!(!files.is_empty(), "no job file in {}", folder.display());
    let mut wrong = Vec::new();
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy();
        let meta = std::fs::read(path.with_extension("meta.json")).unwrap();
        let expected = expected(&serde_json::from_slice(&meta).unwrap());
        let found = content(&std::fs::read(path).unwrap(), &name);
        if found != expected {
            wrong.push(format!("{name}\n  found    {found:?}\n  expected {expected:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} job files read differently:\n{}",
        wrong.len(),
        files.len(),
        wrong.join("\n")
    );
}
