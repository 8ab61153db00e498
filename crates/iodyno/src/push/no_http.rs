//! Substitute for HTTP in builds without it.

use super::{Parcel, Refused};

/// Reports that this build has no HTTP.
pub(super) fn put(_: &str, _: &Parcel<'_>) -> Result<(), Refused> {
    Err(Refused::at_all("this build has no HTTP (feature `push`)"))
}
