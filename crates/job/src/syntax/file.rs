//! Parses a job file: sections that inherit from `[global]`, and included files.

use std::io;

use super::line::{self, Line};
use super::{Entry, Environment, JobFile, Place, Section, SyntaxError, keywords};

/// Deepest nesting of includes.
const DEPTH_MAX: u32 = 16;
/// Most includes in one job file, so that files that include each other twice end, too.
const INCLUDES_MAX: u32 = 1024;
/// Most entries of all sections together, those of `[global]` counted for each.
const ENTRIES_MAX: usize = 1 << 20;
/// fio's `REAL_MAX_JOBS`.
const SECTIONS_MAX: usize = 4096;

/// Parses a job file. `source_name` names it in places and messages; included files are looked up
/// as written first, then in its folder.
///
/// `[global]` (any section whose name starts with it, as in fio) applies to the sections after it;
/// several add up. A section without entries is a job.
///
/// # Errors
/// The first error, with file and line.
pub fn parse_file(
    text: &[u8],
    source_name: &str,
    environment: &Environment<'_>,
) -> Result<JobFile, SyntaxError> {
    Reader::new(environment).read(text, source_name)
}

/// A parser of job files.
pub(super) struct Reader<'a> {
    environment: &'a Environment<'a>,
    /// The only sections to read; empty: all.
    only: &'a [String],
    global: Vec<Entry>,
    /// Entries between `[global]` and the first job's own.
    first_job: Vec<Entry>,
    sections: Vec<Section>,
    current: Current,
    includes: u32,
    /// Number of entries so far, inherited ones counted for each section.
    entries: usize,
    /// Names of skipped sections.
    pub(super) skipped: Vec<String>,
}

/// The kind of section that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    Start,
    Global,
    /// The last of `sections`.
    Job,
    Skipped,
}

impl<'a> Reader<'a> {
    pub(super) fn new(environment: &'a Environment<'a>) -> Self {
        Self {
            environment,
            only: &[],
            global: Vec::new(),
            first_job: Vec::new(),
            sections: Vec::new(),
            current: Current::Start,
            includes: 0,
            entries: 0,
            skipped: Vec::new(),
        }
    }

    /// Skips all sections but these, if any are given; errors in the others are ignored.
    pub(super) fn only(mut self, sections: &'a [String]) -> Self {
        self.only = sections;
        self
    }

    /// Sets entries that come before the file's own `[global]`.
    pub(super) fn global(mut self, entries: Vec<Entry>) -> Self {
        self.global = entries;
        self
    }

    /// Sets entries that the first job has before its own.
    pub(super) fn first_job(mut self, entries: Vec<Entry>) -> Self {
        self.first_job = entries;
        self
    }

    pub(super) fn read(&mut self, text: &[u8], source: &str) -> Result<JobFile, SyntaxError> {
        self.lines(text, source, 0)?;
        Ok(JobFile { sections: std::mem::take(&mut self.sections) })
    }

    fn lines(&mut self, text: &[u8], source: &str, depth: u32) -> Result<(), SyntaxError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for (number, raw) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let place = Place { source: source.into(), line: Some(number) };
            match line::read(raw, &place) {
                Ok(Line::Empty) => {}
                Ok(Line::Header(name)) if depth > 0 => {
                    let name = name.to_owned();
                    return Err(SyntaxError::SectionInInclude { place, name });
                }
                Ok(Line::Header(name)) => self.begin(name, place)?,
                Err(error @ SyntaxError::Header { .. }) => return Err(error),
                _ if self.current == Current::Skipped => {}
                Ok(Line::Option(text)) if self.current == Current::Start => {
                    return Err(SyntaxError::OutsideSection { place, text: text.into() });
                }
                Ok(Line::Include(file)) if self.current == Current::Start => {
                    let text = format!("include {file}");
                    return Err(SyntaxError::OutsideSection { place, text });
                }
                Ok(Line::Include(file)) => self.include(file, source, place, depth)?,
                Ok(Line::Option(text)) => self.option(text, place)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn begin(&mut self, name: &str, place: Place) -> Result<(), SyntaxError> {
        if is_global(name) {
            self.current = Current::Global;
        } else if !is_selected(name, self.only) {
            self.current = Current::Skipped;
            self.skipped.push(name.into());
        } else if self.sections.len() == SECTIONS_MAX {
            return Err(SyntaxError::TooManySections { place, max: SECTIONS_MAX });
        } else {
            self.current = Current::Job;
            self.entries += self.global.len();
            if self.entries > ENTRIES_MAX {
                return Err(SyntaxError::TooManyEntries { place, max: ENTRIES_MAX });
            }
            let (mut entries, inherited) = (self.global.clone(), self.global.len());
            entries.append(&mut self.first_job);
            self.sections.push(Section { name: name.into(), place, entries, inherited });
        }
        Ok(())
    }

    fn option(&mut self, text: &str, place: Place) -> Result<(), SyntaxError> {
        let text = keywords::expand(text, &place, self.environment)?;
        let (name, value) = line::split(&text, &place)?;
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(SyntaxError::TooManyEntries { place, max: ENTRIES_MAX });
        }
        let entry = Entry { name: name.into(), value: value.map(Into::into), place };
        match (self.current, self.sections.last_mut()) {
            (Current::Job, Some(section)) => section.entries.push(entry),
            _ => self.global.push(entry),
        }
        Ok(())
    }

    fn include(
        &mut self,
        file: &str,
        includer: &str,
        place: Place,
        depth: u32,
    ) -> Result<(), SyntaxError> {
        self.includes += 1;
        if depth == DEPTH_MAX || self.includes > INCLUDES_MAX {
            return Err(SyntaxError::TooManyIncludes {
                place,
                file: file.into(),
                depth: DEPTH_MAX,
                total: INCLUDES_MAX,
            });
        }
        let (source, text) =
            self.find(file, includer).map_err(|error| unreadable(place, file, &error))?;
        self.lines(&text, &source, depth + 1)
    }

    /// Reads an included file: as written, or else from the folder of the including file.
    fn find(&self, file: &str, includer: &str) -> io::Result<(String, Vec<u8>)> {
        let error = match (self.environment.read)(file) {
            Ok(text) => return Ok((file.into(), text)),
            Err(error) => error,
        };
        match includer.rsplit_once('/') {
            Some((folder, _)) if !file.starts_with('/') => {
                let beside = format!("{folder}/{file}");
                (self.environment.read)(&beside).map(|text| (beside, text))
            }
            _ => Err(error),
        }
    }
}

pub(super) fn unreadable(place: Place, file: &str, error: &io::Error) -> SyntaxError {
    SyntaxError::Unreadable { place, file: file.into(), reason: error.to_string() }
}

/// True if the section's entries apply to all sections after it (fio compares six letters).
pub(super) fn is_global(name: &str) -> bool {
    name.starts_with("global")
}

/// True if `name` is in `only`, or `only` is empty.
pub(super) fn is_selected(name: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|wanted| wanted == name)
}
