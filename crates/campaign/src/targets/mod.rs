//! Targets of jobs: each device cleared once, each file laid out once.

mod accounting;
mod block_history;
mod cleared;
mod feasible;
mod named;
mod no_metadata;
mod prepared;
mod requirements;
mod scratch;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iodyno_job::script::{self, Script, ScriptJob};
use iodyno_job::{Amount, IoEngine, Job, Region, Room, Stream, Unfit};
use iodyno_load::ClearedJob;
use iodyno_model::{Direction, Host};
use iodyno_target::{
    EntryKind, Permission, Surveyed, TargetError, WriteClearance, entry_to_make, is_sink,
    resolve_even_in_memory, survey, unmatched_permissions,
};

use crate::error::CampaignError;
use crate::phase::PhaseJob;
use crate::tools::Tools;

pub(crate) use block_history::{BlockHistory, touched_ranges};
pub(crate) use cleared::ClearedTarget;
use cleared::{clear, lay_out};
pub use feasible::foresee;
pub(crate) use named::NamedTargets;
pub(crate) use no_metadata::check_no_metadata;
pub(crate) use prepared::{PreparedTarget, key_of, room};
use requirements::{Device, Requirements, devices, entry_key, key, wanted};
pub(crate) use requirements::{device_of, keys};
pub(crate) use scratch::Scratches;
pub(crate) use written::Written;

/// Unlimited size, bytes, for a file to be made whose job sets the size itself.
const ENDLESS_BYTES: u64 = 1 << 60;

/// A file's name, what the jobs need of it, and what is there.
type SurveyedFile = (String, Requirements, Surveyed);

/// All targets of the jobs.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    held: Vec<ClearedTarget>,
    /// Facts about each.
    pub(crate) prepared: Vec<PreparedTarget>,
    /// Indices by the names in the script's jobs.
    by_name: BTreeMap<String, usize>,
    /// Start offsets of jobs that append, bytes, by fio's job number.
    appends: BTreeMap<u32, u64>,
    /// Keys of files to remove once no job uses them any more.
    unlinking: BTreeSet<String>,
}

impl Targets {
    /// Clears all devices and lays out all files of `script`. With `all_words` each word of
    /// `permission` has to name something that is worked on. Checks that the jobs of the `first`
    /// phase fit their targets; later ones fail in their turn.
    ///
    /// # Errors
    /// A target cannot be cleared (before anything is made or written), or a file cannot be laid
    /// out.
    pub(crate) fn of_script(
        tools: &mut Tools<'_>,
        (host, run_id): (&Host, &str),
        script: &Script,
        permission: &Permission,
        all_words: bool,
        first: Option<&script::Phase>,
    ) -> Result<Self, CampaignError> {
        let (mut targets, files) =
            Self::checked(tools, host, script, permission, all_words, first)?;
        for (name, wanted, surveyed) in files {
            // As in fio, the first job that uses it decides what it holds.
            let job = jobs(script).find(|one| one.job.files.paths.contains(&name));
            let mut contents =
                job.and_then(|one| tools.generator.contents(&one.job, wanted.size_bytes));
            let contents = contents.as_deref_mut();
            let place = (host, run_id);
            let held =
                lay_out(tools, place, &name, surveyed, permission, contents).inspect_err(|_| {
                    // Nothing will run. The error that led here is reported; one of this would hide it.
                    let _ = targets.unlink_all();
                })?;
            if let (ClearedTarget::File(_, laid_out), true) = (&held, wanted.of_names) {
                let (entry, size_bytes) = (laid_out.entry()?, wanted.size_bytes);
                let clearance = WriteClearance::of_entry(&name, entry, size_bytes)?;
                targets.hold([entry_key(&name)], ClearedTarget::Nothing(clearance));
            }
            // Hold a file only for jobs on its data: an open file is not gone when its name is.
            if wanted.of_data {
                targets.hold([name], held);
            }
        }
        targets.prepared = targets.held.iter().map(|held| held.prepared(host)).collect();
        targets.set_indices();
        Ok(targets)
    }

    /// Clears all devices of `script`, and looks at its files: all that may be refused, before
    /// anything is made or written.
    ///
    /// # Errors
    /// A target cannot be cleared.
    pub(crate) fn checked(
        tools: &Tools<'_>,
        host: &Host,
        script: &Script,
        permission: &Permission,
        all_words: bool,
        first: Option<&script::Phase>,
    ) -> Result<(Self, Vec<SurveyedFile>), CampaignError> {
        feasible::check(host, script)?;
        for ScriptJob { job, .. } in jobs(script) {
            let takes = tools.generator.takes(job);
            takes.map_err(|Unfit(what)| CampaignError::of_job(&job.name, what))?;
        }
        let mut targets = Self::default();
        let mut wanted = wanted(script);
        for Device { target, writes, names } in devices(host, &wanted)? {
            let held = clear(host, target, writes, permission)?;
            targets.hold(names, held);
        }
        for ScriptJob { job, .. } in jobs(script) {
            targets.hold_diskless(host, job)?;
        }
        for ScriptJob { job, .. } in jobs(script) {
            let job_error = |what| CampaignError::of_job(&job.name, what);
            targets.check_metadata(host, job).map_err(job_error)?;
            if !tools.generator.writes_zones(job) {
                targets.check_zones(host, job).map_err(job_error)?;
            }
            targets.grow_files(&mut wanted, job).map_err(job_error)?;
        }
        let files: Vec<(String, Requirements)> =
            wanted.into_iter().filter(|(name, _)| !targets.by_name.contains_key(name)).collect();
        let plans = files.iter().map(|(name, wanted)| wanted.plan(name)).collect();
        let surveyed = survey(plans, host, permission)?;
        if all_words && let Some(word) = targets.unused(permission, &surveyed) {
            return Err(CampaignError::UnusedAllowance(word));
        }
        let is_laid_out = |(_, file): &(_, &Surveyed)| file.needs_layout();
        if let Some(((name, _), _)) =
            files.iter().zip(&surveyed).find(is_laid_out).filter(|_| script.readonly)
        {
            let why = "--readonly: it is missing or too short, and laying it out would write";
            return Err(TargetError::Refused { name: name.clone(), why: why.into() }.into());
        }
        let known: BTreeMap<&str, &Surveyed> =
            files.iter().map(|(name, _)| name.as_str()).zip(&surveyed).collect();
        for ScriptJob { job, .. } in jobs(script).filter(|job| job.job.engine.direct) {
            targets.check_direct(host, job, &known)?;
        }
        for ScriptJob { job, .. } in first.iter().flat_map(|phase| &phase.jobs) {
            targets.check_fit(tools, job, &known)?;
        }
        let unlinking = jobs(script).filter(|job| job.job.files.unlink);
        targets.unlinking = unlinking.flat_map(|job| requirements::keys(&job.job)).collect();
        let files = files.into_iter().zip(surveyed);
        Ok((targets, files.map(|((name, wanted), file)| (name, wanted, file)).collect()))
    }

    /// Alignment of direct I/O on a file or device, bytes; 0 if unsupported, `None` if not known
    /// yet.
    fn direct_bytes(
        &self,
        job: &Job,
        path: &str,
        files: &BTreeMap<&str, &Surveyed>,
    ) -> Option<u32> {
        match self.get(job, path) {
            Some(held) => {
                let read = held.access().read();
                Some(if read.direct() { read.block_bytes() } else { 0 })
            }
            None => files.get(path)?.direct_bytes(),
        }
    }

    /// Checks that the targets of a job support direct I/O.
    fn check_direct(
        &self,
        host: &Host,
        job: &Job,
        files: &BTreeMap<&str, &Surveyed>,
    ) -> Result<(), CampaignError> {
        let taken_by_none = |path: &&String| self.direct_bytes(job, path, files) == Some(0);
        let what = job.files.paths.iter().filter(taken_by_none);
        match what.filter_map(|path| not_direct(host, path)).next() {
            Some(what) => Err(CampaignError::of_job(&job.name, what)),
            None => Ok(()),
        }
    }

    /// Checks that a job fits its targets, before anything is made for it.
    fn check_fit(
        &self,
        tools: &Tools<'_>,
        job: &Job,
        files: &BTreeMap<&str, &Surveyed>,
    ) -> Result<(), CampaignError> {
        let mut rooms = Vec::with_capacity(job.files.paths.len());
        for path in &job.files.paths {
            let size_bytes = match (self.get(job, path), files.get(path.as_str())) {
                (Some(held), _) => held.access().read().size_bytes(),
                (None, Some(_)) if job.space.fill_device => u64::MAX,
                (None, Some(file)) => file.size_bytes(),
                (None, None) => return Ok(()),
            };
            let block_bytes = self.direct_bytes(job, path, files).unwrap_or(0);
            rooms.push(Room { size_bytes, block_bytes });
        }
        let wants_direct = job.engine.direct || job.engine.ioengine == IoEngine::IoUringCmd;
        let direct = wants_direct && rooms.iter().all(|room| room.block_bytes > 0);
        rooms.iter_mut().filter(|_| !direct).for_each(|room| room.block_bytes = 1);
        if rooms.is_empty() || job.files.create_only {
            return Ok(());
        }
        let fits = tools.generator.fits(&self.with_append_offset(job), &rooms);
        fits.map_err(|Unfit(what)| CampaignError::of_job(&job.name, what))
    }

    /// Holds an empty target for each file of a diskless job, and the place of each file that a job
    /// will make.
    fn hold_diskless(&mut self, host: &Host, job: &Job) -> Result<(), CampaignError> {
        let engine = job.engine.ioengine;
        let makes = engine.creates_entries();
        for path in
            job.files.paths.iter().filter(|path| engine.is_diskless() || makes || is_sink(path))
        {
            if self.get(job, path).is_some() {
                continue;
            }
            let clearance = if makes {
                let kind = match engine {
                    IoEngine::DirDelete => EntryKind::NewDirectory,
                    _ if engine.works_on_directories() => EntryKind::Directory,
                    _ => EntryKind::File,
                };
                let entry = entry_to_make(host, Path::new(path), kind)?;
                // Like fio: one block, unless the job sets a size.
                let sized = job.space.size.is_some() || job.space.filesize.is_some();
                let block_bytes = job.pattern.bs.of(job.pattern.rw.direction()).smallest();
                let size_bytes = if sized { ENDLESS_BYTES } else { block_bytes };
                WriteClearance::of_entry(path, entry, size_bytes)?
            } else if engine.is_diskless() {
                WriteClearance::of_nothing(path)?
            } else {
                WriteClearance::of_sink(path)?
            };
            self.hold([key(job, path)], ClearedTarget::Nothing(clearance));
        }
        Ok(())
    }

    fn hold(&mut self, names: impl IntoIterator<Item = String>, held: ClearedTarget) {
        self.by_name.extend(names.into_iter().map(|name| (name, self.held.len())));
        self.held.push(held);
    }

    /// Checks that a passthrough job meets blocks without metadata.
    fn check_metadata(&self, host: &Host, job: &Job) -> Result<(), String> {
        if job.engine.ioengine != IoEngine::IoUringCmd {
            return Ok(());
        }
        let held = job.files.paths.iter().filter_map(|path| self.get(job, path));
        let names = held.map(|held| held.access().name());
        // Names other than namespaces are refused when opened.
        names
            .filter_map(|name| host.namespace(name))
            .try_for_each(|(_, namespace)| check_no_metadata(namespace))
    }

    /// Checks that a job writes zones sequentially, one block at a time.
    fn check_zones(&self, host: &Host, job: &Job) -> Result<(), String> {
        let in_sequence = !job.pattern.rw.is_random() && !job.pattern.rw.has(Direction::Read);
        if !job.writes() || in_sequence && job.outstanding() == 1 && job.threads.numjobs <= 1 {
            return Ok(());
        }
        let held = job.files.paths.iter().filter_map(|path| self.get(job, path));
        let mut names = held.map(|held| held.access().name());
        let is_zoned = |name: &&str| host.block(name).is_some_and(|block| block.zones().is_some());
        let Some(name) = names.find(is_zoned) else { return Ok(()) };
        Err(format!(
            "{name} is zoned: its zones take sequential writes only, one at a time; use zonemode=zbd with --generator fio, or rw=write iodepth=1 on empty zones (sudo iodyno prepare {name} --fill 1x empties and fills them)"
        ))
    }

    /// Enlarges the files in `wanted` to the size that `job` needs.
    fn grow_files(
        &mut self,
        wanted: &mut BTreeMap<String, Requirements>,
        job: &Job,
    ) -> Result<(), String> {
        if !job.replay.ends.is_empty() {
            for (path, end) in job.files.paths.iter().zip(&job.replay.ends) {
                if let Some(wanted) = wanted.get_mut(path) {
                    wanted.size_bytes = wanted.size_bytes.max(*end);
                }
            }
            return Ok(());
        }
        // Like fio, which sets up one job after the other: a file has the size that earlier jobs
        // gave it.
        let room = |path: &String| {
            let made_bytes = wanted.get(path).map_or(0, |wanted| wanted.size_bytes);
            let room = self.room(job, path);
            Room { size_bytes: room.size_bytes.max(made_bytes), ..room }
        };
        let rooms: Vec<Room> = job.files.paths.iter().map(room).collect();
        let made = job.engine.ioengine.creates_entries();
        if rooms.is_empty() || job.engine.ioengine.is_diskless() || made {
            return Ok(());
        }
        let regions = Stream::layout(job, &rooms)?;
        if job.space.file_append {
            self.append(job, &regions)?;
        }
        for region in regions {
            let path = &job.files.paths[usize::from(region.file)];
            // A file that grows until the device is full (fill_device) has no size beforehand.
            if let Some(wanted) = wanted.get_mut(path).filter(|_| region.length < u64::MAX) {
                wanted.size_bytes = wanted.size_bytes.max(region.offset + region.length);
            }
        }
        Ok(())
    }

    /// Remembers the start offset of a job with `file_append`: the current end of its files, which
    /// is lost once they are laid out.
    fn append(&mut self, job: &Job, regions: &[Region]) -> Result<(), String> {
        let starts: BTreeSet<u64> = regions.iter().map(|region| region.offset).collect();
        match starts.into_iter().collect::<Vec<_>>()[..] {
            [start] => self.appends.insert(job.threads.number, start),
            [first, second, ..] => {
                return Err(format!(
                    "file_append=1 on files of different sizes ({first} and {second} bytes) \
                     needs a job for each file"
                ));
            }
            [] => None,
        };
        Ok(())
    }

    /// The job as executed: one that appends starts where its files ended.
    fn with_append_offset(&self, job: &Job) -> Job {
        let mut job = job.clone();
        if let Some(start) = self.appends.get(&job.threads.number) {
            job.space.file_append = false;
            job.space.offset = Amount::Bytes(*start);
            job.space.offset_increment = Amount::Bytes(0);
        }
        job
    }

    /// A word of `permission` that names neither a written device nor a file that needs it.
    fn unused(&self, permission: &Permission, files: &[Surveyed]) -> Option<String> {
        let written = self.held.iter().filter_map(|held| held.access().write());
        let names_file = |word: &String| files.iter().any(|file| file.words().contains(word));
        unmatched_permissions(permission, written).into_iter().find(|word| !names_file(word))
    }

    /// Current size and block size.
    fn room(&self, job: &Job, name: &str) -> Room {
        match self.get(job, name) {
            Some(held) => {
                let read = held.access().read();
                Room { size_bytes: read.size_bytes(), block_bytes: read.block_bytes() }
            }
            None => {
                let size_bytes = std::fs::metadata(name).map_or(0, |metadata| metadata.len());
                Room { size_bytes, block_bytes: 1 }
            }
        }
    }

    fn index(&self, job: &Job, path: &str) -> Option<usize> {
        self.by_name.get(&key(job, path)).copied()
    }

    fn get(&self, job: &Job, path: &str) -> Option<&ClearedTarget> {
        self.held.get(self.index(job, path)?)
    }

    /// All held targets.
    pub(crate) fn all(&self) -> &[ClearedTarget] {
        &self.held
    }

    /// Sets the index of each.
    fn set_indices(&mut self) {
        self.prepared.iter_mut().enumerate().for_each(|(n, one)| one.index = n);
    }

    /// Target of this number, and its clearance.
    pub(crate) fn target(&mut self, number: usize) -> (&mut PreparedTarget, &ClearedTarget) {
        (&mut self.prepared[number], &self.held[number])
    }

    /// Calls `act` with a job as fitted to its target.
    pub(crate) fn with_fitted_job(
        &mut self,
        PhaseJob { job, on, .. }: &PhaseJob,
        act: impl FnOnce(&mut PreparedTarget, &ClearedJob<'_>),
    ) {
        let Some(on) = on else { return };
        let (target, held) = self.target(on.index);
        act(target, &ClearedJob { job: on.fitted(job, 0), files: vec![held.access()] });
    }

    /// Numbers of the targets that some job of `script` reads.
    pub(crate) fn read_by(&self, script: &Script) -> BTreeSet<usize> {
        let reading = jobs(script).filter(|job| job.job.pattern.rw.has(Direction::Read));
        let held = reading.flat_map(|job| {
            job.job.files.paths.iter().filter_map(|path| self.index(&job.job, path))
        });
        held.collect()
    }

    /// A job with the clearances of its files and their numbers; `turn` is its number in the phase.
    /// `None` if it makes no I/O: with `create_only`, and without files, since fio leaves clones
    /// without files whose names are taken by others.
    pub(crate) fn cleared(
        &self,
        PhaseJob { job, on, .. }: &PhaseJob,
        turn: usize,
    ) -> Option<(ClearedJob<'_>, Vec<usize>)> {
        if let Some(on) = on {
            let files = vec![self.held[on.index].access()];
            return Some((ClearedJob { job: on.fitted(job, turn), files }, vec![on.index]));
        }
        if job.files.create_only {
            return None;
        }
        let numbers = job.files.paths.iter().filter_map(|name| self.index(job, name));
        let numbers: Vec<usize> = numbers.collect();
        let files: Vec<_> = numbers.iter().map(|n| self.held[*n].access()).collect();
        (!files.is_empty())
            .then(|| (ClearedJob { job: self.with_append_offset(job), files }, numbers))
    }

    /// Removes those of these files that jobs made. (fio does as well: later jobs find nothing to
    /// read there, or make them anew.)
    pub(crate) fn unlink(&mut self, keys: &[String]) -> Result<(), CampaignError> {
        for key in keys.iter().filter_map(|key| self.unlinking.take(key)) {
            let held = self.by_name.get(&key).and_then(|held| self.held.get(*held));
            match held {
                Some(ClearedTarget::File(_, laid_out)) => _ = laid_out.remove_if_ours()?,
                Some(ClearedTarget::Nothing(clearance)) => {
                    clearance.entry().map(|entry| entry.remove_made()).transpose()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes all that are left, also files of jobs that did not run: they were laid out all the
    /// same.
    pub(crate) fn unlink_all(&mut self) -> Result<(), CampaignError> {
        self.unlink(&Vec::from_iter(self.unlinking.clone()))
    }
}

fn jobs(script: &Script) -> impl Iterator<Item = &ScriptJob> {
    script.phases.iter().flat_map(|phase| &phase.jobs)
}

/// Reason why `direct=1` is refused: the file is, or will be, in memory, and its file system has no
/// O_DIRECT. On disks a file system without O_DIRECT is only a caveat of the measurement.
fn not_direct(host: &Host, name: &str) -> Option<String> {
    let path = std::path::absolute(name).ok()?;
    let there = if path.exists() { path.as_path() } else { path.parent()? };
    let target = resolve_even_in_memory(host, there.to_str()?).ok()?.pop()?;
    let file_system = target.file_system().filter(|one| one.is_in_memory())?;
    Some(format!(
        "direct=1 cannot be used on {name}: {} lacks O_DIRECT here (tmpfs has it since Linux 6.6); use direct=0",
        file_system.kind
    ))
}
