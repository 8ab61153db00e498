//! What an I/O does.

use iodyno_model::Direction;

/// What an I/O does; in two bytes, so that a request has no gap and is copied as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Operation {
    /// From the target into the buffer.
    #[default]
    Read,
    /// From the buffer to the target.
    Write,
    /// What is there is not needed any more: discard, or a hole in a file.
    Trim,
    /// All that was written becomes durable; offset and length mean nothing.
    Sync,
    /// As `Sync`, without metadata that reading it again does not need.
    DataSync,
}

impl Operation {
    /// What an I/O of this direction does.
    #[inline]
    pub const fn of(direction: Direction) -> Self {
        match direction {
            Direction::Read | Direction::Mixed => Self::Read,
            Direction::Write => Self::Write,
            Direction::Trim => Self::Trim,
        }
    }

    /// Where it is counted; syncs are not.
    #[inline]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Read => Some(Direction::Read),
            Self::Write => Some(Direction::Write),
            Self::Trim => Some(Direction::Trim),
            Self::Sync | Self::DataSync => None,
        }
    }

    /// The operation of this number.
    #[inline]
    pub const fn from_index(index: u16) -> Self {
        match index {
            0 => Self::Read,
            1 => Self::Write,
            2 => Self::Trim,
            3 => Self::Sync,
            _ => Self::DataSync,
        }
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Sync => "fsync",
            Self::DataSync => "fdatasync",
        })
    }
}
