//! Upper bounds that follow from physics or configuration.

mod layer;
mod lowest;
mod table;

pub use layer::LAYERS;
pub(crate) use layer::{gain, small_writes};
pub(crate) use lowest::ceiling;
pub use table::{Bound, Ceiling};
pub(crate) use table::{ceilings, queue_slots, sheet_rate, sheet_rates};
