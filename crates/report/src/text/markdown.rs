//! Renders our own documents on a terminal, from the Markdown subset they use.

use super::Style;
use super::ink::Ink;
use super::words::{Hanging, clean};

/// Indent of text below a heading.
const INDENT: usize = 2;

/// Renders a page: headings bold, paragraphs and lists wrapped, links to other pages as their text.
pub fn page_text(markdown: &str, style: &Style) -> String {
    let mut out = String::new();
    let mut open: Option<Block> = None;
    for line in markdown.lines() {
        let heading = line.strip_prefix("# ").or(line.strip_prefix("## "));
        let item = line.strip_prefix("- ");
        // A paragraph or list item continues until the next block.
        if heading.is_some() || item.is_some() || line.is_empty() {
            out.push_str(&open.take().map_or(String::new(), |block| block.lines(style)));
        }
        match (heading, item) {
            (Some(title), _) => out.push_str(&title_line(title, style)),
            (_, Some(text)) => open = Some(Block { text: text.trim().into(), is_item: true }),
            _ if line.is_empty() => out.push('\n'),
            _ => open.get_or_insert_default().add(line.trim()),
        }
    }
    out.push_str(&open.map_or(String::new(), |block| block.lines(style)));
    out
}

fn title_line(title: &str, style: &Style) -> String {
    let hanging = Hanging { ink: Ink::Bold, ..Hanging::of(style) };
    hanging.lines(&[clean(title)])
}

/// Paragraph or list item.
#[derive(Default)]
struct Block {
    text: String,
    is_item: bool,
}

impl Block {
    fn add(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(line);
    }

    fn lines(&self, style: &Style) -> String {
        let plain = Hanging { indent: INDENT, ..Hanging::of(style) };
        let hanging = match self.is_item {
            true => Hanging { lead: "  -".into(), lead_width: 3, indent: INDENT + 2, ..plain },
            false => plain,
        };
        hanging.lines(&[clean(&unlinked(&self.text))])
    }
}

/// Replaces `[words](address)` with its words.
fn unlinked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        let link = behind.split_once("](").and_then(|(words, behind)| {
            let (_, behind) = behind.split_once(')')?;
            (!words.contains(']')).then_some((words, behind))
        });
        out.push_str(before);
        (out, rest) = match link {
            Some((words, behind)) => (out + words, behind),
            None => (out + "[", behind),
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_wrapped_and_its_links_become_words() {
        let page = "# a-rule\n\nWorst: INFO.\n\n## When it fires\n\n- one thing, \nwhich goes on\n- [other](other.md) and a[0]\n\nThe end.\n";
        let style = Style { width: 20, color: false, wide: false, columns: None };
        assert_eq!(
            page_text(page, &style),
            "a-rule\n\n  Worst: INFO.\n\nWhen it fires\n\n  - one thing, which\n    goes on\n  - other and a[0]\n\n  The end.\n"
        );
    }
}
