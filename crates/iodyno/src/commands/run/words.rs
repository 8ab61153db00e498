//! Separates iodyno's own words of a command line from fio's.

use std::ffi::OsString;

use clap::Command;

/// Divides the words after `run` into those that `own` knows, with their values, and the rest: job
/// files and fio's options.
pub(crate) fn divide(words: &[OsString], own: &Command) -> (Vec<OsString>, Vec<OsString>) {
    let (mut ours, mut fios) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&*text, None),
        };
        let known = own.get_arguments().find(|argument| is_named(argument, name));
        match known {
            Some(argument) => {
                ours.push(word.clone());
                let takes = argument.get_action().takes_values();
                if takes && value.is_none() {
                    ours.extend(words.next().cloned());
                }
            }
            None if !own.is_disable_help_flag_set()
                && ["--help", "-h", "--version", "-V"].contains(&name) =>
            {
                ours.push(word.clone());
            }
            None => fios.push(word.clone()),
        }
    }
    (ours, fios)
}

fn is_named(argument: &clap::Arg, name: &str) -> bool {
    let long = name.strip_prefix("--");
    let short = name.strip_prefix('-').filter(|short| short.chars().count() == 1);
    (long.is_some() && argument.get_long() == long)
        || (short.is_some() && argument.get_short().map(String::from).as_deref() == short)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn own_options_are_separated_from_job_options() {
        let mut command = Arguments::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        let words = "--name=t --rw=randread --allow-write S123 -bs 4k --json -q --time_based x.fio";
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let (ours, fios) = divide(&words, run);
        assert_eq!(ours, ["--allow-write", "S123", "--json", "-q"]);
        assert_eq!(fios, ["--name=t", "--rw=randread", "-bs", "4k", "--time_based", "x.fio"]);
    }
}
