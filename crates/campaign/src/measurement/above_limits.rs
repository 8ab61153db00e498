//! Detects when cloud volumes exceed their limits, from their own counters, read once a second.

use iodyno_model::{AboveLimit, Drive, VolumeLimits};

/// Volumes under a phase.
pub(crate) struct LimitWatch<'a, R> {
    /// Reads a volume's counters; `None` if there are none, or they cannot be read.
    read: R,
    volumes: Vec<(&'a Drive, VolumeLimits)>,
    /// Time of the last reading, from the start of the load, ns.
    last_ns: u64,
    found: Vec<AboveLimit>,
}

impl<'a, R: Fn(&Drive) -> Option<VolumeLimits>> LimitWatch<'a, R> {
    /// Starts with the counters before the load, of those of `drives` that have any.
    pub(crate) fn begin(read: R, drives: impl Iterator<Item = &'a Drive>) -> Self {
        let mut volumes: Vec<(&Drive, VolumeLimits)> = Vec::new();
        for drive in drives {
            if volumes.iter().all(|(known, _)| known.name != drive.name)
                && let Some(limits) = read(drive)
            {
                volumes.push((drive, limits));
            }
        }
        Self { read, volumes, last_ns: 0, found: Vec::new() }
    }

    /// Reads the counters after this much load, ns.
    pub(crate) fn sample(&mut self, now_ns: u64) {
        for (drive, before) in &mut self.volumes {
            let Some(now) = (self.read)(drive) else { continue };
            for (limit, above_us) in now.exceeded_since(before) {
                let goes_on = |one: &&mut AboveLimit| {
                    one.drive == drive.name && one.limit == limit && one.to_ns == self.last_ns
                };
                match self.found.iter_mut().find(goes_on) {
                    Some(one) => {
                        one.to_ns = now_ns;
                        one.above_us += above_us;
                    }
                    None => self.found.push(AboveLimit {
                        drive: drive.name.clone(),
                        limit,
                        from_ns: self.last_ns,
                        to_ns: now_ns,
                        above_us,
                    }),
                }
            }
            *before = now;
        }
        self.last_ns = now_ns;
    }

    /// Times above a limit.
    pub(crate) fn end(self) -> Vec<AboveLimit> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use iodyno_host::{Captured, Depth, snapshot};
    use iodyno_model::VolumeLimit;

    use super::*;

    #[test]
    fn consecutive_seconds_above_a_limit_are_merged() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");
        let host = snapshot(&Captured::open(path).unwrap(), Depth::Quick);
        let volume = &host.drives[0];
        let above_us = Cell::new(100);
        let read = |drive: &Drive| {
            (drive.name == volume.name).then(|| VolumeLimits {
                volume_iops_us: Some(above_us.get()),
                ..VolumeLimits::default()
            })
        };
        let mut watch = LimitWatch::begin(read, host.drives.iter().chain([volume]));
        for (second, us) in [(1, 100), (2, 500), (3, 900), (4, 900), (5, 901)] {
            above_us.set(us);
            watch.sample(second * 1_000_000_000);
        }
        let found = watch.end();
        let times: Vec<(String, u64)> =
            found.iter().map(|one| (one.to_string(), one.above_us)).collect();
        assert_eq!(times, [("1 s to 3 s".to_owned(), 800), ("4 s to 5 s".to_owned(), 1)]);
        assert!(found.iter().all(|one| one.limit == VolumeLimit::VolumeIops));
    }
}
