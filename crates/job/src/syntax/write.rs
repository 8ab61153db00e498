//! Writes sections as a job file or a command line.

use std::fmt::Write;

use iodyno_model::shell_word;

use super::file::is_global;
use super::line::is_space;
use super::{Section, SyntaxError};

/// Writes a job file that parses to these sections, without `[global]`.
///
/// # Errors
/// Text that a job file cannot express: `;` and `#` begin a comment anywhere, `${NAME}` and
/// keywords would be expanded, control characters and blanks around a value would be lost.
pub fn write_file(sections: &[Section]) -> Result<String, SyntaxError> {
    let mut text = String::new();
    for section in sections {
        let unwritable = |what: &str, reason| SyntaxError::Unwritable {
            section: section.name.clone(),
            what: what.into(),
            reason,
        };
        if is_global(&section.name) {
            return Err(unwritable(
                "its name",
                "fio takes it for [global]; name the job otherwise",
            ));
        }
        if let Some(reason) = never_kept(&section.name) {
            return Err(unwritable("its name", reason));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "[{}]", section.name);
        for entry in &section.entries {
            let option = match &entry.value {
                Some(value) => format!("{}={value}", entry.name),
                None => entry.name.clone(),
            };
            let reason = never_kept(&option)
                .or_else(|| never_expanded(&option))
                .or_else(|| misread_name(&entry.name))
                .or_else(|| blanks_around(entry.value.as_deref()?));
            if let Some(reason) = reason {
                return Err(unwritable(&entry.name, reason));
            }
            text.push_str(&option);
            text.push('\n');
        }
    }
    Ok(text)
}

fn never_kept(text: &str) -> Option<&'static str> {
    if text.contains([';', '#']) {
        return Some("`;` and `#` begin a comment, also inside a value");
    }
    (text.contains(|c: char| c.is_control() && c != '\t'))
        .then_some("a control character would not be read again")
}

fn never_expanded(text: &str) -> Option<&'static str> {
    let variable = text.split_once("${").is_some_and(|(_, after)| after.contains('}'));
    let keyword = ["$pagesize", "$mb_memory", "$ncpus"].iter().any(|word| text.contains(word));
    (variable || keyword).then_some("a variable in it would be expanded; write what it stands for")
}

fn blanks_around(value: &str) -> Option<&'static str> {
    (value.trim_matches(is_space) != value).then_some("blanks around a value are cut")
}

fn misread_name(name: &str) -> Option<&'static str> {
    let misread = name.is_empty()
        || name.contains(is_space)
        || name.contains('=')
        || name.starts_with('[')
        || name == "include";
    misread.then_some("this is no name of an option")
}

/// Writes the command line for the same jobs, as fio's `--showcmd` does, quoted for a shell where
/// necessary.
pub fn show_command(sections: &[Section]) -> String {
    let mut line = String::from("fio");
    for section in sections {
        line.push_str(" --name=");
        line.push_str(&shell_word(&section.name));
        for entry in &section.entries {
            let _ = write!(line, " --{}", shell_word(&entry.name));
            if let Some(value) = &entry.value {
                let _ = write!(line, "={}", shell_word(value));
            }
        }
    }
    line
}
