//! Removes HTML from a text.

/// Replaces HTML's character references, also doubly escaped ones.
pub(super) fn entities(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..3 {
        if !text.contains('&') {
            break;
        }
        let mut pieces = text.split('&');
        let mut out = pieces.next().unwrap_or("").to_owned();
        for piece in pieces {
            match piece.split_once(';').and_then(|(name, rest)| Some((character(name)?, rest))) {
                Some((character, rest)) => {
                    out.push(character);
                    out.push_str(rest);
                }
                None => {
                    out.push('&');
                    out.push_str(piece);
                }
            }
        }
        text = out;
    }
    text
}

/// Character of a reference: `gt`, `#62`, `#x3E`.
fn character(name: &str) -> Option<char> {
    let code = |digits, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        name => match name.strip_prefix("#x").or(name.strip_prefix("#X")) {
            Some(digits) => code(digits, 16),
            None => code(name.strip_prefix('#')?, 10),
        },
    }
}

/// Replaces HTML's tags: block tags by a line break, inline tags by nothing. Other names stay:
/// fio's client mode prefixes lines with `<host>`.
pub(super) fn without_tags(text: &str) -> String {
    const BREAKS: [&str; 16] = [
        "br",
        "p",
        "div",
        "li",
        "tr",
        "pre",
        "ul",
        "ol",
        "table",
        "h1",
        "h2",
        "h3",
        "h4",
        "hr",
        "blockquote",
        "body",
    ];
    const INLINE: [&str; 22] = [
        "span", "code", "b", "i", "em", "strong", "a", "font", "td", "th", "tbody", "u", "s", "tt",
        "kbd", "samp", "mark", "small", "big", "html", "center", "ins",
    ];
    const LONGEST_TAG: usize = 512;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        let inner = &rest[start + 1..];
        let named = inner.trim_start_matches('/');
        let name = named.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let end = match is(&BREAKS) || is(&INLINE) {
            true => inner.bytes().take(LONGEST_TAG).position(|byte| byte == b'>'),
            false => None,
        };
        match end {
            Some(end) => {
                out.push_str(if is(&BREAKS) { "\n" } else { "" });
                rest = &inner[end + 1..];
            }
            None => {
                out.push('<');
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}
