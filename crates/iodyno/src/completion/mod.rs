//! Completes a command line for a shell: `iodyno __complete INDEX -- WORD...`.
//!
//! The scripts beside this file pass the words as typed and get a line for each candidate: the
//! value, and after a tab its description. All logic is here, so that installed scripts stay right
//! when commands change.

mod values;

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, complete};

use crate::arguments::Arguments;

/// Completion script of `shell`.
pub(crate) fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => include_str!("iodyno.bash").into(),
        Shell::Zsh => include_str!("_iodyno").into(),
        Shell::Fish => include_str!("iodyno.fish").into(),
        // Other shells get clap's static script.
        other => {
            // Written to memory first: the generator panics if its writer fails, and a closed pipe
            // must not cause that.
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Arguments::command(), "iodyno", &mut script);
            String::from_utf8(script).expect("made of names and help texts, which are UTF-8")
        }
    }
}

/// Candidates for the word at `index` of `words`, one per line. Read errors yield no candidates:
/// there is nowhere to report them.
pub(crate) fn candidates(index: usize, words: &[OsString]) -> String {
    let mut words: Vec<OsString> = words.iter().take(index + 1).map(unquoted).collect();
    words.resize(index + 1, OsString::new());
    values::use_store_of(&words);
    let current = words[index].clone();
    let mut command = with_values(Arguments::command().disable_help_subcommand(true));
    let found = complete(&mut command, words, index, None).unwrap_or_default();
    let is_option = |value: &str| value.starts_with('-');
    let mut lines: Vec<(String, String)> = found
        .into_iter()
        .filter_map(|one| {
            let help = one.get_help().map(ToString::to_string).unwrap_or_default();
            let first = help.lines().next().unwrap_or_default().trim().to_owned();
            Some((one.get_value().to_str()?.to_owned(), first))
        })
        .collect();
    // With a value expected and nothing typed, options would drown the values.
    if current.is_empty() && lines.iter().any(|(value, _)| !is_option(value)) {
        lines.retain(|(value, _)| !is_option(value));
    }
    lines.iter().fold(String::new(), |mut text, (value, help)| {
        let _ = match help.as_str() {
            "" => writeln!(text, "{value}"),
            help => writeln!(text, "{value}\t{help}"),
        };
        text
    })
}

/// Adds value completers to the arguments of `command` and its subcommands.
fn with_values(command: Command) -> Command {
    let known = |argument: Arg| match values::of(&argument) {
        Some(of) => argument.add(ArgValueCompleter::new(of)),
        None => argument,
    };
    command.mut_args(known).mut_subcommands(with_values)
}

/// A word as the shell will pass it: without backslashes and opening quote.
fn unquoted(word: &OsString) -> OsString {
    let Some(text) = word.to_str() else { return word.clone() };
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.trim_start_matches(['\'', '"']).chars();
    while let Some(one) = characters.next() {
        plain.extend(if one == '\\' { characters.next() } else { Some(one) });
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// Candidates for the last word of a line.
    fn of(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let lines = candidates(words.len() - 1, &words);
        lines.lines().map(|line| line.split('\t').next().unwrap_or_default().into()).collect()
    }

    #[test]
    fn every_shell_has_a_script() {
        for shell in Shell::value_variants() {
            assert!(script(*shell).contains("iodyno"), "{shell}");
        }
    }

    #[test]
    fn commands_options_and_values_are_known() {
        assert_eq!(of("iodyno che"), ["check"]);
        assert!(!of("iodyno ").iter().any(|word| word.starts_with("__") || word == "man"));
        assert_eq!(of("iodyno check --no-l"), ["--no-load"]);
        assert_eq!(of("iodyno explain x --bud"), ["--budget"]);
        assert_eq!(of("iodyno rules link-deg"), ["link-degraded"]);
        assert_eq!(of("iodyno sweep snia-io"), ["snia-iops"]);
        assert_eq!(of("iodyno layouts --plan block"), ["blocksize"]);
        assert_eq!(of("iodyno layouts --layout lvm-s"), ["lvm-stripe"]);
        assert_eq!(of("iodyno plot last --figure=grid3"), ["--figure=grid3d"]);
        assert_eq!(of("iodyno plot last --metric p99.9"), ["p99.9", "p99.99"]);
        assert_eq!(of("iodyno sweep --set rw=randw"), ["rw=randwrite"]);
        assert_eq!(of("iodyno sweep --grid rw=read,randrw"), ["rw=read,randrw"]);
        assert_eq!(of("iodyno show --format open"), ["openmetrics"]);
        assert_eq!(of("iodyno runs pru"), ["prune"]);
    }

    #[test]
    fn options_of_jobs_are_completed_behind_run() {
        assert_eq!(of("iodyno run --iodepth_batch_complete_mi"), ["--iodepth_batch_complete_min="]);
        assert_eq!(of("iodyno run --name=a --ioengine=io_uring_"), ["--ioengine=io_uring_cmd"]);
        assert_eq!(of("iodyno run --name=a --allow-w"), ["--allow-write"]);
        assert_eq!(
            of("iodyno explain x iodepth_batch_complete_mi"),
            ["iodepth_batch_complete_min="]
        );
    }

    #[test]
    fn serials_and_free_values_are_not_offered() {
        // Serial numbers are not offered: typing one keeps a drive from being named by mistake.
        assert!(of("iodyno prepare nvme0n1 --allow-write ").is_empty());
        assert!(of("iodyno check --budget ").is_empty());
        assert!(of("iodyno sweep --repeat ").is_empty());
    }

    #[test]
    fn words_are_read_as_the_shell_passes_them() {
        assert_eq!(unquoted(&r"a\ b".into()), "a b");
        assert_eq!(unquoted(&"'a b".into()), "a b");
    }
}
