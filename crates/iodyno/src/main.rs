//! iodyno: a dynamometer for NVMe storage.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod arguments;
mod background;
mod bench_fio;
mod commands;
mod completion;
mod context;
mod grid;
mod inputs;
mod listen;
mod live;
mod output;
mod progress;
mod push;
mod screen;
mod stated;
mod stream;
mod supervisor;
mod terminal;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::arguments::{Arguments, Command};
use crate::commands::run::Face;
use crate::context::{Context, Usage};

/// Exit status if some of the named inputs could not be read, or results not be stored, and all else
/// went well.
const INCOMPLETE: u8 = 4;

fn main() -> ExitCode {
    supervisor::supervised(run_command, has_leftovers)
}

/// Runs the command line and returns the exit status.
fn run_command() -> u8 {
    let arguments = parsed().unwrap_or_else(|error| arguments::brief(error).exit());
    let face = match arguments.command {
        Command::Fio(_) => Face::Fio,
        _ => Face::Iodyno,
    };
    let mut context = Context::new(&arguments.global);
    context.quiet |= face == Face::Fio;
    context.verdict_first |= matches!(arguments.command, Command::Check(_) | Command::Accept(_));
    if let Some(command) = arguments.command.without_json().filter(|_| context.json) {
        let what = format!("{command} has no JSON; for runs use: iodyno runs export");
        terminal::print_error_as(face.name(), &Usage(what).into());
        return 2;
    }
    if let Some(option) = arguments.command.beside_json().filter(|_| context.json) {
        let what = format!("--json cannot be used with {option}: leave one of them out");
        terminal::print_error_as(face.name(), &Usage(what).into());
        return 2;
    }
    let result = match arguments.command {
        Command::Check(check) => commands::check::run(&context, &check),
        Command::Accept(accept) => commands::accept::run(&context, &accept),
        Command::Run(run) | Command::Fio(run) => commands::run::run(&context, &run, face),
        Command::Prepare(prepare) => commands::prepare::run(&context, &prepare),
        Command::Sweep(sweep) => commands::sweep::run(&context, &sweep),
        Command::Resume(resume) => commands::sweep::resume(&context, &resume),
        Command::Layouts(layouts) => commands::layouts::run(&context, &layouts),
        Command::List(list) => commands::list::run(&context, &list),
        Command::Top(top) => commands::top::run(&context, &top),
        Command::Record(record) => commands::record::run(&context, &record),
        Command::Replay(replay) => commands::replay::run(&context, &replay),
        Command::Model(model) => commands::model::run(&context, &model),
        Command::Runs(runs) => commands::runs::run(&context, &runs),
        Command::Show(show) => commands::show::run(&context, &show),
        Command::Import(arguments) => commands::import::run(&context, &arguments),
        Command::Fit(arguments) => commands::fit::run(&context, &arguments),
        Command::Explain(arguments) => commands::explain::run(&context, &arguments),
        Command::Compare(arguments) => commands::compare::run(&context, &arguments),
        Command::Report(arguments) => commands::report::run(&context, &arguments),
        Command::Plot(arguments) => commands::plot::run(&context, &arguments),
        Command::Rules(arguments) => commands::rules::run(&context, &arguments),
        Command::Capture(capture) => commands::capture::run(&context, &capture),
        Command::Completions(completions) => commands::completions::run(&completions),
        Command::Complete(complete) => commands::completions::complete(&complete),
        Command::Man(man) => commands::man::run(&man),
        Command::CleanUp(clean_up) => commands::clean_up::run(&context, &clean_up),
    };
    // A reader that has gone is no failure.
    let result = match result {
        Err(error) if terminal::is_closed_pipe(&error) => Ok(0),
        result => result,
    };
    match result {
        // fio has no store.
        Ok(0) if face == Face::Iodyno && context.is_incomplete() => INCOMPLETE,
        Ok(status) => status,
        Err(error) => {
            terminal::print_error_as(face.name(), &error);
            face.status_of(&error)
        }
    }
}

/// True if the store of this command line lists changes that a killed run did not undo, or cannot be
/// read.
fn has_leftovers() -> bool {
    let Ok(arguments) = parsed() else { return false };
    let store = match Context::new(&arguments.global).existing_store() {
        Ok(None) => return false,
        Ok(Some(store)) => store,
        Err(_) => return true,
    };
    let pending = store.journal_pending(None);
    pending.is_ok_and(|all| all.iter().any(|one| one.elsewhere.is_none()))
}

fn parsed() -> Result<Arguments, clap::Error> {
    let matches = arguments::grouped(Arguments::command()).try_get_matches_from(command_line())?;
    Arguments::from_arg_matches(&matches)
}

/// Returns the words of the command line. After `run` and `fio`, iodyno's own options are moved to
/// the front: all others are fio's, which clap must not see.
fn command_line() -> Vec<OsString> {
    let mut given: Vec<OsString> = std::env::args_os().collect();
    if given.first().is_some_and(|name| Path::new(name).file_name() == Some("fio".as_ref())) {
        given.insert(1, "fio".into());
    }
    own_options_first(given)
}

/// Moves iodyno's own words before fio's.
fn own_options_first(command_line: Vec<OsString>) -> Vec<OsString> {
    let texts: Vec<_> = command_line.iter().map(|word| word.to_string_lossy()).collect();
    // `run` as the value of a global option is not the command.
    let is_command = |at: &usize| {
        ["run", "fio"].contains(&&*texts[*at]) && commands::run::is_command(&texts[1..*at])
    };
    let Some(run) = (1..command_line.len()).find(is_command) else { return command_line };
    let mut command = Arguments::command();
    command.build();
    let Some(own) = command.find_subcommand(&*texts[run]) else { return command_line };
    let (ours, fios) = commands::run::words::divide(&command_line[run + 1..], own);
    let separator = (!fios.is_empty()).then(|| "--".into());
    command_line[..=run].iter().cloned().chain(ours).chain(separator).chain(fios).collect()
}
