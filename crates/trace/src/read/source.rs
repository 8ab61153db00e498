//! Reads all formats of other tools as a stream of I/Os in order of time.

use std::io::{BufRead, Cursor, Read};

use super::blktrace::{self, Blktrace, Record};
use super::iolog::{self, Action, Iolog};
use super::lines::Lines;
use super::sort_window::SortWindow;
use super::tables::{self, Biosnoop, Row};
use super::vscsi::Vscsi;
use super::{Format, ReadError, blkparse};
use crate::event::Event;
use crate::{Device, Io, Matcher, Names, Operation};

/// Bytes of a file for detecting its format.
const HEAD_BYTES: usize = 4096;
/// Events between two checks for complete I/Os.
const EVENTS: u32 = 1024;

type Input = Box<dyn BufRead>;

/// A trace of another tool.
pub struct Source {
    format: Format,
    parser: Parser,
    window: SortWindow,
    names: Names,
    matcher: Matcher,
    events: u32,
    is_over: bool,
    /// The error that ended it; returned after the I/Os that were read before.
    failure: Option<ReadError>,
    skipped: Skipped,
}

/// Skipped lines and records that are not I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Number of them.
    pub count: u64,
    /// The first of them, from 1; 0: none.
    pub first: u64,
}

enum Parser {
    Blktrace(Vec<PerCpu>, blktrace::Events),
    Blkparse { input: Input, lines: Lines, in_statistics: bool },
    Iolog { input: Input, log: Iolog, at_ns: u64 },
    Biosnoop(Input, Lines, Option<Biosnoop>),
    Table(Input, Lines),
    Vscsi(Input, Vscsi),
}

/// The file of one CPU, and its next record.
struct PerCpu {
    input: Input,
    reading: Blktrace,
    next: Option<Record>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Source {
    /// Opens a file; for blktrace, all files that belong together.
    ///
    /// # Errors
    /// They cannot be read, or have no known format.
    pub fn new(mut inputs: Vec<Input>) -> Result<Self, ReadError> {
        let head = match inputs.first_mut() {
            Some(first) => head(first)?,
            None => Vec::new(),
        };
        let format = Format::of(&head).ok_or(ReadError::Unknown)?;
        let parser = if format == Format::Blktrace {
            let per_cpu = inputs.into_iter().map(PerCpu::new).collect::<Result<_, _>>()?;
            Parser::Blktrace(per_cpu, blktrace::Events::default())
        } else {
            let one = <[Input; 1]>::try_from(inputs).map_err(|_| ReadError::Unknown)?;
            Parser::new(format, one)?
        };
        Ok(Self {
            format,
            parser,
            window: SortWindow::default(),
            names: Names::default(),
            matcher: Matcher::default(),
            events: 0,
            is_over: false,
            failure: None,
            skipped: Skipped::default(),
        })
    }

    /// Format of the trace.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Devices and actors so far.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Time 0, ns since 1970, once an I/O was read; `None` if the format does not record it.
    pub fn started_ns(&self) -> Option<u64> {
        const SINCE_1970: [Format; 4] =
            [Format::Msr, Format::Systor, Format::Alibaba, Format::Tencent];
        self.window.first_ns().filter(|_| SINCE_1970.contains(&self.format))
    }

    /// Lines and records that were not I/Os so far.
    pub const fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// I/Os that were too far out of order, and got the time of the one before.
    pub const fn displaced(&self) -> u64 {
        self.window.displaced
    }

    /// I/Os whose completion was not seen, and completions of unknown I/Os.
    pub const fn unmatched(&self) -> u64 {
        self.matcher.unmatched()
    }

    /// Returns the next I/O; `None` at the end.
    ///
    /// # Errors
    /// It cannot be read further, or is damaged: all I/Os before that were returned.
    pub fn next_io(&mut self) -> Result<Option<Io>, ReadError> {
        while !self.is_over && !self.window.is_full() {
            if let Err(error) = self.read() {
                self.end();
                self.failure = Some(error);
            }
        }
        let io = self.window.pop();
        match self.failure.take_if(|_| io.is_none()) {
            Some(error) => Err(error),
            None => Ok(io),
        }
    }

    /// Reads an entry, a line or a record.
    fn read(&mut self) -> Result<(), ReadError> {
        let names = &mut self.names;
        match &mut self.parser {
            Parser::Blktrace(per_cpu, events) => {
                let next = per_cpu.iter_mut().filter(|one| one.next.is_some());
                let oldest = next.min_by_key(|one| one.next.map(|record| record.time_ns));
                let record = oldest.map(PerCpu::take).transpose()?.flatten();
                match record {
                    None => self.end(),
                    Some(record) => {
                        if let Some(event) = events.event(&record, names) {
                            self.event(&event);
                        }
                    }
                }
            }
            Parser::Blkparse { input, lines, in_statistics } => {
                let number = lines.number() + 1;
                match lines.next(input)? {
                    None => self.end(),
                    Some(line) => match blkparse::event(line, names) {
                        Some(event) => {
                            *in_statistics = false;
                            self.event(&event);
                        }
                        // The statistics have no fixed format; texts may be joined behind them.
                        None if line.starts_with("CPU") => *in_statistics = true,
                        None if *in_statistics || number == 1 || line.trim().is_empty() => {}
                        None if blkparse::is_irrelevant(line) => {}
                        None => self.skip(number),
                    },
                }
            }
            Parser::Iolog { input, log, at_ns } => match log.entry(input)? {
                None => self.end(),
                Some(iolog::Entry::Wait { until_ns }) => *at_ns = (*at_ns).max(until_ns),
                Some(iolog::Entry::File { name, .. }) => {
                    names.device(&Device::named(&name));
                }
                Some(iolog::Entry::Io { time_ns, name, action, offset, length }) => {
                    let operation = match action {
                        Action::Read => Operation::Read,
                        Action::Write => Operation::Write,
                        Action::Trim => Operation::Discard,
                        Action::Sync | Action::DataSync => Operation::Flush,
                    };
                    let io = Io {
                        at_ns: time_ns.max(*at_ns),
                        operation,
                        offset,
                        length,
                        ..Io::default()
                    };
                    self.row(Row { io, device: name, actor: None });
                }
            },
            Parser::Biosnoop(input, lines, columns) => {
                let number = lines.number() + 1;
                match lines.next(input)? {
                    None => self.end(),
                    Some(line) => {
                        let heading = Biosnoop::of(line);
                        let row = columns.and_then(|columns| columns.row(line));
                        let is_blank = line.trim().is_empty();
                        match (heading, row) {
                            (Some(heading), _) => *columns = Some(heading),
                            (None, Some(row)) => self.row(row),
                            (None, None) if is_blank => {}
                            (None, None) => self.skip(number),
                        }
                    }
                }
            }
            Parser::Table(input, lines) => {
                let number = lines.number() + 1;
                match lines.next(input)? {
                    None => self.end(),
                    Some(line) => {
                        let row = tables::row(self.format, line.trim());
                        let is_blank = line.trim().is_empty();
                        match row {
                            Some(row) => self.row(row),
                            None if is_blank || number == 1 => {}
                            None if tables::is_other(self.format, line) => {}
                            None => self.skip(number),
                        }
                    }
                }
            }
            Parser::Vscsi(input, records) => match records.row(input)? {
                None => self.end(),
                Some(Some(row)) => self.row(row),
                Some(None) => {
                    let number = records.number();
                    self.skip(number);
                }
            },
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) {
        self.matcher.event(event);
        self.events += 1;
        if self.events == EVENTS {
            self.events = 0;
            self.matcher.take(|io| self.window.push(io));
        }
    }

    fn row(&mut self, row: Row) {
        let device = self.names.device(&Device::named(&row.device));
        let Some(device) = device else { return };
        let actor = row.actor.and_then(|actor| self.names.actor(&actor));
        self.window.push(Io { device, actor, ..row.io });
    }

    const fn skip(&mut self, number: u64) {
        if self.skipped.count == 0 {
            self.skipped.first = number;
        }
        self.skipped.count += 1;
    }

    fn end(&mut self) {
        self.is_over = true;
        self.matcher.end(|io| self.window.push(io));
    }
}

impl Parser {
    fn new(format: Format, [mut input]: [Input; 1]) -> Result<Self, ReadError> {
        Ok(match format {
            Format::Iolog => {
                let log = Iolog::begin(&mut *input)?;
                Self::Iolog { input, log, at_ns: 0 }
            }
            Format::Blkparse => {
                Self::Blkparse { input, lines: Lines::default(), in_statistics: false }
            }
            Format::Biosnoop => Self::Biosnoop(input, Lines::default(), None),
            Format::Vscsi => Self::Vscsi(input, Vscsi::default()),
            _ => Self::Table(input, Lines::default()),
        })
    }
}

impl PerCpu {
    fn new(mut input: Input) -> Result<Self, ReadError> {
        let reading = Blktrace::detect(input.fill_buf()?);
        // The file of an idle CPU is empty.
        let is_empty = input.fill_buf()?.is_empty();
        let empty = is_empty.then(|| Blktrace::detect(&0x6561_7407_u32.to_ne_bytes())).flatten();
        let reading = reading.or(empty).ok_or(ReadError::Unknown)?;
        let mut one = Self { input, reading, next: None };
        one.next = one.reading.record(&mut *one.input)?;
        Ok(one)
    }

    fn take(&mut self) -> Result<Option<Record>, ReadError> {
        let following = self.reading.record(&mut *self.input)?;
        Ok(std::mem::replace(&mut self.next, following))
    }
}

/// Returns the beginning of a file, and puts it back to be read again.
fn head(input: &mut Input) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::new();
    let read = input.take(HEAD_BYTES as u64).read_to_end(&mut head);
    // An error after some bytes comes again when they were read.
    if head.is_empty() {
        read?;
    }
    let rest = std::mem::replace(input, Box::new(std::io::empty()));
    *input = Box::new(Cursor::new(head.clone()).chain(rest));
    Ok(head)
}
