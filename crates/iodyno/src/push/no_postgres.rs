//! Substitute for Postgres in builds without it.

use super::{Document, PushError, Upload};

/// Error of both functions.
const UNSUPPORTED: &str = "this build has no Postgres (feature `postgres`)";

/// Reports that this build has no Postgres.
pub(super) fn put(_: &str, _: &Upload<'_>) -> Result<(), PushError> {
    Err(PushError::permanent(UNSUPPORTED))
}

/// Reports that this build has no Postgres.
pub(super) fn for_each_document(_: &str, _: &mut dyn FnMut(Document)) -> Result<bool, PushError> {
    Err(PushError::permanent(UNSUPPORTED))
}
