//! Opens for writing, creates and removes the files that the program itself makes: results, logs,
//! pictures, the store.
//!
//! One rule holds for all of them. The path is resolved with `O_PATH`, which opens nothing; the
//! object is checked; and that very inode is opened through `/proc/self/fd`, or a new file is
//! created in a directory that is open already. Nothing is truncated before its type is known, and
//! a device is never opened. Files that users name for reading get the same check, and are read up
//! to a limit. clippy.toml disallows the ways around it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[allow(clippy::disallowed_methods, reason = "this is the door")]
mod door;
mod error;
#[allow(clippy::disallowed_methods, reason = "this is the door")]
mod leaving;
#[allow(clippy::disallowed_methods, reason = "this is the door")]
mod links;
#[allow(clippy::disallowed_methods, reason = "this is the door")]
mod reading;
#[allow(clippy::disallowed_methods, reason = "this is the door")]
mod removal;
#[allow(clippy::disallowed_methods, reason = "this is the door")]
mod replacing;

pub use door::{NameOrigin, There, append, create, create_new, inspect_log, look, rename, write};
pub use error::{FileError, Kind};
pub use leaving::{Left, leave, list_regular_files};
pub use links::{PlantedLink, folder_of, open_real, real_path, refuse_shared_folder};
pub use reading::{is_read_only, open_to_read, read, read_stream};
pub use removal::{FileIdentity, Removed, open_folder, remove, remove_in, remove_new_folder};
pub use replacing::Replacement;
