//! `iodyno runs fleet`: drives of many hosts in one table.

use anyhow::Result;
use iodyno_judge::ClaimBook;
use iodyno_model::{Assessment, RunRecord};
use iodyno_report::Judged;
use iodyno_report::fleet::fleet;
use iodyno_report::text::{Style, fleet_text};

use crate::arguments::{Fleet, Sheets, Table};
use crate::commands::judged_anew;
use crate::context::Context;
use crate::{inputs, terminal};

pub(crate) fn run(context: &Context, arguments: &Fleet) -> Result<()> {
    let mut words = arguments.runs.clone();
    if words.is_empty() {
        let store = context.store_to_read()?;
        words.extend(store.runs()?.into_iter().map(|run| run.id));
    }
    let mut records = Vec::with_capacity(words.len());
    for word in &words {
        let loaded = inputs::load(context, word)?;
        records.push(loaded.record);
    }
    let records: Vec<&RunRecord> = records.iter().collect();
    let style = terminal::style(context, &Table { wide: arguments.wide, columns: None });
    terminal::print(&terminal::in_locale(text(
        &records,
        &context.claims(&Sheets::default())?,
        &style,
    )))
}

/// The table of all hosts' drives.
pub(crate) fn text(records: &[&RunRecord], claims: &ClaimBook, style: &Style) -> String {
    let assessments: Vec<Assessment> =
        records.iter().map(|record| judged_anew(record, claims)).collect();
    let judged = records.iter().zip(&assessments);
    let judged: Vec<Judged<'_>> =
        judged.map(|(record, assessment)| Judged { record, assessment }).collect();
    fleet_text(&fleet(&judged), style)
}
