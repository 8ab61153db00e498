//! What was built on drives and has to be taken down again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 128 random bits that are written into what is made, or are its name, so that
/// it is known again: the proof that taking it down asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(pub u128);

impl Mark {
    /// Its first five digits, for labels that hold no more.
    pub fn tag(self) -> String {
        self.to_string()[..5].to_owned()
    }

    /// It as a UUID, as file systems and arrays have them:
    /// `3f9ab…` as `3f9ab012-3456-7890-abcd-ef0123456789`.
    pub fn uuid(self) -> String {
        let digits = self.to_string();
        let part = |from: usize, to: usize| &digits[from..to];
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    /// Whether `uuid` is this one, whatever stands between its digits.
    pub fn is_uuid(self, uuid: &str) -> bool {
        let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
        digits.eq_ignore_ascii_case(&self.to_string())
    }
}

impl fmt::Display for Mark {
    /// 32 hexadecimal digits.
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

/// One thing that was built or taken, with what giving it back needs. Earlier
/// versions wrote no mark: what they left cannot be proved to be ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// A drive that was given up for it, and is given back empty.
    Drive {
        /// Its path when it was taken; after a restart that may be another's.
        device: String,
        /// What names it for writing, whatever its path.
        word: String,
        /// What was written on it, and what all that is built on it bears.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// An md array.
    Array {
        /// `/dev/md127`.
        device: String,
        /// Its name.
        name: String,
        /// Its UUID.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// A mapping of device-mapper: a volume, dm-crypt.
    Mapping {
        /// Its name, which holds the mark.
        name: String,
        /// What proves it.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// A file that loop devices stand on.
    BackingFile {
        /// Its path; its name holds the mark, and an attribute of it.
        path: String,
        /// What proves it.
        #[serde(default)]
        mark: Option<Mark>,
    },
    /// A mount.
    Mount {
        /// Where: a directory that no other has; its name is the mark.
        at: String,
        /// The UUID of the file system.
        #[serde(default)]
        mark: Option<Mark>,
    },
}

impl Built {
    /// In a few words: `md array /dev/md127`.
    pub fn title(&self) -> String {
        match self {
            Self::Drive { device, word, .. } => format!("{device} ({word})"),
            Self::Array { device, .. } => format!("md array {device}"),
            Self::Mapping { name, .. } => format!("mapping {name}"),
            Self::BackingFile { path, .. } => path.clone(),
            Self::Mount { at, .. } => format!("mount at {at}"),
        }
    }

    /// What proves that it is ours.
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
    fn a_mark_reads_back_and_is_a_uuid() {
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
