//! System programs that layouts need, with their Debian packages.

use std::collections::BTreeSet;

use crate::layer::{FileSystemKind, Layer, Layout};

/// A program and its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tool {
    /// The program.
    pub program: &'static str,
    /// Name of the Debian package.
    pub package: &'static str,
}

const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

/// Programs for building and taking down these layouts.
pub fn tools<'a>(layouts: impl IntoIterator<Item = &'a Layout>) -> BTreeSet<Tool> {
    // For every layout: drives are given back empty.
    let mut all = BTreeSet::from(["blkdiscard", "blkid", "wipefs"].map(|p| tool(p, "util-linux")));
    for layer in layouts.into_iter().flat_map(|layout| &layout.layers) {
        match layer {
            Layer::Md(_) => all.extend([tool("mdadm", "mdadm")]),
            Layer::Lvm(_) => all.extend(LVM.map(|program| tool(program, "lvm2"))),
            Layer::Crypt(_) => all.extend([tool("cryptsetup", "cryptsetup-bin")]),
            Layer::FileSystem(of) => {
                all.extend([match of.kind {
                    FileSystemKind::Ext4 => tool("mkfs.ext4", "e2fsprogs"),
                    FileSystemKind::Xfs => tool("mkfs.xfs", "xfsprogs"),
                    FileSystemKind::Btrfs => tool("mkfs.btrfs", "btrfs-progs"),
                }]);
                all.extend([tool("mount", "mount"), tool("umount", "mount")]);
            }
        }
        if matches!(layer, Layer::Lvm(_) | Layer::Crypt(_)) {
            all.insert(tool("dmsetup", "dmsetup"));
        }
    }
    all
}

const LVM: [&str; 3] = ["vgcreate", "lvcreate", "pvs"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    #[test]
    fn each_layer_names_its_programs() {
        let layouts = ["md0+xfs", "lvm-stripe", "raw"].map(|text| parse(text).unwrap());
        let names: Vec<_> = tools(&layouts).into_iter().map(|tool| tool.program).collect();
        let expected = [
            "blkdiscard",
            "blkid",
            "dmsetup",
            "lvcreate",
            "mdadm",
            "mkfs.xfs",
            "mount",
            "pvs",
            "umount",
            "vgcreate",
            "wipefs",
        ];
        assert_eq!(names, expected);
        assert_eq!(tools(&layouts[2..]).len(), 3);
    }
}
