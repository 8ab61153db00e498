//! A program that runs beside the I/O (`ioengine=exec`).

use super::codecs::{Bool, Count, Maybe, Text};
use super::{OptionSpec, on, row};

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "program",
        engine.program.name,
        Maybe(Text),
        "",
        ["/bin/true"],
        "program to run with ioengine=exec; requires --allow-exec"
    ),
    row!(
        "arguments",
        engine.program.arguments,
        Text,
        "",
        ["-n 1"],
        "its arguments, with blanks between them; %r is the runtime in seconds, %n the job's name"
    ),
    row!(
        "grace_time",
        engine.program.grace_s,
        Count(0, u32::MAX),
        "1",
        ["0"],
        "seconds from SIGTERM to SIGKILL when the job is over"
    ),
    on!(
        "std_redirect",
        engine.program.redirects,
        Bool,
        "its output goes to NAME.stdout and NAME.stderr"
    ),
];
