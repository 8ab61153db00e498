//! Converts traces for other tools, and from them.

mod iolog;
#[cfg(test)]
mod tests;

pub use iolog::iolog;

use crate::read::{ReadError, Source};
use crate::{Ending, Header, TraceError, Writer};

/// Converts another tool's trace to an `.iotrace`.
///
/// # Errors
/// It cannot be read (the outer error), or writing failed.
pub fn iotrace<W: std::io::Write>(
    source: &mut Source,
    to: W,
) -> Result<Result<(W, Ending), TraceError>, ReadError> {
    let first = source.next_io()?;
    let format = source.format();
    let header = Header {
        source: format.name().into(),
        started_ns: source.started_ns(),
        tick_ns: format.tick_ns(),
        ..Header::default()
    };
    let mut writer = match Writer::new(to, &header) {
        Ok(writer) => writer,
        Err(error) => return Ok(Err(error)),
    };
    let mut next = first;
    while let Some(io) = next {
        if let Err(error) = writer.push(io, source.names()) {
            return Ok(Err(error));
        }
        next = source.next_io()?;
    }
    Ok(writer.end(source.names(), 0, source.unmatched()))
}
