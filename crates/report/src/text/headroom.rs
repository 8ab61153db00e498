//! Headroom under load: how much load a drive takes within a p99 bound, and the surface as a table.

use iodyno_model::{
    EarlierHeadroom, Headroom, Load, LoadCell, NoP99, format_count, format_duration_ns,
    format_mb_per_s, rfc3339,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::outlook::sentence;
use super::words::{clean, dim};

/// The table shows every Nth rate of both kinds.
const EVERY: usize = 5;

/// The most writes, or the most reads, whose p99 keeps the bound.
pub(crate) fn clause(all: &[Headroom]) -> String {
    let of_one = |of: &Headroom| {
        let bound = format_duration_ns(of.p99_bound_ns as f64);
        let writes = known(of.writes).map(|load| {
            format!("{}{} of writes", at_least(load), format_mb_per_s(load.write_bytes_per_s))
        });
        let reads = known(of.reads)
            .map(|load| format!("{}{} reads/s", at_least(load), format_count(load.read_iops)));
        let (target, what) = (clean(&of.target), of.what());
        let loads: Vec<String> = [writes, reads].into_iter().flatten().collect();
        let measured: Vec<f64> = measured(of).filter_map(|cell| Some(cell.p99_ns?.value)).collect();
        let kept = measured.iter().filter(|p99| **p99 <= of.p99_bound_ns as f64).count();
        match (loads.as_slice(), measured.len(), kept) {
            ([], 0, _) => format!("{target}: no load reached its rates (97 %)"),
            ([], _, 0) => format!("{target}: no measured load meets a {what} p99 of {bound}"),
            ([], all, kept) => {
                format!("{target}: {what} p99 <= {bound} at {kept} of {all} measured loads")
            }
            (loads, ..) => format!("{target}: {}, with {what} p99 <= {bound}", loads.join(", or ")),
        }
    };
    all.iter().map(of_one).collect::<Vec<_>>().join("; ")
}

/// A load, unless it is none: of the lightest load alone nothing follows.
fn known(load: Option<Load>) -> Option<Load> {
    load.filter(|load| load.write_bytes_per_s + load.read_iops > 0.0)
}

const fn at_least(load: Load) -> &'static str {
    if load.is_open { "at least " } else { "" }
}

fn measured(of: &Headroom) -> impl Iterator<Item = &LoadCell> {
    of.cells.iter().filter(|cell| cell.measurement.is_some())
}

/// Headroom measured earlier, in one line.
pub fn headroom_line(earlier: &EarlierHeadroom) -> String {
    let measured = rfc3339(earlier.run_started_ns);
    let date = measured.get(..10).unwrap_or_default();
    let sweep = if earlier.of.sync { "headroom-sync" } else { "headroom" };
    format!("{} (sweep {sweep}, {date})", clause(std::slice::from_ref(&earlier.of)))
}

/// A table per target, and its remarks.
pub fn headroom_text(all: &[Headroom], style: &Style) -> String {
    all.iter().map(|of| table(of, style) + &sentences(of, style)).collect::<Vec<_>>().join("\n")
}

fn table(of: &Headroom, style: &Style) -> String {
    let shown = || {
        of.cells
            .iter()
            .filter(|cell| cell.column.is_multiple_of(EVERY) && cell.row.is_multiple_of(EVERY))
    };
    let heading = |cell: &LoadCell| format_count(cell.write_bytes_per_s / 1e6);
    let headings: Vec<String> = shown().filter(|cell| cell.row == 0).map(heading).collect();
    let columns = [GridColumn::new("reads/s \\ MB/s of writes", 0, true)].into_iter();
    let columns: Vec<GridColumn<'_>> =
        columns.chain(headings.iter().map(|name| GridColumn::new(name, 0, true))).collect();
    let rows = shown().filter(|cell| cell.column == 0).map(|first| {
        let own = shown().filter(|cell| cell.row == first.row).map(|cell| self::cell(of, cell));
        [GridCell::plain(format_count(first.read_iops))].into_iter().chain(own).collect()
    });
    let rows: Vec<Vec<GridCell>> = rows.collect();
    let what = of.what();
    let is_open = shown().any(|cell| cell.missing == Some(NoP99::NotMeasured));
    let open = if is_open { "   ? not measured" } else { "" };
    let legend = format!("p99 of {what}s   ~ interpolated   - rate not reached (97 %){open}");
    grid(&columns, &rows, style, style.wide).text + &dim(&[legend], style)
}

fn cell(of: &Headroom, cell: &LoadCell) -> GridCell {
    let Some(p99) = cell.p99_ns else {
        let is_open = cell.missing == Some(NoP99::NotMeasured);
        return GridCell::new(if is_open { "?" } else { "-" }, Ink::Dim);
    };
    let mark = if cell.measurement.is_some() { "" } else { "~" };
    let is_slow = p99.value > of.p99_bound_ns as f64;
    let ink = if is_slow { Ink::Doubt } else { Ink::Plain };
    GridCell::new(format!("{mark}{}", format_duration_ns(p99.value)), ink)
}

fn sentences(of: &Headroom, style: &Style) -> String {
    let mut all = Vec::new();
    if let Some(load) = known(of.both) {
        let (writes, reads) = (load.write_bytes_per_s, load.read_iops);
        let (writes, reads) = (format_mb_per_s(writes), format_count(reads));
        let at_least = at_least(load);
        all.push(format!("Both at once: {at_least}{writes} of writes with {reads} reads/s."));
    }
    let most = [
        (of.writes, format!("{} of writes", format_mb_per_s(of.most_write_bytes_per_s))),
        (of.reads, format!("{} reads/s", format_count(of.most_read_iops))),
    ];
    let unbound = most.into_iter().filter(|(load, _)| load.is_some_and(|load| load.is_most));
    let unbound: Vec<String> = unbound.map(|(_, most)| most).collect();
    if !unbound.is_empty() {
        let bound = "not limited by the bound";
        all.push(format!("Alone it does {}: {bound}.", unbound.join(" or ")));
    }
    // A flush is issued once its write is back, and not by the clock.
    let since = if of.sync { "the issue of each flush" } else { "the due time" };
    let (measured, loads) = (measured(of).count(), of.cells.len());
    all.push(format!("{measured} of {loads} loads were measured. Latency counts from {since}."));
    all.iter().map(|line| sentence(line, style)).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use iodyno_model::Estimate;

    use super::*;

    fn found() -> Headroom {
        let cell = |column: usize, row: usize| {
            let is_reached = column + row < 30;
            let ns = 85_000.0 * (1.0 + (column * row) as f64 / 8.0);
            LoadCell {
                column,
                row,
                write_bytes_per_s: column as f64 * 60e6,
                read_iops: (row as f64 * 20_000.0).max(4000.0),
                p99_ns: is_reached.then(|| Estimate::bare(ns)),
                missing: (!is_reached).then_some(NoP99::NotReached),
                measurement: column.is_multiple_of(5).then_some(7),
            }
        };
        let load = |writes, reads, is_most| {
            Some(Load { write_bytes_per_s: writes, read_iops: reads, is_most, is_open: false })
        };
        Headroom {
            target: "/dev/nvme0n1".into(),
            most_write_bytes_per_s: 1.2e9,
            most_read_iops: 400_000.0,
            sync: false,
            p99_bound_ns: 1_000_000,
            writes: load(640e6, 0.0, false),
            reads: load(0.0, 400_000.0, true),
            both: load(500e6, 166_000.0, false),
            cells: (0..=20).flat_map(|c| (0..=20).map(move |r| cell(c, r))).collect(),
        }
    }

    #[test]
    fn the_headline_names_writes_or_reads_and_the_bound() {
        let none = Headroom { writes: None, reads: None, both: None, ..found() };
        let strict = Headroom { p99_bound_ns: 80_000, ..none.clone() };
        expect!["/dev/nvme0n1: 640 MB/s of writes, or 400k reads/s, with read p99 <= 1 ms"]
            .assert_eq(&clause(&[found()]));
        expect!["/dev/nvme0n1: no measured load meets a read p99 of 80 us"]
            .assert_eq(&clause(&[strict]));
        expect!["/dev/nvme0n1: read p99 <= 1 ms at 59 of 87 measured loads"]
            .assert_eq(&clause(&[none]));
        let run_started_ns = 1_795_392_000_000_000_000;
        let line = headroom_line(&EarlierHeadroom { run: "1".into(), run_started_ns, of: found() });
        assert!(line.ends_with(" read p99 <= 1 ms (sweep headroom, 2026-11-23)"), "{line}");
    }

    #[test]
    fn loads_beyond_those_of_a_stopped_sweep_are_open() {
        let mut found = found();
        for cell in &mut found.cells {
            if cell.column + cell.row > 5 {
                (cell.p99_ns, cell.missing) = (None, Some(NoP99::NotMeasured));
                cell.measurement = None;
            }
        }
        let open =
            |load: Option<Load>| load.map(|load| Load { is_most: false, is_open: true, ..load });
        let none = Load { write_bytes_per_s: 0.0, read_iops: 0.0, is_most: false, is_open: true };
        found.writes = open(found.writes);
        found.reads = Some(none);
        expect!["/dev/nvme0n1: at least 640 MB/s of writes, with read p99 <= 1 ms"]
            .assert_eq(&clause(std::slice::from_ref(&found)));
        found.both = Some(none);
        let style = Style { width: 80, color: false, wide: false, columns: None };
        let text = headroom_text(std::slice::from_ref(&found), &style);
        assert!(text.contains("? not measured") && !text.contains("Both at once"), "{text}");
        found.both = open(self::found().both);
        found.sync = true;
        let text = headroom_text(&[found], &style);
        assert!(text.contains("Both at once: at least 500 MB/s of writes"), "{text}");
        assert!(text.contains("from the issue of each flush.") && !text.contains("due"), "{text}");
    }

    #[test]
    fn the_surface_is_a_table() {
        let style = Style { width: 80, color: false, wide: false, columns: None };
        expect![[r#"
            reads/s \ MB/s of writes      0      300      600      900     1200
                                4000  85 us    85 us    85 us    85 us    85 us
                                100k  85 us   351 us   616 us   882 us  1.15 ms
                                200k  85 us   616 us  1.15 ms  1.68 ms        -
                                300k  85 us   882 us  1.68 ms        -        -
                                400k  85 us  1.15 ms        -        -        -
            p99 of reads   ~ interpolated   - rate not reached (97 %)
            Both at once: 500 MB/s of writes with 166k reads/s.
            Alone it does 400k reads/s: not limited by the bound.
            105 of 441 loads were measured. Latency counts from the due time.
        "#]]
        .assert_eq(&headroom_text(&[found()], &style));
    }
}
