//! Substitute for object storage in builds without it.

use super::{Document, PushError, Upload};

/// Error of both functions.
const UNSUPPORTED: &str = "this build has no object storage (feature `push`)";

/// Reports that this build has no object storage.
pub(super) fn put(_: &str, _: &Upload<'_>) -> Result<(), PushError> {
    Err(PushError::permanent(UNSUPPORTED))
}

/// Reports that this build has no object storage.
pub(super) fn for_each_document(_: &str, _: &mut dyn FnMut(Document)) -> Result<bool, PushError> {
    Err(PushError::permanent(UNSUPPORTED))
}
