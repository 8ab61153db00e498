//! Why something failed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What kind of failure.
    pub cause: Cause,
    /// How it failed, in a sentence.
    pub text: String,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The job does not fit its target, and was never begun.
    Unfit,
    /// The I/O engine cannot be used on this machine.
    Engine,
    /// An I/O did not come back.
    NoAnswer,
    /// The kernel refused something.
    Errno(i32),
    /// It is not known.
    #[default]
    Unknown,
}

impl Failure {
    /// Of this errno; 0: it is not known.
    pub fn of(errno: i32, text: impl Into<String>) -> Self {
        let cause = if errno == 0 { Cause::Unknown } else { Cause::Errno(errno) };
        Self { cause, text: text.into() }
    }

    /// Reads a failure, or the sentence that version 1 wrote.
    ///
    /// # Errors
    /// Something else is there.
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
