//! Tests that options have the same names and help in all commands.

use std::collections::BTreeMap;

use clap::{Command, CommandFactory};

use super::Arguments;

/// Collects a command and all its subcommands, by full name.
fn all(command: &Command, into: &mut Vec<Command>) {
    into.push(command.clone());
    command.get_subcommands().for_each(|below| all(below, into));
}

fn commands() -> Vec<Command> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut found = Vec::new();
    all(&command, &mut found);
    found
}

/// Options whose help differs by command.
const HELP_DIFFERS: &[&str] = &[
    "dry-run",
    "for",
    "scale",
    "verbose",
    "format",
    "generator",
    "help",
    "list",
    "max-time",
    "output",
    "purge",
    "round",
    "run-name",
    "target",
    "wide",
];

#[test]
fn one_name_is_one_thing_in_every_command() {
    let mut wrong = Vec::new();
    let mut known: BTreeMap<String, (String, String, String)> = BTreeMap::new();
    for command in commands() {
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long().map(str::to_owned) else { continue };
            let value = format!("{:?}", option.get_value_names());
            let help = match HELP_DIFFERS.contains(&long.as_str()) {
                true => String::new(),
                false => option.get_help().map(ToString::to_string).unwrap_or_default(),
            };
            let here = command.get_bin_name().unwrap_or_default().to_owned();
            let of = (value, help, here);
            let first = known.entry(long.clone()).or_insert_with(|| of.clone());
            if (&first.0, &first.1) != (&of.0, &of.1) {
                wrong.push(format!("--{long}: {first:?}, {of:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(known.len() > 60, "{}", known.len());
    assert!(HELP_DIFFERS.iter().all(|name| known.contains_key(*name)));
}

#[test]
fn former_names_are_hidden_and_still_taken() {
    let typed = [
        "explain x --time 5s --name a",
        "check x --name a",
        "prepare x --name a",
        "sweep x --name a --p99 5",
        "layouts x --name a --size 1g",
        "import x --name a",
    ];
    let commands = commands();
    for line in typed {
        let words = format!("iodyno {line}");
        let words: Vec<&str> = words.split(' ').collect();
        assert!(Arguments::command().try_get_matches_from(&words).is_ok(), "{line}");
        let of = commands.iter().find(|command| command.get_name() == words[1]).unwrap();
        let help = of.clone().render_long_help().to_string();
        assert!(!help.contains("--name ") && !help.contains("--p99 "), "{help}");
    }
}
