//! The devices and processes of a trace, by number.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// A device that was traced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Device {
    /// Its name where it was traced.
    pub name: String,
    /// Its size, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Its logical block, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lba_bytes: Option<u32>,
}

impl Device {
    /// One of which only the name is known.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// Who asked for an I/O.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Number of its process or thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process's name, as the kernel cuts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Inode of its cgroup's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<u64>,
}

/// Beyond these, who asked stays unknown: a trace of many short processes ends, too.
const MOST_ACTORS: usize = 1 << 16;
/// What the number of a device can count.
const MOST_DEVICES: usize = 1 << 16;

/// Numbers for devices and actors, in the order in which they were first seen.
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
    /// The devices, by their numbers.
    pub fn devices(&self) -> &[Device] {
        &self.devices.all
    }

    /// The actors, by their numbers.
    pub fn actors(&self) -> &[Actor] {
        &self.actors.all
    }

    /// The number of a device; none: there are more than 65,536.
    pub fn device(&mut self, device: &Device) -> Option<u16> {
        u16::try_from(self.devices.number(device, MOST_DEVICES)?).ok()
    }

    /// The number of an actor; none: there are more than 65,536.
    pub fn actor(&mut self, actor: &Actor) -> Option<u32> {
        u32::try_from(self.actors.number(actor, MOST_ACTORS)?).ok()
    }
}
