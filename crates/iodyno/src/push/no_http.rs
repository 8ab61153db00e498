//! Substitute for HTTP in builds without it.

use super::{PushError, Upload};

/// Reports that this build has no HTTP.
pub(super) fn put(_: &str, _: &Upload<'_>) -> Result<(), PushError> {
    Err(PushError::permanent("this build has no HTTP (feature `push`)"))
}
