//! The operation of an I/O: read, write, trim or sync.

use iodyno_model::Direction;

/// The operation of an I/O; two bytes, so that a request has no padding and is copied as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Operation {
    /// From the target into the buffer.
    #[default]
    Read,
    /// From the buffer to the target.
    Write,
    /// Deallocate blocks: a discard, or a hole punched in a file.
    Trim,
    /// Make all earlier writes durable; offset and length mean nothing.
    Sync,
    /// As `Sync`, without metadata that reading the data back does not need.
    DataSync,
}

impl Operation {
    /// The operation of an I/O in this direction.
    #[inline]
    pub const fn of(direction: Direction) -> Self {
        match direction {
            Direction::Read | Direction::Mixed => Self::Read,
            Direction::Write => Self::Write,
            Direction::Trim => Self::Trim,
        }
    }

    /// The direction that it counts towards; none for syncs.
    #[inline]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Read => Some(Direction::Read),
            Self::Write => Some(Direction::Write),
            Self::Trim => Some(Direction::Trim),
            Self::Sync | Self::DataSync => None,
        }
    }

    /// The operation with this discriminant.
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
