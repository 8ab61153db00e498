//! Splits a text into fio's statements: each begins with words that fio begins it with, anywhere in
//! a line, and ends at the next one. So broken or joined lines do not matter.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use iodyno_model::{Direction, LatencyKind};

use super::clean::Line;
use super::scan::{begins_word, collapse_blanks};

/// Kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `fio --name=…`: a command line.
    Command,
    /// `[global]`: a job file.
    File,
    /// `name: (g=0): rw=…`: description of a job.
    Job,
    /// `fio-3.33`.
    Version,
    /// `fio: …`: a message.
    Message,
    /// `name: (groupid=0, jobs=1): err= 0: …`: the head of a job's results.
    Head,
    /// `read: IOPS=…`.
    Direction(Direction),
    /// `clat (usec): min=…`, and `lat (usec): 50=…%`.
    Latency(LatencyKind),
    /// `clat percentiles (usec):` with its rows.
    Percentiles(LatencyKind),
    /// `bw (KiB/s): min=…`.
    Bandwidths,
    /// `iops: min=…`.
    Rates,
    /// `cpu: usr=…`.
    Cpu,
    /// `IO depths: 1=…`.
    Depths,
    /// `issued rwts: total=…`.
    Issued,
    /// `errors: total=…`.
    Errors,
    /// `latency: target=…`.
    LatencyTarget,
    /// `steadystate: attained=…`.
    SteadyState,
    /// `Run status group 0`.
    Group,
    /// `READ: bw=…` of a group.
    GroupDirection(Direction),
    /// `Disk stats (read/write):` with its rows.
    Disks,
    /// Any other output of fio: ignored.
    Other,
}

/// A statement of fio's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) kind: Kind,
    /// First line, from 1.
    pub(super) line: usize,
    /// Name of the job, which precedes the statement; else empty.
    pub(super) name: String,
    /// Text from its first word, with blanks collapsed except in commands and job files. A line
    /// feed ends it if nothing is cut off.
    pub(super) text: String,
    /// An unrelated line precedes it.
    pub(super) is_separate: bool,
}

/// First words of fio's statements, without padding; the longer first where one is a prefix of
/// another.
const BEGINNINGS: [(&str, Kind); 50] = {
    use Direction::{Mixed, Read, Trim, Write};
    use LatencyKind::{Completion, Submission, Total};
    [
        ("(groupid=", Kind::Head),
        ("(g=", Kind::Job),
        ("read:IOPS=", Kind::Direction(Read)),
        ("read:io=", Kind::Direction(Read)),
        ("write:IOPS=", Kind::Direction(Write)),
        ("write:io=", Kind::Direction(Write)),
        ("trim:IOPS=", Kind::Direction(Trim)),
        ("trim:io=", Kind::Direction(Trim)),
        ("mixed:IOPS=", Kind::Direction(Mixed)),
        ("mixed:io=", Kind::Direction(Mixed)),
        ("slat(", Kind::Latency(Submission)),
        ("clat(", Kind::Latency(Completion)),
        ("lat(", Kind::Latency(Total)),
        ("slat percentiles(", Kind::Percentiles(Submission)),
        ("clat percentiles(", Kind::Percentiles(Completion)),
        ("lat percentiles(", Kind::Percentiles(Total)),
        ("clat prio ", Kind::Other),
        ("lat prio ", Kind::Other),
        ("high prio", Kind::Other),
        ("low prio", Kind::Other),
        ("sync(", Kind::Other),
        ("sync percentiles(", Kind::Other),
        ("fsync/fdatasync", Kind::Other),
        ("bw(", Kind::Bandwidths),
        ("iops:min=", Kind::Rates),
        ("cpu:usr=", Kind::Cpu),
        ("IO depths:", Kind::Depths),
        ("submit:0=", Kind::Other),
        ("complete:0=", Kind::Other),
        ("issued:total=", Kind::Issued),
        ("issued rwt:total=", Kind::Issued),
        ("issued rwts:total=", Kind::Issued),
        ("errors:total=", Kind::Errors),
        ("latency:target=", Kind::LatencyTarget),
        ("steadystate:attained=", Kind::SteadyState),
        ("Description:[", Kind::Other),
        ("block lifetime", Kind::Other),
        ("Run status group ", Kind::Group),
        ("READ:bw=", Kind::GroupDirection(Read)),
        ("READ:io=", Kind::GroupDirection(Read)),
        ("WRITE:bw=", Kind::GroupDirection(Write)),
        ("WRITE:io=", Kind::GroupDirection(Write)),
        ("TRIM:bw=", Kind::GroupDirection(Trim)),
        ("TRIM:io=", Kind::GroupDirection(Trim)),
        ("MIXED:bw=", Kind::GroupDirection(Mixed)),
        ("MIXED:io=", Kind::GroupDirection(Mixed)),
        ("Disk stats(", Kind::Disks),
        ("Jobs:", Kind::Other),
        ("fio:", Kind::Message),
        ("fio-", Kind::Version),
    ]
};

/// Longest text of a statement, bytes: the rest is not fio's.
const LONGEST: usize = 4096;
/// The same for disk rows, of which a machine may have many.
const LONGEST_ROWS: usize = 16 << 10;

/// Distance within which the end of a phrase is searched, bytes.
const NEAR: usize = 512;

impl Statement {
    /// Marks the statement as not cut off so far.
    fn end(&mut self) {
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Removes the name of the next job at its end, in the same line.
    fn ends_before(&mut self, name: &str) {
        let text = self.text.trim_end().trim_end_matches(':');
        if let Some(text) = text.strip_suffix(name) {
            self.text = format!("{text}\n");
        }
    }

    /// Appends a line that begins no statement.
    fn append(&mut self, line: &str, within_word: bool) {
        let text = self.text.trim_end_matches('\n');
        if text.len() > if self.kind == Kind::Disks { LONGEST_ROWS } else { LONGEST } {
            return;
        }
        if self.kind == Kind::File {
            self.text = format!("{text}\n{}", line.trim());
        } else if self.kind == Kind::Command {
            let text = text.trim_end();
            let broken = text.ends_with(['\\', '^']);
            let dashes = line.trim_start();
            let option = dashes.trim_start_matches('-');
            let option = option != dashes && option.starts_with(|c: char| c.is_ascii_lowercase());
            if broken || option {
                self.text = format!("{} {line}", text.trim_end_matches(['\\', '^']));
            } else if within_word {
                self.text = format!("{text}{line}");
            }
        } else {
            // A range broken after its dash: `1024KiB-` `1024KiB`.
            let blank = if text.ends_with('-') || within_word { "" } else { " " };
            self.text = collapse_blanks(&format!("{text}{blank}{}", line.trim_end()));
        }
    }
}

/// Builds statements from lines.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// Statement that the next line may continue.
    last: Option<Statement>,
    is_separate: bool,
    is_full_width: bool,
}

impl Statements {
    /// Adds a line, and gives `take` the statements completed by it.
    pub(super) fn push(&mut self, line: &Line, mut take: impl FnMut(&Statement)) {
        let (front, here) =
            statements_in(line, self.is_separate, self.last.as_ref().map(|last| last.kind));
        if let Some(last) = &mut self.last
            && !front.chars().all(is_decoration)
        {
            last.append(&front, self.is_full_width);
        }
        let row = front.contains("th=[");
        self.is_separate = here.is_empty() && (self.is_separate || !row);
        self.is_full_width = line.is_full_width;
        if let Some(last) = self.last.as_mut().filter(|_| !here.is_empty() || line.ended) {
            last.end();
        }
        for next in here {
            self.last.replace(next).iter().for_each(&mut take);
        }
        if let Some(last) = self.last.as_mut().filter(|_| line.ended) {
            last.end();
        }
    }

    /// Returns the last statement.
    pub(super) fn finish(self) -> Option<Statement> {
        self.last
    }
}

/// Statements that begin in a line, and the text before them, which belongs to the previous one.
fn statements_in(line: &Line, is_separate: bool, behind: Option<Kind>) -> (String, Vec<Statement>) {
    let statement = |kind, name: &str, text: &str| Statement {
        kind,
        line: line.number,
        name: name.to_owned(),
        text: text.to_owned(),
        is_separate,
    };
    let mut found = Vec::new();
    let words = line.text.trim_matches(is_decoration);
    if is_bare_version(words, behind == Some(Kind::Job)) {
        return (String::new(), vec![statement(Kind::Version, "", words)]);
    }
    let section = words.strip_prefix('[').and_then(|words| words.strip_suffix(']'));
    if behind != Some(Kind::File)
        && section.is_some_and(|name| !name.is_empty() && !name.contains(['[', '"', '=', '%']))
    {
        return (String::new(), vec![statement(Kind::File, "", words)]);
    }
    let command = command_in(&line.text);
    if let Some(command) = command {
        found.push(statement(Kind::Command, "", command));
    }
    let text = collapse_blanks(&line.text);
    let mut places = beginnings(&text);
    if command.is_some() {
        // Options of a command resemble nothing else, except results glued to it.
        let first = places.iter().position(|(_, kind)| matches!(kind, Kind::Job | Kind::Head));
        places.drain(..first.unwrap_or(places.len()));
    }
    let names = names_in(&line.text);
    let crowded = names.len() > 1;
    let mut names = names.into_iter();
    for (n, (at, kind)) in places.iter().enumerate() {
        let end = places.get(n + 1).map_or(text.len(), |(next, _)| *next);
        let name = match kind {
            Kind::Job | Kind::Head => names.next().unwrap_or(""),
            _ => "",
        };
        // After other text in the same line the last word is the name.
        let name = match name.rsplit([' ', ']']).next() {
            Some(last) if crowded || !found.is_empty() => last,
            _ => name,
        };
        // The name does not belong to the statement before it.
        if let Some(last) = found.last_mut().filter(|_| !name.is_empty()) {
            last.ends_before(name);
        }
        let mut statement = statement(*kind, name, &text[*at..end]);
        if end < text.len() {
            statement.end();
        }
        found.push(statement);
    }
    let front = match found.first().map(|first| first.kind) {
        // Unchanged: it may be part of a command.
        None => line.text.clone(),
        Some(Kind::Command | Kind::Head | Kind::Job) => String::new(),
        Some(_) => text[..places.first().map_or(0, |(at, _)| *at)].to_owned(),
    };
    (front, found)
}

/// Offsets and kinds of statements in a line with collapsed blanks.
fn beginnings(text: &str) -> Vec<(usize, Kind)> {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let words = BEGINNINGS.iter().map(|(words, _)| words);
        AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words).ok()
    });
    let mut found = Vec::new();
    let Some(words) = WORDS.as_ref() else { return found };
    let mut from = 0;
    while let Some(begun) = words.find(Input::new(text).range(from..)) {
        let at = begun.start();
        let (words, kind) = &BEGINNINGS[begun.pattern().as_usize()];
        let next = &text[begun.end()..];
        let is_one = begins_word(text, at)
            && match kind {
                Kind::Version => version_in(&text[at..]).is_some(),
                // A job may have this name.
                _ => !(words.ends_with(':') && next.starts_with('(')),
            };
        if !is_one {
            from = at + 1;
            continue;
        }
        found.push((at, *kind));
        from = begun.end();
        // A description may contain anything; latencies per priority are not the job's.
        for (of, last) in [("Description:[", b']'), (" prio", b':'), (" prio ", b':')] {
            if words.ends_with(of) {
                let end = next.bytes().take(NEAR).position(|byte| byte == last);
                from += end.map_or(0, |end| end + 1);
            }
        }
    }
    found
}

/// Major and minor version of `3.33` or `fio-3.33`; `None` if it is no version.
pub(super) fn version_in(text: &str) -> Option<(u32, u32)> {
    let text = text.trim_start_matches("fio-");
    let (major, rest) = text.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

/// True for a version on its own line: `2.0.8` before 2.0.9, `fio 1.59` in 1.x.
fn is_bare_version(words: &str, behind_job: bool) -> bool {
    let (number, named) = match words.strip_prefix("fio ") {
        Some(number) => (number, true),
        None => (words, false),
    };
    let known = number.starts_with("1.") || number.starts_with("2.0");
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    known && plain && number.len() < 9 && (named || behind_job)
}

/// Command in a line: from the program's name to the end, or to a result glued to it.
fn command_in(line: &str) -> Option<&str> {
    // The last option: no command begins after it.
    let is_option = |at: &usize| {
        let behind = line[at + 2..].chars().next();
        behind.is_some_and(|c| c == '-' || c.is_ascii_lowercase())
    };
    let last = line.rmatch_indices(" -").map(|(at, _)| at).find(is_option)?;
    let mut places = line.match_indices("fio").map(|(at, _)| at);
    let at = places.find(|at| {
        let front = line[..*at].chars().next_back();
        let behind = line[at + 3..].trim_start_matches(".exe");
        let word = front.is_none_or(|c| c.is_whitespace() || "/>$#\"'".contains(c));
        word && behind.starts_with([' ', '"']) && *at < last
    })?;
    let end = line.find("(g=").or_else(|| line.find("(groupid=")).unwrap_or(line.len());
    line.get(at..end)
}

/// Names of jobs, which precede each head in a line.
fn names_in(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut from = 0;
    let heads = line.match_indices("(g").map(|(at, _)| at);
    for at in
        heads.filter(|at| ["(groupid=", "(g="].iter().any(|head| line[*at..].starts_with(head)))
    {
        let name = line[from..at].trim_start_matches(is_decoration).trim_end();
        names.push(name.strip_suffix(':').unwrap_or(name).trim_end());
        from = line[at..].find('=').map_or(line.len(), |end| at + end + 1);
    }
    names
}

/// True for characters of bullets, comments, boxes and diffs at the start of lines.
fn is_decoration(c: char) -> bool {
    "#|+-*> \u{2502}".contains(c)
}
