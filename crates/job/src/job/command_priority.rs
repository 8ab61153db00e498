//! Priorities of single I/Os.

use iodyno_model::PerDirection;

use crate::defaults::with_defaults;

with_defaults! {
    /// fio's `cmdprio_*`: a share of the I/Os gets a priority other than the job's.
    #[derive(Debug, Clone, PartialEq)]
    pub struct CommandPriority {
        /// `cmdprio_percentage`.
        pub percent: PerDirection<u32>,
        /// `cmdprio_class`: 1 real time, 2 best effort, 3 idle.
        pub class: PerDirection<u32> = PerDirection::all(1),
        /// `cmdprio`: 0 (highest) to 7.
        pub level: PerDirection<u32>,
        /// `cmdprio_hint`, such as the number of a command duration limit.
        pub hint: PerDirection<u32>,
        /// `cmdprio_bssplit`.
        pub by_size: PerDirection<Vec<SizePriority>>,
    }
}

/// An entry of `cmdprio_bssplit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizePriority {
    /// Block size that it applies to, bytes.
    pub bytes: u64,
    /// Percent of these I/Os that get the priority.
    pub percent: u32,
    /// Class, level and hint; `None`: those of `cmdprio_class`, `cmdprio` and `cmdprio_hint`.
    pub priority: Option<[u32; 3]>,
}

impl CommandPriority {
    /// True if some I/Os may get a priority of their own.
    pub fn is_on(&self) -> bool {
        self.percent.read + self.percent.write > 0
            || !(self.by_size.read.is_empty() && self.by_size.write.is_empty())
    }
}

/// Encodes class, level and hint for ioprio_set(2).
pub const fn ioprio([class, level, hint]: [u32; 3]) -> u16 {
    const BEST_EFFORT: u32 = 2;
    let class = if class == 0 { BEST_EFFORT } else { class };
    (class << 13 | hint << 3 | level) as u16
}
