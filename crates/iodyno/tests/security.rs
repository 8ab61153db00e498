//! Tests that the tests named in each cell of the matrix in SECURITY.md exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Heading of the list of tests; the tables before it are the matrix.
const TESTS: &str = "### Tests of the matrix";
/// Marks an untested cell; a note below the matrix gives the reason.
const UNTESTED: &str = "–";
/// Marks a combination that does not exist.
const NO_SUCH: &str = "n/a";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cells of a table row; `None` for other lines and the line below the headings.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    let cells: Vec<&str> = inside.split('|').map(str::trim).collect();
    cells.iter().any(|cell| !cell.trim_matches('-').is_empty()).then_some(cells)
}

/// Rows of the tables in `text`, without headings.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let mut lines = text.lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let is_head = lines.peek().is_some_and(|next| next.starts_with("|-"));
        found.extend(cells(line).filter(|_| !is_head));
    }
    found
}

#[test]
fn every_test_that_the_matrix_names_is_there() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let (before, after) = text.split_once(TESTS).unwrap();
    let matrix = &before[before.find("## The matrix").unwrap()..];

    let mut tests = BTreeSet::new();
    let mut missing = Vec::new();
    for row in rows(after) {
        let [file, entries] = row[..] else { panic!("a file and its tests: {row:?}") };
        let file = file.trim_matches('`');
        let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        for entry in entries.split(',') {
            let (code, name) = entry.trim().split_once(' ').unwrap();
            let name = name.trim_matches('`');
            let is_there =
                ["fn", "def"].iter().any(|word| source.contains(&format!("{word} {name}(")));
            missing.extend((!is_there).then(|| format!("{code}: {file} has no test {name}")));
            tests.insert(code);
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));

    let mut named = BTreeSet::new();
    let uses = rows(matrix);
    assert!(uses.len() > 10, "the matrix is no longer where it was");
    for row in &uses {
        for cell in &row[1..] {
            assert!(!cell.is_empty(), "{}: a cell says nothing", row[0]);
            let codes = cell.split([' ', ',']).filter(|code| !code.is_empty());
            for code in codes.filter(|code| ![UNTESTED, NO_SUCH].contains(code)) {
                assert!(tests.contains(code), "{}: no test {code}", row[0]);
                named.insert(code);
            }
        }
    }
    let unused: Vec<_> = tests.iter().filter(|code| !named.contains(*code)).collect();
    assert!(unused.is_empty(), "no cell names {unused:?}");
}
