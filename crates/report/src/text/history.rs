//! Preparation history of drives.

use iodyno_model::{Bytes, DriveState, Host, PreparationState};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::runs::{shortened, utc};
use super::words::{clean, first_line};
use crate::history::{Past, history};

/// Number of prepared drives, then a line per recorded state: when it was reached, by which
/// preparation and run, and how much was written since.
pub fn history_text(states: &[DriveState], host: &Host, style: &Style) -> String {
    if states.is_empty() {
        return "No drive history yet: iodyno prepare records it, for NVMe namespaces.\n".into();
    }
    let column = GridColumn::new;
    let columns = [
        column("DRIVE", 0, false),
        column("SERIAL", 1, false),
        column("WHEN (UTC)", 1, false),
        column("PREPARED BY", 0, false),
        column("STATE", 0, false),
        column("WRITTEN SINCE", 2, true),
        column("RUN", 3, false),
    ];
    let row = |past: &Past<'_>| {
        let state = past.state;
        let (word, ink) = match state.state {
            PreparationState::Begun => ("started, killed", Ink::Bad),
            PreparationState::Done => ("done", Ink::Plain),
            PreparationState::Interrupted => ("interrupted", Ink::Doubt),
            PreparationState::Failed => ("failed", Ink::Bad),
        };
        let since = past.written_since_bytes.map(|bytes| Bytes(bytes).binary().to_string());
        vec![
            GridCell::plain(past.name.map_or("-".into(), clean)),
            GridCell::plain(format!("{}:{}", clean(&state.serial), state.nsid)),
            GridCell::plain(utc(state.at_ns)),
            GridCell::plain(how(state)),
            GridCell::new(word, ink),
            GridCell::plain(since.unwrap_or("-".into())),
            GridCell::plain(state.run_id.as_deref().map_or("removed".into(), shortened)),
        ]
    };
    let all = history(states, host);
    let rows: Vec<_> = all.iter().map(row).collect();
    // The last entry of each drive is its newest.
    let is_last = |(n, past): &(usize, &Past<'_>)| {
        all.get(n + 1).is_none_or(|next| {
            next.state.serial != past.state.serial || next.state.nsid != past.state.nsid
        })
    };
    let last: Vec<&DriveState> =
        all.iter().enumerate().filter(is_last).map(|(_, past)| past.state).collect();
    let prepared = last.iter().filter(|of| of.state == PreparationState::Done).count();
    let clause = format!("{prepared} of {} prepared", counted(last.len(), "drive"));
    let first = first_line(("", Ink::Plain), &[clause], style);
    format!("{first}\n{}", grid(&columns, &rows, style, style.wide).text)
}

/// `format, fill 2.0x, rw=randwrite bs=4k (steady in round 7)`.
fn how(state: &DriveState) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(state.purge.map(|method| method.name().to_owned()));
    if let Some(fill) = &state.fill {
        let capacity = state.capacity_bytes.filter(|bytes| *bytes > 0);
        parts.push(match capacity {
            Some(bytes) => format!("fill {:.1}x", fill.written_bytes as f64 / bytes as f64),
            None => format!("fill {}", Bytes(fill.written_bytes).binary()),
        });
    }
    if let Some(condition) = &state.condition {
        let steady = match condition.steady_in {
            Some(round) => format!("steady in round {round}"),
            None => format!("not steady in {} rounds", condition.rounds),
        };
        parts.push(format!("{} ({steady})", clean(&condition.workload)));
    }
    if parts.is_empty() { "-".into() } else { parts.join(", ") }
}
