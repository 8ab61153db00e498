//! Expands `${NAME}`, `$pagesize`, `$ncpus` and `$mb_memory`.
//!
//! `$jobname`, `$jobnum`, `$filenum` and `$clientuid` stay: they belong to `filename_format`, which
//! is expanded for each file of each job.

use super::{Environment, Place, SyntaxError};

/// Replaces variables first and keywords after them, as fio does (`dup_and_sub_options`); a `${`
/// without `}` stays.
pub(super) fn expand(
    text: &str,
    place: &Place,
    environment: &Environment<'_>,
) -> Result<String, SyntaxError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        expanded.push_str(before);
        match (environment.variable)(name) {
            Some(value) => expanded.push_str(&value),
            None => {
                let name = name.to_owned();
                return Err(SyntaxError::UnsetVariable { place: place.clone(), name });
            }
        }
        rest = behind;
    }
    expanded.push_str(rest);
    for (keyword, number) in [
        ("$pagesize", environment.page_size_bytes),
        ("$mb_memory", environment.memory_mib),
        ("$ncpus", environment.cpus),
    ] {
        if expanded.contains(keyword) {
            expanded = expanded.replace(keyword, &number.to_string());
        }
    }
    Ok(expanded)
}
