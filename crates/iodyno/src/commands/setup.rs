//! What commands that measure have in common: the machine, the store, and
//! work carried out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use iodyno_campaign::{Options, Several, Tools, Watcher, Work, carry_out};
use iodyno_host::{Depth, Source};
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Host, RunRecord, RunState};
use iodyno_store::Store;
use iodyno_target::Target;

use crate::arguments::{Making, Sheets, Streaming};
use crate::commands::beside;
use crate::context::Context;
use crate::progress::Display;
use crate::stream::Stream;
use crate::supervisor::requests_for_an_end;
use crate::terminal;

/// This machine and the store.
pub(crate) struct Setup {
    pub(crate) claims: ClaimBook,
    pub(crate) host: Host,
    pub(crate) store: Store,
    source: Box<dyn Source>,
    interrupted: Arc<AtomicBool>,
    takes_signals: bool,
    /// Who else is to be told what happens; whether nothing is said of that.
    streaming: (Streaming, bool),
    /// The same, once something is measured.
    stream: Option<Stream>,
}

impl Setup {
    /// Reads the machine and opens the store.
    pub(crate) fn new(context: &Context, sheets: &Sheets) -> Result<Self> {
        let claims = context.claims(sheets)?;
        let source = context.source()?;
        let host = iodyno_host::snapshot(source.as_ref(), Depth::Full);
        for volume in claims.volumes_not_of(&host) {
            let what = format!("--volume: no NVMe drive of this machine is a volume of {volume}");
            terminal::note(&what);
        }
        let interrupted = Arc::clone(&context.interrupted);
        Ok(Self {
            claims,
            host,
            store: context.store()?,
            source,
            interrupted,
            takes_signals: false,
            streaming: (Streaming::default(), true),
            stream: None,
        })
    }

    /// For a command that makes load.
    ///
    /// # Errors
    /// See [`Self::new`] and [`Self::streaming`].
    pub(crate) fn of(context: &Context, making: &Making) -> Result<Self> {
        Self::new(context, &making.sheets)?.streaming(context, &making.streaming)
    }

    /// With what `--stream` and `--listen` ask for, opened when something is measured.
    ///
    /// # Errors
    /// Two documents would stand on standard output.
    pub(crate) fn streaming(mut self, context: &Context, asked: &Streaming) -> Result<Self> {
        asked.refuse_beside(context.json, "--json")?;
        self.streaming = (asked.clone(), context.quiet);
        Ok(self)
    }

    /// Reads the machine again.
    pub(crate) fn look_again(&mut self, depth: Depth) {
        self.host = iodyno_host::snapshot(self.source.as_ref(), depth);
    }

    /// [`Self::carry_out`], shown on the terminal.
    pub(crate) fn measure(
        &mut self,
        context: &Context,
        work: &Work,
        targets: &[Target],
        options: &Options,
        generator: &mut dyn LoadGenerator,
    ) -> Result<RunRecord> {
        self.carry_out(work, targets, options, generator, &mut Display::new(context, None))
    }

    /// Carries `work` out; the run with all that was recorded of it. The
    /// signals that ask for an end are taken from here on.
    pub(crate) fn carry_out(
        &mut self,
        work: &Work,
        targets: &[Target],
        options: &Options,
        generator: &mut dyn LoadGenerator,
        watcher: &mut dyn Watcher,
    ) -> Result<RunRecord> {
        if !std::mem::replace(&mut self.takes_signals, true) {
            end_on_signals(&self.interrupted)?;
        }
        if self.stream.is_none() {
            let (asked, quiet) = &self.streaming;
            self.stream = Stream::open(asked, *quiet)?;
        }
        let mut watchers = Several(vec![&mut *watcher]);
        if let Some(stream) = &mut self.stream {
            watchers.0.push(stream);
        }
        let mut tools = Tools {
            source: self.source.as_ref(),
            generator,
            claims: &self.claims,
            store: &mut self.store,
            watcher: &mut watchers,
            interrupted: &self.interrupted,
        };
        let outcome = carry_out(&mut tools, work, &self.host, targets, options);
        if let Some(stream) = &mut self.stream {
            let state = outcome.as_ref().ok().and_then(|id| Some(self.store.find(id).ok()?.state));
            stream.end(state.unwrap_or(RunState::Failed));
        }
        let run_id = match outcome {
            Ok(run_id) => run_id,
            Err(error) => {
                // What was measured until then is not in the file either.
                if self.store.aside().is_some() {
                    let last = self.store.find("last")?;
                    beside::keep(&self.store, &self.store.load(&last.id)?, &self.claims)?;
                }
                return Err(error.into());
            }
        };
        let record = self.store.load(&run_id)?;
        beside::keep(&self.store, &record, &self.claims)?;
        Ok(record)
    }
}

/// The signals that ask for an end set `interrupted`; the supervisor counts them.
pub(crate) fn end_on_signals(interrupted: &Arc<AtomicBool>) -> Result<()> {
    for signal in requests_for_an_end() {
        signal_hook::flag::register(signal, Arc::clone(interrupted))?;
    }
    Ok(())
}
