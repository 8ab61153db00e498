//! Checks that every field set by an option is read somewhere.
#![allow(clippy::unwrap_used)] // A helper, outside of test functions.

use std::collections::BTreeSet;
use std::path::Path;

use iodyno_job::{Support, find};

/// Fields that options set and nothing reads, so that their options must not claim to be supported;
/// `cmd_type` refuses all but the supported value.
const ONLY_FOR_FIO: [(&str, &str); 7] = [
    ("asynchronous", "verify_async"),
    ("cmd_type", "cmd_type"),
    ("disk_util", "disk_util"),
    ("fatal", "verify_fatal"),
    ("huge_pages", "mem"),
    ("nonvectored", "nonvectored"),
    ("significant_figures", "significant_figures"),
];

#[test]
fn every_option_field_is_read() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = |of: &Path| {
        let mut all = Vec::new();
        let mut folders = vec![of.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    all.push((path.clone(), std::fs::read_to_string(path).unwrap()));
                }
            }
        }
        all
    };
    let (own, options) = (crates.join("job/src/job"), crates.join("job/src/options"));
    // Resolving or checking options does not count as reading them.
    let others = sources(crates);
    let others: Vec<&str> = others
        .iter()
        .filter(|(path, _)| !path.starts_with(&own) && !path.starts_with(&options))
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == "src"))
        .map(|(_, text)| text.as_str())
        .collect();
    let mut unread = BTreeSet::new();
    for (_, text) in sources(&own) {
        for line in text.lines() {
            let field =
                line.trim_start().strip_prefix("pub ").and_then(|rest| rest.split_once(": "));
            let Some((field, _)) = field.filter(|(name, _)| !name.contains(' ')) else { continue };
            let dotted = format!(".{field}");
            let reads = |text: &&str| {
                text.match_indices(&dotted).any(|(at, _)| {
                    let next = text[at + dotted.len()..].chars().next();
                    next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
                })
            };
            if !others.iter().any(reads) {
                unread.insert(field.to_owned());
            }
        }
    }
    assert_eq!(unread, ONLY_FOR_FIO.map(|(field, _)| field.to_owned()).into());
    for (_, option) in ONLY_FOR_FIO.iter().filter(|(_, option)| *option != "cmd_type") {
        let support = find(option).unwrap().support;
        assert!(matches!(support, Support::Ignored(_)), "{option}: {support:?}");
    }
}
