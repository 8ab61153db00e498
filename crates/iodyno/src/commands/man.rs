//! `iodyno man`: writes the manual pages, one for each command.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use iodyno_files::NameOrigin;

use crate::arguments::{Arguments, ManPages};
use crate::terminal;

pub(crate) fn run(arguments: &ManPages) -> Result<u8> {
    let pages = pages(command())?;
    match &arguments.directory {
        None => terminal::write(pages[0].1.as_bytes())?,
        Some(directory) => write(&pages, directory)
            .with_context(|| format!("manual pages for {}", directory.display()))?,
    }
    Ok(0)
}

/// The command tree with full names and global options resolved.
fn command() -> Command {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Pages of `command` and its subcommands: file name and roff.
fn pages(command: Command) -> Result<Vec<(String, String)>> {
    let below: Vec<Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let sections = sections(&command);
    let page = Man::new(command)
        .manual("User Commands")
        .date(DATE)
        .source(concat!("iodyno ", env!("CARGO_PKG_VERSION")));
    let mut roff = Vec::new();
    page.render_title(&mut roff)?;
    page.render_name_section(&mut roff)?;
    page.render_synopsis_section(&mut roff)?;
    page.render_description_section(&mut roff)?;
    page.render_options_section(&mut roff)?;
    if !below.is_empty() {
        page.render_subcommands_section(&mut roff)?;
    }
    sections.to_writer(&mut roff)?;
    // An empty line itself breaks the text; mandoc warns of the breaks around it.
    let roff = String::from_utf8(roff)?.replace("\n.br\n\n.br\n", "\n.sp\n");
    let mut all = vec![(page.get_filename(), roff)];
    for command in below {
        all.extend(pages(command)?);
    }
    Ok(all)
}

/// Date of the last change to text common to all pages.
const DATE: &str = "2026-11-22";

const FILES: &[(&str, &str)] = &[
    ("/var/lib/iodyno/store.sqlite", "Store of runs, as root."),
    ("~/.local/share/iodyno/store.sqlite", "Store of runs of other users."),
    ("~/.config/iodyno/datasheets/*.toml", "Additional data sheets of drives."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("IODYNO_STORE", "Store of runs, unless --store is given."),
    ("XDG_DATA_HOME", "Folder of a user's iodyno/store.sqlite [default: ~/.local/share]."),
    ("XDG_CONFIG_HOME", "Folder of iodyno/datasheets [default: ~/.config]."),
    ("NO_COLOR", "If not empty, text has no colour without --color=always."),
    ("COLUMNS", "Width of the text if standard output is not a terminal."),
    ("LC_ALL, LC_CTYPE, LANG", "Locale; decides on UTF-8. The first one that is set counts."),
    ("HOME, PATH, TMPDIR", "As usual."),
];

/// Sections unknown to clap. The help ends with paragraphs, of which examples and exit statuses
/// become sections of their own.
fn sections(command: &Command) -> Roff {
    let help = |of: &Command| of.get_after_help().map(ToString::to_string).unwrap_or_default();
    let own = help(command);
    let all = help(&self::command());
    let (mut examples, mut status, mut notes) = (None, None, Vec::new());
    for paragraph in own.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        match paragraph.split_once(": ").filter(|(head, _)| *head == "Exit status") {
            Some((_, statuses)) => status = Some(statuses),
            None => match paragraph.strip_prefix("Examples:\n") {
                Some(lines) => examples = Some(lines),
                None => notes.push(paragraph),
            },
        }
    }
    // Falls back to the exit statuses of all commands.
    let status = status.or_else(|| Some(all.split_once("Exit status: ")?.1));
    let mut roff = Roff::new();
    for paragraph in notes {
        let heading = ["SH", "PP"][usize::from(roff != Roff::new())];
        roff.control(heading, (heading == "SH").then_some("NOTES"));
        // Indented lines are a table.
        literal(&mut roff, paragraph, paragraph.contains("\n  "));
    }
    if let Some(status) = status {
        roff.control("SH", ["EXIT STATUS"]);
        for one in status.replace('\n', " ").split(", ").collect::<Vec<_>>().iter() {
            match one.split_once(' ').filter(|(number, _)| number.parse::<u8>().is_ok()) {
                Some((number, meaning)) => term(&mut roff, number, meaning),
                None => {
                    roff.text([roman(*one)]);
                }
            }
        }
    }
    for (heading, rows) in [("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)] {
        roff.control("SH", [heading]);
        rows.iter().for_each(|(name, meaning)| term(&mut roff, name, meaning));
    }
    if let Some(lines) = examples {
        roff.control("SH", ["EXAMPLES"]);
        literal(&mut roff, lines, true);
    }
    roff
}

fn term(roff: &mut Roff, name: &str, meaning: &str) {
    roff.control("TP", []);
    roff.text([bold(name)]);
    roff.text([roman(meaning)]);
}

/// Adds `text`, line by line if `as_is`.
fn literal(roff: &mut Roff, text: &str, as_is: bool) {
    if as_is {
        roff.control("nf", []);
    }
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    if as_is {
        roff.control("fi", []);
    }
}

fn write(pages: &[(String, String)], directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    for (name, roff) in pages {
        iodyno_files::write(&directory.join(name), NameOrigin::Iodyno, roff.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{command, pages};

    #[test]
    fn every_command_that_help_shows_has_a_page_with_its_options() {
        let pages = pages(command()).unwrap();
        let page = |name: &str| {
            let found = pages.iter().find(|(file, _)| file == name);
            found.unwrap_or_else(|| panic!("{name} is missing")).1.as_str()
        };
        assert_eq!(pages[0].0, "iodyno.1");
        for command in command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = page(&format!("iodyno-{}.1", command.get_name()));
            assert!(page.contains(r"\-\-store"), "{}: global options", command.get_name());
        }
        assert!(page("iodyno-check.1").contains(r"\-\-no\-load"));
        assert!(page("iodyno-runs-prune.1").contains(r"\-\-keep"));
        for heading in ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"] {
            let heading = format!("\n.SH \"{heading}\"\n");
            let plain = heading.replace('"', "");
            let has = |roff: &str| roff.contains(&heading) || roff.contains(&plain);
            let lacks: Vec<_> = pages.iter().filter(|(_, roff)| !has(roff)).collect();
            assert!(lacks.is_empty(), "{heading} is missing: {lacks:?}");
        }
        assert!(!pages.iter().any(|(file, _)| file == "iodyno-man.1"), "hidden");
    }
}
