//! Parses byte patterns in fio's notation: hexadecimal and decimal numbers, `"text"` and `%o`.

use super::value::{Parsed, Refusal};
use crate::PatternPart;

/// Parses a pattern, joining adjacent bytes. The rules are those of fio's lib/pattern.c:
/// hexadecimal numbers are bytes in the order written (`0xF` is one byte); decimal ones, possibly
/// negative, are 32 bits, little endian without leading zeros; text has no escapes.
pub(super) fn parse(text: &str) -> Parsed<Vec<PatternPart>> {
    let mut parts: Vec<PatternPart> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (part, behind) = next(rest)?;
        match (parts.last_mut(), part) {
            (Some(PatternPart::Bytes(before)), PatternPart::Bytes(bytes)) => before.extend(bytes),
            (_, part) => parts.push(part),
        }
        rest = behind;
    }
    if parts.is_empty() {
        return Err(expected(text));
    }
    Ok(parts)
}

/// Parses a pattern without `%o`.
pub(super) fn parse_bytes(text: &str) -> Parsed<Vec<u8>> {
    match parse(text)?.as_slice() {
        [PatternPart::Bytes(bytes)] => Ok(bytes.clone()),
        _ => Err(expected(text)),
    }
}

fn expected(text: &str) -> Refusal {
    format!("expected bytes such as 0xdeadbeef, 255 or \"text\", not `{text}`").into()
}

fn next(text: &str) -> Parsed<(PatternPart, &str)> {
    if let Some(rest) = text.strip_prefix("%o") {
        return Ok((PatternPart::Offset, rest));
    }
    if let Some(rest) = text.strip_prefix('"') {
        let (inside, rest) = rest.split_once('"').ok_or_else(|| expected(text))?;
        let bytes = inside.as_bytes().to_vec();
        return if bytes.is_empty() {
            Err(expected(text))
        } else {
            Ok((PatternPart::Bytes(bytes), rest))
        };
    }
    if text.starts_with('\'') {
        return Err(Refusal::FioOnly("the pattern would be read from a file".into()));
    }
    if let Some(rest) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        // A zero before an `x` belongs to the next number: 0xFF0X1.
        let end = if rest[end..].starts_with(['x', 'X']) && rest[..end].ends_with('0') {
            end - 1
        } else {
            end
        };
        let digits = if end % 2 == 1 { format!("0{}", &rest[..end]) } else { rest[..end].into() };
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or(""));
        let bytes: Result<Vec<u8>, _> = pairs.map(|pair| u8::from_str_radix(pair, 16)).collect();
        let bytes = bytes.ok().filter(|bytes| !bytes.is_empty()).ok_or_else(|| expected(text))?;
        return Ok((PatternPart::Bytes(bytes), &rest[end..]));
    }
    let sign = usize::from(text.starts_with('-'));
    let digits =
        text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| at + sign);
    // A zero before an `x` begins a hexadecimal number: -100xab.
    let hex_follows = text[digits..].starts_with(['x', 'X']) && text[..digits].ends_with('0');
    let digits = if hex_follows { digits - 1 } else { digits };
    let number: i32 = text[..digits].parse().map_err(|_| expected(text))?;
    let mut bytes = number.to_le_bytes().to_vec();
    if number >= 0 {
        while bytes.len() > 1 && bytes.last() == Some(&0) {
            bytes.pop();
        }
    }
    Ok((PatternPart::Bytes(bytes), &text[digits..]))
}

/// Prints a pattern so that [`parse`] accepts it.
pub(super) fn print(parts: &[PatternPart]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            PatternPart::Offset => text += "%o",
            PatternPart::Bytes(bytes) if bytes.is_empty() => {}
            PatternPart::Bytes(bytes) => {
                text += "0x";
                text.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples in fio's lib/pattern.c.
    #[test]
    fn bytes_are_those_of_fio() {
        let bytes = |bytes: &[u8]| PatternPart::Bytes(bytes.to_vec());
        let offset = || PatternPart::Offset;
        for (text, parts) in [
            ("\"abcd\"", vec![bytes(b"abcd")]),
            ("-1024", vec![bytes(&[0, 0xfc, 0xff, 0xff])]),
            ("66", vec![bytes(&[0x42])]),
            ("0xFF0X1", vec![bytes(&[0xff, 1])]),
            ("%o", vec![offset()]),
            ("\"123\"0xFFeeCC", vec![bytes(&[0x31, 0x32, 0x33, 0xff, 0xee, 0xcc])]),
            (
                "-100xab\"1\"%o\"2\"",
                vec![bytes(&[0xf6, 0xff, 0xff, 0xff, 0xab, 0x31]), offset(), bytes(b"2")],
            ),
            ("%o0xdeadbeef%o", vec![offset(), bytes(&[0xde, 0xad, 0xbe, 0xef]), offset()]),
        ] {
            assert_eq!(parse(text), Ok(parts.clone()), "{text}");
            assert_eq!(parse(&print(&parts)), Ok(parts), "{text}");
        }
        for text in ["", "text", "0x", "\"open", "0xzz", "99999999999", "'file'", "%p"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_bytes("%o").is_err());
    }
}
