//! The system's programs that layouts need, and Debian's packages of them.

use std::collections::BTreeSet;

use crate::layer::{FileSystemKind, Layer, Layout};

/// A program and the package that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tool {
    /// The program.
    pub program: &'static str,
    /// The package, by Debian's name.
    pub package: &'static str,
}

const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

/// What building and taking down these layouts needs.
pub fn tools<'a>(layouts: impl IntoIterator<Item = &'a Layout>) -> BTreeSet<Tool> {
    let mut all = BTreeSet::new();
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
        all.extend(["wipefs", "blkid"].map(|program| tool(program, "util-linux")));
    }
    all
}

const LVM: [&str; 7] = ["pvcreate", "vgcreate", "lvcreate", "vgremove", "pvremove", "pvs", "vgs"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    #[test]
    fn each_layer_names_its_programs() {
        let layouts = ["md0+xfs", "lvm-stripe", "raw"].map(|text| parse(text).unwrap());
        let names: Vec<_> = tools(&layouts).into_iter().map(|tool| tool.program).collect();
        let expected = [
            "blkid", "lvcreate", "mdadm", "mkfs.xfs", "mount", "pvcreate", "pvremove", "pvs",
            "umount", "vgcreate", "vgremove", "vgs", "wipefs",
        ];
        assert_eq!(names, expected);
        assert!(tools(&layouts[2..]).is_empty());
    }
}
