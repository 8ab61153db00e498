//! Shows the progress of a campaign on standard error: the full view or a live line on a terminal,
//! else a line for each result.

use std::time::{Duration, Instant};

use iodyno_campaign::{Event, Watcher};
use iodyno_model::format_duration_ns;
use iodyno_report::text::clean;

use crate::arguments::LiveView;
use crate::context::Context;
use crate::grid::Grid;
use crate::live::{Activity, Live, TerminalCaps, done_line};
use crate::screen::{self, Terminal};
use crate::terminal;

/// Shorter work is over before a full screen could be read, ns.
const SHORT_NS: u64 = 5_000_000_000;
/// Delay before the full view appears if the end is unknown.
const UNKNOWN_END_DELAY: Duration = Duration::from_secs(3);

/// Progress display.
pub(crate) struct Display {
    quiet: bool,
    /// A live line is rewritten in place.
    has_line: bool,
    full: Option<FullView>,
}

/// The full view and when to show it.
struct FullView {
    live: Live,
    since: Instant,
    /// Show at once.
    now: bool,
    /// Terminal to take; `None`: the view is shown already.
    terminal: Option<Terminal>,
    caps: TerminalCaps,
}

impl Display {
    /// Creates the display, with a sweep's points in `grid`.
    pub(crate) fn new(context: &Context, grid: Option<Grid>) -> Self {
        Self::with(context, grid, context.live)
    }

    /// As [`Self::new`], with `asked` in place of the option; `None`: the default.
    pub(crate) fn with(context: &Context, grid: Option<Grid>, asked: Option<LiveView>) -> Self {
        let now = asked == Some(LiveView::Full);
        // A program that reads our output may use the screen itself (less(1)).
        let is_alone = !terminal::is_stream() && (now || terminal::is_terminal());
        let terminal = Terminal::of_errors().filter(|_| !context.quiet);
        let has_line = terminal.is_some() && asked != Some(LiveView::Off) && !screen::is_dumb();
        let may_be_full = matches!(asked, None | Some(LiveView::Full)) && is_alone && has_line;
        let terminal = terminal.filter(|terminal| may_be_full && terminal.fits());
        let full = terminal.map(|terminal| FullView {
            live: Live::new(grid),
            since: Instant::now(),
            now,
            terminal: Some(terminal),
            caps: terminal::caps(context),
        });
        Self { quiet: context.quiet, has_line, full }
    }

    /// Ends the full view; later events go to a live line, so that printed text stays visible.
    pub(crate) fn leave_full(&mut self) {
        self.full = None;
    }

    /// Shows a warning while the work goes on.
    fn warn(&self, line: &str) {
        if let Some(full) = &self.full {
            full.live.say(line);
        }
        self.say(line);
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            self.show("");
            terminal::note(line);
        }
    }

    /// Shows a live line, cleaned: it may contain names of files and jobs.
    fn show(&self, line: &str) {
        if self.has_line {
            terminal::live_line(&clean(line));
        }
    }
}

/// Removes the live display however the work ended.
impl Drop for Display {
    fn drop(&mut self) {
        if let Some(full) = &mut self.full {
            full.live.end();
        }
        self.show("");
    }
}

impl FullView {
    /// Forwards an event, and shows the view once it is worthwhile.
    fn event(&mut self, event: &Event<'_>, activity: Option<Activity>) {
        self.live.event(event, activity);
        let is_long = match event {
            Event::Progress(progress) => progress.left_ns >= SHORT_NS,
            _ => false,
        };
        if (self.now || is_long || self.since.elapsed() >= UNKNOWN_END_DELAY)
            && let Some(terminal) = self.terminal.take()
        {
            terminal::live_line("");
            self.live.show(terminal, self.caps);
        }
    }
}

impl Watcher for Display {
    fn event(&mut self, event: &Event<'_>) {
        let activity = if self.has_line { Activity::of(event) } else { None };
        if let Some(activity) = &activity {
            self.show(&activity.line());
        }
        if let Some(full) = &mut self.full {
            full.event(event, activity);
        }
        match event {
            Event::Expect(sentences) => {
                sentences.iter().for_each(|sentence| self.say(sentence));
                self.say("");
            }
            Event::Purged { target, method, elapsed_ns } => {
                let took = format_duration_ns(*elapsed_ns as f64);
                self.say(&format!("{target}: purged ({}) in {took}", method.name()));
            }
            Event::Warning(warning) => self.warn(warning),
            Event::Done(measurement) if !self.has_line => self.say(&done_line(measurement)),
            Event::Skipped(skipped) => {
                let what = match &skipped.step {
                    Some(step) => format!("{} {step}", skipped.target),
                    None => skipped.target.clone(),
                };
                self.warn(&format!("{what}: not measured: {}", skipped.why));
            }
            _ => {}
        }
    }
}
