//! Undoes what mail, web pages, wikis, terminals and log collectors did to a text, line by line, as
//! far as it hinders parsing.

use super::html::{entities, without_tags};
use super::prefix::strip_prefixes;

/// A line with its number in the original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: usize,
    /// Content without the line break.
    pub(super) text: String,
    /// The line has an end: the text is not truncated in it.
    pub(super) ended: bool,
    /// The line is exactly as long as a terminal is wide: it may continue in the next one, within a
    /// word.
    pub(super) is_full_width: bool,
}

/// Widths of terminals, characters.
const WIDTHS: [usize; 4] = [80, 100, 120, 132];

/// Longest line, bytes; longer ones are split: only pages put on a single line have them.
const LONGEST: usize = 256 << 10;

/// Calls `take` for each cleaned line of `text`.
pub(super) fn each_line(text: &str, mut take: impl FnMut(&Line)) {
    let quoted_printable = text.contains("=3D");
    let mut last: Option<(Line, Vec<u8>)> = None;
    let mut soft_break = false;
    let mut clean = |(line, bytes): (Line, Vec<u8>)| {
        let text = String::from_utf8_lossy(&bytes);
        for part in split_lines(&line, &text) {
            take(&Line { text: tidy(&part.text), ..part });
        }
    };
    let mut before = "";
    for (index, raw) in text.split_inclusive('\n').enumerate() {
        // Removed JSON leaves many empty lines, which mean no more than one.
        if raw == "\n" && std::mem::replace(&mut before, raw) == raw {
            continue;
        }
        before = raw;
        for (raw, ended) in pieces(raw) {
            let line = raw.trim_end_matches(['\n', '\r']);
            let decoded = if quoted_printable { decode(line) } else { None };
            let continues = std::mem::take(&mut soft_break);
            let bytes = match decoded {
                Some((bytes, soft)) => {
                    soft_break = soft;
                    bytes
                }
                None => line.into(),
            };
            match &mut last {
                Some((last, text)) if continues && text.len() < LONGEST => {
                    text.extend(bytes);
                    last.ended = ended;
                }
                _ => {
                    last.take().into_iter().for_each(&mut clean);
                    let text = String::new();
                    last = Some((
                        Line { number: index + 1, text, ended, is_full_width: false },
                        bytes,
                    ));
                }
            }
        }
    }
    last.into_iter().for_each(clean);
}

/// Splits a line into pieces of limited length, each with whether it has an end.
fn pieces(line: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let mut ends = (0..=LONGEST.min(rest.len())).rev();
        let longest = &rest[..ends.find(|end| rest.is_char_boundary(*end)).unwrap_or(0)];
        let end = match longest.len() < rest.len() {
            true => longest.rfind(' ').filter(|at| *at > 0).unwrap_or(longest.len()),
            false => rest.len(),
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        let ended = !behind.is_empty() || piece.ends_with('\n');
        (!piece.is_empty()).then_some((piece, ended))
    })
}

/// Decodes quoted-printable (RFC 2045); also returns whether the line continues in the next one.
/// `None` if it is not quoted-printable.
fn decode(line: &str) -> Option<(Vec<u8>, bool)> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    // fio's own `usr=20.5%` is no code: an encoder encodes every `=`.
    let codes_signs = line.contains("=3D");
    let mut coded = false;
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'=' {
            bytes.push(*first);
            continue;
        }
        coded = true;
        let Some(pair) = behind.get(..2) else {
            return behind.is_empty().then_some((bytes, true));
        };
        let pair = std::str::from_utf8(pair).ok()?;
        rest = &behind[2..];
        let byte = u8::from_str_radix(pair, 16).ok()?;
        let blank_at_end = matches!(byte, b' ' | b'\t') && rest.is_empty();
        if !codes_signs && byte.is_ascii() && !blank_at_end {
            return None;
        }
        bytes.push(byte);
    }
    coded.then_some((bytes, false))
}

/// Splits a line at a terminal's carriage returns, at escaped line feeds in JSON and logs, and at
/// HTML's line breaks.
fn split_lines(line: &Line, text: &str) -> Vec<Line> {
    let mut text = entities(text);
    if text.contains("\\n") && text.contains("groupid=") {
        // `"stdout": "…\n…"`: after the name.
        let value = text.split_once("\": \"").map_or(text.as_str(), |(_, value)| value);
        text = value.replace("\\r", "").replace("\\n", "\n").replace("\\\"", "\"");
    }
    let text = without_tags(&text);
    let pieces: Vec<&str> = text.split(['\n', '\r']).collect();
    let last = pieces.len() - 1;
    let piece = |(at, text): (usize, &str)| Line {
        number: line.number,
        text: text.to_owned(),
        ended: line.ended || at < last,
        is_full_width: WIDTHS.contains(&text.chars().count()),
    };
    pieces.into_iter().enumerate().map(piece).collect()
}

/// Removes what surrounds and separates fio's own characters in a line.
fn tidy(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = without_escapes(line).into_iter().peekable();
    while let Some(c) = characters.next() {
        match c {
            // Emphasis, and Markdown's escapes.
            '*' | '=' if characters.peek() == Some(&c) => {
                characters.next();
            }
            '`' => {}
            '\\' if characters.peek().is_some_and(|next| "[]|>_*".contains(*next)) => {}
            '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' | '\u{ad}' => {}
            '\u{2013}' | '\u{2014}' | '\u{2212}' => text.push('-'),
            '\t' => text.push(' '),
            c if c.is_whitespace() => text.push(' '),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    strip_prefixes(&text).to_owned()
}

/// Characters of a line without a terminal's escape sequences.
fn without_escapes(line: &str) -> Vec<char> {
    let mut out = Vec::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        if c == '\x1b' && characters.next_if_eq(&'[').is_some() {
            // ECMA-48: parameters up to a letter.
            for c in characters.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        each_line(text, |line| lines.push((line.number, line.text.clone())));
        lines
    }

    #[test]
    fn mail() {
        let text = "> > a: (groupid=3D0, jobs=3D1): Mon Aug=\n=C2=A0 9=20\n> >=20\n>=3D64=3D0.0%\n";
        let expected = [(1, "a: (groupid=0, jobs=1): Mon Aug  9 "), (3, ""), (4, ">=64=0.0%")];
        assert_eq!(cleaned(text), expected.map(|(n, text)| (n, text.to_owned())));
        assert_eq!(cleaned("usr=20.5%\nx=3D1")[0].1, "usr=20.5%");
    }

    #[test]
    fn pages() {
        assert_eq!(cleaned("<pre>a<br/>b &amp;gt;=64</pre>")[1], (1, "a".into()));
        assert_eq!(cleaned("<pre>a<br/>b &amp;gt;=64</pre>")[2], (1, "b >=64".into()));
        assert_eq!(cleaned("**IOPS=4737k** ==iops=16496==")[0].1, "IOPS=4737k iops=16496");
        assert_eq!(cleaned("&lt;vm&gt; a: (g=0)")[0].1, "a: (g=0)");
    }

    #[test]
    fn logs() {
        for prefix in [
            "2024-05-01T12:00:00.123Z ",
            "2024-05-01T12:00:00.1+00:00 stdout F ",
            "2024-05-01 12:00:00,123 ",
            "[12:00:01] ",
            "Nov 21 17:00:01 host fio[123]: ",
            "12:10:43 DEBUG| [stdout] ",
            "fio_1  | ",
            "\x1b[32m",
            "> ",
        ] {
            assert_eq!(cleaned(&format!("{prefix}  read: IOPS=1"))[0].1.trim(), "read: IOPS=1");
        }
        assert_eq!(cleaned("     | 99.00th=[  742]")[0].1, "     | 99.00th=[  742]");
        assert_eq!(cleaned("a\rb\r\nc").last(), Some(&(2, "c".into())));
    }
}
