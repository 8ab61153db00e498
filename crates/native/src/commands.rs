//! Runs the commands of `exec_prerun` and `exec_postrun` before and after a phase.
//!
//! fio passes them to a shell; so does iodyno when called as fio. Otherwise they are split into an
//! argument vector, and shell syntax outside of quotes is refused: `echo 3 >
//! /proc/sys/vm/drop_caches` without a shell would silently do nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use iodyno_files::NameOrigin;
use iodyno_job::Job;
use iodyno_model::Caveat;

/// Characters that a shell interprets outside of quotes.
const SHELL_CHARACTERS: &str = "|&;<>()$`*?[]#~!{}";

/// How `exec_prerun` and `exec_postrun` are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommandPolicy {
    /// Jobs with commands are refused.
    #[default]
    Refused,
    /// Split into an argument vector, without a shell.
    WithoutShell,
    /// Passed to `/bin/sh -c`, as in fio.
    Shell,
}

impl CommandPolicy {
    /// Without a shell if `allowed`, else refused.
    pub const fn without_shell_if(allowed: bool) -> Self {
        if allowed { Self::WithoutShell } else { Self::Refused }
    }
}

const UNCLOSED: &str = "a quote is not closed; in a job file, ; and # end a value";

/// Runs `exec_prerun`, if set, with its output in `NAME.prerun.txt` in the current directory, as in
/// fio.
///
/// # Errors
/// If the command needs a shell, does not exist, or fails.
pub(crate) fn run_prerun(job: &Job, policy: CommandPolicy) -> Result<(), Caveat> {
    let command = job.threads.exec_prerun.as_deref();
    run("exec_prerun", command, policy, &format!("{}.prerun.txt", job.name))
}

/// Runs `exec_postrun`, if set, with its output in `NAME.postrun.txt`.
///
/// # Errors
/// As [`run_prerun`].
pub(crate) fn run_postrun(job: &Job, policy: CommandPolicy) -> Result<(), Caveat> {
    let command = job.threads.exec_postrun.as_deref();
    run("exec_postrun", command, policy, &format!("{}.postrun.txt", job.name))
}

fn run(
    option: &str,
    command: Option<&str>,
    policy: CommandPolicy,
    output: &str,
) -> Result<(), Caveat> {
    let Some(command) = command else { return Ok(()) };
    let failed =
        |why: String| Caveat::CommandFailed { option: option.into(), command: command.into(), why };
    let words = match policy {
        CommandPolicy::Shell => ["/bin/sh", "-c", command].map(str::to_owned).into(),
        _ => split_words(command).map_err(failed)?,
    };
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let unwritable =
        |error: &dyn std::fmt::Display| failed(format!("its output goes to {output}: {error}"));
    let file = iodyno_files::create(Path::new(output), NameOrigin::Iodyno)
        .map_err(|error| unwritable(&error))?;
    let errors = file.try_clone().map_err(|error| unwritable(&error))?;
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        .status()
        .map_err(|error| failed(format!("cannot start {program}: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(format!("it ended with {status}; its output is in {output}")))
    }
}

/// Splits a command line into words as a POSIX shell does: blanks, quotes and backslashes.
fn split_words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => match letters.next() {
                            Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                            Some(other) => word.extend(['\\', other]),
                            None => return Err(UNCLOSED.into()),
                        },
                        Some('$' | '`') if letter == '"' => return Err(needs_shell(line)),
                        Some(inner) => word.push(inner),
                        None => return Err(UNCLOSED.into()),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            letter if SHELL_CHARACTERS.contains(letter) => return Err(needs_shell(line)),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn needs_shell(line: &str) -> String {
    let quoted = line.replace('\'', r"'\''");
    format!("commands are run without a shell; if it needs one, write sh -c '{quoted}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_by_a_shell() {
        let check =
            |line: &str, expected: &[&str]| assert_eq!(split_words(line).unwrap(), expected);
        check("", &[]);
        check("  sync  ", &["sync"]);
        check(
            r#"a 'b  c' "d \"e\" \n" f\ g '' h"i"'j'"#,
            &["a", "b  c", r#"d "e" \n"#, "f g", "", "hij"],
        );
        check("sh -c 'echo 3 > x; ls $HOME'", &["sh", "-c", "echo 3 > x; ls $HOME"]);
        for shell in ["echo 3 > x", "a && b", "ls *", "echo $HOME", "a; b", "echo \"$HOME\""] {
            let error = split_words(shell).unwrap_err();
            assert!(error.contains("sh -c"), "{shell}: {error}");
        }
        assert!(split_words("echo 'a").unwrap_err().contains("not closed"));
        assert!(split_words("echo \"a\\").unwrap_err().contains("not closed"));
    }

    #[test]
    fn the_advised_command_parses() {
        let line = "echo 'it' > x";
        let error = split_words(line).unwrap_err();
        let advised = error.split_once("write ").unwrap().1;
        assert_eq!(split_words(advised).unwrap(), ["sh", "-c", line]);
    }
}
