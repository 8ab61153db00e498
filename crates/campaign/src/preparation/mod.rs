//! Preparation of drives: purge, then sequential fill, all drives at the same time; then
//! conditioning by a workload, in rounds until they are steady.

mod conditioning;
mod execute;
mod fill;
mod outline;
mod purging;
mod remaining;
mod zoned;

use iodyno_job::script::{CompileOptions, compile};
use iodyno_job::syntax::{Entry, Section};
use iodyno_model::{PurgeMethod, Purpose};
use iodyno_target::Target;

use crate::error::CampaignError;
use crate::plan::Preparation;

use crate::schedule::ScriptJobs;
pub use conditioning::Conditioning;
pub(crate) use execute::prepare;
use fill::{DISCARD_BYTES, FILL, FILL_BYTES, filled_bytes, place, refused, section, whole_bytes};
pub use remaining::{FillProgress, stopped};

/// Preparation of given drives, ready to run.
#[derive(Debug, Clone)]
pub struct Preparing {
    /// Requested preparation.
    pub how: Preparation,
    /// Its discard and fill jobs.
    pub jobs: ScriptJobs,
    /// Progress of earlier fills.
    pub filled: FillProgress,
    /// Conditioning after it.
    pub condition: Option<Conditioning>,
}

impl Preparation {
    /// Prepares to run on `targets`.
    ///
    /// # Errors
    /// A target is not a block device, or its size is unknown; a mistake in the conditioning
    /// workload.
    pub fn of(&self, targets: &[Target]) -> Result<Preparing, CampaignError> {
        let filled = FillProgress::default();
        let jobs = self.jobs(targets, &filled)?;
        let condition = self.conditioning(targets, None)?;
        Ok(Preparing { how: self.clone(), jobs, filled, condition })
    }

    fn jobs(&self, targets: &[Target], filled: &FillProgress) -> Result<ScriptJobs, CampaignError> {
        let fill = [(FILL, Purpose::Fill), ("fill-rest", Purpose::FillRest)];
        let mut discards =
            StepJobs::new([("discard", Purpose::Discard), ("discard-rest", Purpose::Discard)]);
        let mut begun = StepJobs::new(fill);
        let mut fills = StepJobs::new(fill);
        for target in targets {
            let refuse = |what: &str| refused(target.name(), what);
            if !matches!(target, Target::Block(_)) {
                return Err(refuse("it is not a block device; name a drive (nvme0n1)"));
            }
            let size_bytes = target.size_bytes().ok_or_else(|| refuse("its size is not known"))?;
            let zones = target.is_zoned();
            if zones {
                zoned::check(self, target.name())?;
            }
            if self.purge == Some(PurgeMethod::Discard) && filled.is_nothing() && !zones {
                // Direct or not makes no difference to a trim.
                let how = [("rw", "trim"), ("ioengine", "psync")];
                let piece_bytes = DISCARD_BYTES.min(size_bytes);
                discards.add(target, &how, piece_bytes, 0, size_bytes, size_bytes);
            }
            if let Some(times) = self.fill.filter(|_| zones) {
                fills.whole.push(zoned::fill(target, size_bytes, times)?);
            } else if let Some(times) = self.fill {
                let how = [
                    ("rw", "write"),
                    ("ioengine", "auto"),
                    ("iodepth", "32"),
                    ("refill_buffers", "1"),
                ];
                let bytes = filled_bytes(size_bytes, times);
                let done_bytes = filled.done_bytes(target.name(), size_bytes, bytes);
                // First the rest of the interrupted pass, then whole passes.
                let from_bytes = done_bytes % whole_bytes(size_bytes).max(1);
                let pass_bytes = match from_bytes {
                    0 => 0,
                    _ => (whole_bytes(size_bytes) - from_bytes).min(bytes - done_bytes),
                };
                let left_bytes = bytes - done_bytes - pass_bytes;
                if pass_bytes > 0 {
                    let rests = begun.rests.len();
                    begun.add(target, &how, FILL_BYTES, from_bytes, size_bytes, pass_bytes);
                    // The device's last partial block comes once, with the last whole pass.
                    if left_bytes >= whole_bytes(size_bytes) {
                        begun.rests.truncate(rests);
                    }
                }
                fills.add(target, &how, FILL_BYTES, 0, size_bytes, left_bytes);
            }
        }
        let phases: Vec<(Purpose, Vec<Section>)> =
            [discards, begun, fills].into_iter().flat_map(StepJobs::phases).collect();
        let (purposes, sections): (Vec<_>, Vec<_>) = phases.into_iter().unzip();
        let script = compile(&sections.concat(), &CompileOptions::default())
            .map_err(|error| refused("this", &error.to_string()))?;
        debug_assert_eq!(script.phases.len(), purposes.len());
        Ok(ScriptJobs::once(script, &purposes))
    }
}

/// Jobs of one step, on all targets at once, then on their last partial blocks.
struct StepJobs {
    /// Names and purposes of both.
    kinds: [(&'static str, Purpose); 2],
    whole: Vec<Section>,
    rests: Vec<Section>,
}

impl StepJobs {
    const fn new(kinds: [(&'static str, Purpose); 2]) -> Self {
        Self { kinds, whole: Vec::new(), rests: Vec::new() }
    }

    /// Adds a job in blocks of `block_bytes` from `from_bytes` to the end of a device, `bytes` in
    /// total, and one for the partial block at the end.
    fn add(
        &mut self,
        target: &Target,
        how: &[(&str, &str)],
        block_bytes: u64,
        from_bytes: u64,
        size_bytes: u64,
        bytes: u64,
    ) {
        let section = |name: &str, block: u64, offset: u64, size: u64, bytes: u64| {
            let numbers = [("bs", block), ("offset", offset), ("size", size), ("io_size", bytes)];
            section(name, target, how, &numbers)
        };
        let end = size_bytes / block_bytes * block_bytes;
        let bytes = bytes / block_bytes * block_bytes;
        let [(name, _), (rest_name, _)] = self.kinds;
        let whole = end.saturating_sub(from_bytes);
        if whole.min(bytes) > 0 {
            self.whole.push(section(name, block_bytes, from_bytes, whole, bytes));
        }
        // Half a fill does not reach the end.
        if end < size_bytes && bytes >= whole {
            let rest = size_bytes - end;
            self.rests.push(section(rest_name, rest, end, rest, rest));
        }
    }

    /// The sections, in at most two phases, one after the other.
    fn phases(self) -> impl Iterator<Item = (Purpose, Vec<Section>)> {
        let phase = |((_, purpose), mut sections): ((_, Purpose), Vec<Section>)| {
            let stonewall = Entry { name: "stonewall".into(), value: None, place: place() };
            sections.first_mut()?.entries.push(stonewall);
            Some((purpose, sections))
        };
        self.kinds.into_iter().zip([self.whole, self.rests]).filter_map(phase)
    }
}
