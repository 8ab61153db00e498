//! iodyno: a dynamometer for NVMe storage.

mod arguments;
mod commands;
mod context;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::context::Context;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let context = Context::new(&arguments.global);
    let result = match arguments.command {
        Command::Check(check) => commands::check::run(&context, &check),
        Command::List(list) => commands::list::run(&context, &list),
        Command::Runs(runs) => commands::runs::run(&context, &runs),
        Command::Show(show) => commands::show::run(&context, &show),
        Command::Rules => commands::rules::run(&context),
        Command::Capture(capture) => commands::capture::run(&context, &capture),
        Command::CleanUp(clean_up) => commands::clean_up::run(&context, &clean_up),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) if terminal::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::complain(&error);
            ExitCode::from(context::status_of(&error))
        }
    }
}
