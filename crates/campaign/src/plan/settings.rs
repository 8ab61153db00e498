//! Machine settings that a plan asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[settings]` of a plan; settings not named stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// I/O scheduler of the disks under the targets: `none`, `mq-deadline`, `bfq`, `kyber`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Queue depth of each hardware queue of the disks under the targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// Frequency governor of all CPUs: `performance`, `powersave`, `schedutil`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Volatile write caches of NVMe targets, set by feature 06h: `on`, `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCacheState>,
}

/// State of a volatile write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteCacheState {
    /// Writes complete once they are in the cache.
    On,
    /// Writes complete once they are safe from power loss.
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
    /// True if it asks for nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if it asks for a setting of the disks' queues.
    pub(crate) const fn is_of_queues(&self) -> bool {
        self.scheduler.is_some() || self.nr_requests.is_some()
    }
}
