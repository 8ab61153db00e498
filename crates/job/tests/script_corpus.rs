//! Compiles every job file of a corpus, and random text.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test says how many files it read")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use iodyno_job::script::{CompileOptions, ScriptError, ScriptErrors, compile};
use iodyno_job::syntax::{Environment, parse_file};
use iodyno_job::{JobError, options};
use proptest::prelude::*;

fn environment(variable: &dyn Fn(&str) -> Option<String>) -> Environment<'_> {
    Environment {
        variable,
        read: &|_| Ok(Vec::new()),
        page_size_bytes: 4096,
        cpus: 8,
        memory_mib: 16_384,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_panics(written in prop::collection::vec((0..1000_usize, 0..4_usize, "[a-z0-9:$/%.,-]{0,8}"), 0..40)) {
        let options: Vec<_> = options().collect();
        let mut text = String::from("[global]\n");
        for (number, (option, kind, value)) in written.into_iter().enumerate() {
            let option = options[option % options.len()];
            let value = match kind {
                0 => value,
                _ if option.examples.is_empty() => "1".into(),
                kind => option.examples[kind % option.examples.len()].into(),
            };
            if number % 5 == 4 {
                text.push_str(&format!("[job{number}]\n"));
            }
            // A value may end a line or hold what the syntax refuses.
            text.push_str(&format!("{}={value}\n", option.name));
        }
        let variable = |_: &str| None;
        if let Ok(file) = parse_file(text.as_bytes(), "x.fio", &environment(&variable)) {
            for for_fio in [false, true] {
                let how = CompileOptions { for_fio, exec: true, is_special: &|_| false, ..CompileOptions::default() };
                if let Ok(script) = compile(&file.sections, &how) {
                    let jobs: usize = script.phases.iter().map(|phase| phase.jobs.len()).sum();
                    prop_assert!(jobs >= file.sections.len());
                }
            }
        }
    }
}

/// A plausible value of a variable with this name.
fn likely_value(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if has(&["engine"]) {
        "libaio"
    } else if has(&["rw", "mode", "pattern", "operation"]) && !has(&["mix", "percent"]) {
        "randread"
    } else if has(&["bs", "block"]) && !has(&["job"]) {
        "4k"
    } else if has(&["size"]) {
        "1m"
    } else if has(&["direct", "sync", "report"]) && !has(&["directory"]) {
        "1"
    } else if has(&["dir", "mount", "path", "file", "dev", "disk"]) && !has(&["nr", "num"]) {
        "/dev/nvme0n1"
    } else {
        "4"
    }
}

/// Every job file of a corpus (`IODYNO_CORPUS`, as in `corpus.rs`) compiles, or is refused with an
/// error that has a name and a place.
#[test]
fn every_job_file_is_compiled_or_refused_by_name() {
    let folder = std::env::var_os("IODYNO_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs"), PathBuf::from);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let (mut compiled, mut refused_files, mut of_other_engines, mut unreadable) = (0, 0, 0, 0);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let variable = |name: &str| Some(likely_value(name).to_owned());
        let text = fs::read(&path).unwrap();
        let Ok(file) = parse_file(&text, "x.fio", &environment(&variable)) else {
            unreadable += 1;
            continue;
        };
        let how =
            CompileOptions { exec: true, is_special: &|_| false, ..CompileOptions::default() };
        match compile(&file.sections, &how) {
            Ok(_) => compiled += 1,
            Err(ScriptErrors(errors)) => {
                refused_files += 1;
                let other_engine = |error: &ScriptError| {
                    matches!(
                        error,
                        ScriptError::Option {
                            error: JobError::Foreign { option: "ioengine", .. },
                            ..
                        }
                    )
                };
                if errors.iter().any(other_engine) {
                    of_other_engines += 1;
                } else {
                    println!("{}: {}", path.display(), errors[0]);
                }
                let mut named = BTreeSet::new();
                for error in errors {
                    let text = error.to_string();
                    assert!(text.contains("x.fio"), "{}: no place in {text}", path.display());
                    let what = text.split(": ").nth(1).unwrap_or_default();
                    named.insert(what.split('=').next().unwrap_or_default().to_owned());
                }
                for name in named {
                    *counts.entry(name).or_default() += 1;
                }
            }
        }
    }
    println!(
        "{compiled} compiled, {refused_files} refused ({of_other_engines} for their I/O engine), {unreadable} unreadable: {counts:#?}"
    );
    assert!(compiled > 0, "no job file in {} compiles", folder.display());
}
