//! Lists what needs attention: the problem, and what to do.

use iodyno_judge::explains;
use iodyno_model::{
    Assessment, Finding, Metric, RunRecord, Severity, SkipReason, Skipped, Verdict, distinct,
    format_ratio,
};

use super::Style;
use super::drives::short_name;
use super::findings::{headline, severity_label};
use super::glance_table::expectation;
use super::ink::Ink;
use super::measurements::step_name;
use super::words::{Hanging, clean, listed};

/// Warnings and skipped targets shown; the rest is counted.
const SHOWN: usize = 5;

/// Column at which the text starts.
const INDENT: usize = 6;

/// Finding of one rule, on one or more drives.
pub(crate) struct Entry<'a> {
    pub(crate) severity: Severity,
    pub(super) rule: &'a str,
    /// The problem, naming all drives concerned.
    pub(crate) what: String,
    pub(crate) next: &'a str,
    /// Effects of this problem, which go away with it.
    follows: Vec<String>,
}

/// Rules that find a drive slower than expected.
const SPEED: [&str; 3] = ["below-claim", "unlike-peers", "unlike-baseline"];

/// Returns failures and warnings, one per cause, worst first. Slowness by several metrics is one
/// entry; effects of another finding are listed under that finding.
pub(crate) fn entries<'a>(record: &RunRecord, assessment: &'a Assessment) -> Vec<Entry<'a>> {
    let entry = |(group, own): Group<'a>| {
        let first = group[0];
        let slow = |of: &Finding| {
            let target = of.subjects.first().filter(|_| SPEED.contains(&of.rule.as_str()));
            target.and_then(|target| slowness(record, assessment, target))
        };
        let follows = distinct(own.iter().map(|one| {
            let text = slow(one).unwrap_or_else(|| headline(one));
            text.trim_end_matches('.').to_owned()
        }));
        Entry {
            severity: own.iter().map(|one| one.severity).fold(first.severity, Severity::max),
            rule: &first.rule,
            what: slow(first).unwrap_or_else(|| merged_headline(&group)),
            next: &first.next,
            follows,
        }
    };
    let mut entries: Vec<Entry<'_>> =
        grouped(&assessment.findings).into_iter().map(entry).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.severity));
    entries
}

/// Findings with one cause, and the findings that follow from it.
type Group<'a> = (Vec<&'a Finding>, Vec<&'a Finding>);

/// Groups failures and warnings by cause, in order of first appearance.
fn grouped(findings: &[Finding]) -> Vec<Group<'_>> {
    let serious: Vec<&Finding> =
        findings.iter().filter(|one| one.severity >= Severity::Warn).collect();
    let is_effect =
        |of: &&&Finding| serious.iter().any(|one| one.cause.is_none() && explains(one, of));
    let (effects, causes): (Vec<&Finding>, Vec<&Finding>) = serious.iter().partition(is_effect);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in causes {
        let is_speed = |one: &Finding| SPEED.contains(&one.rule.as_str());
        let alike = |(group, _): &&mut Group<'_>| match is_speed(finding) {
            true => is_speed(group[0]) && group[0].subjects.first() == finding.subjects.first(),
            false => group[0].rule == finding.rule && group[0].severity == finding.severity,
        };
        match groups.iter_mut().find(alike) {
            Some((group, _)) => group.push(finding),
            None => groups.push((vec![finding], Vec::new())),
        }
    }
    // An effect is listed under one cause only.
    for effect in effects {
        let is_of = |(group, _): &&mut Group<'_>| group.iter().any(|one| explains(one, effect));
        if let Some((_, own)) = groups.iter_mut().find(is_of) {
            own.push(effect);
        }
    }
    groups
}

/// `nvme3n1 reaches 25 % of the claim (sequential read, random read); latency 364 % of the twins'
/// median`: all judged shortfalls of the measurements on this target alone.
fn slowness(record: &RunRecord, assessment: &Assessment, target: &str) -> Option<String> {
    let (mut rates, mut latencies): (Vec<(String, Vec<String>)>, Vec<String>) = Default::default();
    for (at, of) in record.measurements.iter().enumerate() {
        if !matches!(of.targets.as_slice(), [only] if short_name(only) == short_name(target)) {
            continue;
        }
        let metrics = assessment.of(at).map_or(&[][..], |judged| &judged.metrics);
        for metric in metrics.iter().filter(|metric| metric.verdict >= Verdict::Warn) {
            let (expected, of_what) = expectation(metric)?;
            let of_what = format!("the {}", of_what.name());
            let share = format_ratio(metric.estimate.value / expected, &of_what);
            if metric.metric == Metric::LatencyMean {
                latencies.push(format!("latency {share}"));
                continue;
            }
            let name = step_name(record.run.kind, &of.name);
            match rates.iter_mut().find(|(known, _)| *known == share) {
                Some((_, names)) => names.push(name),
                None => rates.push((share, vec![name])),
            }
        }
    }
    let mut parts: Vec<String> =
        rates.iter().map(|(share, names)| format!("{share} ({})", names.join(", "))).collect();
    let verb = if parts.is_empty() { "has" } else { "reaches" };
    parts.extend(latencies);
    let target = clean(short_name(target));
    (!parts.is_empty()).then(|| format!("{target} {verb} {}", clean(&parts.join("; "))))
}

/// Returns the first headline with the names of all subjects: substituted where the other headlines
/// differ in the name only, else appended.
fn merged_headline(group: &[&Finding]) -> String {
    let first = headline(group[0]);
    let own = |finding: &Finding| -> Vec<String> {
        let sentence = headline(finding);
        let names = finding.subjects.iter().map(|name| clean(name));
        names.filter(|name| split_at_word(&sentence, name).is_some()).collect()
    };
    let (names, rest) = (own(group[0]), &group[1..]);
    let others: Vec<String> = rest.iter().flat_map(|finding| own(finding)).collect();
    let others: Vec<String> = others.into_iter().filter(|name| !names.contains(name)).collect();
    if others.is_empty() {
        return first;
    }
    let pattern = |finding: &Finding| match own(finding).as_slice() {
        [name] => Some(replaced(&headline(finding), name, "\0")),
        _ => None,
    };
    let of_first = pattern(group[0]);
    match of_first.filter(|known| rest.iter().all(|one| pattern(one).as_ref() == Some(known))) {
        Some(same) => same.replace('\0', &listed(&[names, others].concat())),
        None => format!("{} (likewise {})", first.trim_end_matches('.'), listed(&others)),
    }
}

/// Splits `text` around the first `word` that is not part of a longer word.
fn split_at_word<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(word).filter(|_| !word.is_empty()).find_map(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + word.len()..]);
        let is_word = is_end(before.chars().next_back()) && is_end(behind.chars().next());
        is_word.then_some((before, behind))
    })
}

fn replaced(text: &str, word: &str, with: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = split_at_word(rest, word) {
        out.push_str(before);
        out.push_str(with);
        rest = behind;
    }
    out + rest
}

/// Failures, failed measurements, warnings and skipped targets; the first few of each.
pub(super) fn attention_text(record: &RunRecord, entries: &[Entry<'_>], style: &Style) -> String {
    let mut out = String::new();
    let (failures, warnings): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| entry.severity == Severity::Fail);
    let mut failures_are_listed = false;
    for entry in &failures {
        out.push_str(&problem(Ink::Bad, severity_label(entry.severity), entry, style));
        if entry.rule == "measurement-failed" {
            failures_are_listed = true;
            let reasons = record.failures().filter_map(|(_, of)| Some((of, of.failure()?)));
            for (of, how) in reasons.take(SHOWN) {
                let why = format!("{}: {}", clean(&of.name), clean(how));
                out.push_str(&whole("", Ink::Plain, &why, style));
            }
        }
    }
    for (_, of) in record.failures().filter(|_| !failures_are_listed) {
        if let Some(how) = of.failure() {
            let what = format!("{} of {}: {}", clean(&of.name), named(&of.targets), clean(how));
            out.push_str(&whole("FAIL", Ink::Bad, &what, style));
        }
    }
    for entry in warnings.iter().take(SHOWN) {
        out.push_str(&problem(Ink::Doubt, severity_label(entry.severity), entry, style));
    }
    if let Some(more) = warnings.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        out.push_str(&whole("", Ink::Dim, &format!("and {more} more (-v)"), style));
    }
    out.push_str(&skipped(&record.run.skipped, style));
    out
}

fn named(targets: &[String]) -> String {
    listed(&targets.iter().map(|target| clean(target)).collect::<Vec<_>>())
}

/// Above this many reasons only the first is told.
const MOST_REASONS: usize = 3;

/// Skipped targets: those with one reason in one line, and a command once for all of them.
fn skipped(skipped: &[Skipped], style: &Style) -> String {
    let is_same = |one: &Skipped, other: &Skipped| match (&one.why, &other.why) {
        // Of many the first says how busy it is.
        (SkipReason::Busy { .. }, SkipReason::Busy { .. }) => skipped.len() > 2,
        (why, of_other) => why == of_other,
    };
    let mut groups: Vec<Vec<&Skipped>> = Vec::new();
    for one in skipped {
        match groups.iter_mut().find(|group| is_same(group[0], one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    if groups.len() > MOST_REASONS {
        groups = vec![skipped.iter().collect()];
    }
    let mut out = String::new();
    for (n, group) in groups.iter().enumerate() {
        let name = |one: &&Skipped| match &one.step {
            Some(step) => format!("{} of {}", clean(step), clean(&one.target)),
            None => clean(&one.target),
        };
        let names = listed(&group.iter().map(name).collect::<Vec<_>>());
        let why = clean(&group[0].why.to_string());
        let what = match group[0].why {
            // Its other points were.
            SkipReason::NotPermitted { .. } => format!("{names}: {why}"),
            _ => format!("{names} not measured: {why}"),
        };
        out.push_str(&whole("SKIP", Ink::Open, &what, style));
        let next = &group[0].next;
        if !next.is_empty() && groups[n + 1..].iter().all(|later| later[0].next != *next) {
            out.push_str(&whole("", Ink::Plain, &format!("-> {next}"), style));
        }
    }
    out
}

fn problem(ink: Ink, label: &str, entry: &Entry<'_>, style: &Style) -> String {
    let mut out = whole(label, ink, &entry.what, style);
    if !entry.follows.is_empty() {
        let text = format!("therefore: {}", entry.follows.join("; "));
        out.push_str(&whole("", Ink::Plain, &text, style));
    }
    if !entry.next.is_empty() {
        out.push_str(&whole("", Ink::Plain, &format!("-> {}", entry.next), style));
    }
    out
}

/// Returns all of `text` after its label, wrapped.
pub(super) fn whole(label: &str, ink: Ink, text: &str, style: &Style) -> String {
    let of_text = if label.is_empty() { ink } else { Ink::Plain };
    let hanging = Hanging { ink: of_text, ..Hanging::after(label, ink, INDENT, style) };
    hanging.lines(&[clean(text).trim_end_matches('.').to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, subject: &str, what: &str) -> Finding {
        Finding {
            rule: rule.into(),
            severity: Severity::Warn,
            subjects: vec![subject.into()],
            what: what.into(),
            evidence: Vec::new(),
            why: String::new(),
            next: String::new(),
            cause: None,
        }
    }

    #[test]
    fn alike_findings_are_one_with_all_names() {
        let plain = |name: &str| finding("hot", name, &format!("{name} is hot."));
        let all: Vec<Finding> = ["a", "b", "c", "d", "e"].map(plain).into();
        let all: Vec<&Finding> = all.iter().collect();
        assert_eq!(merged_headline(&all[..2]), "a, b is hot.");
        // A name that is part of a longer one is not a match.
        let ports = |name: &str| finding("hot", name, &format!("{name} is hot, {name}n1 is not."));
        let sentence = merged_headline(&[&ports("nvme1"), &ports("nvme10")]);
        assert_eq!(sentence, "nvme1 is hot, nvme1n1 is not (likewise nvme10)");
        assert_eq!(merged_headline(&all), "a, b, c and 2 more is hot.");
        let other = finding("hot", "f", "f is at 99 °C.");
        assert_eq!(merged_headline(&[all[0], &other]), "a is hot (likewise f)");
    }

    #[test]
    fn an_effect_is_listed_under_the_cause_on_its_drive() {
        let link = |subject: &str, severity| Finding {
            severity,
            ..finding("link-degraded", subject, &format!("The link of {subject} is degraded."))
        };
        let slow = |subject: &str| Finding {
            cause: Some("link-degraded".into()),
            ..finding("below-claim", subject, &format!("{subject} is slow."))
        };
        let shared = Finding { subjects: Vec::new(), what: "All are slow.".into(), ..slow("") };
        let findings = vec![
            link("nvme0", Severity::Warn),
            slow("nvme1n1"),
            link("nvme1", Severity::Fail),
            slow("nvme0n1"),
            slow("nvme2n1"),
            shared,
        ];
        let found: Vec<String> = grouped(&findings)
            .into_iter()
            .map(|(group, own)| {
                let follows: Vec<String> = own.into_iter().map(headline).collect();
                format!("{} -> {}", merged_headline(&group), follows.join(" "))
            })
            .collect();
        let expected = [
            "The link of nvme0 is degraded. -> nvme0n1 is slow. All are slow.",
            "The link of nvme1 is degraded. -> nvme1n1 is slow.",
            "nvme2n1 is slow. -> ",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_several_targets_share_is_said_once() {
        let style = Style { width: 80, color: false, wide: false, columns: None };
        let one = |target: &str, why: SkipReason| Skipped {
            target: target.into(),
            step: None,
            why,
            next: "iodyno resume g1 --allow-write a --allow-write b --allow-write c".into(),
        };
        let points = |points| SkipReason::NotPermitted { points };
        let text =
            skipped(&[one("a", points(2)), one("b", points(2)), one("c", points(1))], &style);
        let expected = "SKIP  a, b: 2 points that write, which was not permitted\n\
                        SKIP  c: 1 point that writes, which was not permitted\n      \
                        -> iodyno resume g1 --allow-write a --allow-write b --allow-write c\n";
        assert_eq!(text, expected);
        // Each reason is told.
        let text =
            skipped(&[one("a", "x".into()), one("b", "y".into()), one("c", "x".into())], &style);
        assert!(
            text.starts_with("SKIP  a, c not measured: x\nSKIP  b not measured: y\n"),
            "{text}"
        );
    }

    #[test]
    fn neither_a_problem_nor_a_command_is_cut() {
        let style = Style { width: 80, color: false, wide: false, columns: None };
        let next = "See how many slots it has and which firmware each of them holds: sudo nvme fw-log /dev/nvme0";
        let what = "nvme0 reaches 2.9 % of the baseline (sequential read); 2.1 % (random read); \
                    latency 110x the baseline";
        let what = what.into();
        let entry = Entry { severity: Severity::Warn, rule: "x", what, next, follows: Vec::new() };
        let shown = problem(Ink::Doubt, "WARN", &entry, &style);
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("110x the baseline -> See") && flat.ends_with("/dev/nvme0"),
            "{shown}"
        );
    }
}
