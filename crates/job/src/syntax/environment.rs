//! Access of the job-file parser to environment variables, files and machine sizes.

use std::io;

/// Look-ups of `${NAME}`, keywords and files, so that parsing does no I/O itself.
pub struct Environment<'a> {
    /// The value of an environment variable, or `None` if it is not set.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The contents of a job file or included file by its path; `-` is standard input.
    pub read: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
    /// `$pagesize`, bytes.
    pub page_size_bytes: u64,
    /// `$ncpus`: configured CPUs.
    pub cpus: u64,
    /// `$mb_memory`: memory, MiB.
    pub memory_mib: u64,
}

/// Reads a variable of this process; `None` if it is not set, not UTF-8, or not a valid name.
pub fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
