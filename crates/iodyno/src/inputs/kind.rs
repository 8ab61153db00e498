//! Detects the kind of a file without reading all of it.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use iodyno_fio::read::plain;
use iodyno_report::page::is_page;

/// Length of the head that decides whether a file is JSON.
pub(super) const HEAD_BYTES: u64 = 4096;
/// Maximum length of a document, bytes: a compressed file may be endless.
const MAX_BYTES: u64 = 1 << 30;
/// Strings in each of our documents, and the length of the longest, bytes.
const OURS: [&str; 2] = ["\"iodyno.", "\"schema\""];
const LONGEST_BYTES: usize = 8;

/// First columns of a table of measurements, and beginning of a stream.
const CSV_HEAD: &str = "run_id,run_name,run_started,";
const STREAM_HEAD: &str = "{\"type\":\"run_start\",\"schema\":\"iodyno.stream/";

/// Kind of a file, by its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// iodyno's public document, or an array of them.
    Documents,
    Store,
    /// A captured machine.
    Capture,
    /// A page that `iodyno report` wrote.
    Page,
    /// Measurements as CSV or Parquet, written for other programs.
    Table,
    /// Records of `--stream`.
    Stream,
    /// Anything else, left to the fio reader.
    Fio,
}

/// Detects the kind of `text`; the head is enough unless it is JSON.
pub(super) fn kind(text: &str) -> Kind {
    let head = text.trim_start();
    let holds = |words: &str| text.contains(words);
    if text.starts_with("SQLite format 3\0") {
        Kind::Store
    } else if text.starts_with("PAR1") || head.starts_with(CSV_HEAD) {
        Kind::Table
    } else if head.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with("\"/")) {
        Kind::Capture
    } else if is_page(text.as_bytes()) {
        Kind::Page
    } else if head.starts_with(STREAM_HEAD) {
        Kind::Stream
    } else if is_json(head) && OURS.into_iter().all(holds) {
        Kind::Documents
    } else {
        Kind::Fio
    }
}

fn is_json(head: &str) -> bool {
    head.trim_start().starts_with(['{', '['])
}

/// Detects the kind of a file, compressed or not.
///
/// # Errors
/// It cannot be read.
pub(super) fn kind_of(file: &Path) -> std::io::Result<Kind> {
    let mut input = plain(BufReader::new(std::fs::File::open(file)?))?;
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let found = kind(&head);
    match found == Kind::Fio
        && is_undecided_json(&head)
        && rest_is_ours(input.take(MAX_BYTES), &head)?
    {
        true => Ok(Kind::Documents),
        false => Ok(found),
    }
}

/// True for JSON whose head does not tell its origin.
pub(super) fn is_undecided_json(head: &str) -> bool {
    is_json(head) && !head.contains("\"fio version\"")
}

/// Searches the rest of the document: sorted members put its schema at the end.
fn rest_is_ours(mut rest: impl Read, head: &str) -> std::io::Result<bool> {
    const CHUNK_BYTES: u64 = 1 << 20;
    let mut chunk = head.as_bytes().to_vec();
    let mut found = [false; 2];
    loop {
        let text = String::from_utf8_lossy(&chunk);
        for (found, words) in found.iter_mut().zip(OURS) {
            *found |= text.contains(words);
        }
        if found == [true; 2] {
            return Ok(true);
        }
        // The strings may cross a chunk's end.
        chunk.drain(..chunk.len().saturating_sub(LONGEST_BYTES));
        if rest.by_ref().take(CHUNK_BYTES).read_to_end(&mut chunk)? == 0 {
            return Ok(false);
        }
    }
}

/// Lists a folder's files in order of names: those that iodyno wrote, and whether there are others.
/// Links are not followed.
pub(super) fn list_folder(folder: &Path) -> std::io::Result<(Vec<(PathBuf, Kind)>, bool)> {
    let (mut ours, mut others) = (Vec::new(), false);
    let mut entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && path.join("entries.json").is_file() {
            ours.push((path, Kind::Capture));
        } else if kind.is_dir() {
            // An unreadable folder is reported by fio's reader.
            let (inner, more) = list_folder(&path).unwrap_or((Vec::new(), true));
            ours.extend(inner);
            others |= more;
        } else {
            let file = kind.is_file().then(|| kind_of(&path).ok()).flatten();
            match file.filter(|kind| *kind != Kind::Fio) {
                Some(kind) => ours.push((path, kind)),
                None => others = true,
            }
        }
    }
    Ok((ours, others))
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind};

    #[test]
    fn file_kind_is_known_by_its_head() {
        assert_eq!(kind("SQLite format 3\0\x10"), Kind::Store);
        assert_eq!(kind("{\n  \"schema\": \"iodyno.run/2\""), Kind::Documents);
        assert_eq!(kind("[\n {\"id\":\"\", \"schema\":\"iodyno.run/2\""), Kind::Documents);
        assert_eq!(kind("{\n\"/proc/cpuinfo\": "), Kind::Capture);
        assert_eq!(kind("PAR1\u{15}\0"), Kind::Table);
        assert_eq!(kind("run_id,run_name,run_started,host\n"), Kind::Table);
        let page = "<html>\n<meta name=\"generator\" content=\"iodyno 0.1.0\">";
        assert_eq!(kind(page), Kind::Page);
        for fio in ["{\n  \"fio version\" : \"fio-3.33\"", "", "3;fio-3.33;", "[global]\nrw=read"] {
            assert_eq!(kind(fio), Kind::Fio);
        }
    }
}
