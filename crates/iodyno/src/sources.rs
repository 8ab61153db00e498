//! What a word on the command line means: a run of the store, or a file or
//! folder with what others printed.

use std::path::Path;

use anyhow::Result;
use iodyno_fio::read::{Imported, Problem};
use iodyno_model::{Origin, Run, RunRecord, RunState};
use iodyno_store::StoreError;

use crate::context::{Context, Usage};

/// A run, and what of its files could not be read.
pub(crate) struct Loaded {
    pub(crate) record: RunRecord,
    pub(crate) problems: Vec<Problem>,
}

/// The run that `word` means: by id, name or `last` in the store, else what the
/// file or folder of this name holds, which is not stored.
pub(crate) fn load(context: &Context, word: &str) -> Result<Loaded> {
    let stored = context.store_to_read().and_then(|store| {
        let run = store.find(word)?;
        Ok(store.load(&run.id)?)
    });
    match stored {
        Ok(record) => Ok(Loaded { record, problems: Vec::new() }),
        Err(_) if Path::new(word).exists() => read(word, None),
        Err(error) => match error.downcast_ref::<StoreError>() {
            Some(StoreError::NoSuchRun(_)) => Err(Usage(format!(
                "{word} is neither a run (iodyno runs lists them) nor a file or folder"
            ))
            .into()),
            Some(missing @ StoreError::Missing { .. }) => {
                Err(Usage(format!("{word} is no file or folder, and {missing}")).into())
            }
            _ => Err(error),
        },
    }
}

/// What a file or folder holds, as a run.
pub(crate) fn read(path: &str, name: Option<&str>) -> Result<Loaded> {
    let Imported { measurements, problems } = iodyno_fio::read::path(Path::new(path))
        .map_err(|error| Usage(format!("{path}: {error}")))?;
    let base = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut targets: Vec<String> =
        measurements.iter().flat_map(|one| one.targets.clone()).collect();
    targets.sort();
    targets.dedup();
    let run = Run {
        id: iodyno_store::new_id(),
        name: name.map(str::to_owned).or(base).unwrap_or_default(),
        command: String::new(),
        state: RunState::Done,
        started_ns: measurements
            .iter()
            .filter_map(|one| one.started_ns)
            .min()
            .unwrap_or_else(iodyno_campaign::now_ns),
        ended_ns: None,
        writer: env!("CARGO_PKG_VERSION").into(),
        plan_name: "import".into(),
        plan: String::new(),
        origin: Origin::Imported(path.to_owned()),
        targets,
        skipped: Vec::new(),
    };
    Ok(Loaded { record: RunRecord { run, snapshots: Vec::new(), measurements }, problems })
}
