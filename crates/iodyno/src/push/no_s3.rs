//! Substitute for object storage in builds without it.

use super::{Document, Parcel, Refused};

/// Error of both functions.
const WITHOUT: &str = "this build has no object storage (feature `push`)";

/// Reports that this build has no object storage.
pub(super) fn put(_: &str, _: &Parcel<'_>) -> Result<(), Refused> {
    Err(Refused::at_all(WITHOUT))
}

/// Reports that this build has no object storage.
pub(super) fn each(_: &str, _: &mut dyn FnMut(Document)) -> Result<(), Refused> {
    Err(Refused::at_all(WITHOUT))
}
