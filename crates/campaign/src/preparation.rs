//! Preparing drives: emptied, then filled in sequence, all at the same time.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use iodyno_host::Depth;
use iodyno_job::script::{Compile, Script, compile};
use iodyno_job::syntax::{Entry, Place, Section};
use iodyno_judge::{ClaimBook, claim_of};
use iodyno_model::{
    Bytes, Direction, DriveState, FillState, Host, PreparationState, PurgeMethod,
    format_duration_ns, format_mb_per_s,
};
use iodyno_store::Store;
use iodyno_target::{
    Purge, PurgeEnd, Target, TargetError, WriteClearance, clear_for_purge, purge_outlook,
    unused_allowances,
};
use serde::Serialize;

use crate::error::CampaignError;
use crate::execute::{Campaign, now_ns};
use crate::expect;
use crate::plan::Plan;
use crate::watch::Event;

/// A fill is written in blocks of this size (SNIA SSS PTS: workload
/// independent preconditioning), bytes.
const FILL_BYTES: u64 = 128 << 10;
/// A discard is asked for in pieces of this size, bytes: so often it can be stopped.
const DISCARD_BYTES: u64 = 256 << 20;
/// The display is told so often that a purge goes on.
const TOLD: Duration = Duration::from_millis(100);

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
        let text = toml::to_string(&self).unwrap_or_default();
        let plan = Plan::of_script("prepare", script, text);
        Ok(Plan { preparation: Some(self), ..plan })
    }

    fn script(self, targets: &[Target]) -> Result<Script, CampaignError> {
        let mut discards = Steps::new("discard");
        let mut fills = Steps::new("fill");
        for target in targets {
            let said =
                |what: &str| CampaignError::Job { name: target.name().into(), what: what.into() };
            if !matches!(target, Target::Block(_)) {
                return Err(said("what is prepared are block devices: name a drive, nvme0n1"));
            }
            let size_bytes = target.size_bytes().ok_or_else(|| said("its size is not known"))?;
            if self.purge == Some(PurgeMethod::Discard) {
                // Past the page cache or not makes no difference to a trim.
                let how = [("rw", "trim"), ("ioengine", "psync")];
                discards.add(target, &how, DISCARD_BYTES, size_bytes, size_bytes);
            }
            if let Some(times) = self.fill {
                let how = [("rw", "write"), ("iodepth", "32"), ("refill_buffers", "1")];
                let bytes = filled_bytes(size_bytes, times);
                fills.add(target, &how, FILL_BYTES, size_bytes, bytes);
            }
        }
        let sections: Vec<Section> =
            [discards, fills].into_iter().flat_map(Steps::sections).collect();
        compile(&sections, &Compile::default())
            .map_err(|error| CampaignError::Job { name: "prepare".into(), what: error.to_string() })
    }

    /// What is going to be destroyed and written, in sentences: how much, how
    /// long, and which share of the rated endurance.
    ///
    /// # Errors
    /// A drive cannot be purged so, or it cannot be told how far that reaches.
    pub fn outline(
        self,
        targets: &[Target],
        host: &Host,
        claims: &ClaimBook,
        store: &Store,
    ) -> Result<Vec<String>, CampaignError> {
        let mut sentences = Vec::new();
        let mut longest_ns = Some(0.0_f64);
        for target in targets {
            let name = target.name();
            if let Some(method) = self.purge {
                let outlook = purge_outlook(host, target, method)?;
                let beside = match outlook.reaches.get(1..) {
                    Some([]) | None => String::new(),
                    Some(others) => format!(" and, with it, {}", others.join(", ")),
                };
                let time = outlook.estimated_s.map_or(String::new(), |seconds| {
                    format!(
                        "; the drive says that it takes {}",
                        format_duration_ns(f64::from(seconds) * 1e9)
                    )
                });
                sentences.push(format!(
                    "Destroys all data of {name}{beside} ({}){time}.",
                    method.name()
                ));
            }
            let (Some(times), Some(size_bytes)) = (self.fill, target.size_bytes()) else {
                continue;
            };
            let bytes = filled_bytes(size_bytes, times);
            let drive = host.namespace(name).map(|(drive, _)| drive);
            let share =
                drive.map_or(String::new(), |drive| expect::endurance(bytes, drive, claims));
            let rate = known_rate(name, host, claims, store)?;
            let took_ns = rate.as_ref().map(|(per_s, _)| bytes as f64 / per_s * 1e9);
            longest_ns = longest_ns.zip(took_ns).map(|(longest, took)| longest.max(took));
            let time = match rate.zip(took_ns) {
                Some(((per_s, whose), ns)) => {
                    let rate = format_mb_per_s(per_s);
                    format!(" That takes about {} at {rate}, {whose}.", format_duration_ns(ns))
                }
                None => " How long that takes is not known: neither a data sheet nor an earlier \
                         fill says how fast it writes."
                    .into(),
            };
            let bytes = Bytes(bytes).binary();
            sentences
                .push(format!("Writes {bytes} to {name}, {times} times its size{share}.{time}"));
        }
        if self.fill.is_some() && targets.len() > 1 {
            let time = longest_ns
                .map_or(String::new(), |ns| format!(": about {} in all", format_duration_ns(ns)));
            sentences.push(format!("All {} are filled at the same time{time}.", targets.len()));
        }
        Ok(sentences)
    }
}

/// So many bytes are written, in whole blocks; the rest of a device that ends
/// within one comes on top.
fn filled_bytes(size_bytes: u64, times: f64) -> u64 {
    (size_bytes as f64 * times) as u64 / FILL_BYTES * FILL_BYTES
}

/// How fast a namespace takes a fill, bytes per second, and who says so: its
/// last fill, else its data sheet, behind its cache where that is stated.
fn known_rate(
    name: &str,
    host: &Host,
    claims: &ClaimBook,
    store: &Store,
) -> Result<Option<(f64, &'static str)>, CampaignError> {
    let Some((serial, nsid)) = key_of(name, host) else { return Ok(None) };
    let last = store.newest_drive_state(&serial, nsid)?.and_then(|state| state.fill);
    if let Some(fill) = last.filter(|fill| fill.duration_ns > 0 && fill.written_bytes > 0) {
        let per_s = fill.written_bytes as f64 * 1e9 / fill.duration_ns as f64;
        return Ok(Some((per_s, "the rate of its last fill")));
    }
    let claim = host.namespace(name).and_then(|(drive, _)| claim_of(claims, drive));
    let stated = claim.and_then(|claim| claim.after_cache_write_mbs.or(claim.seq_write_mbs));
    Ok(stated.filter(|rate| *rate > 0.0).map(|rate| (rate * 1e6, "its data sheet's rate")))
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

impl Campaign<'_, '_> {
    /// Prepares `targets`; `script` is what of it is jobs.
    pub(crate) fn prepare(
        &mut self,
        preparation: Preparation,
        targets: &[Target],
        script: &Script,
    ) -> Result<(), CampaignError> {
        let names: BTreeSet<String> = targets.iter().map(|one| one.name().to_owned()).collect();
        let permission = &self.options.permission;
        let purges = match preparation.purge {
            Some(method) => clear_for_purge(targets, self.host, permission, method)?,
            None => Vec::new(),
        };
        let mut touched = names.clone();
        let reached = || purges.iter().flat_map(Purge::reached);
        if !purges.is_empty() {
            let unused = unused_allowances(permission, reached());
            if let Some(word) = unused.into_iter().next() {
                return Err(CampaignError::UnusedAllowance(word));
            }
            touched.extend(reached().map(|one| one.as_read().name().to_owned()));
        }
        let result = self.prepare_cleared(preparation, targets, script, purges, &touched);
        if self.touched {
            let state = match &result {
                _ if self.is_interrupted() => PreparationState::Interrupted,
                Ok(()) if !self.failed => PreparationState::Done,
                _ => PreparationState::Failed,
            };
            let after = iodyno_host::snapshot(self.tools.source, Depth::Full);
            self.tools.store.add_snapshot(&self.run_id, &after)?;
            self.record(preparation, &touched, &after, state)?;
        }
        result
    }

    fn prepare_cleared(
        &mut self,
        preparation: Preparation,
        targets: &[Target],
        script: &Script,
        purges: Vec<Purge>,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        let (host, claims) = (self.host, self.tools.claims);
        let sentences = preparation.outline(targets, host, claims, self.tools.store)?;
        let commanded = preparation.purge.filter(|_| !purges.is_empty());
        if let Some(method) = commanded {
            self.tools.watcher.event(&Event::Expect(&sentences));
            self.begin(preparation, touched)?;
            self.purge(&purges, method);
        }
        // Words for what was only reached name nothing that is filled. What is
        // filled is cleared anew, since it cannot be held twice.
        let named =
            |one: &&WriteClearance| targets.iter().any(|of| of.name() == one.as_read().name());
        let permission = match commanded {
            Some(_) => self
                .options
                .permission
                .only_of(purges.iter().flat_map(Purge::reached).filter(named)),
            None => self.options.permission.clone(),
        };
        drop(purges);
        if script.phases.is_empty() || self.failed || self.is_interrupted() {
            return Ok(());
        }
        let places = self.places(script, &permission)?;
        if commanded.is_none() {
            self.tools.watcher.event(&Event::Expect(&sentences));
            self.begin(preparation, touched)?;
        }
        self.play_on(script, &places)
    }

    /// Records, before anything is destroyed, that what was known is over.
    fn begin(
        &mut self,
        preparation: Preparation,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        self.record(preparation, touched, self.host, PreparationState::Begun)?;
        self.touched = true;
        Ok(())
    }

    /// Records the state of each namespace that can be known again.
    fn record(
        &mut self,
        preparation: Preparation,
        touched: &BTreeSet<String>,
        now: &Host,
        state: PreparationState,
    ) -> Result<(), CampaignError> {
        for name in touched {
            let Some((serial, nsid)) = key_of(name, self.host) else { continue };
            let health = now.namespace(name).and_then(|(drive, _)| drive.health.get());
            let capacity = self.host.block(name).and_then(|block| block.size.value());
            let state = DriveState {
                serial,
                nsid,
                run_id: Some(self.run_id.clone()),
                at_ns: now_ns(),
                state,
                purge: preparation.purge,
                fill: self.filled(name)?,
                capacity_bytes: capacity.map_or(0, |size| size.0),
                host_written_bytes: health.map(|health| health.host_written_bytes),
            };
            self.tools.store.add_drive_state(&state)?;
        }
        Ok(())
    }

    /// What the run has written to a device so far, by its measurements.
    fn filled(&self, name: &str) -> Result<Option<FillState>, CampaignError> {
        let mut fill = FillState { written_bytes: 0, duration_ns: 0 };
        let record = self.tools.store.load(&self.run_id)?;
        for of in record.measurements.iter().filter(|of| of.targets == [name]) {
            let writes = of.total.iter().find(|result| result.direction == Direction::Write);
            if let Some(bytes) = writes.and_then(|result| result.whole_bytes.or(result.bytes)) {
                fill.written_bytes += bytes;
                fill.duration_ns += of.duration_ns.unwrap_or(0);
            }
        }
        Ok(Some(fill).filter(|fill| fill.written_bytes > 0))
    }

    /// Carries out all purges at once. What fails is recorded.
    fn purge(&mut self, purges: &[Purge], method: PurgeMethod) {
        let begun = Instant::now();
        let interrupted: &AtomicBool = self.tools.interrupted;
        // Of 1000; 0: the drive does not say.
        let done: Vec<AtomicU32> = purges.iter().map(|_| AtomicU32::new(0)).collect();
        let names: Vec<String> = purges.iter().map(name_of).collect();
        let target = names.join(", ");
        let mut ends: Vec<(usize, Result<PurgeEnd, TargetError>)> = Vec::new();
        std::thread::scope(|scope| {
            let (ended, end) = mpsc::channel();
            for (n, (purge, done)) in purges.iter().zip(&done).enumerate() {
                let ended = ended.clone();
                scope.spawn(move || {
                    let progress = |share: f64| {
                        done.store((share * 1000.0) as u32, Ordering::Relaxed);
                        match interrupted.load(Ordering::Relaxed) {
                            true => ControlFlow::Break(()),
                            false => ControlFlow::Continue(()),
                        }
                    };
                    // Whoever listened is gone with the campaign.
                    let _ = ended.send((n, purge.carry_out(&progress)));
                });
            }
            drop(ended);
            loop {
                match end.recv_timeout(TOLD) {
                    Ok(one) => ends.push(one),
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {
                        let least = done.iter().map(|one| one.load(Ordering::Relaxed)).min();
                        self.tools.watcher.event(&Event::Purging {
                            target: &target,
                            method,
                            done: least.filter(|share| *share > 0).map(|n| f64::from(n) / 1000.0),
                            elapsed_ns: begun.elapsed().as_nanos() as u64,
                        });
                    }
                }
            }
        });
        for (n, end) in ends {
            let name = names[n].as_str();
            let elapsed_ns = begun.elapsed().as_nanos() as u64;
            match end {
                Ok(PurgeEnd::Done) => {
                    self.tools.watcher.event(&Event::Purged { target: name, method, elapsed_ns });
                }
                Ok(PurgeEnd::LeftGoing) => {
                    let why = "it was no longer waited for; the drive goes on by itself";
                    self.skip(
                        name,
                        Some(method.name()),
                        why,
                        "nvme sanitize-log tells how far it is",
                    );
                }
                Err(error) => {
                    self.failed = true;
                    self.skip(name, Some(method.name()), &error.to_string(), &error.next_step());
                }
            }
        }
    }
}

/// Everything that a purge destroys, as one name.
fn name_of(purge: &Purge) -> String {
    let names: Vec<&str> = purge.reached().map(|one| one.as_read().name()).collect();
    names.join(" and ")
}
