//! Runs in SQLite. What is added is committed before the call returns.

mod drive_states;
mod error;
mod journal;
mod migrations;
mod open;
mod owner;
mod runs;

pub use error::StoreError;
pub use journal::{JournalEntry, Pending, SettingChange};
pub use open::{Store, default_path};
pub use owner::boot_id;
pub use runs::new_id;
