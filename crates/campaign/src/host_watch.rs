//! Observes the host while a phase runs.

use iodyno_host::{Depth, Source};
use iodyno_model::{AboveLimit, Drive, Host, VolumeLimits};

use crate::measurement::LimitWatch;
use crate::phase::Phase;
use crate::targets::PreparedTarget;

/// Reads the limit counters of a cloud volume.
type ReadLimits<'a> = Box<dyn Fn(&Drive) -> Option<VolumeLimits> + 'a>;

/// Reads temperatures and limits about once a second, and links once.
pub(crate) struct HostWatch<'a> {
    source: &'a dyn Source,
    limits: LimitWatch<'a, ReadLimits<'a>>,
    /// Links are to be read under load, once.
    reads_links: bool,
    under_load: Option<Host>,
    /// Targets whose temperature is read.
    temperature_targets: Vec<&'a PreparedTarget>,
}

impl<'a> HostWatch<'a> {
    /// Begins to observe `targets` as `phase` asks; `outstanding` I/Os keep them busy.
    pub(crate) fn begin(
        source: &'a dyn Source,
        host: &'a Host,
        phase: &Phase,
        targets: Vec<&'a PreparedTarget>,
        outstanding: u32,
    ) -> Self {
        // Like temperatures, limits are not read while single latencies are measured.
        let volumes = targets.iter().filter(|_| outstanding > 1);
        let volumes = volumes.filter_map(|target| host.drive(target.drive.as_deref()?));
        let read: ReadLimits<'a> = Box::new(|drive| iodyno_host::volume_limits(source, drive));
        let limits = LimitWatch::begin(read, volumes);
        let temperature_targets = if phase.reads_temperature { targets } else { Vec::new() };
        Self {
            source,
            limits,
            reads_links: phase.reads_links,
            under_load: None,
            temperature_targets,
        }
    }

    /// Reads what is due after `elapsed_ns` of load; returns the hottest drive's temperature, °C.
    pub(crate) fn sample(&mut self, elapsed_ns: u64) -> Option<f32> {
        self.limits.sample(elapsed_ns);
        if self.reads_links && self.under_load.is_none() {
            self.under_load = Some(iodyno_host::snapshot(self.source, Depth::Quick));
        }
        hottest_c(self.source, self.temperature_targets.iter().copied())
    }

    /// Snapshot under load if links were read, and times when volumes exceeded their limits.
    pub(crate) fn end(self) -> (Option<Host>, Vec<AboveLimit>) {
        (self.under_load, self.limits.end())
    }
}

/// Temperature of the hottest drive, °C.
pub(crate) fn hottest_c<'d>(
    source: &dyn Source,
    targets: impl Iterator<Item = &'d PreparedTarget>,
) -> Option<f32> {
    let drives = targets.filter_map(|target| target.drive.as_deref());
    drives.filter_map(|drive| iodyno_host::temperature_c(source, drive)).reduce(f32::max)
}
