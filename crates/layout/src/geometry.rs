//! Stripe geometry, and checks of the layers above against it.

use crate::layer::{FileSystem, FileSystemKind, Layer, Layout, Lvm, size_notation};

/// ext4's block, bytes (mke2fs's default for all but tiny file systems).
const EXT4_BLOCK_BYTES: u64 = 4096;

/// Smallest start of a volume's data, bytes (LVM's default).
const LEAST_BEGIN_BYTES: u64 = 1 << 20;
/// Smallest extent of a volume, bytes (LVM's default).
const LEAST_EXTENT_BYTES: u64 = 4 << 20;
/// Extents are multiples of this, bytes (vgcreate(8), --physicalextentsize).
const EXTENT_STEP_BYTES: u64 = 128 << 10;
/// Customary alignment of partitions, bytes: a multiple of every drive's pages.
const PARTITION_STEP_BYTES: u64 = 1 << 20;

/// Striping of data over drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Bytes on one drive before the next one's turn.
    pub unit_bytes: u64,
    /// Drives that hold data of a stripe.
    pub data_drives: u64,
}

/// Placement of a volume's data on the layer below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extents {
    /// Their start, bytes.
    pub(crate) begin_bytes: u64,
    /// Size of each, bytes.
    pub(crate) extent_bytes: u64,
}

/// A setting compared to what the layers below ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The setting: `xfs su`.
    pub setting: String,
    /// Value of the layout.
    pub given: String,
    /// Value that fits.
    pub recommended: String,
    /// Both are the same.
    pub fits: bool,
    /// Reason, in a sentence.
    pub why: &'static str,
}

impl Stripe {
    /// Size of a whole stripe, bytes.
    pub const fn full_bytes(&self) -> u64 {
        self.unit_bytes * self.data_drives
    }
}

impl Extents {
    /// Extents for the volume of a layout: whole stripes of the array below.
    pub(crate) fn on(layout: &Layout, drives: usize) -> Self {
        let array = layout.layers.first().filter(|layer| matches!(layer, Layer::Md(_)));
        let array = array.map(|layer| Layout { layers: vec![layer.clone()] });
        let full_bytes =
            array.and_then(|array| stripe(&array, drives)).map_or(1, |s| s.full_bytes());
        Self {
            begin_bytes: LEAST_BEGIN_BYTES.next_multiple_of(full_bytes),
            extent_bytes: LEAST_EXTENT_BYTES
                .next_multiple_of(least_common_multiple(full_bytes, EXTENT_STEP_BYTES)),
        }
    }
}

/// Least common multiple.
const fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// Stripe of a layout on `drives` drives, from the highest layer that has one.
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

/// File system options that fit the stripe: (unit, width), in bytes and units for XFS, in blocks
/// for ext4. See `mke2fs -E`, and mkfs.xfs(8), -d su, sw.
pub(crate) fn fitting_options(
    kind: FileSystemKind,
    stripe: Stripe,
) -> Option<[(&'static str, u64); 2]> {
    match kind {
        FileSystemKind::Xfs => Some([("su", stripe.unit_bytes), ("sw", stripe.data_drives)]),
        FileSystemKind::Ext4 => {
            let stride = (stripe.unit_bytes / EXT4_BLOCK_BYTES).max(1);
            Some([("stride", stride), ("stripe-width", stride * stripe.data_drives)])
        }
        FileSystemKind::Btrfs => None,
    }
}

/// Geometry passed to mkfs: as typed, else as fits.
pub(crate) fn mkfs_geometry(of: &FileSystem, stripe: Option<Stripe>) -> Vec<(&'static str, u64)> {
    let fitting = stripe.and_then(|stripe| fitting_options(of.kind, stripe));
    let names = of.kind.options().iter().enumerate();
    let value = |(n, (name, _)): (usize, &(&'static str, bool))| {
        let asked = of.options.get(*name).copied();
        Some((*name, asked.or_else(|| fitting.map(|two| two[n].1))?))
    };
    names.filter_map(value).collect()
}

/// Advice on every setting that depends on drives and stripes; `drives`: each path, with the offset
/// on its disk, bytes, if it is a partition.
pub fn advice(layout: &Layout, drives: &[(String, Option<u64>)]) -> Vec<Advice> {
    let mut all: Vec<Advice> = drives.iter().filter_map(partition_advice).collect();
    let on = layout.drives(drives.len());
    if layout.layers.iter().any(|layer| matches!(layer, Layer::Lvm(_))) {
        let extents = Extents::on(layout, on);
        let settings = [
            (
                "lvm data alignment",
                extents.begin_bytes,
                "A volume begins at a multiple of the stripe below, at 1 MiB or later",
            ),
            (
                "lvm extent",
                extents.extent_bytes,
                "A volume grows by extents: whole stripes keep it aligned",
            ),
        ];
        all.extend(settings.map(|(setting, bytes, why)| Advice {
            setting: setting.into(),
            given: size_notation(bytes),
            recommended: size_notation(bytes),
            fits: true,
            why,
        }));
    }
    let Some((of, stripe)) = layout.file_system().zip(stripe(layout, on)) else { return all };
    let geometry = mkfs_geometry(of, Some(stripe));
    for (name, right) in fitting_options(of.kind, stripe).into_iter().flatten() {
        let Some((_, given)) = geometry.iter().find(|(known, _)| *known == name) else { continue };
        let is_size = of.kind.options().contains(&(name, true));
        let text = |value: u64| if is_size { size_notation(value) } else { value.to_string() };
        let why = match name {
            "su" | "stride" => "Allocation that begins at a stripe unit keeps an I/O on one drive",
            _ => "Full-stripe allocation saves RAID 5 and 6 reads before writes",
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

fn partition_advice((path, begin_bytes): &(String, Option<u64>)) -> Option<Advice> {
    let begin_bytes = (*begin_bytes)?;
    let fits_bytes = begin_bytes.next_multiple_of(PARTITION_STEP_BYTES);
    Some(Advice {
        setting: format!("offset of {path}"),
        given: size_notation(begin_bytes),
        recommended: size_notation(fits_bytes),
        fits: begin_bytes == fits_bytes,
        why: "A partition at a multiple of 1 MiB splits no page of its drive",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    fn fits(text: &str, drives: usize) -> Vec<(String, String, String, bool)> {
        let drives: Vec<_> = (0..drives).map(|n| (format!("/dev/nvme{n}n1"), None)).collect();
        let all = advice(&parse(text).unwrap(), &drives);
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
    fn geometry_that_does_not_fit_is_reported() {
        assert_eq!(fits("xfs", 1), []);
        let of = |a: &str, b: &str, c: &str, fits| (a.into(), b.into(), c.into(), fits);
        assert_eq!(
            fits("md0+xfs:su=64k", 2),
            [of("xfs su", "64k", "512k", false), of("xfs sw", "2", "2", true)]
        );
        assert_eq!(
            fits("lvm-stripe:64k+ext4", 2),
            [
                of("lvm data alignment", "1m", "1m", true),
                of("lvm extent", "4m", "4m", true),
                of("ext4 stride", "16", "16", true),
                of("ext4 stripe-width", "32", "32", true)
            ]
        );
    }

    #[test]
    fn a_volume_on_an_array_is_made_of_whole_stripes() {
        let of = |text: &str, drives| {
            let Extents { begin_bytes, extent_bytes } = Extents::on(&parse(text).unwrap(), drives);
            (begin_bytes >> 10, extent_bytes >> 10)
        };
        assert_eq!(of("lvm-stripe", 2), (1024, 4096));
        assert_eq!(of("md1+lvm", 2), (1024, 4096));
        assert_eq!(of("md5+lvm", 4), (1536, 4608));
        assert_eq!(of("md0:64k+lvm", 3), (1152, 4224));
        // Extents are multiples of 128 KiB, too.
        assert_eq!(of("md0:4k+lvm", 3), (1032, 4224));
    }

    #[test]
    fn a_partition_begins_at_a_whole_mebibyte() {
        let of = |begin_bytes| {
            let drives = [("/dev/nvme0n1p1".to_owned(), Some(begin_bytes))];
            let (one, text) =
                (advice(&parse("raw").unwrap(), &drives).remove(0), parse("md0").unwrap());
            assert_eq!(advice(&text, &drives).first(), Some(&one));
            (one.setting, one.given, one.recommended, one.fits)
        };
        let offset = || "offset of /dev/nvme0n1p1".to_owned();
        assert_eq!(of(63 * 512), (offset(), "32256".into(), "1m".into(), false));
        assert_eq!(of(1 << 20), (offset(), "1m".into(), "1m".into(), true));
    }
}
