//! Stripe geometry, and whether what stands on a stripe fits it.

use crate::layer::{FileSystem, FileSystemKind, Layer, Layout, Lvm, shown, typed};

/// ext4's block, bytes (mke2fs's own for all but tiny file systems).
const EXT4_BLOCK_BYTES: u64 = 4096;

/// How data lies on several drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// What lies on one drive before the next has its turn, bytes.
    pub unit_bytes: u64,
    /// Drives that hold data of a stripe.
    pub data_drives: u64,
}

/// A setting held against what the layers below ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The setting: `xfs su`.
    pub setting: String,
    /// What the layout has.
    pub given: String,
    /// What fits.
    pub recommended: String,
    /// Both are the same.
    pub fits: bool,
    /// Why, in a sentence.
    pub why: &'static str,
}

impl Stripe {
    /// A whole stripe, bytes.
    pub const fn full_bytes(&self) -> u64 {
        self.unit_bytes * self.data_drives
    }
}

/// The stripe of a layout on `drives` drives, of the highest layer that has one.
pub fn stripe(layout: &Layout, drives: usize) -> Option<Stripe> {
    let of = |layer: &Layer| match layer {
        Layer::Md(md) => Some(Stripe {
            unit_bytes: md.chunk_bytes?,
            data_drives: md.level.data_drives(drives) as u64,
        }),
        Layer::Lvm(Lvm::Striped { stripe_bytes }) => {
            Some(Stripe { unit_bytes: *stripe_bytes, data_drives: drives as u64 })
        }
        _ => None,
    };
    layout.layers.iter().rev().find_map(of)
}

/// What the stripe asks of a file system: (unit, width) in the units of its
/// options (bytes and units for XFS; blocks for ext4). Of `mke2fs -E` and
/// mkfs.xfs(8), -d su, sw.
pub(crate) fn fitting(kind: FileSystemKind, stripe: Stripe) -> Option<[(&'static str, u64); 2]> {
    match kind {
        FileSystemKind::Xfs => Some([("su", stripe.unit_bytes), ("sw", stripe.data_drives)]),
        FileSystemKind::Ext4 => {
            let stride = (stripe.unit_bytes / EXT4_BLOCK_BYTES).max(1);
            Some([("stride", stride), ("stripe-width", stride * stripe.data_drives)])
        }
        FileSystemKind::Btrfs => None,
    }
}

/// The geometry that mkfs is told: what was asked for, else what fits.
pub(crate) fn told(of: &FileSystem, stripe: Option<Stripe>) -> Vec<(&'static str, u64)> {
    let fitting = stripe.and_then(|stripe| fitting(of.kind, stripe));
    let names = of.kind.options().iter().enumerate();
    let value = |(n, (name, _)): (usize, &(&'static str, bool))| {
        let asked = of.options.get(*name).copied();
        Some((*name, asked.or_else(|| fitting.map(|two| two[n].1))?))
    };
    names.filter_map(value).collect()
}

/// Every setting of the layout that a stripe on `drives` drives has a say in.
pub fn advice(layout: &Layout, drives: usize) -> Vec<Advice> {
    let Some(stripe) = stripe(layout, drives) else { return Vec::new() };
    let mut all = Vec::new();
    let data_bytes = crate::build::data_alignment_bytes(layout, drives);
    if layout.layers.iter().any(|layer| matches!(layer, Layer::Lvm(_))) {
        all.push(Advice {
            setting: "lvm data alignment".into(),
            given: shown(data_bytes),
            recommended: shown(data_bytes),
            fits: true,
            why: "Data begins at a whole stripe of what lies below, and at 1 MiB at least",
        });
    }
    let Some(of) = layout.file_system() else { return all };
    let told = told(of, Some(stripe));
    for (name, right) in fitting(of.kind, stripe).into_iter().flatten() {
        let Some((_, given)) = told.iter().find(|(told, _)| *told == name) else { continue };
        let is_size = of.kind.options().contains(&(name, true));
        let text = |value: u64| if is_size { typed(value) } else { value.to_string() };
        let why = match name {
            "su" | "stride" => "Allocation that begins at a stripe unit keeps an I/O on one drive",
            _ => "Allocation over whole stripes spares RAID 5 and 6 from reading before they write",
        };
        all.push(Advice {
            setting: format!("{} {name}", of.kind.name()),
            given: text(*given),
            recommended: text(right),
            fits: *given == right,
            why,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    fn fits(text: &str, drives: usize) -> Vec<(String, String, String, bool)> {
        let all = advice(&parse(text).unwrap(), drives);
        all.into_iter().map(|one| (one.setting, one.given, one.recommended, one.fits)).collect()
    }

    #[test]
    fn the_stripe_is_that_of_the_drives_that_hold_data() {
        let of = |text: &str, drives| {
            stripe(&parse(text).unwrap(), drives).map(|s| (s.unit_bytes, s.data_drives))
        };
        assert_eq!(of("md0", 4), Some((512 << 10, 4)));
        assert_eq!(of("md5:64k", 4), Some((64 << 10, 3)));
        assert_eq!(of("md6", 6), Some((512 << 10, 4)));
        assert_eq!(of("md10", 4), Some((512 << 10, 2)));
        assert_eq!(of("md1+xfs", 2), None);
        assert_eq!(of("md5+lvm+crypt+xfs", 3), Some((512 << 10, 2)));
        assert_eq!(of("lvm-stripe:64k", 2), Some((64 << 10, 2)));
        assert_eq!(of("lvm", 2), None);
    }

    #[test]
    fn geometry_that_does_not_fit_is_told() {
        assert_eq!(fits("xfs", 1), []);
        let of = |a: &str, b: &str, c: &str, fits| (a.into(), b.into(), c.into(), fits);
        assert_eq!(
            fits("md0+xfs:su=64k", 2),
            [of("xfs su", "64k", "512k", false), of("xfs sw", "2", "2", true)]
        );
        assert_eq!(
            fits("lvm-stripe:64k+ext4", 2),
            [
                of("lvm data alignment", "1 MiB", "1 MiB", true),
                of("ext4 stride", "16", "16", true),
                of("ext4 stripe-width", "32", "32", true)
            ]
        );
    }
}
