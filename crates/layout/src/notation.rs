//! Parser of the notation: layers joined by `+` from the drives up, each with its options after a
//! colon; lists in braces stand for one layout each.

use std::collections::BTreeMap;

use iodyno_model::Bytes;
use thiserror::Error;

use crate::layer::{
    Crypt, FileSystem, FileSystemKind, Layer, Layout, Lvm, Md, MdLevel, size_notation,
};

/// mdadm's default chunk, bytes (mdadm(8), --chunk).
const MD_CHUNK_BYTES: u64 = 512 << 10;
/// LVM's default stripe, bytes (lvm.conf(5), allocation/stripe_size is unset: 64 KiB).
const LVM_STRIPE_BYTES: u64 = 64 << 10;
/// Smallest chunk or stripe of md and LVM: a page.
const LEAST_PIECE_BYTES: u64 = 4 << 10;
/// LVM's default physical extent, bytes: upper limit of a stripe.
const EXTENT_BYTES: u64 = 4 << 20;
/// Most layouts from one word.
const MOST: usize = 64;

/// Most common layouts, with descriptions.
pub const PRESETS: [(&str, &str); 10] = [
    ("raw", "one drive as it is"),
    ("lvm-stripe", "a striped logical volume over all drives, 64 KiB"),
    ("lvm", "a linear logical volume over all drives"),
    ("md0", "md RAID 0 over all drives, 512 KiB"),
    ("md1", "md RAID 1 over all drives"),
    ("md5", "md RAID 5 over all drives, 512 KiB"),
    ("md6", "md RAID 6 over all drives, 512 KiB"),
    ("md10", "md RAID 10 over all drives, 512 KiB"),
    ("xfs", "XFS on one drive"),
    ("ext4", "ext4 on one drive"),
];

/// Mistake in a layout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("layout `{layout}`: {what}")]
pub struct LayoutError {
    /// The layout as typed.
    pub layout: String,
    /// What is wrong, and what was expected.
    pub what: String,
}

/// Parses all layouts that `text` stands for: lists in braces are alternatives, as in
/// `lvm-stripe:{64k,256k}+{xfs,ext4}`; the last one varies fastest.
///
/// # Errors
/// A mistake, in words of the notation.
pub fn expand(text: &str) -> Result<Vec<Layout>, LayoutError> {
    let error = |what: &str| LayoutError { layout: text.into(), what: what.into() };
    let mut words = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find(['{', '}']) {
        let (before, list) = rest.split_at(open);
        let list = list.strip_prefix('{').ok_or_else(|| error("`}` closes nothing"))?;
        let close = list.find('}').ok_or_else(|| error("`{` is not closed"))?;
        let (list, behind) = (&list[..close], &list[close + 1..]);
        if list.contains('{') {
            return Err(error("no braces are allowed in braces"));
        }
        words = words
            .iter()
            .flat_map(|word| list.split(',').map(move |one| format!("{word}{before}{one}")))
            .collect();
        if words.len() > MOST {
            return Err(error(&format!("it stands for more than {MOST} layouts")));
        }
        rest = behind;
    }
    words.iter().map(|word| parse(&format!("{word}{rest}"))).collect()
}

/// Parses one layout.
///
/// # Errors
/// A mistake, in words of the notation.
pub fn parse(text: &str) -> Result<Layout, LayoutError> {
    let error = |what: String| LayoutError { layout: text.into(), what };
    if text == "raw" {
        return Ok(Layout { layers: Vec::new() });
    }
    let layers: Vec<Layer> =
        text.split('+').map(layer).collect::<Result<_, String>>().map_err(error)?;
    order(&layers).map_err(error)?;
    Ok(Layout { layers })
}

/// Checks the order of layers.
fn order(layers: &[Layer]) -> Result<(), String> {
    for (n, layer) in layers.iter().enumerate() {
        let below = &layers[..n];
        if below.iter().any(|other| matches!(other, Layer::FileSystem(_))) {
            return Err(format!("nothing stands on a file system, so not {layer} either"));
        }
        if below.iter().any(|other| std::mem::discriminant(other) == std::mem::discriminant(layer))
        {
            return Err(format!("{layer}: one layer of a kind"));
        }
        match layer {
            Layer::Md(_) if n > 0 => return Err(format!("{layer} must be the lowest layer")),
            Layer::Lvm(Lvm::Striped { .. }) if n > 0 => {
                return Err(format!("{layer} stripes over drives; on {} say lvm", below[n - 1]));
            }
            _ => {}
        }
    }
    Ok(())
}

fn layer(text: &str) -> Result<Layer, String> {
    let (name, asked) = text.split_once(':').map_or((text, None), |(n, asked)| (n, Some(asked)));
    let nothing_asked = |layer: Layer| match asked {
        None => Ok(layer),
        Some(asked) => Err(format!("{name} takes nothing after it, got `{asked}`")),
    };
    if let Some(kind) = FileSystemKind::ALL.into_iter().find(|kind| kind.name() == name) {
        return Ok(Layer::FileSystem(file_system(kind, asked)?));
    }
    let level = MdLevel::ALL.into_iter().find(|level| format!("md{}", level.number()) == name);
    if let Some(level) = level {
        if level == MdLevel::Raid1 {
            return nothing_asked(Layer::Md(Md { level, chunk_bytes: None }));
        }
        let chunk_bytes =
            Some(asked.map_or(Ok(MD_CHUNK_BYTES), |text| parse_piece("chunk", text))?);
        return Ok(Layer::Md(Md { level, chunk_bytes }));
    }
    match name {
        "lvm" | "lvm-linear" => nothing_asked(Layer::Lvm(Lvm::Linear)),
        "lvm-stripe" => {
            let stripe_bytes =
                asked.map_or(Ok(LVM_STRIPE_BYTES), |text| parse_piece("stripe", text))?;
            if stripe_bytes > EXTENT_BYTES {
                return Err(format!(
                    "a stripe of {} is larger than LVM's extents, {}",
                    Bytes(stripe_bytes).binary(),
                    Bytes(EXTENT_BYTES).binary()
                ));
            }
            Ok(Layer::Lvm(Lvm::Striped { stripe_bytes }))
        }
        "crypt" => match asked {
            None => Ok(Layer::Crypt(Crypt { inline: false })),
            Some("inline") => Ok(Layer::Crypt(Crypt { inline: true })),
            Some(other) => Err(format!("crypt takes `inline`, `{other}` was given")),
        },
        "raw" => Err("raw cannot be joined".into()),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> String {
    let mut known: Vec<String> =
        MdLevel::ALL.iter().map(|level| format!("md{}", level.number())).collect();
    known.extend(["lvm", "lvm-stripe", "crypt", "raw"].map(String::from));
    known.extend(FileSystemKind::ALL.iter().map(|kind| kind.name().into()));
    let nearest = known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(name, word), word))
        .min()
        .filter(|(distance, _)| *distance <= 2);
    match nearest {
        Some((_, word)) => format!("`{name}` is not a layer; did you mean `{word}`?"),
        None => format!("`{name}` is not a layer; there are {}", known.join(", ")),
    }
}

/// Parses a chunk or a stripe: a power of two of at least a page (md(4), lvmraid(7)).
fn parse_piece(what: &str, text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if !bytes.is_power_of_two() || bytes < LEAST_PIECE_BYTES {
        let least = size_notation(LEAST_PIECE_BYTES);
        return Err(format!("{what} {text}: expected a power of two from {least} on"));
    }
    Ok(bytes)
}

/// Parses `64k`, `1m`, `4096`.
fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}` is not a size like 64k or 1m");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(expected()),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    number.checked_mul(factor).filter(|bytes| *bytes > 0).ok_or_else(expected)
}

fn file_system(kind: FileSystemKind, asked: Option<&str>) -> Result<FileSystem, String> {
    let mut options = BTreeMap::new();
    let mut new_files = false;
    for word in asked.into_iter().flat_map(|asked| asked.split(',')) {
        let known = kind.options();
        if word == "new" {
            new_files = true;
            continue;
        }
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("`{word}`: expected NAME=VALUE or `new`"));
        };
        let Some((_, is_size)) = known.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
            let known = if known.is_empty() { "nothing".into() } else { known.join(", ") };
            return Err(format!("{} takes {known}, not `{name}`", kind.name()));
        };
        let number = |text: &str| text.parse().ok().filter(|number: &u64| *number > 0);
        let value = match is_size {
            true => size(value)?,
            false => number(value)
                .ok_or_else(|| format!("{name}=`{value}`: expected a number above 0"))?,
        };
        if options.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(FileSystem { kind, options, new_files })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> Vec<String> {
        expand(text).unwrap().iter().map(ToString::to_string).collect()
    }

    fn wrong(text: &str) -> String {
        expand(text).unwrap_err().to_string()
    }

    #[test]
    fn layouts_are_parsed_and_printed() {
        assert_eq!(written("raw"), ["raw"]);
        assert_eq!(written("md0"), ["md0:512k"]);
        assert_eq!(written("md5:128K+xfs"), ["md5:128k+xfs"]);
        assert_eq!(written("lvm-stripe+crypt+ext4"), ["lvm-stripe:64k+crypt+ext4"]);
        assert_eq!(written("lvm-linear"), ["lvm"]);
        assert_eq!(written("md1+lvm+btrfs"), ["md1+lvm+btrfs"]);
        assert_eq!(written("xfs:new,su=64k,sw=2"), ["xfs:su=64k,sw=2,new"]);
        for (preset, _) in PRESETS {
            assert_eq!(expand(preset).unwrap().len(), 1, "{preset}");
        }
    }

    #[test]
    fn braces_are_alternatives() {
        let all = ["lvm-stripe:64k+xfs", "lvm-stripe:64k+ext4", "lvm-stripe:1m+xfs"];
        assert_eq!(written("lvm-stripe:{64k,1m}+{xfs,ext4}")[..3], all);
        assert_eq!(written("xfs:{su=64k,su=512k}"), ["xfs:su=64k", "xfs:su=512k"]);
        assert_eq!(written("{raw,md0}"), ["raw", "md0:512k"]);
        assert!(wrong("md0:{64k").contains("not closed"));
        assert!(wrong("md0:64k}").contains("closes nothing"));
        assert!(wrong("{{a}}").contains("in braces"));
        assert!(
            wrong(
                "md0:{4k,8k,16k,32k,64k,128k,256k,512k}+crypt{,:inline}+xfs:su={4k,8k,16k,32k,64k}"
            )
            .contains("more than 64")
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("md7", "did you mean `md"),
            ("zfs", "did you mean `xfs`"),
            ("reiserfs", "there are md0"),
            ("md0:48k", "power of two"),
            ("md0:2k", "from 4k on"),
            ("md1:64k", "takes nothing"),
            ("lvm-stripe:8m", "larger than LVM's extents"),
            ("xfs+md0", "nothing stands on a file system"),
            ("lvm+md0", "must be the lowest layer"),
            ("md0+lvm-stripe", "on md0:512k say lvm"),
            ("md0+md1", "one layer of a kind"),
            ("xfs:stride=4", "xfs takes su, sw, not `stride`"),
            ("btrfs:su=4k", "btrfs takes nothing"),
            ("xfs:su=64k,su=4k", "given twice"),
            ("xfs:sw=0", "above 0"),
            ("xfs:su", "NAME=VALUE"),
            ("raw+xfs", "raw cannot be joined"),
            ("", "is not a layer"),
            ("md0:18446744073709551615g", "a size like"),
        ] {
            let error = wrong(text);
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn parsed_layouts_print_and_parse_again(text in "[a-z0-9:+={},k-]{0,40}") {
            if let Ok(layouts) = expand(&text) {
                for layout in layouts {
                    // The printed form parses to the same layout.
                    prop_assert_eq!(parse(&layout.to_string()), Ok(layout));
                }
            }
        }
    }
}
