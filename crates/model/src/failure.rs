//! Causes of failures.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A failure and its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Cause of the failure.
    pub cause: Cause,
    /// Description, one sentence.
    pub text: String,
}

/// Cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The job does not fit its target and was never started.
    Unfit,
    /// The I/O engine cannot be used on this machine.
    Engine,
    /// An I/O never completed.
    NoAnswer,
    /// The kernel returned this errno.
    Errno(i32),
    /// Not known.
    #[default]
    Unknown,
}

/// Describes an errno; as a number alone where the I/O engine is of a system that numbers errors
/// otherwise than Linux.
pub fn errno_text(errno: i32, engine: Option<&str>) -> String {
    match engine {
        Some("windowsaio" | "solarisaio") => format!("error {errno}"),
        _ => std::io::Error::from_raw_os_error(errno).to_string(),
    }
}

impl Failure {
    /// Makes a failure with this errno; 0: cause not known.
    pub fn of(errno: i32, text: impl Into<String>) -> Self {
        let cause = if errno == 0 { Cause::Unknown } else { Cause::Errno(errno) };
        Self { cause, text: text.into() }
    }

    /// Reads a failure, or the sentence of version 1.
    ///
    /// # Errors
    /// If the JSON is neither.
    pub(crate) fn stored<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Text(String),
            Value(Failure),
        }
        Ok(match Stored::deserialize(from)? {
            Stored::Text(text) => text.into(),
            Stored::Value(value) => value,
        })
    }
}

impl<T: Into<String>> From<T> for Failure {
    fn from(text: T) -> Self {
        Self::of(0, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_another_system_have_no_name_of_ours() {
        assert_eq!(errno_text(42, Some("windowsaio")), "error 42");
        assert!(errno_text(5, Some("libaio")).contains("os error 5"));
    }
}
