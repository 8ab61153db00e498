//! `iodyno show`: prints a stored run, judged anew.

use anyhow::Result;
use iodyno_model::{Assessment, RunRecord, shell_word};
use iodyno_report::text::details_text;

use crate::arguments::Show;
use crate::commands::layouts::comparison;
use crate::commands::present::{JudgeOptions, OutputForm, print};
use crate::commands::traced;
use crate::context::Context;
use crate::{inputs, terminal};

pub(crate) fn run(context: &Context, arguments: &Show) -> Result<u8> {
    if let Some(status) = traced::show(context, arguments)? {
        return Ok(status);
    }
    let claims = context.claims(&arguments.sheets)?;
    let load = |word: &str| Ok::<_, anyhow::Error>(inputs::load(context, word)?.record);
    let mut loaded = inputs::load_each(context, &arguments.run)?;
    let record = match (loaded.pop(), loaded.is_empty()) {
        (Some(one), true) => one.record,
        (last, _) => {
            loaded.extend(last);
            let records: Vec<RunRecord> = loaded.into_iter().map(|one| one.record).collect();
            return comparison::show(context, arguments, &records);
        }
    };
    let baseline = arguments.baseline.as_deref().map(load).transpose()?;
    let earlier = earlier_judged(context, &record);
    let table = arguments.table.table();
    let (assessment, status) = print(
        context,
        &record,
        &JudgeOptions {
            claims: &claims,
            baseline: baseline.as_ref(),
            expect: None,
            require_verdict: false,
            run: &shell_word(&arguments.run),
            table: &table,
            shape: OutputForm::of(arguments.format, arguments.verbose || arguments.details),
        },
    )?;
    if arguments.details {
        let style = terminal::style(context, &table);
        let details = format!("\n{}", details_text(&record, &style));
        terminal::print_verdict(&details, status)?;
    }
    if let Some(earlier) = earlier.filter(|earlier| earlier.ruleset != assessment.ruleset)
        && !context.quiet
    {
        terminal::note(&format!(
            "judged anew: {} by ruleset {}; it was {} by ruleset {}",
            assessment.verdict.label(),
            assessment.ruleset,
            earlier.verdict.label(),
            iodyno_report::text::clean(&earlier.ruleset)
        ));
    }
    Ok(status)
}

/// Assessment stored with a run when it was made.
fn earlier_judged(context: &Context, record: &RunRecord) -> Option<Assessment> {
    let store = context.store_to_read().ok()?;
    store.assessment(&record.run.id).ok().flatten()
}
