//! Describes the workload of a job.

use iodyno_model::Workload;

use crate::job::Job;
use crate::options::size_options;

impl Job {
    /// Describes the workload, with the engine that was in effect. Block sizes that differ are in its
    /// options.
    pub fn workload(&self, engine: Option<&str>) -> Workload {
        let rw = self.pattern.rw;
        let makes_io = !self.engine.ioengine.makes_no_io();
        let bs = self.pattern.block_size().filter(|_| makes_io);
        let sizes = if makes_io && bs.is_none() { size_options(self) } else { Vec::new() };
        Workload {
            rw: makes_io.then(|| rw.name().into()),
            bs,
            iodepth: makes_io.then_some(self.depth.iodepth),
            numjobs: Some(self.threads.numjobs.max(self.threads.shared_by)),
            ioengine: engine.map(Into::into),
            direct: makes_io.then_some(self.engine.direct),
            size: None,
            options: sizes.into_iter().collect(),
        }
    }
}
