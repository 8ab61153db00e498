//! Groups the commands in iodyno's own help, where clap would list them in one column.

use std::fmt::Write as _;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use iodyno_job::Kind;
use iodyno_model::shell_word;
use iodyno_target::command_words;

use crate::context::read;

/// Every visible command, grouped by purpose.
const GROUPS: &[(&str, &[&str])] = &[
    ("Judge a machine", &["check", "accept", "explain", "fit", "list", "top", "rules"]),
    ("Measure", &["run", "fio", "sweep", "resume", "layouts", "prepare", "record", "replay"]),
    ("Use results", &["show", "compare", "report", "plot", "runs", "import", "model"]),
    ("Other", &["capture", "clean-up", "completions", "help"]),
];

/// Returns `command` with grouped commands in its help.
pub(crate) fn grouped(command: Command) -> Command {
    let mut built = command.clone();
    built.build();
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(groups, "{heading}:");
        for found in names.iter().filter_map(|name| built.find_subcommand(name)) {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {:<11}  {about}", found.get_name());
        }
        groups.push('\n');
    }
    let mut flat = command.clone();
    for name in built.get_subcommands().map(Command::get_name).filter(|name| *name != "help") {
        flat = flat.mut_subcommand(name, |sub| sub.hide(true));
    }
    let help = flat.disable_help_subcommand(true).render_help().to_string();
    match help.split_once("\n\nOptions:") {
        Some((usage, options)) => {
            command.override_help(format!("{usage} <COMMAND>\n\n{groups}Options:{options}"))
        }
        None => command,
    }
}

/// Commands whose first word is a plan or trace, and whose target is an option.
const WITH_TARGET: [&str; 2] = ["sweep", "replay"];

/// Maximum length of a list of values that is shown beside a suggestion, characters.
const LISTED: usize = 40;

/// Commands whose first word is a target.
const TARGET_FIRST: [&str; 7] =
    ["accept", "check", "explain", "fit", "layouts", "prepare", "record"];

/// Shortens `error`: no long list of values beside a suggestion, and the right order of words.
pub(crate) fn brief(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(tip) = meant(word)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && let Some(tip) = for_argument(word)
    {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && argument == "[RULE]"
        && error.get(ContextKind::SuggestedValue).is_none()
    {
        error.remove(ContextKind::ValidValue);
        let tip = "iodyno rules lists them".to_owned();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(word) = std::env::args_os().find(|word| word.to_str().is_none())
    {
        let tip = format!("{} is not UTF-8: rename it, or name a link to it", word.display());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let suggests = error.get(ContextKind::SuggestedValue).is_some();
    let all = error.get(ContextKind::ValidValue);
    if suggests && matches!(all, Some(ContextValue::Strings(all)) if all.join(", ").len() > LISTED)
    {
        error.remove(ContextKind::ValidValue);
    }
    error
}

/// Suggests how a target, or an option of fio, is given to the command that was typed.
fn for_argument(word: &str) -> Option<String> {
    let mut typed = command_words().skip(1);
    let command = typed.find(|one| is_command(one))?;
    if !word.starts_with('-') {
        let has_option = WITH_TARGET.contains(&command.as_str());
        return has_option.then(|| format!("name targets with --target {}", shell_word(word)));
    }
    let name = word.split('=').next()?;
    let given = typed.by_ref().find(|one| one.split('=').next() == Some(name));
    let value = given.as_ref().and_then(|one| Some(one.split_once('=')?.1.to_owned()));
    let spec = iodyno_job::find(name.strip_prefix("--")?)?;
    let option = spec.name;
    let mut next = || typed.next().filter(|next| !next.starts_with('-'));
    let value = value.unwrap_or_else(|| match spec.kind() {
        Kind::Flag => "1".into(),
        _ => next().unwrap_or_else(|| "VALUE".into()),
    });
    let of_option = |before: &str| format!("{before}{}", shell_word(&format!("{option}={value}")));
    Some(match (command.as_str(), option) {
        ("sweep" | "replay", "filename") => {
            format!("name targets with --target {}", shell_word(&value))
        }
        (command, "filename") if TARGET_FIRST.contains(&command) => {
            format!("name the target alone: {}", shell_word(&value))
        }
        ("check", "runtime") => format!("--time {}", shell_word(&value)),
        ("explain", _) => of_option(""),
        ("sweep", _) if value.contains(',') => of_option("--grid "),
        ("sweep", _) => of_option("--set "),
        _ => return None,
    })
}

fn is_command(typed: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&typed))
}

/// Suggests `iodyno check nvme0n1` for `iodyno nvme0n1 check` or without a command, and `iodyno
/// runs` for `iodyno runs list`.
fn meant(word: &str) -> Option<String> {
    let mut typed = command_words().skip(1).skip_while(|typed| !is_command(typed) && typed != word);
    match typed.next() {
        Some(command) if command == "help" => {
            let names = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
            Some(format!("iodyno help {}", iodyno_job::nearest_name(word, names)?))
        }
        // A command with subcommands, none of which is `word`.
        Some(command) if command != word => Some(match word {
            "list" | "ls" | "show" => format!("without it, iodyno {command} lists all"),
            _ => format!("of one run: iodyno show {}", shell_word(word)),
        }),
        Some(_) if word == "version" => Some("iodyno --version".into()),
        _ => {
            let is_there = Path::new(word).exists() || Path::new("/dev").join(word).exists();
            let usual = || is_there.then(|| command_for(Path::new(word)).to_owned());
            let command = typed.find(|one| is_command(one)).or_else(usual)?;
            Some(format!("the command comes first: iodyno {command} {}", shell_word(word)))
        }
    }
}

/// Command that takes a file, by what it is; a device or directory is checked.
fn command_for(path: &Path) -> &'static str {
    let has_section =
        |text: String| text.lines().any(|line| line.starts_with('[') && line.ends_with(']'));
    let extension = |path: &Path| Some(path.extension()?.to_str()?.to_owned());
    let plain = match extension(path).as_deref() {
        Some("gz" | "xz" | "zst") => path.with_extension(""),
        _ => path.to_owned(),
    };
    let is_bench_fio = |text: String| text.lines().any(|line| line.trim() == "[benchfio]");
    match extension(&plain).as_deref() {
        _ if !path.is_file() => "check",
        Some("fio") => "run",
        Some("toml") => "sweep",
        Some("ini") if read(path).is_ok_and(is_bench_fio) => "sweep",
        Some("json" | "html" | "iotrace") => "show",
        _ if read(path).is_ok_and(has_section) => "run",
        _ => "check",
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn each_visible_command_is_in_one_group() {
        let mut command = crate::arguments::Arguments::command();
        command.build();
        let mut visible: Vec<&str> = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let mut listed: Vec<&str> =
            super::GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible);
        let help = super::grouped(crate::arguments::Arguments::command()).render_help().to_string();
        assert!(listed.iter().all(|name| help.contains(&format!("\n  {name} "))), "{help}");
        assert!(help.contains("\nMeasure:\n") && help.contains("--store"), "{help}");
    }
}
