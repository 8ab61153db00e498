//! Removes prefixes of lines.

/// Line without the prefixes of mail and log collectors.
pub(super) fn strip_prefixes(line: &str) -> &str {
    let mut text = line;
    // Mail quoting; `>=64` is fio's.
    while let Some(behind) = text.trim_start().strip_prefix('>') {
        if behind.starts_with('=') {
            break;
        }
        text = behind.strip_prefix(' ').unwrap_or(behind);
    }
    text = strip_time(text).unwrap_or(text);
    // Lines as a JSON list.
    let quoted = text.trim().trim_end_matches(',');
    if let Some(inner) = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        text = inner;
    }
    // The host in client mode.
    if let Some((host, behind)) = text.strip_prefix('<').and_then(|text| text.split_once("> "))
        && !host.contains([' ', '<'])
    {
        text = behind;
    }
    // A box drawn around the text.
    for edge in ['|', '\u{2502}'] {
        let inner = text.trim().strip_prefix(edge).and_then(|text| text.strip_suffix(edge));
        text = inner.unwrap_or(text);
    }
    // A container's name: `fio_1  | read: …`.
    if let Some((container, behind)) = text.split_once(" | ")
        && !container.trim().is_empty()
        && !container.trim_end().contains([' ', '=', '|', ':', '['])
    {
        text = behind;
    }
    text
}

/// Line after a time: `2024-05-01T12:00:00Z `, `[12:00:01] `, syslog's.
fn strip_time(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if let Some((inner, behind)) = trimmed.strip_prefix('[').and_then(|text| text.split_once(']'))
        && is_time(inner)
    {
        return Some(behind.strip_prefix(' ').unwrap_or(behind));
    }
    let (first, behind) = trimmed.split_once(' ')?;
    if is_time(first) {
        let behind = match behind.split_once(' ') {
            // The first word was the date.
            Some((second, rest)) if is_time(second) => rest,
            _ => behind,
        };
        return Some(strip_labels(behind));
    }
    let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    let syslog = first.len() == 3 && months.contains(first);
    syslog.then(|| behind.split_once("]: ").map(|(_, message)| message))?
}

/// Text after a log's level and stream: `stdout F `, `DEBUG| [stdout] `.
fn strip_labels(text: &str) -> &str {
    const LABELS: [&str; 14] = [
        "stdout F ",
        "stderr F ",
        "stdout: ",
        "stderr: ",
        "[stdout] ",
        "[stderr] ",
        "DEBUG",
        "INFO",
        "WARNING",
        "WARN",
        "ERROR",
        "NOTICE",
        "| ",
        ": ",
    ];
    let mut text = text;
    while let Some(behind) = LABELS.iter().find_map(|label| text.strip_prefix(label)) {
        text = behind;
    }
    text
}

/// True if a word is a date or a time: digits with separators.
fn is_time(word: &str) -> bool {
    let signs = word.chars().filter(|c| matches!(c, '-' | ':' | '/')).count();
    let known = |c: char| c.is_ascii_digit() || "-:/.,+TZ ".contains(c);
    signs >= 2 && word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(known)
}
