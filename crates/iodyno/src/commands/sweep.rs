//! `iodyno sweep` and `iodyno resume`: studies carried out.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{
    Adapting, Early, InRounds, Options, Order, Plan, Point, Resumed, Study, differences,
};
use iodyno_fio::FioGenerator;
use iodyno_host::Depth;
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Measurement, Rounds, RunRecord, format_duration_ns};
use iodyno_native::NativeGenerator;
use iodyno_store::Store;

use crate::arguments::{Carrying, Resume, RunGenerator, Sweep, SweepOrder};
use crate::commands::check::load;
use crate::commands::setup::Setup;
use crate::commands::show::{Judging, Shape, judge_and_print};
use crate::context::{Context, Usage, read};
use crate::grid::Grid;
use crate::progress::Display;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Sweep) -> Result<u8> {
    if arguments.list {
        terminal::print(&presets())?;
        return Ok(0);
    }
    let study = study(arguments)?;
    let all = study.points(iodyno_campaign::now_ns().unsigned_abs());
    let (points, left_out) = allowed(all, &arguments.carrying);
    whole_rounds(&study, left_out)?;
    if points.is_empty() {
        let why = "every point writes: --allow-write says what may be written";
        return Err(Usage(why.into()).into());
    }
    let outline = outline(&study, &points, left_out)?;
    if arguments.dry_run {
        let mut text = outline;
        // One round is as the other.
        let shown = points.iter().filter(|point| point.round.is_none_or(|round| round == 1));
        for (n, point) in shown.enumerate() {
            let _ = writeln!(text, "{:5}  {}  {}", n + 1, point.title, point.target);
        }
        terminal::print(&text)?;
        return Ok(0);
    }
    if !context.quiet {
        outline.lines().for_each(terminal::note);
    }
    let name = arguments.name.clone().unwrap_or_default();
    let start = Start { name, resumed: None, all: points.clone(), measured: Vec::new() };
    measure(context, &study, &points, &arguments.carrying, start)
}

pub(crate) fn resume(context: &Context, arguments: &Resume) -> Result<u8> {
    let record = load(&context.store_to_read()?, &arguments.run)?;
    let study = Study::parse(&record.run.plan, &record.run.plan_name).map_err(|_| {
        Usage(format!("{}: only what `iodyno sweep` began can go on", arguments.run))
    })?;
    let source = context.source()?;
    let now = iodyno_host::snapshot(source.as_ref(), Depth::Full);
    let told = differences(&record, &now)
        .map_err(|what| Usage(format!("{what}: what is measured now would be another study")))?;
    told.iter().for_each(|sentence| terminal::note(&format!("note: {sentence}")));
    let (all, left_out) = allowed(study.points(0), &arguments.carrying);
    let count = all.len();
    let (resumed, left) = Resumed::of(&record, all.clone(), study.rounds.as_ref());
    let is_done =
        study.adaptive && Adapting::new(&study, &all, &left).is_done(&record.measurements);
    if !context.quiet {
        let predicted = if is_done && !left.is_empty() {
            ", which the others bound: they are predicted"
        } else {
            ""
        };
        terminal::note(&format!("{} of {count} points are left{predicted}", left.len()));
    }
    if left.is_empty() || is_done {
        let (mut store, claims) =
            (context.store()?, context.claims(&arguments.carrying.datasheet)?);
        return print(context, &mut store, &claims, &record, &arguments.carrying);
    }
    whole_rounds(&study, left_out)?;
    let start = Start {
        name: record.run.name.clone(),
        resumed: Some(resumed),
        all,
        measured: record.measurements,
    };
    measure(context, &study, &left, &arguments.carrying, start)
}

/// What the words mean: the plan, and what they change of it.
fn study(arguments: &Sweep) -> Result<Study> {
    let mut study = plan(arguments.plan.as_deref())?;
    if let Some(factor) = arguments.scale {
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(Usage("--scale: a number above 0 was expected".into()).into());
        }
        study.scale(factor);
    }
    let ends = arguments.fresh
        || [arguments.precision, arguments.p99].iter().any(Option::is_some)
        || arguments.max_time.is_some();
    if study.rounds.is_some() && ends {
        let why = "each point of a round lasts its time: --scale makes all of them shorter";
        return Err(Usage(why.into()).into());
    }
    let halves = |word: &str, expected: &str| match word.split_once('=') {
        Some((option, value)) => Ok((option.to_owned(), value.to_owned())),
        None => Err(Usage(format!("{word}: {expected} was expected"))),
    };
    for word in &arguments.set {
        let (option, value) = halves(word, "OPTION=VALUE")?;
        study.set(&option, &value);
    }
    for word in &arguments.grid {
        let (option, values) = halves(word, "OPTION=VALUE,VALUE...")?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().into()).collect();
        study.vary(&option, &values);
    }
    let precision = arguments.precision.map(|percent| percent / 100.0);
    study.stop_at(precision, arguments.max_time.as_deref());
    if let Some(order) = arguments.order {
        study.order = match order {
            SweepOrder::Corners => Order::Corners,
            SweepOrder::Written => Order::Written,
            SweepOrder::Random => Order::Random,
        };
    }
    study.repeat = arguments.repeat.unwrap_or(study.repeat);
    study.fresh |= arguments.fresh;
    study.adaptive |= arguments.adaptive;
    if let Some(percent) = arguments.p99 {
        study.know_p99(percent);
    }
    study.p99_bound = arguments.p99_bound.clone().or(study.p99_bound);
    if !arguments.target.is_empty() {
        study.targets.clone_from(&arguments.target);
    }
    if study.targets.is_empty() {
        return Err(Usage("where? --target PATH names a device or a file".into()).into());
    }
    // What words and plan come to is checked as if it had been written.
    Ok(Study::parse(&study.to_toml()?, &study.name)?)
}

/// The plan of this name: a preset or a file; a study without anything for none.
fn plan(name: Option<&str>) -> Result<Study> {
    let Some(name) = name else { return Ok(Study::named("sweep")) };
    if name == "check" {
        return Err(Usage("that plan is a command of its own: iodyno check".into()).into());
    }
    if let Some(preset) = Study::preset(name) {
        return Ok(preset);
    }
    let path = Path::new(name);
    if !path.exists() {
        let known: Vec<_> = Study::presets().map(|(name, _)| name).collect();
        let known = known.join(", ");
        let what = format!("{name} is neither a file nor a preset; the presets are {known}");
        return Err(Usage(what).into());
    }
    let text = read(path)?;
    Ok(match path.extension().is_some_and(|extension| extension == "ini") {
        true => Study::of_bench_fio(&text, name)?,
        false => Study::parse(&text, name)?,
    })
}

fn presets() -> String {
    let mut text = String::new();
    for (name, about) in Study::presets() {
        let _ = writeln!(text, "{name:12}  {about}");
    }
    text
}

/// The points that may be measured, and how many write where they may not:
/// what is there is only read unless --allow-write is given, and a file that
/// iodyno made is its own.
fn allowed(points: Vec<Point>, carrying: &Carrying) -> (Vec<Point>, usize) {
    let count = points.len();
    let may_write = |point: &Point| {
        let path = Path::new(&point.target);
        point.own_file
            || !carrying.allowing.allow_write.is_empty()
            || !path.exists()
            || iodyno_target::is_laid_out(path)
    };
    let points: Vec<Point> =
        points.into_iter().filter(|point| !point.writes() || may_write(point)).collect();
    let left_out = count - points.len();
    (points, left_out)
}

/// Refuses rounds of which points would be left out: they are another test.
fn whole_rounds(study: &Study, left_out: usize) -> Result<()> {
    if study.rounds.is_some() && left_out > 0 {
        let why = "its rounds write: --allow-write says what may be written";
        return Err(Usage(why.into()).into());
    }
    Ok(())
}

/// How many points, how long at most, what is left out.
fn outline(study: &Study, points: &[Point], left_out: usize) -> Result<String> {
    let before = match study.before.as_str() {
        "" => String::new(),
        before => format!("to be done before, since nothing here does it: {before}\n"),
    };
    if let Some(rounds) = &study.rounds {
        return Ok(rounds_outline(study, rounds, points) + &before);
    }
    let stop = study.stop().map_err(Usage)?;
    let timed = points.iter().filter(|point| point.until_known).count();
    let mut text = format!("{}: {} points", study.name, points.len());
    if timed > 0 {
        let most_ns = stop.max_ns as f64 * timed as f64;
        let _ = write!(
            text,
            ", at most {}: each until its rate is known within {} %, but {} at the longest",
            format_duration_ns(most_ns),
            stop.precision * 100.0,
            format_duration_ns(stop.max_ns as f64),
        );
    }
    text.push('\n');
    if timed < points.len() {
        let _ = writeln!(text, "{} of them end when their work is done", points.len() - timed);
    }
    if study.adaptive {
        text.push_str(
            "points that measured neighbours bound are predicted in place of being measured\n",
        );
    }
    let writes = points.iter().any(|point| point.until_known && point.writes());
    if writes && !study.fresh {
        text.push_str("those that write last their whole time (--fresh ends them early, too)\n");
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "{left_out} that write are left out: --allow-write says what may be written"
        );
    }
    Ok(text + &before)
}

/// How many rounds, how long each, and what has to be done before.
fn rounds_outline(study: &Study, rounds: &Rounds, points: &[Point]) -> String {
    let target = points.first().map(|point| &point.target);
    let of = |round: Option<u32>| {
        points.iter().filter(move |point| Some(&point.target) == target && point.round == round)
    };
    // Without a time of its own a point takes as long as its work does.
    let time = |ns: Option<u64>| {
        ns.map_or("as long as it takes".into(), |ns| format_duration_ns(ns as f64))
    };
    let lasts = |round| of(round).map(Point::runtime_ns).sum::<Option<u64>>();
    let most = u64::from(rounds.most);
    let (each, after) = (lasts(Some(1)), lasts(None));
    let mut text = format!(
        "{}: rounds of {} points, {} each, until steady: {} to {} rounds, at most {}\n",
        study.name,
        of(Some(1)).count(),
        time(each),
        rounds.window,
        most,
        time(each.map(|ns| ns * most)),
    );
    let count = of(None).count();
    if count > 0 {
        let _ = writeln!(text, "points once after them: {count}, {}", time(after));
    }
    if study.targets.len() > 1 {
        text.push_str("on each target, one after the other\n");
    }
    text
}

/// How a study is taken up.
struct Start {
    name: String,
    /// All points, also those that the run has already.
    all: Vec<Point>,
    /// What it has already.
    measured: Vec<Measurement>,
    resumed: Option<Resumed>,
}

fn measure(
    context: &Context,
    study: &Study,
    points: &[Point],
    carrying: &Carrying,
    start: Start,
) -> Result<u8> {
    if context.is_captured() {
        return Err(Usage("a captured machine cannot be measured".into()).into());
    }
    let for_fio = carrying.generator == RunGenerator::Fio;
    let (rounds, once) = match &study.rounds {
        Some(asked) => {
            let (rounds, once) = InRounds::new(asked.clone(), points);
            (Some(rounds), once)
        }
        None => (None, points.to_vec()),
    };
    let script = study.script(&once, for_fio)?;
    let stop = study.stop().map_err(Usage)?;
    let early = match study.fresh {
        _ if for_fio || study.rounds.is_some() => Early::Never,
        true => Early::All,
        false => Early::Reads,
    };
    let plan = Plan::of_study(&study.name, script, study.to_toml()?, stop, early);
    let adapting = study.adaptive.then(|| Adapting::new(study, &start.all, points));
    let plan = Plan { rounds, adapting, ..plan };
    let mut setup = Setup::new(context, &carrying.datasheet)?;
    let mut generator: Box<dyn LoadGenerator> = match carrying.generator {
        RunGenerator::Native => Box::new(NativeGenerator::new()),
        RunGenerator::Fio => Box::new(
            FioGenerator::find(carrying.fio.as_deref())
                .map_err(|error| Usage(error.to_string()))?,
        ),
    };
    let options =
        Options { resumed: start.resumed, ..Options::of_jobs(&start.name, carrying.permission()) };
    let live = terminal::is_live(context);
    let mut display = match study.rounds {
        Some(_) => Display::new(live, context.quiet),
        None => Display::of_sweep(Grid::new(&start.all, &start.measured), live, context.quiet),
    };
    let outcome = setup.carry_out(&plan, &[], &options, generator.as_mut(), &mut display);
    display.finish();
    print(context, &mut setup.store, &setup.claims, &outcome?, carrying)
}

/// Judges what was measured and prints it.
fn print(
    context: &Context,
    store: &mut Store,
    claims: &ClaimBook,
    record: &RunRecord,
    carrying: &Carrying,
) -> Result<u8> {
    let judging = Judging {
        claims,
        baseline: None,
        expect: None,
        accept_unjudged: true,
        table: &carrying.table,
        shape: Shape::Results,
    };
    judge_and_print(context, store, record, &judging)
}
