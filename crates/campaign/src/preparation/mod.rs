//! Preparing drives: emptied, then filled in sequence, all at the same time;
//! then conditioned by a workload, in rounds until they are steady.

mod carry;
mod conditioning;
mod left;
mod outline;
mod purging;
mod zoned;

use iodyno_job::script::{Compile, Script, compile};
use iodyno_job::syntax::{Entry, Place, Section};
use iodyno_model::{Host, PurgeMethod};
use iodyno_target::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{CampaignError, Refusal};
use crate::wrong::Wrong;

pub use conditioning::Conditioning;
pub use left::{Filled, stopped};

/// A fill is written in blocks of this size (SNIA SSS PTS: workload
/// independent preconditioning), bytes.
const FILL_BYTES: u64 = 128 << 10;
/// A discard is asked for in pieces of this size, bytes: so often it can be stopped.
const DISCARD_BYTES: u64 = 256 << 20;
/// Its measurements have these names; the second is of what is left of a
/// device behind the last whole block.
const FILL: [&str; 2] = ["fill", "fill-rest"];
const DISCARD: [&str; 2] = ["discard", "discard-rest"];

/// How drives are to be prepared: `[preparation]` of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// How they are emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<PurgeMethod>,
    /// How often their capacity is written; 2 = twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// By which workload they are conditioned then, until they are steady:
    /// options of jobs, `rw=randwrite bs=4k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How long a round of that takes.
    #[serde(default = "half_an_hour")]
    pub round: String,
    /// Whether it has to be asked for.
    #[serde(default, skip_serializing_if = "When::is_always")]
    pub when: When,
}

/// When drives are prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Whenever the plan is carried out.
    #[default]
    Always,
    /// Where a purge is asked for (`--purge`); else the plan takes drives as they are.
    Asked,
}

impl When {
    const fn is_always(&self) -> bool {
        matches!(self, Self::Always)
    }
}

/// As SNIA's PTS has it for conditioning.
fn half_an_hour() -> String {
    "30m".into()
}

impl Default for Preparation {
    fn default() -> Self {
        Self { purge: None, fill: None, condition: None, round: half_an_hour(), when: When::Always }
    }
}

/// A preparation of these drives, ready to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparing {
    /// How.
    pub how: Preparation,
    /// What of it is jobs.
    pub script: Script,
    /// What was filled already.
    pub filled: Filled,
    /// What conditions them then.
    pub condition: Option<Conditioning>,
}

impl Preparation {
    /// It asks for nothing.
    pub const fn is_empty(&self) -> bool {
        self.purge.is_none() && self.fill.is_none() && self.condition.is_none()
    }

    /// What is done of `written`, as a plan has it. A `purge` that was asked for
    /// (`Some(None)`: none) goes before the plan's.
    pub fn asked(written: Option<Self>, purge: Option<Option<PurgeMethod>>) -> Option<Self> {
        let Some(purge) = purge else { return written.filter(|how| how.when.is_always()) };
        let how = Self { purge, when: When::Always, ..written.unwrap_or_default() };
        (!how.is_empty()).then_some(how)
    }

    /// Looks for what contradicts it.
    ///
    /// # Errors
    /// It contradicts itself.
    pub fn check(&self) -> Result<(), Refusal> {
        self.look().map_err(|wrong| Refusal(wrong.what))
    }

    /// Looks for what contradicts it.
    pub(crate) fn look(&self) -> Result<(), Wrong> {
        if self.fill.is_some_and(|times| !(times > 0.0 && times <= 100.0)) {
            let what = "preparation: fill: above 0 and at most 100 times was expected";
            return Err(Wrong::at(&["preparation", "fill"], what));
        }
        self.study(&[]).map(|_| ())
    }

    /// Ready for `targets`.
    ///
    /// # Errors
    /// A target that is no block device, or whose size is not known; what is
    /// wrong with the workload that conditions them.
    pub fn of(&self, targets: &[Target]) -> Result<Preparing, CampaignError> {
        let filled = Filled::default();
        let script = self.script(targets, &filled)?;
        let condition = self.conditioning(targets, None)?;
        Ok(Preparing { how: self.clone(), script, filled, condition })
    }

    fn script(&self, targets: &[Target], filled: &Filled) -> Result<Script, CampaignError> {
        let mut discards = Steps::new(DISCARD);
        let mut begun = Steps::new(FILL);
        let mut fills = Steps::new(FILL);
        for target in targets {
            let said = |what: &str| refused(target.name(), what);
            if !matches!(target, Target::Block(_)) {
                return Err(said("it is not a block device; name a drive, nvme0n1"));
            }
            let size_bytes = target.size_bytes().ok_or_else(|| said("its size is not known"))?;
            let zones = target.is_zoned();
            if zones {
                zoned::check(self, target.name())?;
            }
            if self.purge == Some(PurgeMethod::Discard) && filled.is_nothing() && !zones {
                // Past the page cache or not makes no difference to a trim.
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
                // The pass that was stopped first; the rest is whole passes.
                let from_bytes = done_bytes % whole_bytes(size_bytes).max(1);
                let pass_bytes = match from_bytes {
                    0 => 0,
                    _ => (whole_bytes(size_bytes) - from_bytes).min(bytes - done_bytes),
                };
                let left_bytes = bytes - done_bytes - pass_bytes;
                if pass_bytes > 0 {
                    let rests = begun.rests.len();
                    begun.add(target, &how, FILL_BYTES, from_bytes, size_bytes, pass_bytes);
                    // The rest of the device comes once, with the last whole pass.
                    if left_bytes >= whole_bytes(size_bytes) {
                        begun.rests.truncate(rests);
                    }
                }
                fills.add(target, &how, FILL_BYTES, 0, size_bytes, left_bytes);
            }
        }
        let sections: Vec<Section> =
            [discards, begun, fills].into_iter().flat_map(Steps::sections).collect();
        compile(&sections, &Compile::default()).map_err(|error| refused("this", &error.to_string()))
    }
}

fn refused(name: &str, what: &str) -> CampaignError {
    CampaignError::NotPrepared { name: name.into(), what: what.into() }
}

/// So many bytes are written, in whole blocks; the rest of a device that ends
/// within one comes on top.
fn filled_bytes(size_bytes: u64, times: f64) -> u64 {
    (whole_bytes(size_bytes) as f64 * times) as u64 / FILL_BYTES * FILL_BYTES
}

/// The whole blocks of a device.
const fn whole_bytes(size_bytes: u64) -> u64 {
    size_bytes / FILL_BYTES * FILL_BYTES
}

/// What names a namespace in the store: serial number and namespace id.
pub(crate) fn key_of(name: &str, host: &Host) -> Option<(String, u32)> {
    let (drive, namespace) = host.namespace(name)?;
    Some((drive.serial.value()?, namespace.nsid.value()?))
}

/// The jobs of one step, of all targets at once, and then of their rests.
struct Steps {
    names: [&'static str; 2],
    whole: Vec<Section>,
    rests: Vec<Section>,
}

impl Steps {
    const fn new(names: [&'static str; 2]) -> Self {
        Self { names, whole: Vec::new(), rests: Vec::new() }
    }

    /// A job in blocks of `block_bytes` from `from_bytes` to the end of a
    /// device, `bytes` in all, and one for what is left behind the last whole block.
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
        let [name, rest_name] = self.names;
        let whole = end.saturating_sub(from_bytes);
        if whole.min(bytes) > 0 {
            self.whole.push(section(name, block_bytes, from_bytes, whole, bytes));
        }
        // Half a fill leaves the end alone anyway.
        if end < size_bytes && bytes >= whole {
            let rest = size_bytes - end;
            self.rests.push(section(rest_name, rest, end, rest, rest));
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

/// A job on a device.
fn section(name: &str, target: &Target, how: &[(&str, &str)], numbers: &[(&str, u64)]) -> Section {
    let path = target.path().display().to_string();
    let filename = path.replace('\\', "\\\\").replace(':', "\\:");
    let words = how.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned()));
    let numbers = numbers.iter().map(|(option, value)| ((*option).to_owned(), value.to_string()));
    let own = [("filename".to_owned(), filename), ("direct".to_owned(), "1".to_owned())];
    let entry = |(name, value)| Entry { name, value: Some(value), place: place() };
    Section {
        name: name.to_owned(),
        place: place(),
        entries: own.into_iter().chain(words).chain(numbers).map(entry).collect(),
    }
}

fn place() -> Place {
    Place { source: "prepare".into(), line: None }
}
