//! A tree from left to right, each node with its words beside it.

use iodyno_model::Node;
use serde_json::{Value, json};

use super::clean;
use super::theme::Theme;
use crate::figure::{leaves, levels};

/// Facts written at a node; the others are in its tooltip.
const MOST_FACTS: usize = 2;

pub(super) fn tree(root: &Node, panel: usize, theme: &Theme) -> Value {
    let words = |color: &str, size: u32, height: u32| {
        json!({
            "color": color, "fontSize": size, "lineHeight": height,
            // Words hide the line that they stand on.
            "backgroundColor": theme.background,
        })
    };
    json!({
        "type": "tree",
        "iodyno": {"tree": panel, "levels": levels(root), "leaves": leaves(root)},
        "orient": "LR",
        "edgeShape": "polyline",
        "edgeForkPosition": "92%",
        "roam": false,
        "expandAndCollapse": false,
        "initialTreeDepth": -1,
        "symbol": "circle",
        "symbolSize": 8,
        "lineStyle": {"color": theme.lines, "width": 1.5, "curveness": 0},
        "label": {
            "position": "right", "align": "left", "verticalAlign": "middle", "distance": 6,
            "rich": {
                "name": words(theme.text, 12, 16),
                "fact": words(theme.faint, 11, 14),
                "concern": words(theme.concern, 11, 14),
            },
        },
        "data": [branch(root, theme)],
    })
}

/// A node; its words become a label where the room for them is known.
fn branch(node: &Node, theme: &Theme) -> Value {
    let name = clean(&node.label());
    let words = |texts: &[String]| texts.iter().map(|text| clean(text)).collect::<Vec<_>>();
    let (facts, concerns) = (words(&node.facts), words(&node.concerns));
    let color = if concerns.is_empty() { theme.color(0) } else { theme.color(1) };
    let shown: Vec<Value> = std::iter::once(json!(["name", name]))
        .chain(concerns.iter().map(|text| json!(["concern", format!("! {text}")])))
        .chain(facts.iter().map(|text| json!(["fact", text])))
        .take(1 + MOST_FACTS)
        .collect();
    let about = [vec![name.clone()], concerns, facts].concat();
    json!({
        "name": name,
        "about": about,
        "shown": shown,
        "itemStyle": {"color": color, "borderColor": color},
        "children": node.children.iter().map(|child| branch(child, theme)).collect::<Vec<_>>(),
    })
}
