//! Compiles sections to jobs one by one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::files::{self, NamedFiles};
use super::{
    CompileOptions, Phase, Script, ScriptError, ScriptErrors, ScriptJob, ScriptSection,
    WrittenOption,
};
use crate::options::{apply_section, check, notes, warnings};
use crate::syntax::{Entry, Place, Section};
use crate::value::JobError;
use crate::{Amount, Job};

/// Most file names over all jobs.
const FILES_MAX: usize = 1 << 20;
/// Most jobs that a note or an error names.
const NAMED_MAX: usize = 3;

pub(super) struct Compiler<'a> {
    options: &'a CompileOptions<'a>,
    script: Script,
    errors: Vec<ScriptError>,
    /// Reported errors: one in `[global]` is not repeated for each section.
    reported: HashSet<String>,
    /// Notes in order, each with the sections it is about.
    notes: Vec<(String, Vec<usize>)>,
    /// Index of each note.
    note_index: HashMap<String, usize>,
    /// Names of first clones, which other jobs can wait for.
    names: Vec<String>,
    jobs: usize,
    files: usize,
    /// Files of all jobs so far, which later clones leave out.
    paths: HashSet<String>,
    group: u32,
    jobs_in_group: usize,
    /// `lat_percentiles` of the group's first job, which the others must share.
    lat_percentiles: bool,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(options: &'a CompileOptions<'a>) -> Self {
        Self {
            options,
            script: Script { readonly: options.readonly, ..Script::default() },
            errors: Vec::new(),
            reported: HashSet::new(),
            notes: Vec::new(),
            note_index: HashMap::new(),
            names: Vec::new(),
            jobs: 0,
            files: 0,
            paths: HashSet::new(),
            group: 0,
            jobs_in_group: 0,
            lat_percentiles: false,
        }
    }

    pub(super) fn section(&mut self, section: &Section) {
        let number = self.script.sections.len();
        let own = section.inherited;
        self.record_section(section, own);
        let (entries, own) = self.with_overrides(&section.entries, own);
        let mut job = self.resolve_job(section, &entries, own, number);
        let mut named = files::named_files(section, &entries, own);
        for note in named.notes.drain(..) {
            self.note(note, number);
        }
        for error in named.errors.drain(..) {
            self.fail(error);
        }
        job.files.filename.clone_from(&named.names);
        job.files.paths = match &named.paths[..] {
            [] => self.device(&section.name, &job).into_iter().collect(),
            paths => paths.to_vec(),
        };
        self.validate(section, &entries, &job);
        self.names.push(job.name.clone());
        self.clones(section, &job, &named, number);
    }

    /// Keeps the options as written, for the report.
    fn record_section(&mut self, section: &Section, own: usize) {
        let written = |entries: &[Entry]| -> Vec<WrittenOption> {
            let entries = entries.iter().filter(|entry| !is_between_files(entry));
            entries.map(|entry| (entry.name.clone(), entry.value.clone())).collect()
        };
        let (global, own) = section.entries.split_at(own);
        self.script.global = written(global);
        self.script.sections.push(ScriptSection {
            name: section.name.clone(),
            place: section.place.clone(),
            options: written(own),
        });
    }

    /// The entries with the overrides, and the index of the first own one.
    fn with_overrides(&self, entries: &[Entry], own: usize) -> (Vec<Entry>, usize) {
        let overrides = self.options.overrides;
        let new_filename = overrides.iter().any(|entry| files::is_option(entry, "filename"));
        let kept = |entries: &[Entry]| -> Vec<Entry> {
            let kept = |entry: &&Entry| !(new_filename && files::is_option(entry, "filename"));
            entries.iter().filter(kept).cloned().collect()
        };
        let (inherited, own) = entries.split_at(own);
        let (mut inherited, own) = (kept(inherited), kept(own));
        // As in fio, a name in [global] does not rename jobs.
        inherited.retain(|entry| !files::is_option(entry, "name"));
        let first_own = inherited.len();
        (inherited.into_iter().chain(own).chain(overrides.iter().cloned()).collect(), first_own)
    }

    fn resolve_job(
        &mut self,
        section: &Section,
        entries: &[Entry],
        own_from: usize,
        number: usize,
    ) -> Job {
        let mut job = Job { name: section.name.clone(), ..Job::default() };
        let pairs: Vec<_> =
            entries.iter().map(|entry| (entry.name.as_str(), entry.value.as_deref())).collect();
        for (entry, error) in apply_section(&mut job, &pairs, own_from).err().unwrap_or_default() {
            if self.options.for_fio && matches!(error, JobError::NotNative { .. }) {
                continue;
            }
            self.fail(ScriptError::Option { place: entries[entry].place.clone(), error });
        }
        // The notes are about iodyno's engines, not fio's.
        for note in if self.options.for_fio { Vec::new() } else { notes(&job, &pairs) } {
            self.note(note, number);
        }
        let warned = warnings(&job, &pairs).into_iter();
        self.script.warnings.extend(warned.map(|warning| (section.name.clone(), warning)));
        job
    }

    fn validate(&mut self, section: &Section, entries: &[Entry], job: &Job) {
        // fio checks its own jobs.
        for error in if self.options.for_fio { Vec::new() } else { check(job) } {
            let (place, job) = (section.place.clone(), section.name.clone());
            self.fail(ScriptError::Job { place, job, error });
        }
        if self.options.readonly && job.writes() {
            let (place, job) = (section.place.clone(), section.name.clone());
            self.fail(ScriptError::Writes { place, job });
        }
        for (option, command) in job.commands().filter(|_| !self.options.exec) {
            let (place, command) = (place_of(option, entries, section), command.to_owned());
            self.fail(ScriptError::Command { place, option, command });
        }
        if let Some(name) = job.threads.wait_for.clone() {
            let place = place_of("wait_for", entries, section);
            match self.names.iter().filter(|known| **known == name).count() {
                _ if name == section.name => {
                    self.fail(ScriptError::WaitsForItself { place, job: name });
                }
                0 => {
                    let last = self.names.len().saturating_sub(NAMED_MAX);
                    let known = self.names[last..].to_vec();
                    self.fail(ScriptError::WaitsForNone { place, name, known });
                }
                1 => {}
                count => self.fail(ScriptError::WaitsForSeveral { place, name, count }),
            }
        }
    }

    fn clones(&mut self, section: &Section, job: &Job, named: &NamedFiles, number: usize) {
        let (place, name) = (section.place.clone(), section.name.clone());
        let numjobs = job.threads.numjobs;
        if self.jobs + numjobs as usize > self.options.most_jobs {
            return self.fail(ScriptError::TooManyJobs {
                place,
                job: name,
                max: self.options.most_jobs,
            });
        }
        let each =
            if named.paths.is_empty() { job.files.nrfiles as usize } else { named.paths.len() };
        if self.files + each * numjobs as usize > FILES_MAX {
            return self.fail(ScriptError::TooManyFiles { place, job: name, max: FILES_MAX });
        }
        self.files += each * numjobs as usize;
        self.paths.extend(named.paths.iter().cloned());
        if self.jobs > 0 && job.threads.stonewall || self.script.phases.is_empty() {
            self.script.phases.push(Phase::default());
        }
        if (job.threads.stonewall || job.threads.new_group) && self.jobs_in_group > 0 {
            self.group += 1;
            self.jobs_in_group = 0;
        }
        if self.jobs_in_group == 0 {
            self.lat_percentiles = job.report.percentiles.lat;
        } else if job.threads.group_reporting && self.lat_percentiles != job.report.percentiles.lat
        {
            self.fail(ScriptError::GroupDiffers { place, job: name });
        }
        // fio makes the first clone, then the others from the last to the second.
        for clone in std::iter::once(0).chain((1..numjobs).rev()) {
            let job = self.clone_of(section, job, named, clone);
            if job.files.paths.is_empty() {
                self.note(
                    "clones whose files have the same names as the first one's get none, and make no I/O, as in fio"
                        .into(),
                    number,
                );
            }
            let space = &job.space;
            let needs_size = space.size.is_none() && space.filesize.is_none() && !space.fill_device;
            let phase = self.script.phases.last_mut().expect("the first job began one");
            phase.jobs.push(ScriptJob { job, section: number, needs_size });
        }
    }

    fn clone_of(&mut self, section: &Section, job: &Job, named: &NamedFiles, clone: u32) -> Job {
        let mut job = job.clone();
        job.threads.clone = clone;
        job.threads.number = u32::try_from(self.jobs).expect("there are few jobs");
        job.threads.group = self.group;
        if clone > 0 {
            job.name.clone_from(&section.name);
            job.threads.stonewall = false;
            job.threads.new_group = false;
        }
        job.files.paths = match &named.paths[..] {
            [] => self.default_files(&section.name, &job, clone),
            paths => paths.to_vec(),
        };
        job.files.nrfiles = u32::try_from(job.files.paths.len()).expect("there are few files");
        self.jobs += 1;
        self.jobs_in_group += 1;
        job
    }

    /// The device that a section is named after, if it is.
    fn device(&self, section: &str, job: &Job) -> Option<String> {
        (job.files.nrfiles == 1 && (self.options.is_special)(section)).then(|| section.to_owned())
    }

    /// The files of a job without `filename`: a device that its section is named after, or files
    /// named after the section. Clones take the directories in turn.
    fn default_files(&mut self, section: &str, job: &Job, clone: u32) -> Vec<String> {
        let files = &job.files;
        let directory = files.directory.get(clone as usize % files.directory.len().max(1));
        let format = files.filename_format.as_deref();
        let names = match self.device(section, job) {
            Some(device) => vec![device],
            None => (0..files.nrfiles)
                .map(|file| files::file_name(format, section, clone, file))
                .collect(),
        };
        let mut paths = Vec::with_capacity(names.len());
        for name in names {
            let path = files::join(directory, &name);
            let taken =
                clone > 0 && self.paths.contains(&path) && !(self.options.is_special)(&name);
            if !taken {
                self.paths.insert(path.clone());
                paths.push(path);
            }
        }
        paths
    }

    pub(super) fn finish(mut self) -> Result<Script, ScriptErrors> {
        if !self.errors.is_empty() {
            return Err(ScriptErrors(self.errors));
        }
        self.note_shared_files();
        if self.script.phases.len() > 1 && !self.options.for_fio {
            self.note_delays();
        }
        let sections = &self.script.sections;
        let notes = self.notes.into_iter().map(|(note, about)| {
            if about.len() == sections.len() {
                return note;
            }
            let names = about.iter().take(NAMED_MAX).map(|number| sections[*number].name.as_str());
            let names: Vec<_> = names.collect();
            let more = if about.len() > NAMED_MAX { ", ..." } else { "" };
            format!("{note} (job {}{more})", names.join(", "))
        });
        self.script.notes = notes.collect();
        Ok(self.script)
    }

    /// Notes files that several jobs of a phase use while one of them writes: once for the same
    /// sections, and not for clones that `offset_increment` keeps apart.
    fn note_shared_files(&mut self) {
        let apart = |job: &ScriptJob| job.job.space.offset_increment != Amount::Bytes(0);
        for phase in &self.script.phases {
            if !phase.jobs.iter().any(|job| job.job.writes()) {
                continue;
            }
            let mut users: BTreeMap<&str, Vec<&ScriptJob>> = BTreeMap::new();
            for job in &phase.jobs {
                for path in job.job.files.paths.iter().collect::<BTreeSet<_>>() {
                    users.entry(path).or_default().push(job);
                }
            }
            let mut shared: BTreeMap<Vec<usize>, (&str, usize, usize)> = BTreeMap::new();
            for (path, jobs) in users {
                let writes = jobs.iter().any(|job| job.job.writes());
                if jobs.len() > 1 && writes && !jobs.iter().all(|job| apart(job)) {
                    let mut sections: Vec<usize> = jobs.iter().map(|job| job.section).collect();
                    sections.dedup();
                    shared.entry(sections).or_insert((path, jobs.len(), 0)).2 += 1;
                }
            }
            for (sections, (path, jobs, files)) in shared {
                let others = match files {
                    1 => String::new(),
                    _ => format!(" and {} other files", files - 1),
                };
                let note = format!("{jobs} jobs use {path}{others} at the same time, and write");
                self.notes.push((note, sections));
            }
        }
    }

    /// Notes delayed jobs: fio's `run_threads` (backend.c) skips jobs that are not due yet before
    /// it looks for a stonewall.
    fn note_delays(&mut self) {
        let jobs = self.script.phases.iter().flat_map(|phase| &phase.jobs);
        let delayed = jobs.filter(|job| job.job.threads.startdelay_ns.1 > 0);
        let mut sections: Vec<usize> = delayed.map(|job| job.section).collect();
        sections.dedup();
        if !sections.is_empty() {
            let note = "startdelay counts from the begin of its phase, and a stonewall waits for the job; \
                        with fio it counts from the start of all, and a stonewall does not wait";
            self.notes.push((note.into(), sections));
        }
    }

    fn fail(&mut self, error: ScriptError) {
        if self.reported.insert(error.to_string()) {
            self.errors.push(error);
        }
    }

    fn note(&mut self, note: String, section: usize) {
        let known = self.note_index.get(&note).and_then(|at| self.notes.get_mut(*at));
        match known {
            Some((_, about)) if about.last() == Some(&section) => {}
            Some((_, about)) => about.push(section),
            None => {
                self.note_index.insert(note.clone(), self.notes.len());
                self.notes.push((note, vec![section]));
            }
        }
    }
}

/// The place where `option` was given last.
fn place_of(option: &str, entries: &[Entry], section: &Section) -> Place {
    let given = |entry: &&Entry| files::is_option(entry, option);
    entries.iter().rfind(given).map_or_else(|| section.place.clone(), |entry| entry.place.clone())
}

/// True for the implicit `stonewall` between two job files.
fn is_between_files(entry: &Entry) -> bool {
    entry.name == "stonewall" && entry.place.line.is_none() && entry.place != Place::command_line()
}
