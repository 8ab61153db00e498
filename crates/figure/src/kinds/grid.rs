//! Plots iodepth by numjobs, as a heat map or as 3D bars.

use crate::figure::{Axis, Cell, Cells, Content, Figure, Panel};
use crate::naming::{by_name, common, names, values};
use crate::observation::{Observation, interval, observations, point_of, sort, table_notes};
use crate::predicted::predictions;
use crate::{FigureError, Kind, Metric, Request, Source};

/// Options of columns and rows.
pub(super) const AXES: [&str; 2] = ["iodepth", "numjobs"];

/// Maximum number of tables.
pub(super) const MOST_PANELS: usize = 4;

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let metric = request.metric.unwrap_or(Metric::Iops);
    let mut shown = observations(request, sources)?;
    let (predicted, note) = predictions(request, sources);
    shown.extend(predicted);
    shown.retain(|one| AXES.iter().all(|option| one.number(option).is_some()));
    if shown.is_empty() {
        return Err(FigureError::Nothing("no measurement has both iodepth and numjobs".into()));
    }
    shown.retain(|one| one.measured(metric).or_else(|| one.prediction(metric)).is_some());
    sort(&mut shown);
    let groups = by_name(&shown, &names(&shown, request, &AXES));
    if groups.is_empty() {
        return Err(super::unknown_metric(request));
    }
    if groups.len() > MOST_PANELS {
        let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
        return Err(FigureError::TooMany { what: names.join("; ") });
    }
    let alone = groups.len() == 1;
    let panels = groups.iter().map(|(name, group)| {
        let title = if alone { String::new() } else { name.clone() };
        panel(request.kind, metric, title, group)
    });
    let panels: Vec<Panel> = panels.collect();
    let mut notes = table_notes(&shown, &AXES, &AXES);
    notes.extend(note.filter(|_| metric == Metric::Iops));
    if panels.iter().any(hides_values) {
        notes.push("High bars hide some values: the heat map shows all.".to_owned());
    }
    let subtitle = common(&shown);
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}

/// True if the observations form a grid: at least two depths by two job counts, all four measured.
/// Scattered points would leave a table of holes.
pub(super) fn is_grid(group: &[Observation<'_>]) -> bool {
    let (depths, jobs) = (values(group, "iodepth"), values(group, "numjobs"));
    let is_there = |depth: &String, jobs: &String| {
        group.iter().any(|one| {
            one.option("iodepth").as_ref() == Some(depth)
                && one.option("numjobs").as_ref() == Some(jobs)
        })
    };
    let both = |first: &String, second: &String| {
        let shared = jobs.iter().filter(|jobs| is_there(first, jobs) && is_there(second, jobs));
        shared.count() > 1
    };
    depths.iter().enumerate().any(|(at, first)| depths[at + 1..].iter().any(|one| both(first, one)))
}

fn hides_values(panel: &Panel) -> bool {
    let Content::Towers(cells) = &panel.content else { return false };
    let seen = cells.projection(&panel.x, &panel.y);
    seen.hidden(&cells.bars()).next().is_some()
}

fn panel(kind: Kind, metric: Metric, title: String, group: &[Observation<'_>]) -> Panel {
    let (depths, jobs) = (values(group, "iodepth"), values(group, "numjobs"));
    let mut cells = Vec::new();
    for (column, depth) in depths.iter().enumerate() {
        for (row, jobs) in jobs.iter().enumerate() {
            let is_here = |one: &&Observation<'_>| {
                one.option("iodepth").as_ref() == Some(depth)
                    && one.option("numjobs").as_ref() == Some(jobs)
            };
            let here: Vec<_> = group.iter().filter(is_here).copied().collect();
            let measured = point_of(metric, &here, 0.0).map(|point| (point.y, None));
            let predicted = || {
                let rate = here.iter().find_map(|one| one.prediction(metric))?;
                Some((rate.value, interval(&rate)))
            };
            let known = measured.or_else(predicted);
            cells.extend(known.map(|(value, predicted)| Cell { column, row, value, predicted }));
        }
    }

    let cells = Cells { name: metric.name(), quantity: metric.quantity(), cells };
    let content = match kind {
        Kind::Grid3d => Content::Towers(cells),
        _ => Content::Cells(cells),
    };
    let (x, y) = (Axis::of_categories("iodepth", depths), Axis::of_categories("numjobs", jobs));
    Panel { title, x, y, content }
}
