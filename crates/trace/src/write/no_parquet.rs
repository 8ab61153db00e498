//! Stands in for Parquet where it was left out of the build.

use std::io::{self, BufRead, Write};

use crate::{Reader, TraceError};

/// Says that this build has no Parquet.
///
/// # Errors
/// Always.
pub fn parquet<R: BufRead>(_: &mut Reader<R>, _: impl Write + Send) -> Result<(), TraceError> {
    Err(io::Error::other("this iodyno was built without Parquet (feature `parquet`)").into())
}
