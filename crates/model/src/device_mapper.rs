//! Device-mapper devices and their tables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// A device-mapper device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MappedDevice {
    /// Name under /dev/mapper.
    pub name: String,
    /// Owner, from the UUID's prefix (`LVM`, `CRYPT`, `mpath`).
    pub owner: Option<String>,
    /// Device-mapper table, in block order; root only.
    #[serde(default)]
    pub table: Fact<Vec<MappedSegment>>,
}

/// Line of a device-mapper table: the mapping of one segment of the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedSegment {
    /// Start of the segment on the device, bytes.
    pub start_bytes: u64,
    /// Length of the segment, bytes.
    pub length_bytes: u64,
    /// Device-mapper target: `linear`, `striped`, `crypt`, …
    pub target: String,
    /// Stripe chunk size, bytes.
    pub chunk_bytes: Option<u64>,
    /// Bytes that a `thin` volume has allocated in its pool, or that a `thin-pool` has allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<u64>,
    /// Underlying locations of a `linear` or `striped` segment: one, or one per stripe in order.
    pub places: Vec<MappedPlace>,
}

/// Location on an underlying block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedPlace {
    /// Underlying block device.
    pub device: String,
    /// Start on that device, bytes.
    pub start_bytes: u64,
}

impl MappedDevice {
    /// Returns the volume group and the logical volume of an LVM device: `vg` and `my-data` for
    /// `vg-my--data` (lvm(8), a hyphen in a name is doubled).
    pub fn volume(&self) -> Option<(String, String)> {
        if self.owner.as_deref() != Some("LVM") {
            return None;
        }
        let bytes = self.name.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match (bytes[at], bytes.get(at + 1)) {
                (b'-', Some(b'-')) => at += 2,
                (b'-', Some(_)) => {
                    let plain = |name: &str| name.replace("--", "-");
                    return Some((plain(&self.name[..at]), plain(&self.name[at + 1..])));
                }
                _ => at += 1,
            }
        }
        None
    }

    /// Returns the share of a thin volume that is allocated in its pool, 0..1; `None` for others, or if
    /// only root can know.
    pub fn thin_share(&self) -> Option<f64> {
        let [segment] = self.table.get()?.as_slice() else { return None };
        let allocated_bytes = segment.allocated_bytes.filter(|_| segment.target == "thin")?;
        Some(allocated_bytes as f64 / segment.length_bytes as f64)
    }

    /// Returns the number of stripes and the chunk size, bytes, of the first striped segment.
    pub fn stripes(&self) -> Option<(usize, u64)> {
        let segments = self.table.get()?;
        let striped = segments.iter().find(|segment| segment.target == "striped")?;
        Some((striped.places.len(), striped.chunk_bytes?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lvm_names_are_split_at_the_single_hyphen() {
        let volume = |name: &str| {
            let owner = Some("LVM".into());
            MappedDevice { name: name.into(), owner, table: Fact::Absent }.volume()
        };
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(volume("vg-data"), pair("vg", "data"));
        assert_eq!(volume("my--vg-my--data"), pair("my-vg", "my-data"));
        assert_eq!(volume("vg--x"), None);
        assert_eq!(volume("-"), None);
        assert_eq!(volume("é-ü"), pair("é", "ü"));
    }
}
