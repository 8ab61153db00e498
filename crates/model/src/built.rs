//! Layouts built on drives that have to be taken down again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 128 random bits written into what iodyno builds, or used as its name. Before it takes something
/// down it looks for them, as proof that it built it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(pub u128);

impl Mark {
    /// Returns the first five digits, for labels that are too short for more.
    pub fn tag(self) -> String {
        self.to_string()[..5].to_owned()
    }

    /// Returns the mark as a UUID, as file systems and arrays have it:
    /// `3f9ab…` as `3f9ab012-3456-7890-abcd-ef0123456789`.
    pub fn uuid(self) -> String {
        let digits = self.to_string();
        let part = |from: usize, to: usize| &digits[from..to];
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    /// True if `uuid` is this mark, whatever its separators.
    pub fn is_uuid(self, uuid: &str) -> bool {
        let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
        digits.eq_ignore_ascii_case(&self.to_string())
    }
}

impl fmt::Display for Mark {
    /// Formats as 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Mark {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Something that was built or taken, with what is needed to undo it. Earlier versions wrote no
/// mark; what they left cannot be proved to be ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// A drive taken for a layout, and given back empty.
    Drive {
        /// Path when it was taken; may name another drive after a restart.
        device: String,
        /// Identifier that permits writing, independent of the path.
        word: String,
        /// Mark written on the drive, and on everything built on it.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// An md array.
    Array {
        /// Path, `/dev/md127`.
        device: String,
        /// Name of the array.
        name: String,
        /// UUID of the array.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// A device-mapper mapping: a logical volume, dm-crypt.
    Mapping {
        /// Name, which contains the mark.
        name: String,
        /// Proof of ownership.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// Backing file of loop devices.
    BackingFile {
        /// Path; the file name contains the mark, and so does an extended attribute.
        path: String,
        /// Proof of ownership.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// A mount.
    Mount {
        /// Mount point: a directory of its own, named after the mark.
        at: String,
        /// UUID of the file system.
        #[serde(default)]
        mark: Option<Mark>,
    },
}

impl Built {
    /// Short title: `md array /dev/md127`.
    pub fn title(&self) -> String {
        match self {
            Self::Drive { device, word, .. } => format!("{device} ({word})"),
            Self::Array { device, .. } => format!("md array {device}"),
            Self::Mapping { name, .. } => format!("mapping {name}"),
            Self::BackingFile { path, .. } => path.clone(),
            Self::Mount { at, .. } => format!("mount at {at}"),
        }
    }

    /// Proof that it is ours.
    pub const fn mark(&self) -> Option<Mark> {
        match self {
            Self::Drive { mark, .. }
            | Self::Array { mark, .. }
            | Self::Mapping { mark, .. }
            | Self::BackingFile { mark, .. }
            | Self::Mount { mark, .. } => *mark,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_round_trip_and_match_uuids() {
        let mark = Mark(0x0f9a_b012_3456_7890_abcd_ef01_2345_6789);
        assert_eq!(mark.to_string().parse(), Ok(mark));
        assert_eq!(
            (&*mark.tag(), &*mark.uuid()),
            ("0f9ab", "0f9ab012-3456-7890-abcd-ef0123456789")
        );
        assert!(mark.is_uuid(&mark.uuid()) && mark.is_uuid("0F9AB012:34567890:abcdef01:23456789"));
        assert!(!mark.is_uuid("") && !mark.is_uuid("0f9ab012-3456-7890-abcd-ef012345678"));
        let old: Built = serde_json::from_str(r#"{"mount":{"at":"/run/iodyno/abcde"}}"#).unwrap();
        assert_eq!(old.mark(), None);
    }
}
