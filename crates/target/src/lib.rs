//! From a name to a clearance: the proof that a target may be read, or
//! written, and the held descriptors that keep it so. Device targets are
//! opened nowhere else.
//!
//! [`resolve_all`] turns names into [`Target`]s, [`Target::clear_for_reading`]
//! turns a target into a [`ReadClearance`]. A directory is measured through a
//! [`ScratchFile`], the only thing that this crate writes: clearing a device
//! for writing is not part of it.

mod clearance;
mod error;
mod file_system;
mod in_use;
#[cfg(test)]
mod loop_tests;
mod random;
mod resolve;
mod scratch;
mod target;

#[cfg(test)]
mod testing;

pub use clearance::{ReadClearance, TargetKind};
pub use error::{TargetError, as_root};
pub use file_system::FileSystem;
pub use in_use::uses;
pub use resolve::{every_drive, resolve, resolve_all};
pub use scratch::{FileIdentity, Removed, ScratchFile, ScratchPlan, remove_if_ours};
pub use target::{BlockTarget, PathTarget, Target};
