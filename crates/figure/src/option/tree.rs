//! Draws a tree from left to right, each node with its text next to it.

use iodyno_model::Node;
use serde_json::{Value, json};

use super::clean;
use super::theme::Theme;
use crate::figure::leaves;

/// Facts printed at a node; the others are in its tooltip.
const MOST_FACTS: usize = 2;

pub(super) fn tree(root: &Node, panel: usize, theme: &Theme) -> Value {
    let words = |color: &str, size: u32, height: u32| {
        json!({
            "color": color, "fontSize": size, "lineHeight": height,
            // Text hides the line behind it.
            "backgroundColor": theme.background,
        })
    };
    let branches = branch(root, false, theme);
    json!({
        "type": "tree",
        "iodyno": {"tree": panel, "levels": depth(&branches), "leaves": leaves(root)},
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
        "data": [branches],
    })
}

/// Levels of the drawn tree.
fn depth(branch: &Value) -> u64 {
    let children = branch["children"].as_array().into_iter().flatten();
    1 + children.map(depth).max().unwrap_or(0)
}

/// Data of a node; `draw.js` makes its label once the room for it is known. A leaf with siblings
/// gets an invisible child, since ECharts puts leaves of one parent closer together.
fn branch(node: &Node, beside: bool, theme: &Theme) -> Value {
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
    let several = node.children.len() > 1;
    let mut children: Vec<Value> =
        node.children.iter().map(|child| branch(child, several, theme)).collect();
    if children.is_empty() && beside {
        children.push(json!({
            "name": "", "about": [], "shown": [], "children": [], "symbol": "none",
        }));
    }
    // The line to a node is drawn by its parent.
    let opacity = if node.children.is_empty() { 0 } else { 1 };
    json!({
        "lineStyle": {"opacity": opacity},
        "name": name,
        "about": about,
        "shown": shown,
        "itemStyle": {"color": color, "borderColor": color},
        "children": children,
    })
}
