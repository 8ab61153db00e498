//! Parses fio's command line or job file before its output: the options of the jobs.

use std::collections::BTreeMap;

use iodyno_job::find;
use iodyno_job::syntax::{Environment, OptionTable, Section, parse_command_line, parse_file};

/// Jobs with their options as written, by name.
pub(super) type JobOptions = Vec<(String, BTreeMap<String, String>)>;

/// Parses the jobs of a command line.
pub(super) fn jobs(text: &str) -> JobOptions {
    let words = words(text);
    let arguments = words.get(1..).unwrap_or(&[]);
    let Ok(line) = parse_command_line(arguments, &OptionTable) else {
        return as_written(arguments);
    };
    line.jobs.into_iter().map(options).collect()
}

/// Parses the jobs of a job file, up to the first line that cannot be part of one.
pub(super) fn jobs_of_file(text: &str) -> JobOptions {
    let lines = text.lines().map(str::trim).take_while(|line| is_of_file(line));
    // Variables are known only to the machine it ran on.
    let known: Vec<&str> = lines.filter(|line| !line.contains('$')).collect();
    let elsewhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let environment = Environment {
        variable: &|_| None,
        read: &elsewhere,
        page_size_bytes: 0,
        cpus: 0,
        memory_mib: 0,
    };
    let file = parse_file(known.join("\n").as_bytes(), "", &environment);
    file.map(|file| file.sections.into_iter().map(options).collect()).unwrap_or_default()
}

/// True if a line can be part of a job file.
fn is_of_file(line: &str) -> bool {
    let name = line.split('=').next().unwrap_or("").trim();
    line.is_empty() || line.starts_with(['#', ';', '[']) || find(name).is_some()
}

fn options(job: Section) -> (String, BTreeMap<String, String>) {
    let entries = job.entries.into_iter();
    (job.name, entries.map(|entry| (entry.name, entry.value.unwrap_or_default())).collect())
}

/// Fallback for a command that iodyno's parser rejects: reads only `--name=value`.
fn as_written(arguments: &[String]) -> JobOptions {
    let mut global = BTreeMap::new();
    let mut jobs = JobOptions::new();
    for word in arguments {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let Some((name, value)) =
            option.map(|option| option.split_once('=').unwrap_or((option, "")))
        else {
            continue;
        };
        match (name, jobs.last_mut()) {
            ("name", _) => jobs.push((value.to_owned(), global.clone())),
            (_, Some((_, options))) => {
                options.insert(name.to_owned(), value.to_owned());
            }
            (_, None) => {
                global.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    jobs
}

/// Splits into a shell's words, up to the end of the command. A backslash that quotes nothing
/// stays: it may be of a Windows path.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\'' | '"' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if quote == Some(c) => quote = None,
            '\\' if characters.peek().is_some_and(|next| " \"'\\".contains(*next)) => {
                word.get_or_insert_default().extend(characters.next());
            }
            ' ' | '\n' if quote.is_none() => words.extend(word.take()),
            '|' | ';' | '&' | '>' if quote.is_none() => break,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> (String, BTreeMap<String, String>) {
        jobs(text).remove(0)
    }

    #[test]
    fn commands_in_all_spellings_are_parsed() {
        for text in [
            "fio --name=a --rw=randread --bs=4k --group_reporting | tee x",
            "fio -name=a -rw=randread -bs=4k -group_reporting > out.txt",
            "fio --rw randread --bs '4k' --group_reporting --name \"a\"\n",
            // iodyno's own command line rejects --client.
            "fio --client=vm --name=a --rw=randread --bs=4k --group_reporting",
        ] {
            let (name, options) = only(text);
            assert_eq!(name, "a", "{text}");
            assert_eq!(options["rw"], "randread", "{text}");
            assert_eq!(options["bs"], "4k", "{text}");
            assert_eq!(options["group_reporting"], "", "{text}");
        }
        let (_, options) = only("fio -name=a -filename=\"E\\:\\new\"");
        assert_eq!(options["filename"], "E\\:\\new");
        let file = "[global]\nbs=4k\n; why\ndirect=1\n[a]\nrw=read\nsize=$mb_memory\n\n[b]\nHere is it:\n[c]";
        let jobs_of = jobs_of_file(file);
        let names: Vec<_> = jobs_of.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((&*jobs_of[0].1["bs"], &*jobs_of[0].1["rw"]), ("4k", "read"));
        assert!(!jobs_of[0].1.contains_key("size") && !jobs_of[1].1.contains_key("rw"));
        assert!(jobs_of_file("[a]\n[x").is_empty());
        assert!(jobs("fio job.fio -o x").is_empty());
        assert!(jobs("fio").is_empty());
    }
}
