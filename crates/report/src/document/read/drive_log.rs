//! Logs and paths of drives, read back.

use iodyno_model as model;

use super::host::known;
use crate::document::ocp_log::{LatencyMonitor, OcpHealth};
use crate::document::subsystem::{NamespacePath, Subsystem};

/// The log, where its counts are there (one beyond 64 bits is not).
pub(super) fn ocp_health(of: &OcpHealth) -> Option<model::OcpHealth> {
    Some(model::OcpHealth {
        media_written_bytes: of.media_written_bytes?.into(),
        media_read_bytes: of.media_read_bytes?.into(),
        uncorrectable_reads: of.uncorrectable_reads,
        soft_ecc_errors: of.soft_ecc_errors,
        thermal_throttling_count: of.thermal_throttling_count,
        thermal_throttling_now: of.thermal_throttling_now,
        pcie_correctable_errors: of.pcie_correctable_errors,
        pcie_retrainings: of.pcie_retrainings,
        power_state_changes: of.power_state_changes,
        unaligned_ios: of.unaligned_ios,
        free_blocks_percent: of.free_blocks_percent,
    })
}

/// How many commands took longer than thresholds.
pub(super) fn latency_monitor(of: &LatencyMonitor) -> model::LatencyMonitor {
    model::LatencyMonitor {
        enabled: of.enabled,
        thresholds_ms: of.thresholds_ms,
        counts: of.counts,
    }
}

/// Controllers of the same namespaces.
pub(super) fn subsystem(of: &Subsystem) -> model::Subsystem {
    model::Subsystem {
        name: of.name.clone(),
        nqn: known(&of.nqn),
        io_policy: known(&of.io_policy),
        controllers: of.controllers.clone(),
    }
}

/// A path to a namespace.
pub(super) fn path(of: &NamespacePath) -> model::NamespacePath {
    model::NamespacePath { name: of.name.clone(), ana_state: known(&of.ana_state) }
}
