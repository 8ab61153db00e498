//! PCIe: functions, their configuration space, and the links between them.

mod address;
mod config;
mod function;
mod links;

pub(crate) use address::{chain, domain_owner};
pub(crate) use config::Config;
pub(crate) use function::{Function, functions};
pub(crate) use links::{LinkBook, config, register};
