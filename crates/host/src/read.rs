//! From files to facts.

use std::io;
use std::str::FromStr;

use iodyno_model::Fact;

use crate::source::Source;

/// More than any file of sysfs or procfs that is read here has; a bound all the same.
pub(crate) const MOST_BYTES: usize = 16 << 20;

/// An attribute of sysfs has at most one page.
const ATTRIBUTE_BYTES: usize = 64 << 10;

/// A whole file as text; bytes that are not UTF-8 are replaced.
pub(crate) fn whole(source: &dyn Source, path: &str) -> io::Result<String> {
    let bytes = source.read(path, MOST_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A file of one value, cleaned; an empty one is absent.
pub(crate) fn text(source: &dyn Source, path: &str) -> Fact<String> {
    match source.read(path, ATTRIBUTE_BYTES) {
        Ok(bytes) => match clean(&String::from_utf8_lossy(&bytes)) {
            empty if empty.is_empty() => Fact::Absent,
            text => Fact::Read(text),
        },
        Err(error) => unknown(&error),
    }
}

/// A file of one value that `parse` understands; `None` from it means that the
/// text makes no sense.
pub(crate) fn parsed<T>(
    source: &dyn Source,
    path: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Fact<T> {
    understood(text(source, path), parse)
}

/// A text as what `parse` makes of it.
pub(crate) fn understood<T>(text: Fact<String>, parse: impl FnOnce(&str) -> Option<T>) -> Fact<T> {
    text.and_then(|text| match parse(&text) {
        Some(value) => Fact::Read(value),
        None => Fact::Unreadable(format!("\"{}\"", shortened(&text))),
    })
}

/// A file of one decimal number.
pub(crate) fn number<T: FromStr>(source: &dyn Source, path: &str) -> Fact<T> {
    parsed(source, path, |text| text.parse().ok())
}

/// The NUMA node of a device at a path of sysfs.
pub(crate) fn numa_node(source: &dyn Source, path: &str) -> Fact<u32> {
    let node = number::<i64>(source, &format!("{path}/numa_node"));
    // -1: the platform does not say.
    node.and_then(|node| u32::try_from(node).map_or(Fact::Absent, Fact::Read))
}

/// `mq-deadline kyber [none]`: the one in brackets; what knows one alone writes
/// it without.
pub(crate) fn chosen(text: &str) -> Option<String> {
    match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']').map(|(chosen, _)| chosen.to_owned()),
        None => Some(text.to_owned()),
    }
}

/// Why nothing was read.
pub(crate) fn unknown<T>(error: &io::Error) -> Fact<T> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fact::Absent,
        io::ErrorKind::PermissionDenied => Fact::NeedsRoot,
        // A device that went between listing and reading.
        _ if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) => Fact::Absent,
        _ => Fact::Unreadable(clean(&error.to_string())),
    }
}

/// What is known, else what the alternative knows.
pub(crate) fn or_else<T>(first: Fact<T>, second: impl FnOnce() -> Fact<T>) -> Fact<T> {
    if first.get().is_some() {
        return first;
    }
    match second() {
        known @ (Fact::Read(_) | Fact::Stated(_)) => known,
        // The first says best why.
        _ => first,
    }
}

/// `text` without control and invisible formatting characters (a device could
/// turn a terminal or a page upside down with them), trimmed.
pub(crate) fn clean(text: &str) -> String {
    let harmless = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .chars()
        .filter(harmless)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Enough of a text to recognise it.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A list of CPUs or nodes, `0-3,8,10-11`; `None` where it is not one. Ranges
/// past 65536 are not believed: no kernel has as many CPUs.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > 65_536 {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The last part of a path.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `\040` and the like as procfs writes blanks in paths.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let octal = bytes.get(i + 1..i + 4).filter(|_| bytes[i] == b'\\').and_then(|digits| {
            digits.iter().try_fold(0_u32, |value, digit| {
                (b'0'..=b'7').contains(digit).then(|| value * 8 + u32::from(digit - b'0'))
            })
        });
        match octal.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                plain.push(byte);
                i += 4;
            }
            None => {
                plain.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_understood_or_refused() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(cpu_list(""), Some(vec![]));
        assert_eq!(cpu_list("0-4294967295"), None);
        assert_eq!(cpu_list("3-1"), None);
        assert_eq!(cpu_list("a"), None);
    }

    #[test]
    fn strings_of_devices_cannot_drive_a_terminal() {
        assert_eq!(clean("  INTEL\u{1b}[2J SSD\u{202e} \0\n"), "INTEL[2J SSD");
    }

    #[test]
    fn procfs_escapes_are_undone() {
        assert_eq!(unescape(r"/mnt/a\040b\134c"), r"/mnt/a b\c");
        assert_eq!(unescape(r"\9\04"), r"\9\04");
        assert_eq!(unescape(r"\777"), r"\777");
    }
}
