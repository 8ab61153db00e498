//! Reads the control groups of this process.

use iodyno_model::{BlockDevice, ControlGroup, CpuThrottling, Fact, IoMax};

use crate::read;
use crate::source::Source;

/// Limit of nested groups.
const MOST_GROUPS: usize = 64;

/// Reads this process's control group of version 2 and those above it up to the visible root,
/// innermost first (cgroups(7)); then those of version 1 that limit CPUs or I/O. Absent without a
/// hierarchy. Groups above the root of a container's namespace are not visible.
pub(crate) fn read(source: &dyn Source, blocks: &[BlockDevice]) -> Fact<Vec<ControlGroup>> {
    let own = match read::file(source, "/proc/self/cgroup") {
        Ok(text) => text,
        Err(error) => return read::unknown(&error),
    };
    let mounts = read::file(source, "/proc/self/mountinfo").unwrap_or_default();
    // Version 2, whose line is the last one, goes first.
    let is_version_2 = |line: &&str| line.starts_with("0::");
    let earlier_lines = own.lines().filter(|line| !is_version_2(line));
    let mut groups = Vec::new();
    let mut is_any = false;
    for line in own.lines().filter(is_version_2).chain(earlier_lines) {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(own)) = (fields.next(), fields.next()) else { continue };
        let limits = |one| ["cpu", "cpuset", "blkio"].contains(&one);
        if !controllers.split(',').any(limits) && !is_version_2(&line) {
            continue;
        }
        let mount = mounts.lines().find_map(|line| hierarchy(line, controllers));
        let Some((root, at)) = mount else { continue };
        // Not below the mount: another namespace's.
        let below = if root == "/" { Some(own) } else { own.strip_prefix(root.as_str()) };
        let below = match below.filter(|below| !below.starts_with("/..")) {
            Some(below) => below.trim_end_matches('/'),
            None if is_version_2(&line) => {
                let own = read::clean(own);
                return Fact::Unreadable(format!("control group {own} is not mounted"));
            }
            None => continue,
        };
        is_any = true;
        let paths = std::iter::successors(Some(below), |path| Some(path.rsplit_once('/')?.0));
        for path in paths.take(MOST_GROUPS) {
            let directory = format!("{at}{path}");
            match is_version_2(&line) {
                true => groups.push(group(source, &directory, path, blocks)),
                false => groups.extend(group_v1(source, &directory, (controllers, path), blocks)),
            }
        }
    }
    if is_any { Fact::Read(groups) } else { Fact::Absent }
}

/// Mounted part and mount point of the hierarchy with these controllers (empty for version 2).
fn hierarchy(line: &str, controllers: &str) -> Option<(String, String)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let (root, at) = (fields.next()?, fields.next()?);
    let mut of_type = after.split(' ');
    let is_it = match of_type.next()? {
        "cgroup2" => controllers.is_empty(),
        "cgroup" => {
            let options: Vec<&str> = of_type.nth(1)?.split(',').collect();
            !controllers.is_empty() && controllers.split(',').all(|one| options.contains(&one))
        }
        _ => false,
    };
    is_it.then(|| (read::unescape(root), read::unescape(at)))
}

/// Reads a group of version 1 (Linux, admin-guide/cgroup-v1); `None` if it limits nothing.
fn group_v1(
    source: &dyn Source,
    directory: &str,
    (controllers, path): (&str, &str),
    blocks: &[BlockDevice],
) -> Option<ControlGroup> {
    let file = |name: &str| format!("{directory}/{name}");
    let number = |name: &str| -> Option<f64> {
        read::file(source, &file(name)).ok()?.trim().parse().ok().filter(|us| *us > 0.0)
    };
    let quota = number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us"));
    let cpus = read::parsed(source, &file("cpuset.effective_cpus"), read::cpu_list);
    let io_max = throttles(source, directory, blocks);
    if quota.is_none() && cpus.get().is_none() && io_max.is_empty() {
        return None;
    }
    let throttled = read::file(source, &file("cpu.stat")).ok().and_then(|text| throttling(&text));
    Some(ControlGroup {
        path: format!(
            "{controllers}:{}",
            if path.is_empty() { "/".into() } else { read::clean(path) }
        ),
        io_max,
        cpu_max: quota.map_or(Fact::Absent, |(quota, period)| Fact::Read(quota / period)),
        cpus,
        cpu_throttling: throttled.map_or(Fact::Absent, Fact::Read),
        ..ControlGroup::default()
    })
}

/// Reads the I/O limits of a group of version 1, which has a file for each kind (Linux,
/// admin-guide/cgroup-v1/blkio-controller).
fn throttles(source: &dyn Source, directory: &str, blocks: &[BlockDevice]) -> Vec<IoMax> {
    type Field = fn(&mut IoMax) -> &mut Option<u64>;
    let files: [(&str, Field); 4] = [
        ("read_bps", |of| &mut of.read_bytes_per_s),
        ("write_bps", |of| &mut of.written_bytes_per_s),
        ("read_iops", |of| &mut of.read_iops),
        ("write_iops", |of| &mut of.write_iops),
    ];
    let mut all: Vec<IoMax> = Vec::new();
    for (name, field) in files {
        let file = format!("{directory}/blkio.throttle.{name}_device");
        for (device, limit) in by_device(source, &file, blocks) {
            let at = all.iter().position(|one| one.device == device).unwrap_or_else(|| {
                all.push(IoMax { device, ..IoMax::default() });
                all.len() - 1
            });
            *field(&mut all[at]) = limit.trim().parse().ok();
        }
    }
    all
}

/// Reads a file with a line for each device: its name, or its number if it has no name here, and
/// the rest of the line.
fn by_device(source: &dyn Source, file: &str, blocks: &[BlockDevice]) -> Vec<(String, String)> {
    let text = read::file(source, file).unwrap_or_default();
    let line = |line: &str| {
        let (number, settings) = line.split_once(' ')?;
        let of = read::device_number(number)?;
        let is_it = |block: &&BlockDevice| (block.major, block.minor) == of;
        let name = blocks.iter().find(is_it).map(|block| block.name.clone());
        Some((name.unwrap_or_else(|| number.to_owned()), settings.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

fn group(source: &dyn Source, directory: &str, path: &str, blocks: &[BlockDevice]) -> ControlGroup {
    let file = |name: &str| format!("{directory}/{name}");
    let by_device = |name: &str| by_device(source, &file(name), blocks);
    let limits = |(device, settings): (String, String)| IoMax {
        device,
        read_bytes_per_s: value(&settings, "rbps"),
        written_bytes_per_s: value(&settings, "wbps"),
        read_iops: value(&settings, "riops"),
        write_iops: value(&settings, "wiops"),
    };
    ControlGroup {
        path: if path.is_empty() { "/".into() } else { read::clean(path) },
        io_max: by_device("io.max").into_iter().map(limits).collect(),
        io_latency: by_device("io.latency")
            .into_iter()
            .filter_map(|(device, settings)| Some((device, value(&settings, "target")?)))
            .collect(),
        io_cost: by_device("io.cost.qos")
            .into_iter()
            .filter(|(_, settings)| value::<u8>(settings, "enable") == Some(1))
            .map(|(device, _)| device)
            .collect(),
        cpu_max: read::text(source, &file("cpu.max")).and_then(|text| cpu_max(&text)),
        cpus: read::parsed(source, &file("cpuset.cpus.effective"), read::cpu_list),
        io_stalled_us: read::text(source, &file("io.pressure")).and_then(|text| {
            let some = text.split("full").next().and_then(|some| value(some, "total"));
            some.map_or(Fact::Absent, Fact::Read)
        }),
        cpu_throttling: match read::file(source, &file("cpu.stat")) {
            Ok(text) => throttling(&text).map_or(Fact::Absent, Fact::Read),
            Err(error) => read::unknown(&error),
        },
    }
}

/// Number of `key=number` among words; `None` for `max`.
fn value<T: std::str::FromStr>(words: &str, key: &str) -> Option<T> {
    let mut words = words.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    words.find(|(name, _)| *name == key)?.1.parse().ok()
}

/// Parses `QUOTA PERIOD`, us, as a number of CPUs; absent for `max`.
fn cpu_max(text: &str) -> Fact<f64> {
    let mut words = text.split_ascii_whitespace();
    let (quota, period) = (words.next(), words.next());
    if quota == Some("max") {
        return Fact::Absent;
    }
    let number = |word: Option<&str>| word?.parse::<f64>().ok().filter(|us| *us > 0.0);
    match (number(quota), number(period)) {
        (Some(quota), Some(period)) => Fact::Read(quota / period),
        _ => Fact::Unreadable(format!("cpu.max \"{text}\"")),
    }
}

/// Parses the counts of cpu.stat, if the group has the CPU controller.
fn throttling(text: &str) -> Option<CpuThrottling> {
    let count = |key: &str| -> Option<u64> {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == key)?.1.trim().parse().ok()
    };
    Some(CpuThrottling {
        periods: count("nr_periods")?,
        throttled_periods: count("nr_throttled")?,
        // Version 1 counts nanoseconds.
        throttled_us: count("throttled_usec").or_else(|| Some(count("throttled_time")? / 1000))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::{Captured, Entry};

    fn groups(files: &[(&str, &str)]) -> Fact<Vec<ControlGroup>> {
        let entry =
            |(path, text): &(&str, &str)| ((*path).to_owned(), Entry::Text(format!("{text}\n")));
        let source = Captured::new(files.iter().map(entry).collect());
        let disk =
            BlockDevice { name: "nvme0n1".into(), major: 259, minor: 3, ..BlockDevice::default() };
        read(&source, &[disk])
    }

    #[test]
    fn the_own_group_and_those_above_it_are_read() {
        let mounted = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw";
        let own = "/sys/fs/cgroup/a.slice/b.service";
        let found = groups(&[
            ("/proc/self/cgroup", "1:cpu:/\n0::/a.slice/b.service"),
            ("/proc/self/mountinfo", mounted),
            (
                &format!("{own}/io.max"),
                "259:3 rbps=1000000 wbps=max riops=max wiops=50\n8:0 rbps=1",
            ),
            (
                &format!("{own}/cpu.stat"),
                "usage_usec 9\nnr_periods 7\nnr_throttled 3\nthrottled_usec 250",
            ),
            (
                &format!("{own}/io.pressure"),
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7",
            ),
            ("/sys/fs/cgroup/a.slice/cpu.max", "50000 100000"),
            ("/sys/fs/cgroup/a.slice/cpuset.cpus.effective", "0-1"),
            ("/sys/fs/cgroup/a.slice/io.latency", "259:3 target=75000"),
            ("/sys/fs/cgroup/io.cost.qos", "259:3 enable=1 ctrl=auto rpct=95.00\n8:0 enable=0"),
        ]);
        let groups = found.value().unwrap();
        let paths: Vec<&str> = groups.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/a.slice/b.service", "/a.slice", "/"]);
        let limits = &groups[0].io_max;
        assert_eq!((limits[0].device.as_str(), limits[1].device.as_str()), ("nvme0n1", "8:0"));
        assert_eq!(
            (limits[0].read_bytes_per_s, limits[0].written_bytes_per_s),
            (Some(1_000_000), None)
        );
        assert_eq!((limits[0].read_iops, limits[0].write_iops), (None, Some(50)));
        let throttled = CpuThrottling { periods: 7, throttled_periods: 3, throttled_us: 250 };
        assert_eq!(groups[0].cpu_throttling, Fact::Read(throttled));
        assert_eq!(groups[0].io_stalled_us, Fact::Read(42));
        assert_eq!((&groups[1].cpu_max, &groups[0].cpu_max), (&Fact::Read(0.5), &Fact::Absent));
        assert_eq!(groups[1].cpus, Fact::Read(vec![0, 1]));
        assert_eq!(groups[1].io_latency, [("nvme0n1".to_owned(), 75_000)]);
        assert_eq!(groups[2].io_cost, ["nvme0n1"]);
    }

    #[test]
    fn groups_of_version_1_limit_as_well() {
        let own = "/sys/fs/cgroup/cpu,cpuacct/docker/a";
        let found = groups(&[
            (
                "/proc/self/cgroup",
                "4:memory:/docker/a\n3:cpuset:/docker/a\n2:cpu,cpuacct:/docker/a\n1:blkio:/docker/a\n0::/docker/a",
            ),
            (
                "/proc/self/mountinfo",
                "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 33 23 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                 32 23 0:28 /docker/a /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n\
                 30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
            ),
            (&format!("{own}/cpu.cfs_quota_us"), "50000"),
            (&format!("{own}/cpu.cfs_period_us"), "100000"),
            (&format!("{own}/cpu.stat"), "nr_periods 7\nnr_throttled 3\nthrottled_time 250999"),
            ("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1"),
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "3"),
            ("/sys/fs/cgroup/blkio/docker/a/blkio.throttle.read_bps_device", "259:3 1000000"),
            ("/sys/fs/cgroup/blkio/docker/a/blkio.throttle.write_iops_device", "8:0 7\n259:3 50"),
            ("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", ""),
        ]);
        let groups = found.value().unwrap();
        let paths: Vec<&str> = groups.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(
            paths,
            ["/docker/a", "/docker", "/", "cpuset:/", "cpu,cpuacct:/docker/a", "blkio:/docker/a"]
        );
        let [disk, other] = groups[5].io_max.as_slice() else { panic!("{:?}", groups[5].io_max) };
        assert_eq!((disk.device.as_str(), other.device.as_str()), ("nvme0n1", "8:0"));
        assert_eq!((disk.read_bytes_per_s, disk.write_iops), (Some(1_000_000), Some(50)));
        assert_eq!((other.read_bytes_per_s, other.write_iops), (None, Some(7)));
        assert_eq!(groups[3].cpus, Fact::Read(vec![3]));
        assert_eq!(groups[4].cpu_max, Fact::Read(0.5));
        let throttled = CpuThrottling { periods: 7, throttled_periods: 3, throttled_us: 250 };
        assert_eq!(groups[4].cpu_throttling, Fact::Read(throttled));
    }

    #[test]
    fn unmounted_groups_are_unknown_not_unlimited() {
        assert_eq!(groups(&[("/proc/self/cgroup", "0::/")]), Fact::Absent);
        let part = "30 23 0:26 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup2 rw";
        let with =
            |own: &str| groups(&[("/proc/self/cgroup", own), ("/proc/self/mountinfo", part)]);
        assert!(matches!(with("0::/elsewhere"), Fact::Unreadable(_)));
        assert_eq!(with("0::/docker/a").value().unwrap()[0].path, "/");
        assert_eq!(with("0::/docker/a/b").value().unwrap().len(), 2);
    }
}
