//! Options of `ioengine=exec`, which runs a program beside the I/O.

use super::codecs::{Bool, Count, Optional, Text};
use super::{OptionSpec, on, row};

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "program",
        engine.program.name,
        Optional(Text),
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
        "arguments of the program, separated by blanks; %r is the runtime in seconds, %n the job's name"
    ),
    row!(
        "grace_time",
        engine.program.grace_s,
        Count(0, u32::MAX),
        "1",
        ["0"],
        "seconds from SIGTERM to SIGKILL when the job ends"
    ),
    on!(
        "std_redirect",
        engine.program.std_redirect,
        Bool,
        "redirect the program's output to NAME.stdout and NAME.stderr"
    ),
];
