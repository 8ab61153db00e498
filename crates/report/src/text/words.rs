//! Wraps lines to the width of a terminal, with untrusted strings cleaned for it.

pub use iodyno_model::clean;
use iodyno_model::distinct;

use super::Style;
use super::ink::Ink;

/// Converts `text` for an ASCII-only terminal; only `±` takes more columns, and none takes fewer.
pub fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '·' | '–' => out.push('-'),
            '█' => out.push('#'),
            '░' => out.push('.'),
            '…' => out.push('~'),
            '±' => out.push_str("+-"),
            '°' => out.push(' '),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}

/// Label of the whole, if any, and its items.
pub(super) fn first_line((label, ink): (&str, Ink), items: &[String], style: &Style) -> String {
    let indent = if label.is_empty() { 0 } else { label.len() + 2 };
    let after = Hanging::after(label, ink, indent, style);
    Hanging { separator: "   ", ink: Ink::Bold, ..after }.lines(items)
}

/// Closing line, dimmed.
pub(super) fn dim(items: &[String], style: &Style) -> String {
    Hanging { ink: Ink::Dim, separator: "   ", ..Hanging::of(style) }.lines(items)
}

/// Up to four names; of more, the first three and the number of others.
pub(super) fn listed(names: &[String]) -> String {
    let once = distinct(names.iter().map(String::as_str));
    match once.len() {
        0..=4 => once.join(", "),
        more => format!("{} and {} more", once[..3].join(", "), more - 3),
    }
}

/// Upper bound of a text's width in columns: East Asian and other far characters count two, so that
/// no line is too long.
pub(super) fn display_width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x300..=0x36f => 0,
            0..=0x10ff | 0x2000..=0x22ff | 0x2580..=0x259f => 1,
            _ => 2,
        })
        .sum()
}

/// Truncates `text` to `width` columns, ending in `…` if cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.into();
    }
    let mut kept = take_width(text, width.saturating_sub(1)).to_string();
    kept.push('…');
    kept
}

/// Longest prefix of `text` of at most `width` columns, but at least one character.
fn take_width(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += display_width(c.encode_utf8(&mut [0; 4]));
        if used > width && at > 0 {
            return &text[..at];
        }
    }
    text
}

/// Wraps `items` to lines of `width` columns, with `separator` between items on a line. Long items
/// break between words, long words anywhere.
pub(super) fn fill(items: &[String], separator: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let items: Vec<&String> = items.iter().filter(|item| !item.is_empty()).collect();
    // A separator that is more than space also ends a line between items.
    let tail = separator.trim_end();
    for (index, item) in items.iter().enumerate() {
        let mut joined = display_width(&line) + display_width(separator) + display_width(item);
        if index + 1 < items.len() {
            joined += display_width(tail);
        }
        if line.is_empty() {
            line.push_str(item);
        } else if joined <= width {
            line.push_str(separator);
            line.push_str(item);
        } else {
            if display_width(&line) + display_width(tail) <= width {
                line.push_str(tail);
            }
            lines.push(std::mem::replace(&mut line, (*item).clone()));
        }
        while display_width(&line) > width {
            let (head, rest) = break_at(&line, width);
            lines.push(head);
            line = rest;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Breaks `line` at the last space within `width` columns, or else within a word.
fn break_at(line: &str, width: usize) -> (String, String) {
    let head = take_width(line, width.max(1));
    let at = match line[head.len()..].starts_with(' ') {
        true => head.len(),
        false => head.rfind(' ').filter(|at| *at > 0).unwrap_or(head.len()),
    };
    (line[..at].trim_end().to_string(), line[at..].trim_start().to_string())
}

/// Text with a hanging indent: it starts at column `indent`, after `lead` on the first line
/// (already coloured; `lead_width` columns wide).
pub(super) struct Hanging<'a> {
    /// Text before the first line.
    pub(super) lead: String,
    /// Width of `lead` in columns.
    pub(super) lead_width: usize,
    /// Column at which the text starts.
    pub(super) indent: usize,
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Between two items on a line.
    pub(super) separator: &'a str,
    /// Ink of the text.
    pub(super) ink: Ink,
    /// True for coloured output.
    pub(super) color: bool,
}

impl Hanging<'_> {
    /// Text at column `indent`, after `label` in `ink`.
    pub(super) fn after(label: &str, ink: Ink, indent: usize, style: &Style) -> Self {
        Self {
            lead: ink.paint(label, style.color),
            lead_width: display_width(label),
            indent,
            ..Self::of(style)
        }
    }

    /// Plain text from the first column, items separated by dots.
    pub(super) fn of(style: &Style) -> Self {
        Self {
            lead: String::new(),
            lead_width: 0,
            indent: 0,
            width: style.width,
            separator: " · ",
            ink: Ink::Plain,
            color: style.color,
        }
    }

    /// Wraps `items`; every line ends with a line break.
    pub(super) fn lines(&self, items: &[String]) -> String {
        let room = self.width.saturating_sub(self.indent).max(8);
        let mut out = String::new();
        let mut filled = fill(items, self.separator, room);
        if filled.is_empty() && self.lead_width > 0 {
            filled.push(String::new());
        }
        for (index, line) in filled.iter().enumerate() {
            let line = self.ink.paint(line, self.color);
            if index > 0 || self.lead_width == 0 {
                out.push_str(&" ".repeat(self.indent));
            } else {
                let gap = self.indent.saturating_sub(self.lead_width);
                out.push_str(&self.lead);
                if !line.is_empty() {
                    out.push_str(&" ".repeat(gap));
                }
            }
            out.push_str(&line);
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_and_never_longer() {
        let items = ["one two".to_string(), "three".into(), "a_word_that_is_too_long".into()];
        assert_eq!(fill(&items, " · ", 17), ["one two · three ·", "a_word_that_is_to", "o_long"]);
        for width in 1..30 {
            for line in fill(&items, " · ", width) {
                assert!(display_width(&line) <= width, "{width}: {line}");
            }
        }
        assert_eq!(fill(&["ab cd ef".into()], " ", 5), ["ab cd", "ef"]);
    }

    #[test]
    fn truncated_text_ends_in_an_ellipsis() {
        assert_eq!(cut("S64HNE0R500123", 8), "S64HNE0…");
        assert_eq!(cut("short", 8), "short");
        assert_eq!(display_width(&cut("日本語日本語", 5)), 5);
    }
}
