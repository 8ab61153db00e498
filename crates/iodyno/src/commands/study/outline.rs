//! Describes in advance what a study will do.

use std::fmt::Write as _;

use anyhow::Result;
use iodyno_campaign::{MadeBy, Point, Study};
use iodyno_model::{HeadroomPlan, Rounds, format_duration_ns};

/// Number of points, maximum time, and points left out.
pub(crate) fn outline(study: &Study, points: &[Point], left_out: usize) -> Result<String> {
    let before = match (study.before.as_str(), &study.preparation) {
        ("", _) => String::new(),
        (before, None) => format!(
            "First, do this yourself: {before} (for drives --purge METHOD \
             does it)\n"
        ),
        (before, Some(_)) => format!("required first, done as far as shown below: {before}\n"),
    };
    if let Some(rounds) = &study.rounds {
        return Ok(rounds_outline(study, rounds, points) + &before);
    }
    if let Some(headroom) = study.headroom.filter(|_| !points.is_empty()) {
        return Ok(headroom_outline(study, headroom)? + &before);
    }
    let stop = study.stop()?;
    let timed = points.iter().filter(|point| point.until_known).count();
    if points.is_empty() {
        return Ok(before);
    }
    let plural = if points.len() == 1 { "" } else { "s" };
    let mut text = format!("{}: {} point{plural}", study.name, points.len());
    if timed > 0 {
        let most_ns = match study.is_of_steps() {
            true => study.steps_ns()? as f64,
            false => stop.max_ns as f64 * timed as f64,
        };
        let most = format_duration_ns(most_ns);
        let longest = format_duration_ns(stop.max_ns as f64);
        let _ = match study.generator {
            MadeBy::Native => write!(
                text,
                ", each until ± {} %, at most {longest}: measures for at most {most}",
                stop.precision * 100.0,
            ),
            MadeBy::Fio => write!(text, ", {most}: {longest} each, by fio"),
        };
    }
    text.push('\n');
    if study.scaling.is_some() {
        let drives = study.targets.len();
        let _ = writeln!(
            text,
            "each on 1, 2, ... {drives} targets at once, until one more adds nothing"
        );
    }
    let own = points.iter().filter(|point| !point.until_known).map(Point::runtime_ns);
    let (limited, unlimited): (Vec<_>, Vec<_>) = own.partition(Option::is_some);
    if !limited.is_empty() {
        let most = format_duration_ns(limited.iter().flatten().sum::<u64>() as f64);
        let _ = writeln!(text, "{} of them take their full time, at most {most}", limited.len());
    }
    if !unlimited.is_empty() {
        let _ = writeln!(text, "{} of them end when their work is done", unlimited.len());
    }
    let writes = points.iter().any(|point| point.until_known && point.writes());
    if study.is_of_steps() {
        text.push_str("on each target alone, or on all at once, as the steps say\n");
    } else if writes && !study.fresh && study.generator == MadeBy::Native {
        let rounds = stop.rounds();
        let round = format_duration_ns(rounds.round_seconds * 1e9);
        let steady = format!("steady over {} rounds of {round}", rounds.window);
        let _ = match rounds.seconds() * 1e9 <= stop.max_ns as f64 {
            true => writeln!(text, "those that write until they are {steady}, too"),
            false => writeln!(
                text,
                "those that write take their full time, too short to be {steady} \
                 (--max-time, or --fresh: the drive as it is now)"
            ),
        };
    }
    if study.adaptive {
        text.push_str("points that measured neighbours bound are predicted, not measured\n");
    }
    if left_out > 0 {
        let _ = writeln!(text, "{}", skipped_note(left_out));
    }
    Ok(text + &before)
}

/// Note about points that are not measured.
pub(crate) fn skipped_note(points: usize) -> String {
    format!("{points} that write are skipped: --allow-write permits writing")
}

/// Number of loads and their time.
fn headroom_outline(study: &Study, headroom: HeadroomPlan) -> Result<String> {
    let longest_ns = study.stop()?.max_ns as f64;
    let loads = f64::from(headroom.points) + 2.0;
    let mut text = format!(
        "{}: the most writes, the most reads, and up to {} loads of both, each at most {}: measures \
         for at most {}\n",
        study.name,
        headroom.points,
        format_duration_ns(longest_ns),
        format_duration_ns(longest_ns * loads * study.targets.len() as f64),
    );
    if study.targets.len() > 1 {
        text.push_str("on each target, one after the other\n");
    }
    Ok(text)
}

/// Number of rounds, the time of each, and what has to be done before.
fn rounds_outline(study: &Study, rounds: &Rounds, points: &[Point]) -> String {
    let targets = points.first().map(|point| &point.targets);
    let of = |round: Option<u32>| {
        points.iter().filter(move |point| Some(&point.targets) == targets && point.round == round)
    };
    let sum = |round| of(round).map(Point::runtime_ns).sum::<Option<u64>>();
    let time = |round| match sum(round) {
        // A point without a runtime takes as long as its work does.
        None => "as long as it takes".into(),
        Some(ns) => {
            let most = if of(round).all(Point::is_time_based) { "" } else { "at most " };
            format!("{most}{}", format_duration_ns(ns as f64))
        }
    };
    let most = u64::from(rounds.most);
    let in_all = sum(Some(1)).map_or(String::new(), |ns| {
        format!(", at most {}", format_duration_ns((ns * most) as f64))
    });
    let mut text = format!(
        "{}: rounds of {} points, {} each, until steady: {} to {most} rounds{in_all}\n",
        study.name,
        of(Some(1)).count(),
        time(Some(1)),
        rounds.window,
    );
    let count = of(None).count();
    if count > 0 {
        let _ = writeln!(text, "points once after them: {count}, {}", time(None));
    }
    if study.targets.len() > 1 {
        text.push_str(match study.targets_together {
            true => "on all targets at the same time, until each of them is steady\n",
            false => "on each target, one after the other\n",
        });
    }
    text
}
