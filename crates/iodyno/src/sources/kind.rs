//! What a file is, without reading all of it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use iodyno_report::page::is_page;

/// What a file begins with says whether it is JSON.
const HEAD_BYTES: u64 = 4096;

/// What a file is, by how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Our public document, or an array of them.
    Documents,
    /// A store.
    Store,
    /// A captured machine.
    Capture,
    /// A page that `iodyno report` wrote.
    Page,
    /// Anything else: whatever fio finds in it.
    Fio,
}

/// `text` is a file's text; its head is enough where it is not JSON.
pub(super) fn kind(text: &str) -> Kind {
    let head = text.trim_start();
    let holds = |words: &str| text.contains(words);
    if text.starts_with("SQLite format 3\0") {
        Kind::Store
    } else if head.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with("\"/")) {
        Kind::Capture
    } else if is_page(text.as_bytes()) {
        Kind::Page
    } else if is_json(head) && holds("\"iodyno.") && holds("\"schema\"") {
        Kind::Documents
    } else {
        Kind::Fio
    }
}

fn is_json(head: &str) -> bool {
    head.trim_start().starts_with(['{', '['])
}

pub(super) fn kind_of(file: &Path) -> std::io::Result<Kind> {
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(file)?;
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes)?;
    // Whoever sorted a document's members put its schema at the end.
    if is_json(&String::from_utf8_lossy(&bytes)) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(kind(&String::from_utf8_lossy(&bytes)))
}

/// What is below a folder, in order of the names: what iodyno wrote, and
/// whether there is anything else. Links are not followed.
pub(super) fn below(folder: &Path) -> std::io::Result<(Vec<(PathBuf, Kind)>, bool)> {
    let (mut ours, mut others) = (Vec::new(), false);
    let mut entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && path.join("entries.json").is_file() {
            ours.push((path, Kind::Capture));
        } else if kind.is_dir() {
            // One that cannot be read is fio's reader's to tell.
            let (inner, more) = below(&path).unwrap_or((Vec::new(), true));
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
    fn a_file_is_known_by_how_it_begins() {
        assert_eq!(kind("SQLite format 3\0\x10"), Kind::Store);
        assert_eq!(kind("{\n  \"schema\": \"iodyno.run/1\""), Kind::Documents);
        assert_eq!(kind("[\n {\"id\":\"\", \"schema\":\"iodyno.run/2\""), Kind::Documents);
        assert_eq!(kind("{\n\"/proc/cpuinfo\": "), Kind::Capture);
        let page = "<html>\n<meta name=\"generator\" content=\"iodyno 0.1.0\">";
        assert_eq!(kind(page), Kind::Page);
        for fio in ["{\n  \"fio version\" : \"fio-3.33\"", "", "3;fio-3.33;", "[global]\nrw=read"] {
            assert_eq!(kind(fio), Kind::Fio);
        }
    }
}
