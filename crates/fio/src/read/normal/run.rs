//! Collects the statements of one fio run into its jobs.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::Measurement;

use super::command::{self, JobOptions};
use super::direction::Side;
use super::disks::disks;
use super::group::{Group, GroupSide};
use super::header::{Head, JobDescription};
use super::job::Job;
use super::scan::{after, numbers};
use super::statement::{Kind, Statement, version_in};
use super::workload::DescriptionIndex;
use crate::read::workload::is_decimal;

/// Group, name, pid and number of jobs in a head.
type HeadKey = (u32, String, Option<u64>, Option<u32>);

/// One invocation of fio.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// `3.33`.
    pub(super) version: Option<String>,
    /// Options in its command line and job file.
    pub(super) requested: JobOptions,
    pub(super) described: Vec<JobDescription>,
    /// Number of jobs started.
    started: Option<u64>,
    pub(super) interrupted: bool,
    pub(super) jobs: Vec<Job>,
    /// Keys of the job heads found.
    pub(super) heads: BTreeSet<HeadKey>,
    groups: Vec<Group>,
    group_numbers: BTreeSet<u32>,
    /// Rows of disk statistics.
    disks: Option<String>,
    /// The next statements belong to the last job.
    in_job: bool,
}

impl Run {
    /// True if a statement belongs to the next run.
    pub(super) fn ends_before(&self, statement: &Statement) -> bool {
        let of_last = |direction| {
            let group = self.groups.last();
            group.is_some_and(|group| group.sides.iter().any(|side| side.direction == direction))
        };
        match statement.kind {
            Kind::Command | Kind::Job | Kind::Version => self.has_results(),
            // A text with only group status, run after run.
            Kind::GroupDirection(direction) => of_last(direction),
            Kind::Group if self.jobs.is_empty() => {
                self.group_numbers.contains(&Group::new(0, &statement.text).number)
            }
            _ => false,
        }
    }

    pub(super) fn has_results(&self) -> bool {
        !self.jobs.is_empty() || !self.groups.is_empty()
    }

    /// Major and minor version.
    fn major_minor(&self) -> Option<(u32, u32)> {
        version_in(self.version.as_deref()?)
    }

    pub(super) fn add(&mut self, statement: &Statement) {
        let text = &statement.text;
        match statement.kind {
            Kind::Command => self.requested.extend(command::jobs(text)),
            Kind::Job => self.described.push(JobDescription::new(statement)),
            Kind::Version => {
                // `fio-3.33`, formerly `fio 1.59`.
                let word = text.split_whitespace().find(|word| *word != "fio").unwrap_or("");
                let word = word.trim_start_matches("fio-");
                let word = word.split([',', ')', ';', '"']).next().unwrap_or(word);
                self.version = Some(word.trim_end_matches(['.', ':']).to_owned());
                self.started = after(text, "Starting ").and_then(|n| numbers(n).first().copied());
            }
            Kind::Message => self.interrupted |= text.contains("terminating on signal"),
            Kind::Head => {
                let job = Job::new(Head::new(statement), self.major_minor());
                if !job.is_sum() {
                    let Head { name, pid, jobs, .. } = &job.head;
                    self.heads.insert((job.head.group.unwrap_or(0), name.clone(), *pid, *jobs));
                }
                self.jobs.push(job);
                self.in_job = true;
            }
            Kind::Direction(direction) => {
                let repeated = |job: &Job| job.sides.iter().any(|side| side.direction == direction);
                let headless = |job: &Job| job.head.name.is_empty() && !job.sides.is_empty();
                let other = self.jobs.last().is_none_or(|job| {
                    repeated(job) || job.is_closed() || statement.is_separate && headless(job)
                });
                if !self.in_job || other {
                    self.begin_headless(statement);
                }
                self.add_to_job(statement);
            }
            Kind::Group => {
                self.in_job = false;
                self.add_group(Group::new(statement.line, text));
            }
            Kind::GroupDirection(direction) => {
                if self.groups.is_empty() {
                    self.add_group(Group { line: statement.line, ..Group::default() });
                }
                self.in_job = false;
                let version = self.major_minor();
                let is_decimal = self.requested.iter().any(|(_, options)| is_decimal(options));
                if let Some(group) = self.groups.last_mut() {
                    group.sides.push(GroupSide::new(direction, text, version, is_decimal));
                }
            }
            Kind::Disks => {
                self.in_job = false;
                self.disks = Some(text.clone());
            }
            Kind::File | Kind::Other => {}
            _ => {
                if !self.in_job {
                    self.begin_headless(statement);
                }
                self.add_to_job(statement);
            }
        }
    }

    /// True if there are results without a head.
    fn has_headless(&self) -> bool {
        let headless = |job: &Job| job.head.name.is_empty() && !job.sides.is_empty();
        self.jobs.iter().any(|job| headless(job) && !job.is_quoted())
    }

    /// Starts a job whose head is missing.
    fn begin_headless(&mut self, statement: &Statement) {
        let head = Head { line: statement.line, ..Head::default() };
        self.jobs.push(Job::new(head, self.major_minor()));
        self.in_job = true;
    }

    fn add_to_job(&mut self, statement: &Statement) {
        if let Some(job) = self.jobs.last_mut() {
            job.add(statement);
        }
    }

    fn add_group(&mut self, group: Group) {
        self.group_numbers.insert(group.number);
        self.groups.push(group);
    }

    /// Heads of a group's jobs.
    pub(super) fn heads_of(&self, group: u32) -> impl Iterator<Item = &HeadKey> {
        let first = (group, String::new(), None, None);
        self.heads.range(first..).take_while(move |(of, ..)| *of == group)
    }

    /// Announced jobs without results of their own or of their group.
    fn missing_jobs(&self) -> Vec<&JobDescription> {
        let status: BTreeSet<u32> =
            self.groups.iter().filter(|one| !one.sides.is_empty()).map(|one| one.number).collect();
        // With group_reporting one of several jobs names the report of all of them.
        let gathered: BTreeSet<u32> =
            self.heads.iter().filter(|(.., jobs)| *jobs != Some(1)).map(|(of, ..)| *of).collect();
        let has_headless = self.has_headless();
        let is_lost = |described: &&JobDescription| {
            let group = described.group;
            if self.heads_of(group).next().is_none() {
                return !has_headless && !status.contains(&group);
            }
            let first = (group, described.name.clone(), None, None);
            let named = self.heads.range(first..).next();
            let is_there =
                named.is_some_and(|(of, name, ..)| (*of, name) == (group, &described.name));
            !gathered.contains(&group) && !is_there
        };
        self.described.iter().filter(is_lost).collect()
    }

    /// Missing parts: (line, sentence).
    pub(super) fn problems(&self) -> Vec<(usize, String)> {
        let mut problems = Vec::new();
        let missing_jobs = self.missing_jobs();
        if let Some(first) = missing_jobs.first() {
            let mut names: Vec<_> =
                missing_jobs.iter().map(|job| format!("`{}`", job.name)).collect();
            names.dedup();
            let what = format!(
                "no results of {} follow: it failed, or the text is cut off",
                names.join(", ")
            );
            problems.push((first.line, what));
        }
        for job in &self.jobs {
            let line = job.head.line;
            let title = match job.head.name.as_str() {
                "" => "this job".to_owned(),
                name => format!("`{name}`"),
            };
            if job.is_quoted() && !job.sides.is_empty() {
                let what = "a fio result line without the block around it: its job is \
                            unknown, so it is not imported";
                problems.push((line, what.into()));
                continue;
            }
            if job.head.name.is_empty() {
                problems.push((line, "the head of this job's results is missing".into()));
            }
            if job.has_only_head() && job.head.failure.is_none() && !job.head.name.is_empty() {
                problems.push((line, format!("only the header of {title} is there")));
            } else if job.sides.iter().any(Side::is_truncated) {
                problems.push((line, format!("a result line of {title} is cut off or damaged")));
            } else if job.issued.is_none() && !job.sides.is_empty() {
                let what = format!(
                    "the results of {title} are incomplete: the number of issued I/Os \
                     is missing, so rates are rounded as printed"
                );
                problems.push((line, what));
            }
        }
        problems
    }

    /// All results, except those counted twice.
    pub(super) fn measurements(mut self) -> Vec<Measurement> {
        let has_headless = self.has_headless();
        let mut jobs = std::mem::take(&mut self.jobs);
        jobs.retain(|job| !job.is_quoted() || job.sides.is_empty());
        // Drop the sum of all clients if their own results are there.
        if !jobs.iter().all(Job::is_sum) {
            jobs.retain(|job| !job.is_sum());
        }
        let alone = jobs.len() == 1;
        let index = self.description_index();
        let mut measurements = Vec::new();
        let mut rest = None;
        for mut job in jobs {
            let mut is_headless = false;
            if job.head.name.is_empty() {
                let Some(side) = job.sides.first() else {
                    rest = Some(job);
                    continue;
                };
                job.head.name = side.direction.name().to_owned();
                is_headless = true;
            }
            let mut context = self.context(&index, &job.head.name, job.head.group.unwrap_or(0));
            if is_headless && !self.heads.is_empty() {
                // The options are those of the jobs whose heads are there.
                (context.workload, context.targets) = Default::default();
            }
            let mut measurement = job.measurement(context);
            self.fill(&mut measurement, alone);
            measurements.push(measurement);
        }
        let mut groups = self.groups_without_jobs(&index, has_headless);
        // Remains of a job whose directions are cut off.
        if let ([only], Some(job), true) = (groups.as_mut_slice(), rest, alone) {
            only.account = job.measurement(self.context(&index, "", only.group)).account;
        }
        measurements.extend(groups);
        if let Some(rows) = &self.disks {
            let longest = measurements.iter().filter_map(|of| of.duration_ns).max();
            let disks = disks(rows, longest.unwrap_or(0));
            measurements.iter_mut().for_each(|of| of.disks.clone_from(&disks));
        }
        measurements
    }

    /// Groups none of whose jobs are in the text.
    fn groups_without_jobs(
        &self,
        index: &DescriptionIndex<'_>,
        has_headless: bool,
    ) -> Vec<Measurement> {
        let mut last: BTreeMap<u32, &Group> = BTreeMap::new();
        let missing = |group: &&Group| self.heads_of(group.number).next().is_none();
        if !has_headless {
            for group in self.groups.iter().filter(missing) {
                last.insert(group.number, group);
            }
        }
        let measurement = |group: &Group| {
            let name = format!("group {}", group.number);
            let head = Head { name, group: Some(group.number), ..Head::default() };
            let context = self.context(index, "", group.number);
            let mut measurement = Job::new(head, self.major_minor()).measurement(context);
            fill_from(&mut measurement, group);
            measurement
        };
        last.into_values().filter(|group| !group.sides.is_empty()).map(measurement).collect()
    }

    /// Gives a job without results those of its group, if it is the whole group.
    fn fill(&self, measurement: &mut Measurement, alone: bool) {
        let all =
            self.started.is_some() && self.started == measurement.workload.numjobs.map(u64::from);
        let is_of = |group: &&Group| group.number == measurement.group;
        if measurement.total.is_empty()
            && alone
            && all
            && let Some(group) = self.groups.iter().rfind(is_of)
        {
            fill_from(measurement, group);
        }
    }
}

fn fill_from(measurement: &mut Measurement, group: &Group) {
    measurement.total = group.sides.iter().map(GroupSide::result).collect();
    let longest = group.sides.iter().filter_map(|side| side.runtime_ms).max();
    measurement.duration_ns = longest.map(|ms| ms.saturating_mul(1_000_000));
}
