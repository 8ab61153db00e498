//! Turns names into clearances: the proof that a target may be read, or written, together with the
//! open descriptors that keep it so. Device targets are opened nowhere else.
//!
//! [`resolve_all`] turns names into [`Target`]s, [`Target::clear_for_reading`] turns a target into
//! a [`ReadClearance`]. A directory is measured through a [`ScratchFile`].
//!
//! [`Target::clear_for_writing`] gives a [`WriteClearance`] for a target that is unused and that
//! the user named for writing ([`Permission`]); [`survey`] checks the files of jobs, and
//! [`Surveyed::lay_out`] creates them. A generator takes either clearance as an [`Access`].
//!
//! [`lend`] lets one command claim cleared devices for itself.
//!
//! [`clear_for_purge`] clears everything that a drive's destructive command reaches, and gives a
//! [`Purge`]; such commands are sent nowhere else.
//!
//! [`WriteCache`] switches the write cache of a controller, the only feature that is set.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[allow(clippy::disallowed_methods, reason = "it opens what it has cleared")]
mod access;
#[allow(clippy::disallowed_methods, reason = "it makes loop devices over files of its own")]
mod backing;
mod blind_spot;
mod chunk;
#[allow(clippy::disallowed_methods, reason = "it opens what it has cleared")]
mod clearance;
mod contents;
mod error;
mod exported;
mod extents;
mod file_system;
mod foreign_controllers;
#[allow(clippy::disallowed_methods, reason = "it opens what it has cleared")]
mod guard;
#[cfg(test)]
mod guard_tests;
mod identity;
mod in_use;
#[allow(clippy::disallowed_methods, reason = "it opens what it has cleared")]
mod job_files;
mod lease;
mod lend;
#[cfg(test)]
mod lend_tests;
#[cfg(test)]
mod loop_devices;
#[cfg(test)]
mod loop_tests;
#[cfg(test)]
mod noise_tests;
mod nvme;
mod open_how;
mod openers;
#[cfg(test)]
mod openers_tests;
#[cfg(test)]
mod overlap_tests;
mod permission;
mod purge;
mod random;
mod resolve;
mod same_file;
#[allow(clippy::disallowed_methods, reason = "it opens what it has cleared")]
mod scratch;
mod sharing;
mod signatures;
mod stamp;
mod target;
mod thin_pool;
mod write;
mod write_cache;
mod zones;

#[cfg(test)]
mod testing;

pub use access::{Access, CharacterDevice};
pub use backing::{BackingFile, OwnFolder, remove_backing_file};
pub use blind_spot::BlindSpot;
pub use clearance::{ReadClearance, TargetKind, is_sink};
pub use contents::Lost;
pub use error::{TargetError, command_words, permission_step};
pub use file_system::FileSystem;
pub use in_use::uses;
pub use iodyno_files::{FileIdentity, Removed};
pub use job_files::{
    EntryKind, FileEntry, FilePlan, Fill, FillBuffer, LaidOut, Lookup, Surveyed, entry_to_make,
    is_laid_out, survey,
};
pub use lend::lend;
pub use open_how::{OpenHow, SyncMode};
pub use permission::{Permission, unmatched_permissions};
pub use purge::{Purge, PurgeEnd, PurgeEstimate, clear_for_purge, estimate_purge};
pub use resolve::{every_drive, refuse_given_twice, resolve, resolve_all, resolve_even_in_memory};
pub use scratch::{ScratchFile, ScratchPlan, remove_exactly, remove_if_ours};
pub use stamp::{erase_btrfs_copy, has_btrfs_copy, is_stamped, stamp, unstamp};
pub use target::{BlockTarget, PathTarget, Target};
pub use write::WriteClearance;
pub use write_cache::WriteCache;
pub use zones::Zones;
