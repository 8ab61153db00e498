//! Derives application settings from its measured I/O.

use std::collections::BTreeSet;
use std::fmt;

use iodyno_model::{
    BlockDevice, Drive, Estimate, FigureKind, FigureOf, NotKnown, Profile, ProfileSetting,
    RunRecord, Scaled, Smallest, filled, json_word, placeholders,
};

use super::{estimate_words, figure, value};

/// Beginning of every file of settings: a comment in all their formats. Only such a file is replaced.
pub const SETTINGS_HEAD: &str = "# written by iodyno fit ";

/// Half-width of an interval, as a share of its figure, from which a setting carries the doubt.
const WIDE: f64 = 0.3;

/// A setting with its placeholders filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingText {
    /// Lines as the application reads them.
    pub text: String,
    /// Reason for the values.
    pub why: String,
    /// Doubts about the values.
    pub doubts: Vec<Doubt>,
}

/// Doubt about a value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// The interval of its figure is wide.
    Wide {
        /// The figure.
        of: FigureOf,
        /// Its value, with the interval.
        estimate: Estimate,
    },
    /// The rule gives less than the application takes.
    Raised {
        /// The rule, as in the profile.
        rule: String,
        /// Its result.
        value: f64,
        /// The value taken in its place.
        least: f64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wide { of, estimate } => {
                write!(f, "{of} varied widely: {}.", estimate_words(of.figure, estimate))
            }
            Self::Raised { rule, value, least } => write!(
                f,
                "{rule} is {value:.0}, raised to {least:.0}, the least that the application takes: \
                 the disk is too slow for this rule."
            ),
        }
    }
}

/// Returns all settings of a profile as a file for its application, which begins with
/// [`SETTINGS_HEAD`]; settings that are applied in another way than the first one are comments.
///
/// # Errors
/// The first placeholder of that file whose value is not known.
pub fn setting_texts(
    profile: &Profile,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool + Copy,
) -> Result<String, NotKnown> {
    let mut file = format!("{SETTINGS_HEAD}{}\n", profile.name.escape_debug());
    for one in &profile.settings {
        let found = setting_text(profile, one, record, is_valid);
        let doubts = found.iter().flat_map(|found| &found.doubts);
        file.extend(doubts.map(|doubt| format!("# {doubt}\n")));
        let text = found.map(|found| found.text);
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
        "quoted target" => Some(json_word(&profile.place(&record.run.targets))),
        "device" => block(record).map(|one| format!("{}:{}", one.major, one.minor)),
        "disk" => block(record).map(|one| one.name.clone()),
        "media" => {
            let is_rotational = block(record)?.queue.rotational.value()?;
            Some(if is_rotational { "hdd" } else { "ssd" }.to_owned())
        }
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
    let (text, why) = (filled(&setting.text, of)?, filled(&setting.why, of)?);
    Ok(SettingText { text, why, doubts: doubts(setting, known) })
}

/// Doubts about the figures of a setting, each once.
fn doubts(setting: &ProfileSetting, known: impl Fn(&FigureOf) -> Option<Estimate>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for rule in placeholders(&setting.text) {
        let Ok(scaled) = rule.parse::<Scaled>() else { continue };
        let Some(estimate) = known(&scaled.of) else { continue };
        let is_wide =
            estimate.relative_half_width().is_some_and(|width| width.is_nan() || width > WIDE);
        let wide = is_wide.then(|| Doubt::Wide { of: scaled.of.clone(), estimate });
        let value = in_unit(&scaled, estimate.value);
        let raised = scaled.least.filter(|least| value < *least);
        let raised = raised.map(|least| Doubt::Raised {
            rule: rule.split(" >= ").next().unwrap_or(rule).to_owned(),
            value,
            least,
        });
        for doubt in wide.into_iter().chain(raised) {
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
    }
    doubts
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
    let value = in_unit(&scaled, value(&scaled.of)?).max(scaled.least.unwrap_or(0.0));
    value.is_finite().then(|| format!("{:.0}", value.floor()))
}

/// Bytes per second, I/Os per second or us.
fn in_unit(scaled: &Scaled, value: f64) -> f64 {
    let per_unit = match scaled.of.figure {
        FigureKind::Iops | FigureKind::Bandwidth => 1.0,
        FigureKind::Mean | FigureKind::Percentile(_) => 1e3,
    };
    scaled.apply(value / per_unit)
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
    use iodyno_model::{Direction, DirectionResult, Measurement};

    use super::*;
    use crate::testing::{Bench, known};

    fn example() -> Profile {
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
        profile.unwrap()
    }

    #[test]
    fn lines_that_another_program_reads_are_comments() {
        let profile = example();
        let mut record = Bench::new(1).record();
        let disk = record.host().unwrap().blocks[0].name.clone();
        for (target, comment) in [
            (disk.as_str(), format!("blockdev --setra 1 /dev/{disk}")),
            ("nowhere", "disk is not known".into()),
        ] {
            record.run.targets = vec![target.into()];
            let file = setting_texts(&profile, &record, |_| true);
            let expected = format!(
                "# written by iodyno fit x\ndepth = 1\n# as root:\n# {comment}\nwidth = 2\n"
            );
            assert_eq!(file, Ok(expected));
        }
    }

    /// Rounds of a job `flush` that writes at these rates on the first device, and its only setting.
    fn set(text: &str, is_rotational: bool, iops: &[f64]) -> SettingText {
        let bench = Bench::new(1);
        let bench = bench.host(|host| host.blocks[0].queue.rotational = known(is_rotational));
        let mut record = bench.record();
        for iops in iops {
            let mut of = Measurement::unknown("flush");
            of.total = vec![DirectionResult {
                iops: Some(Estimate::bare(*iops)),
                ..DirectionResult::unknown(Direction::Write)
            }];
            record.measurements.push(of);
        }
        let profile = Profile::parse(&format!(
            "format = \"iodyno.profile/1\"\nname = \"x\"\nabout = \"x\"\non = \"device\"\n\
             jobs = \"[flush]\"\nquantity = []\n[[setting]]\ntext = \"\"\"{text}\"\"\"\n\
             apply = \"x\"\nwhy = \"\"\n"
        ));
        let profile = profile.unwrap();
        setting_text(&profile, &profile.settings[0], &record, |_| true).unwrap()
    }

    #[test]
    fn a_setting_carries_the_doubt_about_its_figures() {
        let of = |iops: &[f64]| set("{flush write iops} {flush write iops / 2}", false, iops);
        assert_eq!(of(&[1000.0, 1010.0, 990.0]).doubts, []);
        let doubts = of(&[1000.0, 2000.0, 3000.0]).doubts;
        let [wide] = doubts.as_slice() else { panic!("one for both: {doubts:?}") };
        let said = wide.to_string();
        assert!(said.starts_with("flush write iops varied widely: 2000 "), "{said}");
    }

    #[test]
    fn a_setting_is_at_least_what_the_application_takes() {
        let of = |iops: f64| {
            set("{flush write iops * 0.25 >= 100}", false, &[iops, iops + 1.0, iops - 1.0])
        };
        assert_eq!((of(800.0).text.as_str(), of(800.0).doubts), ("200", vec![]));
        let slow = of(200.0);
        assert_eq!(slow.text, "100");
        assert_eq!(
            slow.doubts[0].to_string(),
            "flush write iops * 0.25 is 50, raised to 100, the least that the application takes: \
             the disk is too slow for this rule."
        );
    }

    #[test]
    fn settings_name_the_media_and_quote_the_target() {
        assert_eq!(set("iops_{media}", false, &[]).text, "iops_ssd");
        assert_eq!(set("iops_{media}", true, &[]).text, "iops_hdd");
        let mut record = Bench::new(1).record();
        record.run.targets = vec!["/srv/a #1: \"b\"/data".into()];
        let (mut profile, setting) = (example(), "mountpoint: {quoted target}");
        profile.on = iodyno_model::ProfileTarget::Directory;
        profile.settings[0].text = setting.into();
        let found = setting_text(&profile, &profile.settings[0], &record, |_| true).unwrap();
        assert_eq!(found.text, r#"mountpoint: "/srv/a #1: \"b\"""#);
    }
}
