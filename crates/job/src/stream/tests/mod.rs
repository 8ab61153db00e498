//! Streams by their properties, and against fio.

mod bounds;
mod distributions;
mod fio;
mod fio_amount;
mod fio_order;
mod pairs;
mod preconditioning;
mod properties;
mod sequence;
