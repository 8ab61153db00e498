//! Upper bounds that follow from physics or configuration.

mod lowest;
mod table;

pub(crate) use lowest::ceiling;
pub use table::{Bound, Ceiling};
pub(crate) use table::{ceilings, queue_slots, sheet_rate};
