//! Reads files as facts.

use std::io;
use std::str::FromStr;

use iodyno_model::Fact;

use crate::source::Source;

/// Limit of files read from sysfs and procfs, bytes: more than any has.
pub(crate) const MOST_BYTES: usize = 16 << 20;

/// Limit of a sysfs attribute, bytes, which has at most one page.
const ATTRIBUTE_BYTES: usize = 64 << 10;

/// Reads a whole file as text; bytes that are not UTF-8 are replaced.
pub(crate) fn file(source: &dyn Source, path: &str) -> io::Result<String> {
    let bytes = source.read(path, MOST_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a file with one value, cleaned; an empty one is absent.
pub(crate) fn text(source: &dyn Source, path: &str) -> Fact<String> {
    match source.read(path, ATTRIBUTE_BYTES) {
        Ok(bytes) => match clean(&String::from_utf8_lossy(&bytes)) {
            empty if empty.is_empty() => Fact::Absent,
            text => Fact::Read(text),
        },
        Err(error) => unknown(&error),
    }
}

/// Reads a file with one value and parses it; `None` from `parse` means invalid text.
pub(crate) fn parsed<T>(
    source: &dyn Source,
    path: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Fact<T> {
    parse_fact(text(source, path), parse)
}

/// Parses a text.
pub(crate) fn parse_fact<T>(text: Fact<String>, parse: impl FnOnce(&str) -> Option<T>) -> Fact<T> {
    text.and_then(|text| match parse(&text) {
        Some(value) => Fact::Read(value),
        None => Fact::Unreadable(format!("\"{}\"", shortened(&text))),
    })
}

/// Reads a file with one decimal number.
pub(crate) fn number<T: FromStr>(source: &dyn Source, path: &str) -> Fact<T> {
    parsed(source, path, |text| text.parse().ok())
}

/// NUMA node of a device, by its path in sysfs.
pub(crate) fn numa_node(source: &dyn Source, path: &str) -> Fact<u32> {
    let node = number::<i64>(source, &format!("{path}/numa_node"));
    // -1: not reported by the platform.
    node.and_then(|node| u32::try_from(node).map_or(Fact::Absent, Fact::Read))
}

/// Selected word of `mq-deadline kyber [none]`; a single choice has no brackets.
pub(crate) fn selected(text: &str) -> Option<String> {
    match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']').map(|(chosen, _)| chosen.to_owned()),
        None => Some(text.to_owned()),
    }
}

/// Converts an error to the fact that nothing was read.
pub(crate) fn unknown<T>(error: &io::Error) -> Fact<T> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fact::Absent,
        io::ErrorKind::PermissionDenied => Fact::NeedsRoot,
        // A device that vanished between listing and reading.
        _ if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) => Fact::Absent,
        _ => Fact::Unreadable(clean(&error.to_string())),
    }
}

/// `first` if known, else `second` if known, else `first`.
pub(crate) fn or_else<T>(first: Fact<T>, second: impl FnOnce() -> Fact<T>) -> Fact<T> {
    if first.get().is_some() {
        return first;
    }
    match second() {
        known @ (Fact::Read(_) | Fact::Stated(_)) => known,
        // The first has the better reason.
        _ => first,
    }
}

/// Trims `text` and removes control and invisible formatting characters, with which a device could
/// garble a terminal or a page.
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

/// Shortens a text enough to recognize it.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Parses a list of CPUs or nodes, `0-3,8,10-11`; `None` if invalid. Numbers above 65536 are
/// rejected: no kernel has as many CPUs.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut ranges = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > 65_536 {
            return None;
        }
        ranges.push((first, last));
    }
    ranges.sort_unstable();
    let mut numbers: Vec<u32> = Vec::new();
    // A captured list may name the same range thousands of times.
    for (first, last) in ranges {
        let next = numbers.last().map_or(0, |last| last + 1);
        numbers.extend(first.max(next)..=last);
    }
    Some(numbers)
}

/// Parses a device number, `259:3`: major and minor.
pub(crate) fn device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// True if `name` is `prefix` and a number, such as `nvme0`.
pub(crate) fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Last component of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// [`unescape_bytes`] of a text; bytes that are not UTF-8 are replaced.
pub(crate) fn unescape(text: &str) -> String {
    String::from_utf8_lossy(&unescape_bytes(text.as_bytes())).into_owned()
}

/// Undoes procfs's octal escapes in paths (mountinfo, swaps), such as `\040` for a blank.
pub fn unescape_bytes(bytes: &[u8]) -> Vec<u8> {
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
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_understood_or_refused() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(cpu_list("2-3,0-4,4,1"), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(cpu_list(&"0-65536,".repeat(8192)).map(|all| all.len()), Some(65_537));
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
