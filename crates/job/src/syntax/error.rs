//! Errors in job files and command lines.

use thiserror::Error;

use super::Place;

/// An error in a job file or command line: what, where, and what to do.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SyntaxError {
    /// An option before the first `[section]`.
    #[error(
        "{place}: `{text}` stands before the first section; write [global] or a [job] above it"
    )]
    OutsideSection {
        /// Its place.
        place: Place,
        /// The line.
        text: String,
    },
    /// A line that begins with `[` but is not a header.
    #[error(
        "{place}: `{text}` does not end with `]`; a section begins with a line [name], options go on lines of their own"
    )]
    Header {
        /// Its place.
        place: Place,
        /// The line.
        text: String,
    },
    /// More sections than fio accepts.
    #[error("{place}: more than {max} sections; split the file")]
    TooManySections {
        /// Place of the first one too many.
        place: Place,
        /// The limit.
        max: usize,
    },
    /// More options than the parser keeps in memory.
    #[error(
        "{place}: more than {max} options, those of [global] counted for each section; split the file"
    )]
    TooManyEntries {
        /// Place of the first one too many.
        place: Place,
        /// The limit.
        max: usize,
    },
    /// A line without an option's name, or with more than one word before `=`.
    #[error("{place}: `{text}` is no option; write name=value, or the name alone")]
    NotAnOption {
        /// Its place.
        place: Place,
        /// The line.
        text: String,
    },
    /// Bytes that are not UTF-8 outside a comment.
    #[error("{place}: not UTF-8 text; save the file as UTF-8 (`file` tells what it is)")]
    NotUtf8 {
        /// Its place.
        place: Place,
    },
    /// A control character outside a comment.
    #[error("{place}: there is a control character in the line; remove it (`cat -A` shows it)")]
    ControlCharacter {
        /// Its place.
        place: Place,
    },
    /// `${NAME}` that is not set in the environment. fio would replace it by nothing.
    #[error("{place}: the environment variable {name} is not set; {}", set_variable(.name))]
    UnsetVariable {
        /// Its place.
        place: Place,
        /// The variable.
        name: String,
    },
    /// A section in an included file.
    #[error("{place}: an included file cannot begin a section (`[{name}]`); it holds options only")]
    SectionInInclude {
        /// Its place.
        place: Place,
        /// The section.
        name: String,
    },
    /// Endless or too many `include` lines.
    #[error(
        "{place}: `include {file}` is nested more than {depth} deep, or the {total}th; does a file include itself?"
    )]
    TooManyIncludes {
        /// Its place.
        place: Place,
        /// The file.
        file: String,
        /// Limit of the nesting depth.
        depth: u32,
        /// Limit of all includes together.
        total: u32,
    },
    /// An unreadable job file.
    #[error("{place}: cannot read the job file `{file}`: {reason}")]
    Unreadable {
        /// Place of its name.
        place: Place,
        /// The file.
        file: String,
        /// The operating system's error.
        reason: String,
    },
    /// An unusable pattern file.
    #[error("{place}: {name}='{file}': the pattern cannot be read from this file: {reason}")]
    PatternFile {
        /// Place of its name.
        place: Place,
        /// The option.
        name: String,
        /// The file.
        file: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// `size=100g offset=100g` on one line, which fio parses as a size.
    #[error(
        "{place}: `{name}={value}` would swallow the option `{swallowed}`; give it a line of its own"
    )]
    Swallowed {
        /// Its place.
        place: Place,
        /// The option.
        name: String,
        /// All text after its `=`.
        value: String,
        /// The option inside the value.
        swallowed: String,
    },
    /// An option that is neither the run's nor a job's.
    #[error("command line: there is no option `{option}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `--{n}`?")))]
    UnknownOption {
        /// As written.
        option: String,
        /// The most similar name, if any is similar.
        nearest: Option<String>,
    },
    /// A prefix of several options' names.
    #[error("command line: `{option}` can be any of {}; write it out", .candidates.join(", "))]
    AmbiguousOption {
        /// As written.
        option: String,
        /// The options with this prefix.
        candidates: Vec<String>,
    },
    /// An option without its value.
    #[error("command line: `{option}` needs a value; write {option}=...")]
    NeedsValue {
        /// The option.
        option: String,
    },
    /// A value for an option without one.
    #[error("command line: `{option}` takes no value; write it alone")]
    TakesNoValue {
        /// The option.
        option: String,
    },
    /// A value that an option of the run does not accept.
    #[error("command line: `{option}={value}`: {expected}")]
    BadValue {
        /// The option.
        option: String,
        /// As written.
        value: String,
        /// The values it accepts.
        expected: String,
    },
    /// An option of fio that iodyno does not have.
    #[error("command line: `{option}` is not supported: {advice}")]
    Unsupported {
        /// The option.
        option: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// `--section` with an unknown name.
    #[error("command line: `--section={section}`: no section has this name; there are {}", .known.join(", "))]
    NoSuchSection {
        /// As written.
        section: String,
        /// The existing sections.
        known: Vec<String>,
    },
    /// No job to run.
    #[error("there is no job; begin one with --name=NAME, or name a job file with a [section]")]
    NoJob,
    /// A section or an entry that a job file cannot express.
    #[error("section `{section}`: {what} cannot be written into a job file: {reason}")]
    Unwritable {
        /// The section.
        section: String,
        /// Its name or the option.
        what: String,
        /// Why it cannot be written.
        reason: &'static str,
    },
}

fn set_variable(name: &str) -> String {
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        format!("run `export {name}=...` first")
    } else {
        "job files know ${NAME} only, no defaults or other shell notation".into()
    }
}
