//! Preparing drives: emptied, then filled in sequence, all at the same time.

mod carry;
mod outline;
mod purging;

use iodyno_job::script::{Compile, Script, compile};
use iodyno_job::syntax::{Entry, Place, Section};
use iodyno_model::{Host, PurgeMethod};
use iodyno_target::Target;
use serde::Serialize;

use crate::error::CampaignError;
use crate::plan::Plan;

/// A fill is written in blocks of this size (SNIA SSS PTS: workload
/// independent preconditioning), bytes.
const FILL_BYTES: u64 = 128 << 10;
/// A discard is asked for in pieces of this size, bytes: so often it can be stopped.
const DISCARD_BYTES: u64 = 256 << 20;
/// How drives are to be prepared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Preparation {
    /// How they are emptied.
    pub purge: Option<PurgeMethod>,
    /// How often their capacity is written; 2 = twice.
    pub fill: Option<f64>,
}

impl Preparation {
    /// The plan that prepares `targets`.
    ///
    /// # Errors
    /// A target that is no block device, or whose size is not known.
    pub fn plan(self, targets: &[Target]) -> Result<Plan, CampaignError> {
        let script = self.script(targets)?;
        let text = toml::to_string(&self).map_err(|error| refused("this", &error.to_string()))?;
        let plan = Plan::of_script("prepare", script, text);
        Ok(Plan { preparation: Some(self), ..plan })
    }

    fn script(self, targets: &[Target]) -> Result<Script, CampaignError> {
        let mut discards = Steps::new("discard");
        let mut fills = Steps::new("fill");
        for target in targets {
            let said = |what: &str| refused(target.name(), what);
            if !matches!(target, Target::Block(_)) {
                return Err(said("it is not a block device; name a drive, nvme0n1"));
            }
            let size_bytes = target.size_bytes().ok_or_else(|| said("its size is not known"))?;
            if self.purge == Some(PurgeMethod::Discard) {
                // Past the page cache or not makes no difference to a trim.
                let how = [("rw", "trim"), ("ioengine", "psync")];
                let piece_bytes = DISCARD_BYTES.min(size_bytes);
                discards.add(target, &how, piece_bytes, size_bytes, size_bytes);
            }
            if let Some(times) = self.fill {
                let how = [
                    ("rw", "write"),
                    ("ioengine", "auto"),
                    ("iodepth", "32"),
                    ("refill_buffers", "1"),
                ];
                let bytes = filled_bytes(size_bytes, times);
                fills.add(target, &how, FILL_BYTES, size_bytes, bytes);
            }
        }
        let sections: Vec<Section> =
            [discards, fills].into_iter().flat_map(Steps::sections).collect();
        compile(&sections, &Compile::default()).map_err(|error| refused("this", &error.to_string()))
    }
}

fn refused(name: &str, what: &str) -> CampaignError {
    CampaignError::NotPrepared { name: name.into(), what: what.into() }
}

/// So many bytes are written, in whole blocks; the rest of a device that ends
/// within one comes on top.
fn filled_bytes(size_bytes: u64, times: f64) -> u64 {
    let whole = size_bytes / FILL_BYTES * FILL_BYTES;
    (whole as f64 * times) as u64 / FILL_BYTES * FILL_BYTES
}

/// What names a namespace in the store: serial number and namespace id.
fn key_of(name: &str, host: &Host) -> Option<(String, u32)> {
    let (drive, namespace) = host.namespace(name)?;
    Some((drive.serial.value()?, namespace.nsid.value()?))
}

/// The jobs of one step, of all targets at once, and then of their rests.
struct Steps {
    name: &'static str,
    whole: Vec<Section>,
    rests: Vec<Section>,
}

impl Steps {
    const fn new(name: &'static str) -> Self {
        Self { name, whole: Vec::new(), rests: Vec::new() }
    }

    /// A job over a device in blocks of `block_bytes`, `bytes` in all, and one
    /// for what is left behind the last whole block.
    fn add(
        &mut self,
        target: &Target,
        how: &[(&str, &str)],
        block_bytes: u64,
        size_bytes: u64,
        bytes: u64,
    ) {
        let section = |name: String, block: u64, offset: u64, size: u64, bytes: u64| {
            let numbers = [("bs", block), ("offset", offset), ("size", size), ("io_size", bytes)];
            let path = target.path().display().to_string();
            let filename = path.replace('\\', "\\\\").replace(':', "\\:");
            let words =
                how.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned()));
            let numbers =
                numbers.iter().map(|(option, value)| ((*option).to_owned(), value.to_string()));
            let own = [("filename".to_owned(), filename), ("direct".to_owned(), "1".to_owned())];
            let entry = |(name, value)| Entry { name, value: Some(value), place: place() };
            Section {
                name,
                place: place(),
                entries: own.into_iter().chain(words).chain(numbers).map(entry).collect(),
            }
        };
        let whole = size_bytes / block_bytes * block_bytes;
        let bytes = bytes / block_bytes * block_bytes;
        if whole.min(bytes) > 0 {
            self.whole.push(section(self.name.into(), block_bytes, 0, whole, bytes));
        }
        // Half a fill leaves the end alone anyway.
        if whole < size_bytes && bytes >= whole {
            let rest = size_bytes - whole;
            self.rests.push(section(format!("{}-rest", self.name), rest, whole, rest, rest));
        }
    }

    /// The sections, in two phases that wait for what is before them.
    fn sections(self) -> Vec<Section> {
        let phase = |mut sections: Vec<Section>| {
            if let Some(first) = sections.first_mut() {
                first.entries.push(Entry { name: "stonewall".into(), value: None, place: place() });
            }
            sections
        };
        [self.whole, self.rests].into_iter().flat_map(phase).collect()
    }
}

fn place() -> Place {
    Place { source: "prepare".into(), line: None }
}
