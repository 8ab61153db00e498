//! Derives application settings from its measured I/O.

use std::collections::BTreeSet;

use iodyno_model::{
    BlockDevice, Drive, Estimate, FigureKind, FigureOf, NotKnown, Profile, ProfileSetting,
    RunRecord, Scaled, Smallest, filled, placeholders,
};

use super::{figure, value};

/// A setting with its placeholders filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingText {
    /// Lines as the application reads them.
    pub text: String,
    /// Reason for the values.
    pub why: String,
}

/// Returns all settings of a profile as a file for its application; settings that are applied in
/// another way than the first one are comments.
///
/// # Errors
/// The first placeholder of that file whose value is not known.
pub fn setting_texts(
    profile: &Profile,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool + Copy,
) -> Result<String, NotKnown> {
    let mut file = String::new();
    for one in &profile.settings {
        let text = setting_text(profile, one, record, is_valid).map(|found| found.text);
        if one.apply == profile.settings[0].apply {
            file += &(text? + "\n");
        } else {
            let text = text.unwrap_or_else(|missing| missing.to_string());
            let comment = format!("{}:\n{text}", one.apply);
            file.extend(comment.lines().map(|line| format!("# {line}\n")));
        }
    }
    Ok(file)
}

/// Fills in the placeholders of a setting.
///
/// # Errors
/// The first placeholder whose value is not known.
pub fn setting_text(
    profile: &Profile,
    setting: &ProfileSetting,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool + Copy,
) -> Result<SettingText, NotKnown> {
    let known = |of: &FigureOf| figure(record, of, is_valid);
    let of = |name: &str| match name {
        "target" => Some(profile.place(&record.run.targets)),
        "device" => block(record).map(|one| format!("{}:{}", one.major, one.minor)),
        "disk" => block(record).map(|one| one.name.clone()),
        "model" => drive(record)?.model.value(),
        "firmware" => drive(record)?.firmware.value(),
        "smallest" => smallest(setting.smallest.as_ref()?, known),
        "sums" => {
            let sums: Vec<Estimate> = sums(setting, known)?;
            let texts = sums.iter().map(|sum| format!("{:.2}", sum.value));
            Some(texts.collect::<Vec<_>>().join(", "))
        }
        "exceed" => Some(sums(setting, known)?.iter().all(|sum| sum.low() > 1.0).to_string()),
        text => whole(text, |of| Some(known(of)?.value)),
    };
    Ok(SettingText { text: filled(&setting.text, of)?, why: filled(&setting.why, of)? })
}

/// Returns the jobs of a profile, with text in braces replaced by figures measured so far; an
/// unknown figure is 1, as all are before the first round.
pub fn fill_in_jobs(profile: &Profile, record: Option<&RunRecord>) -> String {
    let known = |text: &str| whole(text, |of| so_far(record?, of)).unwrap_or_else(|| "1".into());
    let all: BTreeSet<&str> = placeholders(&profile.jobs).collect();
    all.into_iter()
        .fold(profile.jobs.clone(), |jobs, text| jobs.replace(&format!("{{{text}}}"), &known(text)))
}

/// Mean of a figure over the rounds so far.
fn so_far(record: &RunRecord, of: &FigureOf) -> Option<f64> {
    let rounds = record.measurements.iter().filter(|one| one.name == of.job);
    let values: Vec<f64> = rounds.filter_map(|one| value(one, of.io, of.figure)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Product of a figure and its factor, rounded down: bytes per second, I/Os per second or us.
fn whole(text: &str, value: impl Fn(&FigureOf) -> Option<f64>) -> Option<String> {
    let scaled: Scaled = text.parse().ok()?;
    let per_unit = match scaled.of.figure {
        FigureKind::Iops | FigureKind::Bandwidth => 1.0,
        FigureKind::Mean | FigureKind::Percentile(_) => 1e3,
    };
    let value = scaled.apply(value(&scaled.of)? / per_unit);
    value.is_finite().then(|| format!("{:.0}", value.floor()))
}

fn smallest(asked: &Smallest, known: impl Fn(&FigureOf) -> Option<Estimate>) -> Option<String> {
    let figures: Vec<(&str, f64)> = asked
        .of
        .iter()
        .map(|(name, of)| Some((name.as_str(), known(of)?.value)))
        .collect::<Option<_>>()?;
    let most = figures.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let first = figures.iter().find(|(_, value)| *value >= asked.share * most)?;
    Some(first.0.to_owned())
}

/// Sums of quotients. The ends of their intervals are the sums of the quotients' ends, which is
/// wide for independent errors.
fn sums(
    setting: &ProfileSetting,
    known: impl Fn(&FigureOf) -> Option<Estimate>,
) -> Option<Vec<Estimate>> {
    let quotient = |(of, over): &(FigureOf, FigureOf)| {
        let (of, over) = (known(of)?, known(over)?);
        (over.value > 0.0).then(|| {
            let (low, high) =
                (of.low() / over.high(), of.high() / over.low().max(f64::MIN_POSITIVE));
            Estimate::confident(of.value / over.value, low, high, super::LEVEL)
        })
    };
    let sum = |all: &Vec<(FigureOf, FigureOf)>| {
        let each: Option<Vec<Estimate>> = all.iter().map(quotient).collect();
        each?.into_iter().reduce(Estimate::plus)
    };
    setting.sums.iter().map(sum).collect()
}

/// The measured device, or that of the directory.
fn block(record: &RunRecord) -> Option<&BlockDevice> {
    record.host()?.block(device(record)?)
}

fn device(record: &RunRecord) -> Option<&str> {
    let of_files = record.measurements.iter().find_map(|one| one.conditions.device.as_deref());
    let target = record.run.targets.first()?;
    Some(of_files.unwrap_or_else(|| target.strip_prefix("/dev/").unwrap_or(target)))
}

fn drive(record: &RunRecord) -> Option<&Drive> {
    Some(record.host()?.namespace(device(record)?)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn lines_that_another_program_reads_are_comments() {
        let profile = Profile::parse(
            r#"
            format = "iodyno.profile/1"
            name = "x"
            about = "x"
            on = "device"
            jobs = "[a]"
            quantity = []

            [[setting]]
            text = "depth = 1"
            apply = "x.conf"
            why = ""

            [[setting]]
            text = "blockdev --setra 1 /dev/{disk}"
            apply = "as root"
            why = ""

            [[setting]]
            text = "width = 2"
            apply = "x.conf"
            why = ""
            "#,
        );
        let profile = profile.unwrap();
        let mut record = Bench::new(1).record();
        let disk = record.host().unwrap().blocks[0].name.clone();
        for (target, comment) in [
            (disk.as_str(), format!("blockdev --setra 1 /dev/{disk}")),
            ("nowhere", "disk is not known".into()),
        ] {
            record.run.targets = vec![target.into()];
            let file = setting_texts(&profile, &record, |_| true);
            assert_eq!(file, Ok(format!("depth = 1\n# as root:\n# {comment}\nwidth = 2\n")));
        }
    }
}
