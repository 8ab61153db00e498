//! Parses one line of a job file.
//!
//! The rules are those of fio's `__parse_jobs_ini`, `strip_blank_end` and `get_option`; a name or
//! value that fio would misread is an error here.

use super::{Place, SyntaxError};

/// The kinds of lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Blank, or a comment.
    Empty,
    /// `[name]`.
    Header(&'a str),
    /// `include file`.
    Include(&'a str),
    /// An option, not yet expanded.
    Option(&'a str),
}

/// Parses one line, without its line feed.
pub(super) fn read<'a>(raw: &'a [u8], place: &Place) -> Result<Line<'a>, SyntaxError> {
    let end = raw.iter().position(|byte| matches!(byte, b';' | b'#'));
    let text = std::str::from_utf8(&raw[..end.unwrap_or(raw.len())])
        .map_err(|_| SyntaxError::NotUtf8 { place: place.clone() })?;
    let text = text
        .trim_start_matches(is_space)
        .trim_end_matches(|c: char| c.is_ascii_control() || is_space(c));
    if text.is_empty() {
        return Ok(Line::Empty);
    }
    refuse_control_characters(text, place)?;
    if let Some(inner) = text.strip_prefix('[') {
        return match (inner.strip_suffix(']'), inner.char_indices().last()) {
            (Some(name), _) => Ok(Line::Header(name)),
            // fio cuts the comment and then the last letter, which it takes for the bracket:
            // `[odd; name]` is named `od`.
            (None, Some((last, _))) if end.is_some() => Ok(Line::Header(&inner[..last])),
            _ => Err(SyntaxError::Header { place: place.clone(), text: text.into() }),
        };
    }
    match text.strip_prefix("include") {
        Some(file) if file.starts_with([' ', '\t', '=']) => {
            Ok(Line::Include(file[1..].trim_matches(is_space)))
        }
        _ => Ok(Line::Option(text)),
    }
}

/// Splits an expanded option into name and value.
pub(super) fn split<'a>(
    text: &'a str,
    place: &Place,
) -> Result<(&'a str, Option<&'a str>), SyntaxError> {
    refuse_control_characters(text, place)?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.trim_matches(is_space))),
        None => (text, None),
    };
    let name = name.trim_matches(is_space);
    if name.is_empty() || name.contains(is_space) {
        return Err(SyntaxError::NotAnOption { place: place.clone(), text: text.into() });
    }
    Ok((name, value))
}

/// C's `isspace`.
pub(super) const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

fn refuse_control_characters(text: &str, place: &Place) -> Result<(), SyntaxError> {
    if text.contains(|c: char| c.is_control() && c != '\t') {
        return Err(SyntaxError::ControlCharacter { place: place.clone() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &[u8]) -> Result<Line<'_>, SyntaxError> {
        read(text, &Place { source: "x.fio".into(), line: Some(1) })
    }

    #[test]
    fn comments_headers_and_includes() {
        for empty in ["", " \t\r", "# [a]", "  ;bs=4k", "\x0c"] {
            assert_eq!(line(empty.as_bytes()), Ok(Line::Empty), "{empty:?}");
        }
        assert_eq!(line(b" [a b] # note\r"), Ok(Line::Header("a b")));
        assert_eq!(line(b"[a]b]"), Ok(Line::Header("a]b")));
        assert_eq!(line(b"[]"), Ok(Line::Header("")));
        assert_eq!(line(b"[odd; name]"), Ok(Line::Header("od")));
        assert_eq!(line(b"include a.fio"), Ok(Line::Include("a.fio")));
        assert_eq!(line(b"\tinclude=a b.fio ; x"), Ok(Line::Include("a b.fio")));
        assert_eq!(line(b"included=1"), Ok(Line::Option("included=1")));
        assert_eq!(line(b"bs=4k # \xff"), Ok(Line::Option("bs=4k")));
    }

    #[test]
    fn lines_that_fio_would_misread_are_refused() {
        assert!(matches!(line(b"[job"), Err(SyntaxError::Header { .. })));
        assert!(matches!(line(b"["), Err(SyntaxError::Header { .. })));
        assert!(matches!(line(b"[a] bs=4k"), Err(SyntaxError::Header { .. })));
        assert!(matches!(line(b"filename=\xff"), Err(SyntaxError::NotUtf8 { .. })));
        assert!(matches!(line(b"rw=read\rbs=4k"), Err(SyntaxError::ControlCharacter { .. })));
        assert!(matches!(line(b"filename=\x1b[2J"), Err(SyntaxError::ControlCharacter { .. })));
    }

    #[test]
    fn names_and_values() {
        let place = Place::command_line();
        assert_eq!(split("rw = randread", &place), Ok(("rw", Some("randread"))));
        assert_eq!(split("description=a=b", &place), Ok(("description", Some("a=b"))));
        assert_eq!(split("bs=", &place), Ok(("bs", Some(""))));
        assert_eq!(split("time_based", &place), Ok(("time_based", None)));
        assert!(split("=4k", &place).is_err());
        assert!(split("bs 4k", &place).unwrap_err().to_string().contains("name=value"));
    }
}
