//! Output for readers and other programs: the public document and its schema, terminal text, and
//! the formats of other tools (CSV, Parquet, JUnit, OCP, OpenMetrics).
//!
//! Everything here is a pure function of a run and its assessment; the binary prints.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
// Some texts are used by the page only.
#![cfg_attr(not(feature = "page"), allow(dead_code, unused_imports))]

mod compared;
pub mod document;
mod explained;
pub mod export;
pub mod fleet;
mod history;
mod judged;
mod layers;
#[cfg_attr(not(feature = "page"), path = "no_page.rs")]
pub mod page;
mod paged;
mod percentiles;
mod rounds;
pub mod text;

pub use compared::Compared;
pub use judged::Judged;
pub use rounds::{drawn, tracks};
