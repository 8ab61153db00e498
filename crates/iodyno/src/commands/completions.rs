//! `iodyno completions`: a script that lets a shell complete the command line.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::{Arguments, Completions};
use crate::terminal;

pub(crate) fn run(arguments: &Completions) -> Result<u8> {
    terminal::write(script(arguments.shell).as_bytes())?;
    Ok(0)
}

/// The script for `shell`.
fn script(shell: Shell) -> String {
    // Into memory first: the generator panics where its writer fails, and a
    // closed pipe is no reason to.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "iodyno", &mut script);
    String::from_utf8(script).expect("made of names and help texts, which are UTF-8")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, ValueEnum};
    use clap_complete::Shell;

    use super::script;
    use crate::arguments::Arguments;

    #[test]
    fn every_shell_completes_every_command_that_help_shows() {
        let command = Arguments::command();
        let mut shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        assert!(shown.any(|command| command.get_name() == "check"));
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
                let name = command.get_name();
                assert!(script.contains(name), "{shell} does not complete {name}");
            }
        }
    }
}
