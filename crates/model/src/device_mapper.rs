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
    /// Its table, in the order of its blocks; root only.
    #[serde(default)]
    pub table: Fact<Vec<MappedSegment>>,
}

/// A line of a table: what a part of the device is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedSegment {
    /// Where it begins on the device, bytes.
    pub start_bytes: u64,
    /// Its length, bytes.
    pub length_bytes: u64,
    /// The kind of target: `linear`, `striped`, `crypt`, …
    pub target: String,
    /// Chunk of a stripe, bytes.
    pub chunk_bytes: Option<u64>,
    /// What it lies on, where the target is `linear` or `striped`: one place,
    /// or one for each stripe in their order.
    pub places: Vec<MappedPlace>,
}

/// A place on a block device below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedPlace {
    /// Block device.
    pub device: String,
    /// Where it begins there, bytes.
    pub start_bytes: u64,
}

impl MappedDevice {
    /// Volume group and logical volume, where LVM owns it: of `vg-my--data`,
    /// `vg` and `my-data` (lvm(8), a hyphen in a name is written twice).
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

    /// The first striped segment's number of stripes and chunk, bytes.
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
    fn names_of_volumes_are_parted_at_the_single_hyphen() {
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
