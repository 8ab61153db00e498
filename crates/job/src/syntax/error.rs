//! What can be wrong with a job file or a command line.

use thiserror::Error;

use super::Place;

/// What is wrong, where, and what to do.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SyntaxError {
    /// An option before the first `[section]`.
    #[error(
        "{place}: `{text}` stands before the first section; write [global] or a [job] above it"
    )]
    OutsideSection {
        /// Where.
        place: Place,
        /// The line.
        text: String,
    },
    /// A line that begins with `[` and is no header.
    #[error(
        "{place}: `{text}` does not end with `]`; a section begins with a line [name], options go on lines of their own"
    )]
    Header {
        /// Where.
        place: Place,
        /// The line.
        text: String,
    },
    /// More jobs than fio takes.
    #[error("{place}: more than {max} sections; split the file")]
    TooManySections {
        /// The first that is too many.
        place: Place,
        /// The most there may be.
        max: usize,
    },
    /// More options than memory is worth.
    #[error(
        "{place}: more than {max} options, those of [global] counted for each section; split the file"
    )]
    TooManyEntries {
        /// The first that is too many.
        place: Place,
        /// The most there may be.
        max: usize,
    },
    /// A line without an option's name, or with more than one word before `=`.
    #[error("{place}: `{text}` is no option; write name=value, or the name alone")]
    NotAnOption {
        /// Where.
        place: Place,
        /// The line.
        text: String,
    },
    /// Bytes that are not UTF-8 outside a comment.
    #[error("{place}: not UTF-8 text; save the file as UTF-8 (`file` tells what it is)")]
    NotUtf8 {
        /// Where.
        place: Place,
    },
    /// A control character outside a comment.
    #[error("{place}: there is a control character in the line; remove it (`cat -A` shows it)")]
    ControlCharacter {
        /// Where.
        place: Place,
    },
    /// `${NAME}` that is not in the environment. fio would go on with nothing in its place.
    #[error("{place}: the environment variable {name} is not set; {}", set_variable(.name))]
    UnsetVariable {
        /// Where.
        place: Place,
        /// The variable.
        name: String,
    },
    /// A section in an included file.
    #[error("{place}: an included file cannot begin a section (`[{name}]`); it holds options only")]
    SectionInInclude {
        /// Where.
        place: Place,
        /// The section.
        name: String,
    },
    /// `include` without an end.
    #[error(
        "{place}: `include {file}` is nested more than {depth} deep, or the {total}th; does a file include itself?"
    )]
    TooManyIncludes {
        /// Where.
        place: Place,
        /// The file.
        file: String,
        /// The deepest that includes nest.
        depth: u32,
        /// The most there may be in all.
        total: u32,
    },
    /// A file that cannot be read.
    #[error("{place}: cannot read the job file `{file}`: {reason}")]
    Unreadable {
        /// Where it is named.
        place: Place,
        /// The file.
        file: String,
        /// What the operating system said.
        reason: String,
    },
    /// A file whose bytes would be a pattern.
    #[error("{place}: {name}='{file}': the pattern cannot be read from this file: {reason}")]
    PatternFile {
        /// Where it is named.
        place: Place,
        /// The option.
        name: String,
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// `size=100g offset=100g` on one line, which fio takes for a size.
    #[error(
        "{place}: `{name}={value}` would swallow the option `{swallowed}`; give it a line of its own"
    )]
    Swallowed {
        /// Where.
        place: Place,
        /// The option.
        name: String,
        /// All that stands behind its `=`.
        value: String,
        /// The option inside the value.
        swallowed: String,
    },
    /// An option that is neither fio's own nor a job's.
    #[error("command line: there is no option `{option}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `--{n}`?")))]
    UnknownOption {
        /// As written.
        option: String,
        /// The nearest name, if any is near.
        nearest: Option<String>,
    },
    /// The beginning of several options' names.
    #[error("command line: `{option}` can be any of {}; write it out", .candidates.join(", "))]
    AmbiguousOption {
        /// As written.
        option: String,
        /// What it can be.
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
    /// A value that one of fio's own options does not take.
    #[error("command line: `{option}={value}`: {expected}")]
    BadValue {
        /// The option.
        option: String,
        /// As written.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// An option of fio that iodyno does not have.
    #[error("command line: `{option}` is not supported: {advice}")]
    Unsupported {
        /// The option.
        option: String,
        /// What to do.
        advice: &'static str,
    },
    /// `--section` of a name that no section has.
    #[error("command line: `--section={section}`: no section has this name; there are {}", .known.join(", "))]
    NoSuchSection {
        /// As written.
        section: String,
        /// The sections there are.
        known: Vec<String>,
    },
    /// Nothing to do.
    #[error("there is no job; begin one with --name=NAME, or name a job file with a [section]")]
    NoJob,
    /// A section or an entry that a job file cannot express.
    #[error("section `{section}`: {what} cannot be written into a job file: {reason}")]
    Unwritable {
        /// The section.
        section: String,
        /// Its name or the option.
        what: String,
        /// Why.
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
