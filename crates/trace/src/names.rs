//! Devices and processes of a trace, by number.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// A traced device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Device {
    /// Name on the traced machine.
    pub name: String,
    /// Size, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Logical block size, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lba_bytes: Option<u32>,
}

impl Device {
    /// Makes a device of which only the name is known.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// Submitter of an I/O.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Process or thread id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Process name, as truncated by the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Inode of its cgroup directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<u64>,
}

/// Maximum of actors; beyond that the submitter stays unknown, so that memory is bounded.
const MOST_ACTORS: usize = 1 << 16;
/// Range of a device's number.
const MOST_DEVICES: usize = 1 << 16;

/// Numbers devices and actors in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub struct Names {
    devices: Table<Device>,
    actors: Table<Actor>,
}

#[derive(Debug, Clone)]
struct Table<T> {
    all: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn number(&mut self, one: &T, most: usize) -> Option<usize> {
        if let Some(number) = self.numbers.get(one) {
            return Some(*number);
        }
        let number = self.all.len();
        (number < most).then(|| {
            self.all.push(one.clone());
            self.numbers.insert(one.clone(), number);
            number
        })
    }
}

impl Names {
    /// The devices, by number.
    pub fn devices(&self) -> &[Device] {
        &self.devices.all
    }

    /// The actors, by number.
    pub fn actors(&self) -> &[Actor] {
        &self.actors.all
    }

    /// Returns the number of a device; `None` beyond 65,536.
    pub fn device(&mut self, device: &Device) -> Option<u16> {
        u16::try_from(self.devices.number(device, MOST_DEVICES)?).ok()
    }

    /// Returns the number of an actor; `None` beyond 65,536.
    pub fn actor(&mut self, actor: &Actor) -> Option<u32> {
        u32::try_from(self.actors.number(actor, MOST_ACTORS)?).ok()
    }
}
