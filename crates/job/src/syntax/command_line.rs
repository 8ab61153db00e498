//! fio's command line, as its `getopt_long_only` takes it.
//!
//! `--bs=4k`, `--bs 4k`, `-bs=4k`, `-iodepth 1`; the beginning of a name where
//! it is the beginning of one only; `-o FILE`; files anywhere, and only files
//! behind `--`. Nothing is expanded here: the shell has done it.

use super::file::{Reader, is_global, is_selected, unreadable};
use super::invocation::{Invocation, Page};
use super::known::{Known, Takes, refuse_swallowed};
use super::own_options::{Argument, Effect, OWN_OPTIONS, OwnOption};
use super::pattern_file::read_patterns;
use super::{Entry, Environment, Place, Section, SyntaxError};
use crate::nearest::nearest_of;

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// What was asked for beside jobs.
    pub invocation: Invocation,
    /// Job files in order; `-` is standard input.
    pub files: Vec<String>,
    /// Job options before the first `--name` and behind `--name=global`. They
    /// stand in `jobs` already, and come before the `[global]` of the first file.
    pub global: Vec<Entry>,
    /// One for each `--name`, in order.
    pub jobs: Vec<Section>,
    /// `--section`: only these are run; empty: all.
    pub sections: Vec<String>,
    /// What to tell the user: options that do nothing, or less than may be meant.
    pub notes: Vec<String>,
}

/// Reads the words of a command line, without the program's own.
///
/// # Errors
/// The option that is unknown, ambiguous, not supported, or lacks its value.
pub fn parse_command_line(
    arguments: &[String],
    known: &dyn Known,
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
        let (meant, attached) = meaning(word, known)?;
        let option = meant.written();
        let value = match (meant.argument(known), attached) {
            (Argument::No, Some(_)) => return Err(SyntaxError::TakesNoValue { option }),
            (Argument::Required, Some("")) => return Err(SyntaxError::NeedsValue { option }),
            (Argument::Required, None) => {
                // getopt would take `--rw=read` for the value of `--bs`.
                let next = words.next().filter(|next| !next.is_empty() && !next.starts_with("--"));
                Some(next.ok_or(SyntaxError::NeedsValue { option })?.as_str())
            }
            (_, attached) => attached,
        };
        match (meant, value) {
            (Meant::Own(own), value) => {
                line.apply(own, value)?;
                if line.invocation.page.is_some() {
                    return Ok(line);
                }
            }
            (Meant::Job("name"), Some(name)) => {
                in_job = !is_global(name);
                if in_job {
                    line.begin_job(name);
                }
            }
            (Meant::Job(name), value) => line.job_option(name, value, in_job),
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
        self.jobs.push(Section { name: name.into(), place, entries });
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

    fn apply(&mut self, own: &OwnOption, value: Option<&str>) -> Result<(), SyntaxError> {
        let option = format!("--{}", own.name);
        let value = value.unwrap_or("");
        match own.effect {
            Effect::Refused(advice) => Err(SyntaxError::Unsupported { option, advice }),
            Effect::Nothing(why) => {
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

    /// All jobs that are to be run, in order: those of the command line, then
    /// those of the files; the first job of each further file gets a
    /// `stonewall`, so that files run one after the other, as in fio.
    ///
    /// # Errors
    /// What is wrong in a file or cannot be read, a `--section` that is
    /// nowhere, an option inside another's value, no job at all.
    pub fn load(
        &self,
        known: &dyn Known,
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

/// What a word stands for.
enum Meant<'a> {
    Own(&'static OwnOption),
    Job(&'a str),
}

impl Meant<'_> {
    fn written(&self) -> String {
        match self {
            Self::Own(own) => format!("--{}", own.name),
            Self::Job(name) => format!("--{name}"),
        }
    }

    fn argument(&self, known: &dyn Known) -> Argument {
        match self {
            Self::Own(own) => own.argument,
            Self::Job(name) => match known.takes(name) {
                Some(Takes::OptionalValue) => Argument::Optional,
                _ => Argument::Required,
            },
        }
    }
}

/// The option that a word names, and the value that the word holds.
fn meaning<'a>(
    word: &'a str,
    known: &'a dyn Known,
) -> Result<(Meant<'a>, Option<&'a str>), SyntaxError> {
    let long = word.starts_with("--");
    let text = word.strip_prefix("--").or(word.strip_prefix('-')).unwrap_or(word);
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    if !long && let (Some(own), 1) = (lettered(text), text.len()) {
        return Ok((Meant::Own(own), None));
    }
    if let Some(own) = OWN_OPTIONS.iter().find(|own| own.name == name) {
        return Ok((Meant::Own(own), value));
    }
    if name == "name" || known.takes(name).is_some() {
        return Ok((Meant::Job(name), value));
    }
    let own = OWN_OPTIONS.iter().filter(|own| own.name.starts_with(name));
    let mut jobs: Vec<_> = known.names();
    jobs.push("name");
    jobs.retain(|job| job.starts_with(name));
    jobs.sort_unstable();
    jobs.dedup();
    let mut candidates: Vec<_> =
        own.map(Meant::Own).chain(jobs.into_iter().map(Meant::Job)).collect();
    match (candidates.pop(), lettered(text)) {
        (Some(meant), _) if candidates.is_empty() && !name.is_empty() => Ok((meant, value)),
        (Some(last), _) if !name.is_empty() => {
            candidates.push(last);
            let candidates = candidates.iter().map(Meant::written).collect();
            Err(SyntaxError::AmbiguousOption { option: word.into(), candidates })
        }
        // `-ofile`: a letter and its value in one word.
        (_, Some(own)) if !long && own.argument != Argument::No => {
            Ok((Meant::Own(own), Some(&text[1..])))
        }
        _ => Err(SyntaxError::UnknownOption { option: word.into(), nearest: nearest(name, known) }),
    }
}

/// fio's own option of the letter that `text` begins with.
fn lettered(text: &str) -> Option<&'static OwnOption> {
    OWN_OPTIONS.iter().find(|own| text.starts_with(own.letter))
}

/// The option whose name is nearest, fio's own included.
fn nearest(name: &str, known: &dyn Known) -> Option<String> {
    let own = OWN_OPTIONS.iter().map(|own| own.name);
    nearest_of(name, own.chain(known.names())).map(Into::into)
}
