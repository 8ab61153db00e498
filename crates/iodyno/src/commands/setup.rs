//! Setup common to commands that measure: the machine, the store, and running of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use iodyno_campaign::{Options, Several, Tools, Watcher, Work, carry_out, now_ns};
use iodyno_host::{Depth, Source};
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Host, RunRecord, RunState};
use iodyno_store::Store;
use iodyno_target::Target;

use crate::arguments::{DataSheets, LiveOutput, LoadOptions};
use crate::commands::unstored;
use crate::context::Context;
use crate::output::{Content, refuse_other, refuse_store_words, refuse_targets};
use crate::progress::Display;
use crate::stream::Stream;
use crate::supervisor::termination_signals;
use crate::terminal;

/// This machine and the store.
pub(crate) struct Setup {
    pub(crate) claims: ClaimBook,
    pub(crate) host: Host,
    pub(crate) store: Store,
    source: Box<dyn Source>,
    interrupted: Arc<AtomicBool>,
    /// Set if the store refuses results; `None`: a step of `accept`, which gets them from the output.
    incomplete: Option<Arc<AtomicBool>>,
    takes_signals: bool,
    /// Requested live output, whether notes about it are suppressed, and what to set if it lost records.
    streaming: (LiveOutput, bool, Arc<AtomicBool>),
    /// Open live output, once something is measured.
    stream: Option<Stream>,
}

impl Setup {
    /// Reads the machine and opens the store.
    pub(crate) fn new(context: &Context, sheets: &DataSheets) -> Result<Self> {
        let claims = context.claims(sheets)?;
        let source = context.source()?;
        let host = iodyno_host::snapshot(source.as_ref(), Depth::Full);
        for volume in claims.volumes_not_of(&host) {
            let what = format!("--volume: no NVMe drive of this machine is of type {volume}");
            terminal::note(&what);
        }
        let interrupted = Arc::clone(&context.interrupted);
        Ok(Self {
            claims,
            host,
            store: context.store()?,
            source,
            interrupted,
            incomplete: (!context.is_step).then(|| Arc::clone(&context.incomplete)),
            takes_signals: false,
            streaming: (LiveOutput::default(), true, Arc::default()),
            stream: None,
        })
    }

    /// Sets up a command that makes load.
    ///
    /// # Errors
    /// See [`Self::new`] and [`Self::streaming`].
    pub(crate) fn of(context: &Context, load_options: &LoadOptions) -> Result<Self> {
        refuse_store_words(context, &load_options.permissions)?;
        Self::new(context, &load_options.sheets)?.streaming(context, &load_options.streaming)
    }

    /// Adds the output of `--stream` and `--listen`, opened with the first measurement.
    ///
    /// # Errors
    /// Two outputs need standard output.
    pub(crate) fn streaming(mut self, context: &Context, asked: &LiveOutput) -> Result<Self> {
        asked.refuse_beside(context.json, "--json")?;
        asked.stream_file().map_or(Ok(()), |path| refuse_other(context, path, Content::Stream))?;
        self.streaming = (asked.clone(), context.quiet, Arc::clone(&context.incomplete));
        Ok(self)
    }

    /// Reads the machine again.
    pub(crate) fn refresh_host(&mut self, depth: Depth) {
        self.host = iodyno_host::snapshot(self.source.as_ref(), depth);
    }

    /// Runs [`Self::run_work`] with progress on the terminal.
    pub(crate) fn measure(
        &mut self,
        context: &Context,
        work: &Work,
        targets: &[Target],
        options: &Options,
        generator: &mut dyn LoadGenerator,
    ) -> Result<RunRecord> {
        self.run_work(work, targets, options, generator, &mut Display::new(context, None))
    }

    /// Runs `work`; returns the run with all its records. From here on, signals end it properly.
    pub(crate) fn run_work(
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
            let (asked, quiet, incomplete) = &self.streaming;
            if let Some(output) = asked.stream_file() {
                refuse_targets(output, targets.iter().map(Target::path).chain(work.files()))?;
            }
            self.stream = Stream::open(asked, *quiet, incomplete)?;
        }
        let newest = self.newest();
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
            let run = outcome.as_ref().ok().and_then(|id| self.store.find(id).ok());
            let stored = run.map(|run| (run.state, run.ended_ns));
            let (state, ended_ns) = stored.unwrap_or((RunState::Failed, None));
            stream.end(state, ended_ns.unwrap_or_else(now_ns));
        }
        let run_id = match outcome {
            Ok(run_id) => run_id,
            Err(error) => {
                // The output file lacks the results so far, too; without a run of its own there
                // are none.
                let own = self.newest().filter(|id| Some(id) != newest.as_ref());
                if let Some(id) = own.filter(|_| self.store.aside().is_some()) {
                    self.keep(&self.store.load(&id)?)?;
                }
                return Err(error.into());
            }
        };
        let record = self.store.load(&run_id)?;
        self.keep(&record)?;
        Ok(record)
    }

    /// Writes results beside the store if it refused them.
    fn keep(&self, record: &RunRecord) -> Result<()> {
        if let (Some(_), Some(incomplete)) = (self.store.aside(), &self.incomplete) {
            incomplete.store(true, Ordering::Relaxed);
        }
        unstored::save(&self.store, record, &self.claims)
    }

    /// Returns the ID of the newest run, if there is one.
    fn newest(&self) -> Option<String> {
        self.store.find("last").ok().map(|run| run.id)
    }
}

/// Lets termination signals set `interrupted`; the supervisor counts them.
pub(crate) fn end_on_signals(interrupted: &Arc<AtomicBool>) -> Result<()> {
    for signal in termination_signals() {
        signal_hook::flag::register(signal, Arc::clone(interrupted))?;
    }
    Ok(())
}
