//! Tree of a machine's storage.

use iodyno_model::Node;

use super::Style;
use super::ink::Ink;
use super::words::{clean, fill};

/// Strings of the tree: before a child, before the last child, and before the descendants of
/// either.
struct Branches {
    child: &'static str,
    last: &'static str,
    on: &'static str,
    on_last: &'static str,
}

const LINES: Branches = Branches { child: "├─ ", last: "└─ ", on: "│  ", on_last: "   " };
const ASCII: Branches = Branches { child: "|- ", last: "`- ", on: "|  ", on_last: "   " };

/// Columns kept for the text at any depth.
const LEAST_ROOM: usize = 24;

/// Renders the tree, one line per node if it fits, at most `style.width` columns wide (deep nodes
/// keep 24 for their text). `ascii` is for terminals without other characters; device names may
/// still contain some.
pub fn tree_text(root: &Node, ascii: bool, style: &Style) -> String {
    let mut out = String::new();
    let branches = if ascii { ASCII } else { LINES };
    lines(root, ("", ""), &branches, style, &mut out);
    out
}

/// Lines of a node: `first` precedes its first line, `rest` the others and its children.
fn lines(
    node: &Node,
    (first, rest): (&str, &str),
    branches: &Branches,
    style: &Style,
    out: &mut String,
) {
    // Continuation lines align with the text, past the branch to the children.
    let stem = if node.children.is_empty() { branches.on_last } else { branches.on };
    // One column per character of a branch.
    let taken = first.chars().count() + stem.chars().count();
    let room = style.width.saturating_sub(taken).max(LEAST_ROOM);
    let label = clean(&node.label());
    let facts = match node.facts.is_empty() {
        true => label.clone(),
        false => format!("{label}  {}", clean(&node.facts.join(", "))),
    };
    let mut words = fill(&[facts], "", room);
    if let Some(first) = words.first_mut()
        && let Some(rest) = first.strip_prefix(label.as_str())
    {
        *first = Ink::Bold.paint(&label, style.color) + rest;
    }
    for concern in &node.concerns {
        let concern = fill(&[format!("! {}", clean(concern))], "", room);
        words.extend(concern.iter().map(|line| Ink::Doubt.paint(line, style.color)));
    }
    for (at, line) in words.iter().enumerate() {
        match at {
            0 => out.push_str(first),
            _ => out.extend([rest, stem]),
        }
        out.push_str(line);
        out.push('\n');
    }
    for (at, child) in node.children.iter().enumerate() {
        let (branch, on) = match at + 1 == node.children.len() {
            true => (branches.last, branches.on_last),
            false => (branches.child, branches.on),
        };
        let (first, on) = (format!("{rest}{branch}"), format!("{rest}{on}"));
        lines(child, (&first, &on), branches, style, out);
    }
}
