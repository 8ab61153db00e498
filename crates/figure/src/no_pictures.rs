//! Replaces `draw` in a build without the feature `pictures`.

use crate::{Figure, FigureError};

/// Not available.
///
/// # Errors
/// Always.
pub fn svg(_: &Figure, _: (u32, u32), _: f64, _: bool) -> Result<String, FigureError> {
    Err(FigureError::NoPictures)
}

/// Not available.
///
/// # Errors
/// Always.
pub fn png(_: &Figure, _: (u32, u32), _: f64, _: bool) -> Result<Vec<u8>, FigureError> {
    Err(FigureError::NoPictures)
}
