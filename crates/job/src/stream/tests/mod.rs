//! Tests of streams: their properties, and comparisons with fio.

mod bounds;
mod distributions;
mod fio;
mod fio_amount;
mod fio_order;
mod pairs;
mod preconditioning;
mod properties;
mod sequence;
