//! Priorities of single I/Os.

use iodyno_model::PerDirection;

use crate::defaults::with_defaults;

with_defaults! {
    /// fio's `cmdprio_*`: a share of the I/Os gets another priority than its job has.
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
    /// Of blocks of this size, bytes,
    pub bytes: u64,
    /// so many get
    pub percent: u32,
    /// this priority: class, level and hint. `None`: that of the other options.
    pub priority: Option<[u32; 3]>,
}

impl CommandPriority {
    /// Some I/Os may get a priority of their own.
    pub fn is_on(&self) -> bool {
        self.percent.read + self.percent.write > 0
            || !(self.by_size.read.is_empty() && self.by_size.write.is_empty())
    }
}

/// Class, level and hint as ioprio_set(2) takes them.
pub const fn ioprio([class, level, hint]: [u32; 3]) -> u16 {
    const BEST_EFFORT: u32 = 2;
    let class = if class == 0 { BEST_EFFORT } else { class };
    (class << 13 | hint << 3 | level) as u16
}
