//! Pages that fio prints instead of running jobs: version, help, options and I/O engines.

use std::fmt::Write;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use anyhow::{Context as _, Result};
use iodyno_job::syntax::Page;
use iodyno_job::{IoEngine, Job, Kind, OptionSpec, Support, options};

use super::face::{FIO, FIO_PROBE_ENV};
use super::idleness;
use crate::context::Usage;
use crate::terminal;

/// Prints `page` and returns the exit status.
pub(super) fn show(page: &Page) -> Result<u8> {
    let text = match page {
        Page::InflatedLog(path) => {
            let log = BufReader::new(iodyno_files::open_to_read(Path::new(path))?);
            let mut out = BufWriter::new(std::io::stdout().lock());
            let inflated = iodyno_fio::read::inflate_log(log, &mut out);
            let inflated = inflated.and_then(|()| std::io::Write::flush(&mut out));
            inflated.with_context(|| format!("cannot inflate {path}"))?;
            return Ok(0);
        }
        Page::Version if std::env::var_os(FIO_PROBE_ENV).is_some() => {
            concat!("iodyno ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
        }
        Page::Version => format!("{FIO}\n"),
        Page::Usage => format!("{FIO}\n{USAGE}"),
        Page::Options(name) => match name.as_deref().filter(|name| *name != "all") {
            None => options().filter(is_supported).map(line).collect(),
            Some(name) => match iodyno_job::find(name).filter(is_supported) {
                Some(spec) => one(spec),
                None => {
                    // As in fio, no error.
                    terminal::note(&format!("No such command: {name}"));
                    return Ok(0);
                }
            },
        },
        Page::Engines(None) => {
            // An alias is no engine of its own.
            let first = |one: IoEngine| engines().find(|(_, other)| *other == one);
            let names = engines().filter(|one| first(one.1).as_ref() == Some(one));
            let names = names.map(|(name, _)| format!("\t{name}\n"));
            std::iter::once("Available IO engines:\n".to_owned()).chain(names).collect()
        }
        Page::Engines(Some(name)) => engine(name)?,
        Page::Calibration => format!("CPU idleness:\n{}", idleness::calibration()),
    };
    terminal::write(text.as_bytes())?;
    Ok(0)
}

const USAGE: &str = "\
fio [options] [job options] <job file(s)>
  --debug=options\tShow parse and random; others are accepted
  --parse-only\t\tParse options only, don't start any IO
  --output\t\tWrite output to file
  --bandwidth-log\tGenerate aggregate bandwidth logs
  --inflate-log=file\tInflate and output compressed log
  --minimal\t\tMinimal (terse) output
  --output-format=type\tOutput format (terse,json,json+,normal)
  --terse-version=type\tSet terse version output format (default 3, or 2 or 4 or 5)
  --version\t\tPrint version info and exit
  --help\t\tPrint this page
  --cmdhelp=cmd\t\tPrint command help, \"all\" for all of them
  --enghelp=engine\tPrint ioengine help, or list available ioengines
  --enghelp=engine,cmd\tPrint help for an ioengine cmd
  --showcmd\t\tTurn a job file into command line options
  --eta=when\t\tWhen ETA estimate should be printed
            \t\tMay be \"always\", \"never\" or \"auto\"
  --eta-newline=t\tForce a new line for every 't' period passed
  --status-interval=t\tForce full status dump every 't' period passed
  --readonly\t\tTurn on safety read-only checks, preventing writes
  --section=name\tOnly run specified section in job file, multiple sections can be specified
  --alloc-size=kb\tAccepted; memory is allocated as needed
  --warnings-fatal\tFio parser warnings are fatal
  --max-jobs=nr\t\tAccepted; there is no such limit
  --idle-prof=option\tReport cpu idleness on a system or percpu basis
\t\t\t(option=system,percpu) or run unit work
\t\t\tcalibration only (option=calibrate)
  --trigger-file=file\tExecute trigger cmd when file exists
  --trigger-timeout=t\tExecute trigger at this time
  --trigger=cmd\t\tSet this command as local trigger
  --aux-path=path\tUse this path for fio state generated files

This is iodyno, called as fio. It adds:
  --allow-write WORD\tAllow writes to this device or existing file
  --discard-data WORD\tAllow loss of unused data on a device
  --assume-unused WORD\tVouch that nobody uses this device
";

/// True if the native generator supports the option, or may ignore it.
fn is_supported(spec: &&OptionSpec) -> bool {
    matches!(spec.support, Support::Native | Support::Ignored(_))
}

fn line(spec: &OptionSpec) -> String {
    format!("{:<24}: {}\n", spec.name, spec.help)
}

/// Description of an option in fio's layout.
fn one(spec: &OptionSpec) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:>20}: {value}");
    };
    field(spec.name, spec.help);
    spec.aliases.iter().for_each(|alias| field("alias", alias));
    let kind = spec.kind();
    let words = match kind {
        Kind::Words(words) => words,
        _ => Vec::new(),
    };
    let is_done = |word: &&str| {
        // A word such as `word:` needs more text after it.
        word.ends_with(':') || iodyno_job::apply(&mut Job::default(), spec.name, word).is_ok()
    };
    let words: Vec<&str> = words.into_iter().filter(is_done).collect();
    let shown = spec.kind().to_string();
    field("type", if words.is_empty() { &shown } else { "string (opt=bla)" });
    field("default", if spec.default.is_empty() { "no default" } else { spec.default });
    for (number, word) in words.into_iter().enumerate() {
        field(if number == 0 { "valid values" } else { "" }, word);
    }
    text.push('\n');
    text
}

/// I/O engines by fio's names; `auto` exists only in iodyno.
fn engines() -> impl Iterator<Item = (&'static str, IoEngine)> {
    IoEngine::ALL.into_iter().filter(|(_, engine)| *engine != IoEngine::Auto)
}

/// Answers `NAME` or `NAME,OPTION`.
fn engine(asked: &str) -> Result<String> {
    let (name, option) = match asked.split_once(',') {
        Some((name, option)) => (name, Some(option)),
        None => (asked, None),
    };
    let known = engines().find(|(known, _)| *known == name);
    let (_, engine) = known.ok_or_else(|| Usage(format!("IO engine {name} not found")))?;
    let own = || options().filter(move |spec| is_supported(spec) && engine.has_option(spec.name));
    match option {
        Some(option) => {
            let found = own().find(|spec| spec.name == option || spec.aliases.contains(&option));
            let unknown = || Usage(format!("IO engine {name} has no option {option}"));
            Ok(one(found.ok_or_else(unknown)?))
        }
        None if own().next().is_none() => Ok(format!("IO engine {name} has no options\n")),
        None => Ok(own().map(line).collect()),
    }
}
