//! Writes per second of a drive by block size.

use std::collections::{BTreeMap, HashMap};

use iodyno_model::{Direction, Measurement};

use crate::limiter;
use crate::measured::is_paced;
use crate::outstanding::outstanding;
use crate::rule_context::RuleContext;

/// With fewer outstanding, the latency of a single I/O sets the rate, which hardly depends on its
/// size.
const BUSY: f64 = 16.0;

/// Writes per second; `None` if something other than the drive may limit them.
pub(crate) fn rate(context: &RuleContext<'_>, of: &Measurement) -> Option<f64> {
    // A hypervisor's limit on the number of I/Os would look like a cost per write.
    let throttled =
        of.targets.iter().any(|target| context.place(of, target).virtual_disk.is_some());
    let busy = outstanding(of).is_some_and(|count| count >= BUSY);
    let cpu = limiter::saturated(context.host(), of) == Some(true);
    let known = busy && !cpu && !throttled && !is_paced(of) && of.conditions.punted != Some(true);
    known.then(|| of.result(Direction::Write)?.iops).flatten().map(|iops| iops.value)
}

/// Equal but for the block size: targets and fio's `rw`.
type Key<'a> = (&'a [String], Option<&'a str>);

fn key(of: &Measurement) -> Key<'_> {
    (&of.targets, of.workload.rw.as_deref())
}

/// Writes per second by block size, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct WriteRates<'a>(HashMap<Key<'a>, BTreeMap<u64, Vec<f64>>>);

impl<'a> WriteRates<'a> {
    pub(crate) fn of(context: &RuleContext<'a>) -> Self {
        let mut all: HashMap<_, BTreeMap<_, Vec<_>>> = HashMap::new();
        for (_, of) in context.finished() {
            if let Some((bs, rate)) = of.workload.bs.zip(rate(context, of)) {
                all.entry(key(of)).or_default().entry(bs).or_default().push(rate);
            }
        }
        let each = all.values_mut().flat_map(BTreeMap::values_mut);
        each.for_each(|rates| rates.sort_by(f64::total_cmp));
        Self(all)
    }

    /// Those on the targets of `of` and with its `rw`.
    pub(crate) fn beside<'s>(&'s self, of: &'s Measurement) -> Option<&'s BTreeMap<u64, Vec<f64>>> {
        self.0.get(&key(of))
    }
}
