//! `iodyno man`: the manual pages, one for each command.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use iodyno_files::NamedBy;

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

/// What help shows, with every command's full name and global options in place.
fn command() -> Command {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    command
}

/// The page of `command`, then those of the commands below it: file name and roff.
fn pages(command: Command) -> Result<Vec<(String, String)>> {
    let below: Vec<Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let page =
        Man::new(command).manual("iodyno").source(concat!("iodyno ", env!("CARGO_PKG_VERSION")));
    let mut roff = Vec::new();
    page.render(&mut roff)?;
    // What man(7) calls the section that clap_mangen calls EXTRA.
    let roff = String::from_utf8(roff)?.replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
    let mut all = vec![(page.get_filename(), roff)];
    for command in below {
        all.extend(pages(command)?);
    }
    Ok(all)
}

fn write(pages: &[(String, String)], directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    for (name, roff) in pages {
        iodyno_files::write(&directory.join(name), NamedBy::Iodyno, roff.as_bytes())?;
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
        assert!(page("iodyno.1").contains(".SH NOTES\nExit status"));
        assert!(!pages.iter().any(|(file, _)| file == "iodyno-man.1"), "hidden");
        assert!(!pages.iter().any(|(_, roff)| roff.contains("SH EXTRA")));
    }
}
