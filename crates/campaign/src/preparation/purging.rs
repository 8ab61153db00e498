//! Runs purges of several drives at once, and reports their progress.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use iodyno_model::{PurgeMethod, SkipReason};
use iodyno_target::{Purge, PurgeEnd, TargetError};

use crate::execute::Execution;
use crate::watch::Event;

/// Interval of progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Runs all purges at once. Failures are recorded.
pub(super) fn purge(execution: &mut Execution<'_, '_>, purges: &[Purge], method: PurgeMethod) {
    let begun = Instant::now();
    let interrupted: &AtomicBool = execution.tools.interrupted;
    // In thousandths; 0: the drive does not report it.
    let done: Vec<AtomicU32> = purges.iter().map(|_| AtomicU32::new(0)).collect();
    let names: Vec<String> = purges.iter().map(name_of).collect();
    let target = names.join(", ");
    let elapsed_ns = || begun.elapsed().as_nanos() as u64;
    let mut is_warned = false;
    std::thread::scope(|scope| {
        let (ended, end) = mpsc::channel();
        for (n, (purge, done)) in purges.iter().zip(&done).enumerate() {
            let ended = ended.clone();
            scope.spawn(move || {
                let progress = |share: f64| {
                    done.store((share * 1000.0) as u32, Ordering::Relaxed);
                    match interrupted.load(Ordering::Relaxed) {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                };
                let end = purge.carry_out(&progress);
                done.store(1000, Ordering::Relaxed);
                // The receiver is gone only if the campaign is.
                let _ = ended.send((n, end));
            });
        }
        drop(ended);
        loop {
            match end.recv_timeout(REPORT_INTERVAL) {
                Ok((n, end)) => record_end(execution, &names[n], method, end, elapsed_ns()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let least = done.iter().map(|one| one.load(Ordering::Relaxed)).min();
                    execution.tools.watcher.event(&Event::Purging {
                        target: &target,
                        method,
                        done: least.filter(|share| *share > 0).map(|n| f64::from(n) / 1000.0),
                        elapsed_ns: elapsed_ns(),
                    });
                    if !is_warned && interrupted.load(Ordering::Relaxed) {
                        is_warned = true;
                        execution
                            .tools
                            .watcher
                            .event(&Event::Warning(&interruption_warning(&target, method)));
                    }
                }
            }
        }
    });
}

/// Warning about what an interruption of a purge does.
fn interruption_warning(target: &str, method: PurgeMethod) -> String {
    match method {
        PurgeMethod::SanitizeBlock | PurgeMethod::SanitizeCrypto => {
            format!("{target}: interrupted; the drive continues the {} by itself", method.name())
        }
        _ => format!(
            "{target}: a {} cannot be stopped: waiting for it, then stopping; Ctrl-C again leaves it to the drive",
            method.name()
        ),
    }
}

/// Reports and records how a purge ended.
fn record_end(
    execution: &mut Execution<'_, '_>,
    name: &str,
    method: PurgeMethod,
    end: Result<PurgeEnd, TargetError>,
    elapsed_ns: u64,
) {
    match end {
        Ok(PurgeEnd::Done) => {
            execution.tools.watcher.event(&Event::Purged { target: name, method, elapsed_ns });
        }
        Ok(PurgeEnd::LeftGoing) => {
            let why = SkipReason::PurgeGoesOn;
            let next = "nvme sanitize-log shows its progress";
            execution.tools.skip(&mut execution.record.run, name, Some(method.name()), why, next);
        }
        Err(error) => {
            execution.failed = true;
            execution.tools.skip_failed(
                &mut execution.record.run,
                name,
                Some(method.name()),
                &error.to_string(),
                &error.next_step(),
            );
        }
    }
}

/// Names of everything that a purge destroys, joined.
fn name_of(purge: &Purge) -> String {
    let names: Vec<&str> = purge.reached().map(|one| one.as_read().name()).collect();
    names.join(" and ")
}
