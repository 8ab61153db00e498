//! From a name to a clearance: the proof that a target may be read, or
//! written, and the held descriptors that keep it so. Device targets are
//! opened nowhere else.
//!
//! [`resolve_all`] turns names into [`Target`]s, [`Target::clear_for_reading`]
//! turns a target into a [`ReadClearance`]. A directory is measured through a
//! [`ScratchFile`].
//!
//! [`Target::clear_for_writing`] gives a [`WriteClearance`] for what nobody
//! uses and the user named for writing ([`Permission`]); [`lay_out`] makes the
//! files of jobs. A generator takes either clearance as an [`Access`].
//!
//! [`lend`] lets one command claim cleared devices for itself.
//!
//! [`clear_for_purge`] clears all that a destructive command of a drive
//! reaches, and gives a [`Purge`]; such commands are sent nowhere else.

mod access;
mod backing;
mod chunk;
mod clearance;
mod contents;
mod error;
mod file_system;
mod guard;
#[cfg(test)]
mod guard_tests;
mod identity;
mod in_use;
mod job_files;
mod lend;
#[cfg(test)]
mod lend_tests;
#[cfg(test)]
mod loop_devices;
#[cfg(test)]
mod loop_tests;
mod nvme;
mod permission;
mod purge;
mod random;
mod removal;
mod resolve;
mod scratch;
mod signatures;
mod stamp;
mod target;
mod write;

#[cfg(test)]
mod testing;

pub use access::{Access, CharacterDevice, OpenHow, SyncMode};
pub use backing::{BackingFile, OwnFolder, remove_backing_file};
pub use clearance::{ReadClearance, TargetKind};
pub use error::{TargetError, as_root};
pub use file_system::FileSystem;
pub use in_use::uses;
pub use job_files::{FilePlan, Fill, LaidOut, is_laid_out, lay_out};
pub use lend::lend;
pub use permission::{Permission, unused_allowances};
pub use purge::{Purge, PurgeEnd, PurgeOutlook, clear_for_purge, purge_outlook};
pub use removal::{FileIdentity, Removed};
pub use resolve::{every_drive, resolve, resolve_all, resolve_anywhere};
pub use scratch::{ScratchFile, ScratchPlan, remove_if_ours};
pub use stamp::{is_stamped, stamp, unstamp};
pub use target::{BlockTarget, PathTarget, Target};
pub use write::WriteClearance;
