//! Values per direction.

use serde::{Deserialize, Serialize};

use crate::Direction;

/// Directions in which I/O is issued, in fio's order.
pub const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

/// One value per direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PerDirection<T: Default> {
    /// Value for reads.
    pub read: T,
    /// Value for writes.
    pub write: T,
    /// Value for trims.
    pub trim: T,
}

impl<T: Default> PerDirection<T> {
    /// Makes the same value for all directions.
    pub fn all(value: T) -> Self
    where
        T: Clone,
    {
        Self { read: value.clone(), write: value.clone(), trim: value }
    }

    /// Returns the value of `direction`; for `Mixed`, which is never issued, that of reads.
    pub const fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read | Direction::Mixed => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// As [`PerDirection::of`], mutable.
    pub const fn of_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read | Direction::Mixed => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }

    /// Iterates over the directions with their values, in fio's order.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        DIRECTIONS.into_iter().map(|direction| (direction, self.of(direction)))
    }

    /// Applies `make` to each value.
    pub fn map<U: Default>(&self, mut make: impl FnMut(&T) -> U) -> PerDirection<U> {
        PerDirection { read: make(&self.read), write: make(&self.write), trim: make(&self.trim) }
    }
}
