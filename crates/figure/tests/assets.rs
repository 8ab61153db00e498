//! Third-party files are those that their publishers released.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};

#[test]
fn third_party_assets_have_checksums_and_licences() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let sums = std::fs::read_to_string(assets.join("SHA256SUMS")).unwrap();
    let stated: BTreeMap<&str, &str> = sums
        .lines()
        .map(|line| line.split_once("  ").unwrap())
        .map(|(sum, name)| (name, sum))
        .collect();
    let ours = [
        ("echarts.min.js", "echarts.LICENSE", iodyno_figure::echarts().as_bytes().to_vec()),
        ("DejaVuSans.ttf", "DejaVuSans.LICENSE", iodyno_figure::font()),
    ];
    for (name, licence, bytes) in ours {
        let sum = Sha256::digest(bytes);
        let hex = sum.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        });
        assert_eq!(stated.get(name), Some(&hex.as_str()), "{name}");
        assert!(assets.join(licence).is_file(), "{licence}");
    }
    assert_eq!(stated.len(), 2);
}

#[test]
fn the_script_needs_no_eval_and_no_network() {
    for word in ["eval(", "new Function", "http://", "https://", "fetch(", "import("] {
        assert!(!iodyno_figure::SCRIPT.contains(word), "{word}");
    }
}
