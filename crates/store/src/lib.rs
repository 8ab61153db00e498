//! Stores runs in SQLite. Each addition is committed before the call returns.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod drive_states;
mod error;
mod host_identity;
mod journal;
mod lock;
#[allow(clippy::disallowed_methods, reason = "it reads the store that is open")]
mod memory_fallback;
mod migrations;
mod old_formats;
#[allow(clippy::disallowed_methods, reason = "its file is checked first")]
mod open;
mod removing;
mod running;
mod runs;
mod store_file;

pub use error::{StoreError, Worker};
pub use host_identity::host_ids;
pub use journal::{JournalEntry, Pending, Reset, SettingChange, WriteCacheChange};
pub use lock::{Liveness, boot_id};
pub use open::{Store, default_path, has_only_roots, path_in_environment, volatile_path};
pub use runs::{Bodies, new_id};
pub use store_file::is_part_of;
