//! One value for each direction.

use serde::{Deserialize, Serialize};

use crate::Direction;

/// The directions that I/O is issued in; fio's order.
pub const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

/// One value for each direction that I/O is issued in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PerDirection<T: Default> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T: Default> PerDirection<T> {
    /// The same for all.
    pub fn all(value: T) -> Self
    where
        T: Clone,
    {
        Self { read: value.clone(), write: value.clone(), trim: value }
    }

    /// The value of `direction`; of `Mixed`, which nothing issues, that of reads.
    pub const fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read | Direction::Mixed => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// As [`PerDirection::of`], to be changed.
    pub const fn of_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read | Direction::Mixed => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }

    /// Each with its direction, in fio's order.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        DIRECTIONS.into_iter().map(|direction| (direction, self.of(direction)))
    }

    /// Each made of this one.
    pub fn map<U: Default>(&self, mut make: impl FnMut(&T) -> U) -> PerDirection<U> {
        PerDirection { read: make(&self.read), write: make(&self.write), trim: make(&self.trim) }
    }
}
