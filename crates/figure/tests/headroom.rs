//! Reads under load: the loads drawn, and the line of the bound.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::under_load;
use iodyno_figure::{Content, Form, Kind, Point, Request, figure};

#[test]
fn headroom_is_a_surface_with_its_bound_and_curves() {
    let asked = Request { headroom: vec![under_load()], ..Request::new(Kind::Headroom) };
    let drawn = figure(&asked, &[]).unwrap();
    let Content::Surface(surface) = &drawn.panels[0].content else { panic!("{drawn:?}") };
    assert_eq!(surface.cells.len(), 441 - 25, "loads that are not reached are no latency");
    assert!(surface.cells.iter().all(|cell| cell.is_measured == cell.column.is_multiple_of(2)));
    // 100 us times (1 + both) is 1 ms where both are 9 parts.
    assert_eq!(surface.line.len(), 9);
    for (x, y) in surface.line.iter().flatten() {
        assert!((x + y - 9.0).abs() < 0.05, "{x} {y}");
    }
    let curves: Vec<_> =
        drawn.panels[1].series().iter().filter(|one| matches!(one.form, Form::Line(_))).collect();
    let names: Vec<&str> = curves.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names[..2], ["no writes", "250 MB/s of writes"]);
    assert_eq!(curves[0].points[..2], [Point::new(0.0, 1e5), Point::new(20_000.0, 2e5)]);
    let none = figure(&Request::new(Kind::Headroom), &[]).unwrap_err();
    assert!(none.to_string().contains("sweep headroom"), "{none}");
}
