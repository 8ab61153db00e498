//! Undoes what web pages and mails do to JSON.

/// Restores quotation marks and blanks that a page or a mail replaced, and removes quoting (`>`).
/// Line numbers do not change.
pub(super) fn unescape(mut text: String) -> String {
    for (open, close) in [("&quot;", "&quot;"), ("\u{201c}", "\u{201d}"), ("\u{201d}", "\u{201d}")]
    {
        if text.contains(&format!("{open}fio version{close}")) {
            text = text.replace(open, "\"").replace(close, "\"");
        }
    }
    if text.contains('\u{a0}') {
        text = text.replace('\u{a0}', " ");
    }
    let quoted = |line: &str| line.starts_with('>') && line.contains("\"fio version\"");
    if text.lines().any(quoted) {
        let unquoted = |line: &str| line.trim_start_matches(['>', ' ']).to_owned();
        text = text.split_inclusive('\n').map(unquoted).collect();
    }
    text
}
