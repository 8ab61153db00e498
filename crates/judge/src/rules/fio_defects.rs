//! Qualifies figures affected by known defects of fio.

use iodyno_model::{Direction, Estimate, LatencyKind, Measurement, Spread};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::{is_fio, option, writes};
use crate::rule_context::RuleContext;

/// Asynchronous engines: they submit I/O and reap it later.
const ASYNCHRONOUS: [&str; 3] = ["libaio", "io_uring", "io_uring_cmd"];
/// Relative rounding range from which a printed figure is doubted: more than that of fio's three
/// significant digits.
const VAGUE: f64 = 0.02;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "fio-defects",
    summary: "figures with known defects in fio or this version of it",
    affected_by,
    what: "known defects of fio affect some figures",
    why: "Defects of the benchmark look like properties of the drive.",
    next: "Repeat without these options, or with another version; iodyno runs the same job \
           file.",
});

type Defect = fn(&Measurement) -> Result<bool, String>;

/// Each with its place in fio's issues or sources.
const DEFECTS: [(Defect, &str); 7] = [
    (lost_carry, "fio 2.20 to 3.25 lose a carry where they round: 11.98 is printed as 11.0"),
    (
        poisson,
        "rate_process=poisson may double the rate, and counts latencies from the wrong moment \
         (issues 333 and 1394)",
    ),
    (
        paced,
        "with a rate, latencies count from when fio came to an I/O and not from when it was due: \
         what waited behind a slow one is not in them (coordinated omission)",
    ),
    (
        trimmed,
        "latencies of trims with an asynchronous engine are those of handing them over (issue 764)",
    ),
    (verified, "verify reads back written data, and the figures include those reads (issue 1492)"),
    (
        false_alarms,
        "verify may find errors where there are none, since blocks were written over each other: \
         norandommap, blocks of several sizes, several jobs (issues 303, 334 and 1092)",
    ),
    (
        without_submission,
        "clat begins behind the system call that submits: at depth 1 much of an I/O has passed by \
         then",
    ),
];

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    if !is_fio(of) {
        return Ok(None);
    }
    let mut found = Vec::new();
    let mut missing = None;
    for (is_so, what) in DEFECTS {
        match is_so(of) {
            Ok(true) => found.push(what),
            Ok(false) => {}
            Err(why) => missing = Some(why),
        }
    }
    match missing {
        Some(why) if found.is_empty() => Err(why),
        _ => Ok((!found.is_empty()).then(|| found.join("; "))),
    }
}

/// Major and minor version of `fio 3.36` and `fio 2.0.8`.
fn version(of: &Measurement) -> Option<(u32, u32)> {
    let mut numbers = of.source.strip_prefix("fio ")?.split(['.', '-', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn lost_carry(of: &Measurement) -> Result<bool, String> {
    let vague = |estimate: &Estimate| match estimate.spread {
        Spread::Rounding { low, high } => high - low > VAGUE * estimate.value.abs(),
        _ => false,
    };
    let printed = of.total.iter().flat_map(|one| [one.iops, one.bandwidth]).flatten();
    // Exactly printed figures are not affected, whatever the version.
    if !printed.into_iter().any(|estimate| vague(&estimate)) {
        return Ok(false);
    }
    let version = version(of).ok_or("the version of fio is not known")?;
    Ok(((2, 20)..=(3, 25)).contains(&version))
}

fn poisson(of: &Measurement) -> Result<bool, String> {
    Ok(option(of, "rate_process")? == Some("poisson"))
}

/// fio issues late I/Os as soon as it can (`rate_ddir`), and starts their latency then.
fn paced(of: &Measurement) -> Result<bool, String> {
    let mut paced = false;
    for name in ["rate", "rate_iops"] {
        let rates = option(of, name)?.unwrap_or_default();
        paced |= rates.split(',').any(|rate| !["", "0"].contains(&rate));
    }
    let timed = of.total.iter().any(|result| result.mean_latency().is_some());
    Ok(paced && timed && !poisson(of)?)
}

fn trimmed(of: &Measurement) -> Result<bool, String> {
    let trims = of.result(Direction::Trim).and_then(|result| result.mean_latency()).is_some();
    Ok(trims && is_asynchronous(of)?)
}

fn verified(of: &Measurement) -> Result<bool, String> {
    let verify = option(of, "verify")?;
    Ok(writes(of) && verify.is_some_and(|method| !["", "0", "none"].contains(&method)))
}

/// True if it verified, I/Os failed, and its writes may have overlapped.
fn false_alarms(of: &Measurement) -> Result<bool, String> {
    let failed = of.total.iter().any(|result| result.errors > Some(0));
    if !failed || !verified(of)? {
        return Ok(false);
    }
    let mut overlap = of.workload.numjobs > Some(1) && option(of, "offset_increment")?.is_none();
    for name in ["norandommap", "bsrange", "bssplit"] {
        overlap |= option(of, name)?.is_some_and(|value| value != "0");
    }
    Ok(overlap)
}

fn without_submission(of: &Measurement) -> Result<bool, String> {
    let completion_alone = |one: &iodyno_model::DirectionResult| {
        one.mean_latency().is_some_and(|(kind, _)| kind == LatencyKind::Completion)
    };
    let alone = of.workload.iodepth == Some(1) && of.total.iter().any(completion_alone);
    Ok(alone && is_asynchronous(of)?)
}

fn is_asynchronous(of: &Measurement) -> Result<bool, String> {
    let engine = of.workload.ioengine.as_deref().ok_or("its I/O engine is not known")?;
    Ok(ASYNCHRONOUS.contains(&engine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::{RunRecord, Severity};

    fn by_fio(version: &str, change: impl Fn(&mut Measurement)) -> RunRecord {
        let bench = each(Bench::new(1).measured(), |of| {
            of.source = format!("fio {version}").trim().into();
            of.workload.options.insert("runtime".into(), "10".into());
            change(of);
        });
        bench.record()
    }

    fn said(record: &RunRecord) -> String {
        check_rule(&RULE, record).only(Severity::Info);
        reserves(&RULE, record, 2).unwrap().why
    }

    #[test]
    fn versions_and_options_with_known_defects_are_reported() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &by_fio("3.36", |_| ())), Outcome::Clear);
        let put = |name: &'static str, value: &'static str| {
            move |of: &mut Measurement| {
                of.workload.rw = Some("randwrite".into());
                of.workload.options.insert(name.into(), value.into());
            }
        };
        assert!(said(&by_fio("3.36", put("rate_process", "poisson"))).contains("issues 333"));
        for name in ["rate_iops", "rate"] {
            let linear = said(&by_fio("3.36", put(name, "1000,500")));
            assert!(linear.contains("coordinated omission"), "{linear}");
        }
        assert_eq!(check_rule(&RULE, &by_fio("3.36", put("rate_iops", "0"))), Outcome::Clear);
        assert!(said(&by_fio("3.36", put("verify", "crc32c"))).contains("issue 1492"));
        assert_eq!(check_rule(&RULE, &by_fio("3.36", put("verify", "0"))), Outcome::Clear);
        let alarm = |option: Option<&'static str>| {
            by_fio("3.36", move |of| {
                put("verify", "crc32c")(of);
                of.total[0].errors = Some(3);
                of.workload.numjobs = Some(1);
                let option = option.map(|name| (name.to_owned(), "1".to_owned()));
                of.workload.options.extend(option);
            })
        };
        assert!(said(&alarm(Some("norandommap"))).contains("written over each other"));
        assert!(!said(&alarm(None)).contains("written over each other"));
        let trims = by_fio("3.36", |of| of.total[0].direction = Direction::Trim);
        assert!(said(&trims).contains("issue 764"));
        // Its options are not known.
        let silent = by_fio("3.36", |of| {
            of.workload.options.clear();
            of.workload.direct = None;
        });
        assert_eq!(check_rule(&RULE, &silent), Outcome::CannotTell);
    }

    #[test]
    fn a_figure_without_its_carry_is_doubted() {
        let rounded = |version: &str, high: f64| {
            by_fio(version, |of| {
                let spread = Spread::Rounding { low: 12_000.0, high };
                of.total[0].iops = Some(Estimate { value: 12_500.0, spread });
            })
        };
        assert!(said(&rounded("3.16", 13_000.0)).contains("lose a carry"));
        assert_eq!(check_rule(&RULE, &rounded("3.16", 12_010.0)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &rounded("3.26", 13_000.0)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &rounded("", 13_000.0)), Outcome::CannotTell);
    }

    #[test]
    fn a_completion_alone_is_no_latency_at_depth_1() {
        let completion = |depth: u32| {
            by_fio("3.36", |of| {
                of.workload.iodepth = Some(depth);
                let mut stated = iodyno_model::StatedLatencies::default();
                stated.completion.mean_ns = of.total[0].latency_mean.take();
                of.total[0].stated = Some(Box::new(stated));
            })
        };
        assert!(said(&completion(1)).contains("clat begins"));
        assert_eq!(check_rule(&RULE, &completion(32)), Outcome::Clear);
    }
}
