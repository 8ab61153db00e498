//! What the user expects of a machine.

use crate::file_error::FileError;

/// Expected number of drives, and their serial numbers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Number of NVMe drives.
    pub(crate) drives: Option<usize>,
    /// Their serial numbers, trimmed.
    pub(crate) serials: Option<Vec<String>>,
}

const NEXT: &str = "write `drives = 8`, `serials = [\"…\", \"…\"]`, or both";

impl Expectation {
    /// Parses an expectation: TOML with `drives = 8`, `serials = ["…"]`, or both. `name` names the
    /// file in errors.
    ///
    /// # Errors
    /// Not TOML, an unknown key, a value of another type, or neither key.
    pub fn parse(text: &str, name: &str) -> Result<Self, FileError> {
        let mut found: Self =
            toml::from_str(text).map_err(|error| FileError::of_toml(name, text, &error, NEXT))?;
        if found.drives.is_none() && found.serials.is_none() {
            return Err(FileError::at(name, text, 0, "it is empty", NEXT));
        }
        for serial in found.serials.iter_mut().flatten() {
            *serial = serial.trim().to_owned();
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_or_refused_with_its_place() {
        let both = Expectation::parse("drives = 2\nserials = [\" A \", 'B']", "e.toml").unwrap();
        assert_eq!(both.drives, Some(2));
        assert_eq!(both.serials.unwrap(), ["A", "B"]);
        let typo = Expectation::parse("\ndrive = 2", "e.toml").unwrap_err();
        assert_eq!((typo.line, typo.column), (2, 1), "{typo}");
        assert!(Expectation::parse("", "e.toml").is_err());
        assert!(Expectation::parse("drives = -1", "e.toml").is_err());
        assert!(
            Expectation::parse("drives = \"8\"", "e.toml")
                .unwrap_err()
                .to_string()
                .contains("e.toml")
        );
    }
}
