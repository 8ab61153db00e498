//! A text as fio's statements: each begins at words that fio begins it with,
//! wherever they stand in a line, and ends at the next one. So it does not
//! matter where lines were broken or joined.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use iodyno_model::{Direction, LatencyKind};

use super::clean::Line;
use super::field::{begins_word, tight};

/// What a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `fio --name=…`: the command.
    Command,
    /// `[global]`: a job file.
    File,
    /// `name: (g=0): rw=…`: what a job is.
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
    /// Anything else of fio's: passed over.
    Other,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    /// What it says.
    pub(super) kind: Kind,
    /// Line that it begins in, from 1.
    pub(super) line: usize,
    /// The job's name, or nothing: what stands in front of it.
    pub(super) name: String,
    /// Its text, tight, from its first word; a command's and a job file's as
    /// they stand. A line feed ends it where nothing is cut off.
    pub(super) text: String,
    /// A line in front of it has nothing to do with it.
    pub(super) apart: bool,
}

/// How fio begins its statements, without the padding; longer ones first where
/// one begins another.
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

/// A statement's text grows no longer: what follows is not fio's.
const LONGEST: usize = 4096;
/// The same of the rows of disks, of which a machine has many.
const LONGEST_ROWS: usize = 16 << 10;

/// What ends a few words is not looked for farther away, bytes.
const NEAR: usize = 512;

impl Statement {
    /// Nothing of it is cut off, so far.
    fn end(&mut self) {
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The name of the next job stands behind it in its line.
    fn ends_before(&mut self, name: &str) {
        let text = self.text.trim_end().trim_end_matches(':');
        if let Some(text) = text.strip_suffix(name) {
            self.text = format!("{text}\n");
        }
    }

    /// Joins a line to it that begins nothing.
    fn goes_on_with(&mut self, line: &str, within_word: bool) {
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
            // A range that was broken behind its dash: `1024KiB-` `1024KiB`.
            let blank = if text.ends_with('-') || within_word { "" } else { " " };
            self.text = tight(&format!("{text}{blank}{}", line.trim_end()));
        }
    }
}

/// Makes statements of lines.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// The one that the next line may add to.
    last: Option<Statement>,
    apart: bool,
    full: bool,
}

impl Statements {
    /// Takes the next line, and gives `take` the statements that are complete by it.
    pub(super) fn push(&mut self, line: &Line, mut take: impl FnMut(&Statement)) {
        let (front, here) = begun_in(line, self.apart, self.last.as_ref().map(|last| last.kind));
        if let Some(last) = &mut self.last
            && !front.chars().all(is_decoration)
        {
            last.goes_on_with(&front, self.full);
        }
        let row = front.contains("th=[");
        self.apart = here.is_empty() && (self.apart || !row);
        self.full = line.full;
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

    /// The last statement.
    pub(super) fn finish(self) -> Option<Statement> {
        self.last
    }
}

/// The statements that begin in a line, and what stands in front of them and
/// belongs to the one before.
fn begun_in(line: &Line, apart: bool, behind: Option<Kind>) -> (String, Vec<Statement>) {
    let statement = |kind, name: &str, text: &str| Statement {
        kind,
        line: line.number,
        name: name.to_owned(),
        text: text.to_owned(),
        apart,
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
    let text = tight(&line.text);
    let mut places = beginnings(&text);
    if command.is_some() {
        // Options of a command look like nothing else, but for a glued result.
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
        // Behind something else in the same line its last word is the name.
        let name = match name.rsplit([' ', ']']).next() {
            Some(last) if crowded || !found.is_empty() => last,
            _ => name,
        };
        // It is no part of what stands in front of it.
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
        // As it stands: it may be of a command.
        None => line.text.clone(),
        Some(Kind::Command | Kind::Head | Kind::Job) => String::new(),
        Some(_) => text[..places.first().map_or(0, |(at, _)| *at)].to_owned(),
    };
    (front, found)
}

/// Where statements begin in a tight line.
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
                // A job can be called so.
                _ => !(words.ends_with(':') && next.starts_with('(')),
            };
        if !is_one {
            from = at + 1;
            continue;
        }
        found.push((at, *kind));
        from = begun.end();
        // A description says anything; a priority's latencies are not the job's.
        for (of, last) in [("Description:[", b']'), (" prio", b':'), (" prio ", b':')] {
            if words.ends_with(of) {
                let end = next.bytes().take(NEAR).position(|byte| byte == last);
                from += end.map_or(0, |end| end + 1);
            }
        }
    }
    found
}

/// Major and minor number of `3.33` or `fio-3.33`; `None` where it is no version.
pub(super) fn version_in(text: &str) -> Option<(u32, u32)> {
    let text = text.trim_start_matches("fio-");
    let (major, rest) = text.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

/// Before 2.0.9 the version stood alone, `2.0.8`, and in 1.x as `fio 1.59`.
fn is_bare_version(words: &str, behind_job: bool) -> bool {
    let (number, named) = match words.strip_prefix("fio ") {
        Some(number) => (number, true),
        None => (words, false),
    };
    let known = number.starts_with("1.") || number.starts_with("2.0");
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    known && plain && number.len() < 9 && (named || behind_job)
}

/// The command in a line: from the program's name to the end, or to a result
/// that is glued to it.
fn command_in(line: &str) -> Option<&str> {
    // The last option: behind it there is no command.
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

/// What stands in front of each head in a line: the jobs' names.
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

/// Bullets, comments, boxes and differences begin their lines so.
fn is_decoration(c: char) -> bool {
    "#|+-*> \u{2502}".contains(c)
}
