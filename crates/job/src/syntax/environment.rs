//! What job files may ask of the machine that they are read on.

use std::io;

/// How `${NAME}`, keywords and files are looked up, so that reading job files
/// touches nothing by itself.
pub struct Environment<'a> {
    /// The value of an environment variable; `None` where it is not set.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// A job file's or included file's bytes by its path; `-` is standard input.
    pub read: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
    /// `$pagesize`: bytes of a page.
    pub page_size_bytes: u64,
    /// `$ncpus`: CPUs configured.
    pub cpus: u64,
    /// `$mb_memory`: MiB of memory.
    pub memory_mib: u64,
}

/// The variable `name` of this process; `None` where it is not set, not UTF-8,
/// or no name that a variable can have.
pub fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
