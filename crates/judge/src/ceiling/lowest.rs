//! The lowest upper bound of a measurement, as shown with every judgement.

use iodyno_model::{
    Direction, Drive, Host, LinkState, Measurement, Metric, format_count, format_duration_ns,
};

use crate::control_group::io_ceiling;
use crate::index::Index;
use crate::place::place;

/// Bytes per small read on the link besides its data: fetching the command (64), completion (16),
/// doorbell and interrupt, with their headers.
pub(super) const COMMAND_BYTES: f64 = 100.0;

/// Returns the lowest known upper bound of a measurement's rate, in the metric's unit, and its
/// source. Latencies have none.
pub(crate) fn ceiling(
    index: &Index<'_>,
    of: &Measurement,
    metric: Metric,
) -> Option<(f64, String)> {
    let link = link_ceiling(index.host()?, of, metric);
    let queue = (metric == Metric::Iops).then(|| queue_ceiling(index, of)).flatten();
    let group = io_ceiling(index.host()?, of, metric);
    [link, queue, group].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))
}

fn link_ceiling(host: &Host, of: &Measurement, metric: Metric) -> Option<(f64, String)> {
    // Trims move no data.
    if of.result(Direction::Trim).is_some() {
        return None;
    }
    let mut drives: Vec<&Drive> = Vec::new();
    for target in &of.targets {
        let bottom = place(Some(host), of, target).bottom?;
        host.namespace(&bottom)?;
        // By several paths each may carry a part.
        for drive in host.controllers_of(&bottom) {
            if drive.virtual_disk.is_some() {
                return None;
            }
            if !drives.iter().any(|known| known.name == drive.name) {
                drives.push(drive);
            }
        }
    }
    let writes = of.result(Direction::Write).is_some();
    let paths: Vec<_> =
        drives.into_iter().map(|drive| path(host, drive, writes)).collect::<Option<_>>()?;
    let slices: Vec<&[(&str, f64)]> = paths.iter().map(Vec::as_slice).collect();
    let bytes_per_s = flow(&slices);
    if !bytes_per_s.is_finite() || slices.is_empty() {
        return None;
    }
    let what = match paths.as_slice() {
        [only] => {
            let (name, _) = only.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
            let state = host.link(name).and_then(|link| link.current.value()).map(LinkState::label);
            format!("link {name} at {}", state?)
        }
        _ if of.targets.len() == 1 => format!("links of its {} paths", paths.len()),
        _ => format!("links of the {} drives", paths.len()),
    };
    match metric {
        Metric::Bandwidth => Some((bytes_per_s, what)),
        Metric::Iops => {
            let block_bytes = of.workload.bs? as f64;
            Some((bytes_per_s / (block_bytes + COMMAND_BYTES), what))
        }
        Metric::LatencyMean => None,
    }
}

/// Links from the root port down to a drive with the rate of each from or to memory, bytes per
/// second; `None` if one is not known or there are none.
fn path<'h>(host: &'h Host, drive: &'h Drive, writes: bool) -> Option<Vec<(&'h str, f64)>> {
    let carried = |name: &str| {
        let link = host.link(name)?;
        match writes {
            true => link.current.get()?.written_bytes_per_s(link.max_payload_bytes()),
            false => link.payload_bytes_per_s(),
        }
    };
    let links = drive.links.iter().map(|name| Some((name.as_str(), carried(name)?)));
    let links: Option<Vec<(&str, f64)>> = links.collect();
    links.filter(|links| !links.is_empty())
}

/// Combined rate of paths from the roots, bytes per second: a link bounds everything below it, and
/// parallel links add up.
pub(super) fn flow(paths: &[&[(&str, f64)]]) -> f64 {
    let mut sum = 0.0;
    let mut counted: Vec<&str> = Vec::new();
    for path in paths {
        let Some(((name, payload), rest)) = path.split_first() else { return f64::INFINITY };
        if counted.contains(name) {
            continue;
        }
        counted.push(name);
        let below: Vec<&[(&str, f64)]> = paths
            .iter()
            .filter(|other| other.first().is_some_and(|(first, _)| first == name))
            .map(|other| &other[1..])
            .collect();
        let below = if rest.is_empty() { f64::INFINITY } else { flow(&below) };
        sum += payload.min(below);
    }
    sum
}

/// Little's law with the latency of an unloaded drive: outstanding I/Os that fit in the queue,
/// divided by the minimum time per I/O.
fn queue_ceiling(index: &Index<'_>, of: &Measurement) -> Option<(f64, String)> {
    let [target] = of.targets.as_slice() else { return None };
    let asked = of.conditions.depth_asked?;
    let host = index.host()?;
    let bottom = place(Some(host), of, target).bottom?;
    let queue = &host.block(&bottom)?.queue;
    let slots = queue
        .nr_requests
        .value()
        .zip(queue.hardware_queues.value())
        .map_or(u32::MAX, |(requests, queues)| requests.saturating_mul(queues.max(1)));
    let held = asked.min(slots);
    let alone = index.latency(of)?;
    let latency_ns = alone.total.first()?.latency_mean?.value;
    (latency_ns > 0.0).then(|| {
        let what = format!(
            "{} outstanding at {} each",
            format_count(f64::from(held)),
            format_duration_ns(latency_ns)
        );
        (f64::from(held) * 1e9 / latency_ns, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Bench};

    #[test]
    fn a_shared_link_bounds_what_lies_below_it() {
        let a = [("up", 7.0), ("a", 7.0)];
        let b = [("up", 7.0), ("b", 3.0)];
        let c = [("c", 2.0)];
        assert!((flow(&[&a, &b, &c]) - 9.0).abs() < 1e-9);
        assert!((flow(&[&b]) - 3.0).abs() < 1e-9);
        assert!((flow(&[&a, &a]) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn the_lowest_bound_is_named() {
        let record = Bench::new(1).measured().record();
        let seq = ceiling(&Index::of(&record), &record.measurements[0], Metric::Bandwidth).unwrap();
        assert!((seq.0 / 1e6 - 7094.0).abs() < 2.0 && seq.1.contains("Gen4 x4"), "{seq:?}");
        let mut trims = record.clone();
        trims.measurements[0].total[0].direction = Direction::Trim;
        let none = ceiling(&Index::of(&trims), &trims.measurements[0], Metric::Bandwidth);
        assert_eq!(none, None, "they move no data");
        // Two controllers lead to one namespace: each of its paths may carry a part.
        let mut paths = Bench::new(2).measured().record();
        for host in &mut paths.snapshots {
            host.drives[1].namespaces = host.drives[0].namespaces.clone();
        }
        let of = &paths.measurements[0];
        let (both, what) = ceiling(&Index::of(&paths), of, Metric::Bandwidth).unwrap();
        let (one, _) = ceiling(&Index::of(&record), of, Metric::Bandwidth).unwrap();
        assert_eq!((both, what.as_str()), (2.0 * one, "links of its 2 paths"));
        let mut slow = record.clone();
        let host = &mut slow.snapshots[0];
        host.links[0].current = testing::known(LinkState { generation: 3, width: 1 });
        let iops = ceiling(&Index::of(&slow), &slow.measurements[1], Metric::Iops).unwrap();
        assert!((iops.0 - 886.7e6 / 4196.0).abs() < 500.0, "{iops:?}");
        // 64 outstanding at 80 us each.
        let mut shallow = record.clone();
        shallow.measurements[1].conditions.depth_asked = Some(64);
        let queue = ceiling(&Index::of(&shallow), &shallow.measurements[1], Metric::Iops).unwrap();
        assert!((queue.0 - 800_000.0).abs() < 1.0, "{queue:?}");
        // Late by 10 s because more were asked for: that is not the time an I/O takes.
        shallow.measurements[2].total[0].latency_mean = Some(iodyno_model::Estimate::bare(1e10));
        for of in &mut shallow.measurements[1..] {
            of.workload.options.insert("rate_iops".into(), "50000".into());
        }
        let link = ceiling(&Index::of(&shallow), &shallow.measurements[1], Metric::Iops).unwrap();
        assert!(link.1.starts_with("link"), "{link:?}");
        assert_eq!(
            ceiling(&Index::of(&record), &record.measurements[2], Metric::LatencyMean),
            None
        );
    }
}
