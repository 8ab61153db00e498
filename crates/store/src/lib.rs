//! Stores runs in SQLite. Each addition is committed before the call returns.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[allow(clippy::disallowed_methods, reason = "it reads the store that is open")]
mod aside;
mod drive_states;
mod earlier;
mod error;
mod journal;
mod lock;
mod migrations;
#[allow(clippy::disallowed_methods, reason = "its place is looked at first")]
mod open;
mod place;
mod running;
mod runs;
mod this_host;

pub use error::StoreError;
pub use journal::{JournalEntry, Pending, SettingChange, WriteCacheChange};
pub use lock::{Liveness, boot_id};
pub use open::{Store, default_path, until_boot};
pub use runs::new_id;
pub use this_host::host_ids;
