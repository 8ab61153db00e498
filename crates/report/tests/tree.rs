//! The tree as text and as a document.

mod common;

use common::style;
use iodyno_model::{BlockKind, Fact, LinkState, Node, topology};
use iodyno_report::document::{schemas, tree_document};
use iodyno_report::text::{Style, tree_text};

fn root() -> Node {
    topology(&common::host())
}

#[test]
fn the_servers_tree_matches_at_80_columns() {
    let text = tree_text(&root(), false, &style(80));
    let expected = include_str!("expected/tree.txt");
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn other_terminals_get_ascii() {
    let text = tree_text(&root(), true, &style(80));
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("\n|- root complex 0000:40  NUMA node 0\n"), "{text}");
    assert!(text.contains("`- nvme0n1p2"), "{text}");
}

#[test]
fn no_line_is_too_long_and_colour_repeats_words() {
    let bare = |text: &str| {
        let mut out = String::new();
        for (at, part) in text.split("\x1b[").enumerate() {
            out.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        out
    };
    for width in [60, 72, 80, 100, 200] {
        let plain = tree_text(&root(), false, &style(width));
        for line in plain.lines() {
            assert!(line.chars().count() <= width, "{line}");
            assert!(!line.ends_with(' '), "{line:?}");
        }
        let painted = tree_text(&root(), false, &Style { color: true, ..style(width) });
        assert_eq!(bare(&painted), plain);
    }
}

#[test]
fn strings_of_devices_cannot_drive_a_terminal() {
    let mut host = common::host();
    host.hostname = Fact::Read("db\u{1b}[2J17".into());
    host.drives[0].model = Fact::Read("EVIL\u{1b}]0;x\u{7}\u{202e}".into());
    let text = tree_text(&topology(&host), false, &style(80));
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains("EVIL]0;x"));
}

#[test]
fn the_document_is_valid_and_counts_shared_links() {
    let mut host = common::host();
    // Put the first two drives behind one uplink.
    let mut uplink = host.links[0].clone();
    uplink.device.address = "0000:30:00.0".into();
    uplink.port.address = "0000:00:01.0".into();
    uplink.current = Fact::Read(LinkState { generation: 4, width: 4 });
    host.links.push(uplink);
    for drive in &mut host.drives[..2] {
        drive.links.insert(0, "0000:30:00.0".into());
    }
    assert!(host.blocks.iter().any(|block| matches!(block.kind, BlockKind::Md(_))));
    let document = serde_json::to_value(tree_document(&host)).unwrap();
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "iodyno.tree.1.json").unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&document), "{document:#}");
    let port = &document["tree"]["children"][0]["children"][0];
    assert_eq!((&port["kind"], &port["link"]["drives"]), (&"port".into(), &2.into()));
    assert_eq!(port["link"]["oversubscription"], 2.0);
    assert_eq!(port["children"][0]["kind"], "switch");
    assert_eq!(port["children"][0]["children"].as_array().unwrap().len(), 2);
    let alone = &document["tree"]["children"][1]["children"][0]["link"];
    assert_eq!((&alone["drives"], &alone["oversubscription"]), (&1.into(), &().into()));
}
