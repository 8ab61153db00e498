//! Size of the range that a measurement's offsets were taken from.

use iodyno_model::{Host, Measurement};

/// Bytes that the I/O could touch, over all clones and targets; `None`: not known. Other tools and
/// earlier versions did not record it: it is then estimated from the options and the devices.
pub(crate) fn reach_bytes(host: Option<&Host>, of: &Measurement) -> Option<u64> {
    let known = &of.conditions;
    if !known.ranges.is_empty() {
        return Some(known.ranges.iter().fold(0, |sum, (_, length)| sum.saturating_add(*length)));
    }
    known.range_bytes.or_else(|| estimated(host, of))
}

fn estimated(host: Option<&Host>, of: &Measurement) -> Option<u64> {
    let block = |target: &String| host?.block(target.strip_prefix("/dev/").unwrap_or(target));
    let sizes = of.targets.iter().map(|target| Some(block(target)?.size.get()?.0));
    let whole = sizes.sum::<Option<u64>>().filter(|_| !of.targets.is_empty());
    // Bytes, or percent of the device; 0 by default.
    let amount = |name: &str| match of.workload.options.get(name) {
        None => Some(0),
        Some(text) => match text.strip_suffix('%') {
            Some(percent) => Some((whole? as f64 * percent.parse::<f64>().ok()? / 100.0) as u64),
            None => text.parse().ok(),
        },
    };
    let room = whole.zip(amount("offset")).map(|(whole, start)| whole.saturating_sub(start));
    // A stored size is a number, whether it was an option or not.
    let size = of.workload.size.or_else(|| amount("size"));
    let one =
        size.map(|size| Some(size).filter(|size| *size > 0))?.into_iter().chain(room).min()?;
    // Ranges of clones may overlap.
    let clones = u64::from(of.workload.numjobs.unwrap_or(1).max(1));
    let step = amount("offset_increment")?.min(one);
    let all = one.saturating_add(step.saturating_mul(clones - 1));
    Some(room.map_or(all, |room| all.min(room)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn the_tested_range_is_a_part_of_the_device() {
        let mut record = Bench::new(1).measured().record();
        let (host, mut of) = (record.snapshots.remove(0), record.measurements.remove(0));
        of.workload.numjobs = Some(4);
        let device = host.block(&of.targets[0]).unwrap().size.get().unwrap().0;
        for (options, range) in [
            (&[][..], device),
            (&[("size", "50%")], device / 2),
            (&[("size", "4096")], 4096),
            (&[("offset", "4096")], device - 4096),
            (&[("offset", "75%"), ("size", "50%")], device - device * 3 / 4),
            (&[("size", "4096"), ("offset_increment", "1024")], 4096 + 3 * 1024),
            (&[("size", "4096"), ("offset_increment", "1048576")], 4 * 4096),
        ] {
            let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
            of.workload.options = options.iter().map(owned).collect();
            assert_eq!(reach_bytes(Some(&host), &of), Some(range), "{options:?}");
            // A stored run has the size in another place.
            let mut stored = of.clone();
            let json = serde_json::to_value(&of.workload).unwrap();
            stored.workload = serde_json::from_value(json).unwrap();
            assert_eq!(reach_bytes(Some(&host), &stored), Some(range), "{options:?}");
        }
        // Measurements of files have it.
        (of.workload.options, of.workload.size) = (Default::default(), Some(77));
        assert_eq!(reach_bytes(None, &of), Some(77));
        // As the run measured it, whatever else is known.
        of.conditions.range_bytes = Some(78);
        assert_eq!(reach_bytes(Some(&host), &of), Some(78));
    }
}
