//! Settings of the machine that a plan asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[settings]` of a plan; what it does not name stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// I/O scheduler of the disks under the targets: `none`, `mq-deadline`, `bfq`, `kyber`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that each hardware queue of the disks under the targets holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// Frequency governor of all CPUs: `performance`, `powersave`, `schedutil`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Volatile write caches of the NVMe drives that are targets, by feature 06h: `on`, `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCacheState>,
}

/// How a volatile write cache is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteCacheState {
    /// Writes are done once they are in it.
    On,
    /// Writes are done once they are where power loss leaves them.
    Off,
}

impl WriteCacheState {
    pub(crate) const fn of(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl Settings {
    /// It asks for nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// It asks for something of the disks' queues.
    pub(crate) const fn is_of_queues(&self) -> bool {
        self.scheduler.is_some() || self.nr_requests.is_some()
    }
}
