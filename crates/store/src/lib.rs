//! Runs in SQLite. What is added is committed before the call returns.

mod drive_states;
mod error;
mod journal;
mod lock;
mod migrations;
mod open;
mod runs;

pub use error::StoreError;
pub use journal::{JournalEntry, Pending, SettingChange};
pub use lock::{Liveness, boot_id};
pub use open::{Store, default_path};
pub use runs::new_id;
