//! Parses fio's command line as its `getopt_long_only` does.
//!
//! Accepts `--bs=4k`, `--bs 4k`, `-bs=4k`, `-iodepth 1`; unambiguous prefixes of names; `-o FILE`;
//! files anywhere, and only files after `--`. Nothing is expanded: the shell has done it.

use super::file::{Reader, is_global, is_selected, unreadable};
use super::invocation::{Invocation, Page};
use super::known::{KnownOptions, Takes, refuse_swallowed};
use super::pattern_file::read_patterns;
use super::run_options::{Argument, Effect, RUN_OPTIONS, RunOption};
use super::{Entry, Environment, Place, Section, SyntaxError};
use crate::nearest::nearest_name;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// Options of the run as a whole.
    pub invocation: Invocation,
    /// Job files in order; `-` is standard input.
    pub files: Vec<String>,
    /// Job options before the first `--name` and after `--name=global`. `jobs` already include
    /// them; in the first file they come before its `[global]`.
    pub global: Vec<Entry>,
    /// One for each `--name`, in order.
    pub jobs: Vec<Section>,
    /// `--section`: the only sections to run; empty: all.
    pub sections: Vec<String>,
    /// Notes for the user on options that have no effect, or less than they seem to.
    pub notes: Vec<String>,
}

/// Parses the arguments of a command line, without the program's name.
///
/// # Errors
/// An option that is unknown, ambiguous, not supported, or lacks its value.
pub fn parse_command_line(
    arguments: &[String],
    known: &dyn KnownOptions,
) -> Result<CommandLine, SyntaxError> {
    let mut line = CommandLine::default();
    let mut in_job = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            line.files.extend(words.cloned());
            break;
        }
        if word == "-" || !word.starts_with('-') {
            line.files.push(word.clone());
            continue;
        }
        let (named, attached) = find_option(word, known)?;
        let option = named.written();
        let value = match (named.argument(known), attached) {
            (Argument::No, Some(_)) => return Err(SyntaxError::TakesNoValue { option }),
            (Argument::Required, Some("")) => return Err(SyntaxError::NeedsValue { option }),
            (Argument::Required, None) => {
                // getopt would take `--rw=read` as the value of `--bs`.
                let next = words.next().filter(|next| !next.is_empty() && !next.starts_with("--"));
                Some(next.ok_or(SyntaxError::NeedsValue { option })?.as_str())
            }
            (_, attached) => attached,
        };
        match (named, value) {
            (NamedOption::Run(option), value) => {
                line.apply(option, value)?;
                if line.invocation.page.is_some() {
                    return Ok(line);
                }
            }
            (NamedOption::Job("name"), Some(name)) => {
                in_job = !is_global(name);
                if in_job {
                    line.begin_job(name);
                }
            }
            (NamedOption::Job(name), value) => line.job_option(name, value, in_job),
        }
    }
    if let [first, others @ ..] = &line.files[..]
        && !others.is_empty()
        && !line.global.is_empty()
    {
        line.notes.push(format!(
            "options before the first --name hold for {first} alone, not for {}, as in fio",
            others.join(", ")
        ));
    }
    Ok(line)
}

impl CommandLine {
    fn begin_job(&mut self, name: &str) {
        let (place, entries) = (Place::command_line(), self.global.clone());
        let inherited = entries.len();
        self.jobs.push(Section { name: name.into(), place, entries, inherited });
    }

    fn job_option(&mut self, name: &str, value: Option<&str>, in_job: bool) {
        let place = Place::command_line();
        let entry = Entry { name: name.into(), value: value.map(Into::into), place };
        match self.jobs.last_mut() {
            Some(job) if in_job => job.entries.push(entry),
            _ => self.global.push(entry),
        }
    }

    /// Shows a page instead of running jobs.
    pub(super) fn show(&mut self, page: Page) -> Result<(), String> {
        self.invocation.page = Some(page);
        Ok(())
    }

    fn apply(&mut self, run: &RunOption, value: Option<&str>) -> Result<(), SyntaxError> {
        let option = format!("--{}", run.name);
        let value = value.unwrap_or("");
        match run.effect {
            Effect::Refused(advice) => Err(SyntaxError::Unsupported { option, advice }),
            Effect::Ignored(why) => {
                self.notes.push(format!("{option} does nothing here: {why}"));
                Ok(())
            }
            Effect::Set(set) => set(self, value).map_err(|expected| SyntaxError::BadValue {
                option,
                value: value.into(),
                expected,
            }),
        }
    }

    /// Loads all jobs to run, in order: those of the command line, then those of the files. The
    /// first job of each further file gets a `stonewall`, so that files run one after the other, as
    /// in fio.
    ///
    /// # Errors
    /// An unreadable or malformed file, an unknown `--section`, an option inside another's value,
    /// no job at all.
    pub fn load(
        &self,
        known: &dyn KnownOptions,
        environment: &Environment<'_>,
    ) -> Result<Vec<Section>, SyntaxError> {
        let (mut sections, others): (Vec<_>, Vec<_>) =
            self.jobs.iter().cloned().partition(|job| is_selected(&job.name, &self.sections));
        let mut skipped: Vec<_> = others.into_iter().map(|job| job.name).collect();
        for (index, file) in self.files.iter().enumerate() {
            let text = (environment.read)(file)
                .map_err(|error| unreadable(Place::command_line(), file, &error))?;
            let mut reader = Reader::new(environment).only(&self.sections);
            if index == 0 {
                reader = reader.global(self.global.clone());
            } else {
                let place = Place { source: file.clone(), line: None };
                let stonewall = Entry { name: "stonewall".into(), value: None, place };
                reader = reader.first_job(vec![stonewall]);
            }
            sections.extend(reader.read(&text, file)?.sections);
            skipped.append(&mut reader.skipped);
        }
        for wanted in &self.sections {
            if !sections.iter().any(|section| section.name == *wanted) {
                let mut known: Vec<_> =
                    sections.into_iter().map(|section| section.name).chain(skipped).collect();
                known.dedup();
                return Err(SyntaxError::NoSuchSection { section: wanted.clone(), known });
            }
        }
        if sections.is_empty() {
            return Err(SyntaxError::NoJob);
        }
        refuse_swallowed(&sections, known)?;
        read_patterns(&mut sections, environment)?;
        Ok(sections)
    }
}

/// The option that a word names.
enum NamedOption<'a> {
    Run(&'static RunOption),
    Job(&'a str),
}

impl NamedOption<'_> {
    fn written(&self) -> String {
        match self {
            Self::Run(option) => format!("--{}", option.name),
            Self::Job(name) => format!("--{name}"),
        }
    }

    fn argument(&self, known: &dyn KnownOptions) -> Argument {
        match self {
            Self::Run(option) => option.argument,
            Self::Job(name) => match known.takes(name) {
                Some(Takes::OptionalValue) => Argument::Optional,
                _ => Argument::Required,
            },
        }
    }
}

/// Finds the option that a word names, and the value attached to it.
fn find_option<'a>(
    word: &'a str,
    known: &'a dyn KnownOptions,
) -> Result<(NamedOption<'a>, Option<&'a str>), SyntaxError> {
    let long = word.starts_with("--");
    let text = word.strip_prefix("--").or(word.strip_prefix('-')).unwrap_or(word);
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    if !long && let (Some(option), 1) = (short_option(text), text.len()) {
        return Ok((NamedOption::Run(option), None));
    }
    if let Some(option) = RUN_OPTIONS.iter().find(|option| option.name == name) {
        return Ok((NamedOption::Run(option), value));
    }
    if name == "name" || known.takes(name).is_some() {
        return Ok((NamedOption::Job(name), value));
    }
    let run = RUN_OPTIONS.iter().filter(|option| option.name.starts_with(name));
    let mut jobs: Vec<_> = known.names();
    jobs.push("name");
    jobs.retain(|job| job.starts_with(name));
    jobs.sort_unstable();
    jobs.dedup();
    let mut candidates: Vec<_> =
        run.map(NamedOption::Run).chain(jobs.into_iter().map(NamedOption::Job)).collect();
    match (candidates.pop(), short_option(text)) {
        (Some(only), _) if candidates.is_empty() && !name.is_empty() => Ok((only, value)),
        (Some(last), _) if !name.is_empty() => {
            candidates.push(last);
            let candidates = candidates.iter().map(NamedOption::written).collect();
            Err(SyntaxError::AmbiguousOption { option: word.into(), candidates })
        }
        // `-ofile`: a short option and its value in one word.
        (_, Some(option)) if !long && option.argument != Argument::No => {
            Ok((NamedOption::Run(option), Some(&text[1..])))
        }
        _ => Err(SyntaxError::UnknownOption { option: word.into(), nearest: nearest(name, known) }),
    }
}

/// The option of the run whose letter `text` starts with.
fn short_option(text: &str) -> Option<&'static RunOption> {
    RUN_OPTIONS.iter().find(|option| text.starts_with(option.letter))
}

/// The option with the most similar name, of the run or of jobs.
fn nearest(name: &str, known: &dyn KnownOptions) -> Option<String> {
    let run = RUN_OPTIONS.iter().map(|option| option.name);
    nearest_name(name, run.chain(known.names())).map(Into::into)
}
