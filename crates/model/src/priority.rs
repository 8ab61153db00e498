//! Latencies by I/O priority.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Latencies by priority, as in ioprio_set(2).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriorityLatencies(BTreeMap<u16, Histogram>);

impl PriorityLatencies {
    /// Makes latencies of a single priority.
    pub fn of_one(priority: u16, latencies: Histogram) -> Self {
        Self(BTreeMap::from([(priority, latencies)]))
    }

    /// Records an I/O of `priority` with latency `ns`.
    pub fn record(&mut self, priority: u16, ns: u64) {
        self.0.entry(priority).or_default().record(ns);
    }

    /// Adds the latencies of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (priority, latencies) in other.iter() {
            self.0.entry(priority).or_default().merge(latencies);
        }
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the priorities used, in ascending order, with their latencies.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Histogram)> {
        let all = self.0.iter().filter(|(_, latencies)| !latencies.is_empty());
        all.map(|(priority, latencies)| (*priority, latencies))
    }
}
