//! Columns of the drive table.

use std::fmt;

use iodyno_model::add_missing;

/// Column of the drive table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Name,
    Model,
    Serial,
    Capacity,
    Lba,
    Usage,
    Firmware,
    State,
    Address,
    Link,
    Numa,
    Temperature,
    Wear,
    Use,
    Verdict,
}

impl Column {
    /// All columns, in table order.
    pub(super) const ALL: [Self; 15] = [
        Self::Name,
        Self::Model,
        Self::Serial,
        Self::Capacity,
        Self::Lba,
        Self::Usage,
        Self::Firmware,
        Self::State,
        Self::Address,
        Self::Link,
        Self::Numa,
        Self::Temperature,
        Self::Wear,
        Self::Use,
        Self::Verdict,
    ];

    /// Name in `--columns`.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Model => "model",
            Self::Serial => "serial",
            Self::Capacity => "capacity",
            Self::Lba => "lba",
            Self::Usage => "usage",
            Self::Firmware => "firmware",
            Self::State => "state",
            Self::Address => "address",
            Self::Link => "link",
            Self::Numa => "numa",
            Self::Temperature => "temperature",
            Self::Wear => "wear",
            Self::Use => "use",
            Self::Verdict => "verdict",
        }
    }

    /// Table heading.
    pub(super) const fn heading(self) -> &'static str {
        match self {
            Self::Name => "NAME",
            Self::Model => "MODEL",
            Self::Serial => "SERIAL",
            Self::Capacity => "CAPACITY",
            Self::Lba => "LBA",
            Self::Usage => "USAGE",
            Self::Firmware => "FIRMWARE",
            Self::State => "STATE",
            Self::Address => "ADDRESS",
            Self::Link => "LINK",
            Self::Numa => "NUMA",
            Self::Temperature => "TEMP",
            Self::Wear => "WEAR",
            Self::Use => "USE",
            Self::Verdict => "VERDICT",
        }
    }

    /// Priority on a narrow terminal: 0 always stays, the highest is dropped first; 1 is for a
    /// column with an alarm.
    pub(super) const fn priority(self) -> u8 {
        match self {
            Self::Name | Self::Serial | Self::Verdict => 0,
            Self::Capacity => 2,
            Self::Link => 3,
            Self::Model => 4,
            Self::Use => 5,
            Self::Temperature => 6,
            Self::Wear => 7,
            Self::State => 8,
            Self::Firmware => 9,
            Self::Address => 10,
            Self::Usage => 11,
            Self::Lba => 12,
            Self::Numa => 13,
        }
    }

    /// True if its cells are numbers.
    pub(super) const fn is_number(self) -> bool {
        matches!(self, Self::Capacity | Self::Usage | Self::Numa | Self::Temperature | Self::Wear)
    }

    /// Returns the column of this name.
    fn parse(name: &str) -> Result<Self, ColumnError> {
        let wanted = name.trim().to_lowercase();
        let known = Self::ALL.into_iter().find(|column| column.key() == wanted);
        known.ok_or_else(|| ColumnError { name: super::words::clean(name.trim()) })
    }
}

/// Unknown column name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnError {
    /// The name given.
    pub name: String,
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no column \"{}\"", self.name)?;
        match nearest(&self.name) {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => {
                write!(f, "; the columns are {}", Column::ALL.map(Column::key).join(", "))
            }
        }
    }
}

impl std::error::Error for ColumnError {}

/// Parses column names, keeping their order; duplicates are dropped.
pub(super) fn parse(names: &[String]) -> Result<Vec<Column>, ColumnError> {
    let mut columns = Vec::new();
    for name in names.iter().filter(|name| !name.trim().is_empty()) {
        add_missing(&mut columns, [Column::parse(name)?]);
    }
    Ok(columns)
}

/// Returns the column that starts with `name`, or is at most two edits away.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let keys = Column::ALL.map(Column::key);
    let begun = keys.iter().find(|key| name.len() >= 2 && key.starts_with(&name));
    begun.copied().or_else(|| {
        let (distance, key) =
            keys.iter().map(|key| (strsim::levenshtein(&name, key), *key)).min()?;
        (distance <= 2).then_some(key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_column_names_the_nearest_or_all() {
        let error = parse(&["name".into(), "serail".into()]).unwrap_err();
        assert_eq!(error.to_string(), "there is no column \"serail\"; did you mean \"serial\"?");
        assert_eq!(nearest("temp"), Some("temperature"));
        assert_eq!(nearest("colour of the case"), None);
        let error = parse(&["colour of the case".into()]).unwrap_err().to_string();
        assert!(error.contains("case\"; the columns are name, model,"), "{error}");
    }

    #[test]
    fn columns_keep_the_order_asked_for() {
        let columns = parse(&["Serial".into(), " name".into(), "serial".into()]).unwrap();
        assert_eq!(columns, [Column::Serial, Column::Name]);
    }
}
