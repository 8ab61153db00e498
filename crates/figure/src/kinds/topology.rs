//! Storage topology of a machine, as a tree from left to right.

use iodyno_model::topology;

use crate::figure::{Axis, Content, Figure, Panel, Scale};
use crate::{FigureError, Quantity, Request, Source};

/// The machine of the first run; a note tells if there are others.
pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let hosts = sources.iter().filter_map(|source| source.record.host());
    let trees: Vec<_> = hosts.map(topology).collect();
    let Some(first) = trees.first() else {
        return Err(FigureError::Nothing("no run has host information".into()));
    };
    let others = trees.iter().filter(|tree| *tree != first).count();
    let notes = match others {
        0 => Vec::new(),
        _ => vec![format!("Machine of the first of {} runs.", sources.len())],
    };
    let axis = || Axis::new("", Quantity::Count, Scale::Linear);
    let panel =
        Panel { title: String::new(), x: axis(), y: axis(), content: Content::Tree(first.clone()) };
    let subtitle = "Orange: below its capability".to_owned();
    let (kind, title) = (request.kind, String::new());
    Ok(Figure { kind, title, subtitle, panels: vec![panel], notes })
}
