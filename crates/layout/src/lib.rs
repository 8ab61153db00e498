//! Layouts: stacks on drives, as notation (`md0:512k+xfs`) and as the commands that build them and
//! take them down. Pure: nothing is run here.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod build;
mod command;
mod geometry;
mod layer;
mod notation;
mod tools;

pub use build::{BuildError, Names, Step, Top, build, empty, lvm_command, take_down};
pub use command::{Command, script};
pub use geometry::{Advice, Stripe, advice, stripe};
pub use layer::{Crypt, FileSystem, FileSystemKind, Layer, Layout, Lvm, Md, MdLevel};
pub use notation::{LayoutError, PRESETS, expand, parse};
pub use tools::{Tool, tools};
