//! `iodyno fit`: will this application run well here, and with which settings?

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{Options, Work, profile, profile_names, profile_script};
use iodyno_files::NamedBy;
use iodyno_model::{Profile, ProfileTarget, RunRecord};
use iodyno_native::NativeGenerator;
use iodyno_report::text::settings_text;

use crate::arguments::Fit;
use crate::commands::setup::Setup;
use crate::commands::show::{Judging, Shape, judge_and_print};
use crate::context::{Context, Usage, read, refuse_unwritable};
use crate::progress::Display;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Fit) -> Result<u8> {
    if arguments.list {
        terminal::print(&list())?;
        return Ok(0);
    }
    let name = arguments.profile.as_deref().unwrap_or_default();
    let (profile, text) = named(name)?;
    if arguments.explain {
        terminal::print(&explained(&profile))?;
        return Ok(0);
    }
    if context.is_captured() {
        return Err(Usage("a captured machine cannot be measured".into()).into());
    }
    let target = target(&profile, arguments.target.as_deref().unwrap_or_default())?;
    if let Some(path) = &arguments.write {
        refuse_unwritable(path)?;
    }
    let script = profile_script(&profile, &target)?;
    let mut setup = Setup::new(context, &arguments.sheets.datasheet)?
        .streaming(context, &arguments.streaming)?;
    let run_name = arguments.naming.run_name.as_deref().unwrap_or_default();
    let options = Options::of_jobs(run_name, arguments.allowing.permission());
    let work = Work::of_profile(profile.clone(), script, text);
    let mut display = Display::new(context, None);
    let mut generator = NativeGenerator::new();
    let outcome = setup.carry_out(&work, &[], &options, &mut generator, &mut display);
    display.finish();
    let record = outcome?;
    let judging = Judging {
        claims: &setup.claims,
        baseline: None,
        expect: None,
        require_verdict: arguments.require_verdict,
        run: "last",
        table: &arguments.table,
        shape: Shape::Glance,
    };
    let status = judge_and_print(context, &mut setup.store, &record, &judging)?;
    if let Some(path) = &arguments.write {
        write(path, &profile, &record)?;
    }
    Ok(status)
}

/// The profile of this name or in this file, with its text.
fn named(name: &str) -> Result<(Profile, String)> {
    if let Some((profile, text)) = profile(name) {
        return Ok((profile, text.to_owned()));
    }
    let path = Path::new(name);
    if !path.exists() {
        let next = match iodyno_job::nearest_of(name, profile_names()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "iodyno fit --list shows the profiles".into(),
        };
        return Err(Usage(format!("{name} is neither a profile nor a file; {next}")).into());
    }
    let text = read(path)?;
    let profile = Profile::parse(&text).map_err(|error| Usage(format!("{name}: {error}")))?;
    Ok((profile, text))
}

/// The target as its jobs name it.
///
/// # Errors
/// It is not of the profile's kind.
fn target(profile: &Profile, word: &str) -> Result<String> {
    let path = match (word.contains('/') || Path::new(word).exists(), profile.on) {
        (false, ProfileTarget::Device) => format!("/dev/{word}"),
        _ => word.to_owned(),
    };
    let is_directory = Path::new(&path).is_dir();
    let name = &profile.name;
    let wrong = match profile.on {
        ProfileTarget::Directory if !is_directory => {
            Some(format!("{word}: {name} is measured in a directory, the one that it will use"))
        }
        ProfileTarget::Device if is_directory => {
            Some(format!("{word}: {name} is measured on a whole device: iodyno list names them"))
        }
        _ => None,
    };
    match wrong {
        Some(what) => Err(Usage(what).into()),
        None => Ok(path),
    }
}

fn list() -> String {
    let mut text = String::new();
    for (profile, _) in profile_names().filter_map(profile) {
        let _ = writeln!(text, "{:15}  {}", profile.name, profile.about);
    }
    text
}

/// What a profile measures and holds it against.
fn explained(profile: &Profile) -> String {
    let Profile { name, about, rounds, .. } = profile;
    let mut text = format!("{name}: {about}\n\nBounds:\n");
    for quantity in &profile.quantities {
        let _ = writeln!(text, "  {} ({})", quantity.name, quantity.of);
        for bound in &quantity.bounds {
            let level = match bound.level.as_str() {
                "" => String::new(),
                level => format!(" for {level}"),
            };
            let _ = writeln!(text, "    {}{level}: {} ({})", bound.limit, bound.source, bound.date);
        }
        if quantity.bounds.is_empty() {
            text.push_str("    no bound is published\n");
        }
    }
    for note in &profile.notes {
        let _ = writeln!(text, "\n{note}");
    }
    let _ = write!(text, "\nJobs, {rounds} times one after the other:\n\n{}", profile.jobs);
    text
}

/// Writes the settings.
fn write(path: &Path, profile: &Profile, record: &RunRecord) -> Result<()> {
    let text = settings_text(profile, record)
        .map_err(|missing| Usage(format!("{}: not written, since {missing}", path.display())))?;
    iodyno_files::write(path, NamedBy::User, text.as_bytes())?;
    Ok(())
}
