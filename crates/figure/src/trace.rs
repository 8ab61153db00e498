//! Figures of a trace of I/Os: rates over time, and addresses over time.

use iodyno_model::{Bytes, Replayed, ReplayedSlot, TraceCourse, TraceSlot, format_duration_ns};

use crate::figure::{
    Axis, Cell, Cells, Content, Figure, Form, Panel, Point, Scale, Series, Stroke,
};
use crate::{Kind, Quantity};

/// Maximum numbers of columns and rows of a heat map.
const COLUMNS: usize = 64;
const ROWS: usize = 32;

/// Figures of a trace that took `duration_ns`.
pub fn trace_figures(course: &TraceCourse, duration_ns: u64) -> Vec<Figure> {
    let figure = |kind, title: &str, panels: Vec<Panel>, notes: Vec<String>| Figure {
        kind,
        title: title.into(),
        subtitle: String::new(),
        panels,
        notes,
    };
    let heat: Vec<Panel> = [
        ("Reads", (|slot| &slot.reads) as fn(&TraceSlot) -> &Vec<u64>),
        ("Writes", |slot| &slot.writes),
    ]
    .into_iter()
    .filter_map(|(name, zones)| heat(course, name, zones))
    .collect();
    let mut figures =
        vec![figure(Kind::Course, "Rates over time", rates(course, duration_ns), Vec::new())];
    if !heat.is_empty() {
        let note = "I/Os in each part of time and address space; both panels have one scale.";
        figures.push(figure(Kind::Grid, "Addresses over time", heat, vec![note.into()]));
    }
    figures
}

/// Recorded and replayed rates of a trace; `None` if it took less than two slots. I/Os after the
/// last whole slot are left out.
pub fn replay_figure(of: &Replayed) -> Option<Figure> {
    let end_ns = of.took_ns.max(of.recorded_ns);
    let whole = end_ns.checked_div(of.slot_ns)? as usize;
    let slots = &of.slots[..whole.min(of.slots.len())];
    let line = |name: &str, count: fn(&ReplayedSlot) -> u64| {
        line(name, of.slot_ns, slots.iter().map(count))
    };
    let lines =
        vec![line("recorded", |slot| slot.recorded), line("replayed", |slot| slot.replayed)];
    (slots.len() > 1).then(|| Figure {
        kind: Kind::Course,
        title: "Recorded and replayed over time".into(),
        subtitle: String::new(),
        panels: vec![over_time("IOPS", Quantity::Iops, end_ns, lines)],
        notes: Vec::new(),
    })
}

fn rates(course: &TraceCourse, duration_ns: u64) -> Vec<Panel> {
    // Less time passed in the last slot if it is not whole, and its rate would be too low.
    let whole = duration_ns.checked_div(course.slot_ns).unwrap_or(0) as usize;
    let line = |name: &str, amount: fn(&TraceSlot) -> u64| {
        line(name, course.slot_ns, course.slots.iter().take(whole).map(amount))
    };
    let ios = vec![
        line("read", |slot| slot.reads.iter().sum()),
        line("write", |slot| slot.writes.iter().sum()),
    ];
    let bytes = vec![line("read", |slot| slot.read_bytes), line("write", |slot| slot.write_bytes)];
    vec![
        over_time("IOPS", Quantity::Iops, duration_ns, ios),
        over_time("Bandwidth", Quantity::Bandwidth, duration_ns, bytes),
    ]
}

/// Converts amounts per time slot to rates per second, at the middle of each.
fn line(name: &str, slot_ns: u64, amounts: impl Iterator<Item = u64>) -> Series {
    let slot_ns = slot_ns as f64;
    let point = |(number, amount): (usize, u64)| {
        Point::new((number as f64 + 0.5) * slot_ns, amount as f64 / (slot_ns / 1e9))
    };
    Series::new(name, Form::Line(Stroke::Solid), amounts.enumerate().map(point).collect())
}

/// Rates over time, without lines that are always 0.
fn over_time(name: &str, quantity: Quantity, end_ns: u64, lines: Vec<Series>) -> Panel {
    let does = |one: &Series| one.points.iter().any(|point| point.y > 0.0);
    let time = Axis::new("Time", Quantity::Time, Scale::Linear);
    let x = Axis { end: Some(end_ns as f64), ..time };
    let y = Axis::new(name, quantity, Scale::Linear);
    Panel::of_series(x, y, lines.into_iter().filter(does).collect())
}

/// I/Os by time and address; `None` without I/Os.
fn heat(course: &TraceCourse, name: &str, of: fn(&TraceSlot) -> &Vec<u64>) -> Option<Panel> {
    let zones = course.end_bytes.div_ceil(course.zone_bytes.max(1)) as usize;
    let by = |count: usize, most: usize| count.div_ceil(most).max(1);
    let (wide, high) = (by(course.slots.len(), COLUMNS), by(zones, ROWS));
    let mut cells = Vec::new();
    for (column, slots) in course.slots.chunks(wide).enumerate() {
        let mut counts = vec![0_u64; zones.div_ceil(high)];
        for zones in slots.iter().map(of) {
            for (row, zones) in zones.chunks(high).enumerate() {
                if let Some(count) = counts.get_mut(row) {
                    *count += zones.iter().sum::<u64>();
                }
            }
        }
        let used = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        cells.extend(used.map(|(row, count)| Cell {
            column,
            row,
            value: count as f64,
            predicted: None,
        }));
    }
    let names = |many: usize, name: &dyn Fn(u64) -> String| {
        (0..many).map(|number| name(number as u64)).collect()
    };
    let (slot_ns, zone) = (course.slot_ns * wide as u64, course.zone_bytes * high as u64);
    let time = |number: u64| format_duration_ns((number * slot_ns) as f64);
    let place = |number: u64| Bytes(number * zone).binary();
    (!cells.is_empty()).then(|| Panel {
        title: name.into(),
        x: Axis::of_categories("Time from", names(course.slots.len().div_ceil(wide), &time)),
        y: Axis::of_categories("Address from", names(zones.div_ceil(high), &place)),
        content: Content::Cells(Cells { name: "I/Os".into(), quantity: Quantity::Count, cells }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_has_both_rates() {
        let slots = vec![ReplayedSlot { recorded: 40, replayed: 35 }; 4];
        let took_ns = 1_600_000_000;
        let of = Replayed { took_ns, slot_ns: 500_000_000, slots, ..Replayed::default() };
        let figure = replay_figure(&of).unwrap();
        let [recorded, replayed] = figure.panels[0].series() else { panic!("{figure:?}") };
        let last = |of: &Series| of.points.last().map(|point| (point.x, point.y));
        assert_eq!((recorded.name.as_str(), last(recorded)), ("recorded", Some((1.25e9, 80.0))));
        assert_eq!((replayed.name.as_str(), last(replayed)), ("replayed", Some((1.25e9, 70.0))));
        assert_eq!(replay_figure(&Replayed { took_ns: 900_000_000, ..of }), None);
        assert_eq!(replay_figure(&Replayed::default()), None);
    }

    #[test]
    fn a_trace_has_its_rates_and_addresses() {
        let slot = |reads: &[u64], writes: &[u64]| TraceSlot {
            read_bytes: 4096 * reads.iter().sum::<u64>(),
            write_bytes: 0,
            reads: reads.to_vec(),
            writes: writes.to_vec(),
        };
        let mut slots = vec![slot(&[3], &[]); 100];
        slots[99] = slot(&[0, 7], &[]);
        let course =
            TraceCourse { slot_ns: 1_000_000_000, zone_bytes: 1 << 30, end_bytes: 3 << 30, slots };
        let figures = trace_figures(&course, 100_000_000_000);
        let [rates, heat] = &figures[..] else { panic!("{figures:?}") };
        // Nothing was written: no line, no panel.
        assert_eq!((rates.panels[0].series().len(), heat.panels.len()), (1, 1));
        assert_eq!(rates.panels[0].series()[0].points[99].y, 7.0);
        let Content::Cells(Cells { cells, .. }) = &heat.panels[0].content else { panic!() };
        assert_eq!(cells.iter().map(|cell| cell.value).sum::<f64>(), 99.0 * 3.0 + 7.0);
        let last = cells.last().unwrap();
        assert_eq!((last.column, last.row, last.value), (49, 1, 7.0));
        assert_eq!(heat.panels[0].y.categories(), ["0 B", "1 GiB", "2 GiB"]);
        assert_eq!(heat.panels[0].x.categories().len(), 50);
    }
}
