//! Writes fio's normal output, for people.

use iodyno_job::{LatencyTarget, Unified};
use iodyno_model::{DIRECTIONS, DiskUse, Histogram, PerDirection};

use crate::out::block_lives;
use crate::out::json_value::push;
use crate::out::number::{Unit, num2str, unit_of_line};
use crate::out::rates::Samples;
use crate::out::report::{Report, Reporting};
use crate::out::section::{DirectionStats, GroupStats, Section, group_of, groups, sections};
use crate::out::shares::{RANGES, level_shares, percentiles};

/// fio's `significant_figures`.
const FIGURES: usize = 4;

/// `report` as `--output-format=normal`, from the first job's line to the disks; fio's output
/// before the run is [`super::head()`].
pub fn normal(report: &Report<'_>) -> String {
    let sections = sections(report);
    let groups = groups(&sections);
    let mut text = String::from("\n");
    for section in sections.iter().filter(|section| section.did_something()) {
        let group = group_of(&groups, section);
        Paragraph { text: &mut text, section }.write(&group, report);
    }
    for (number, by_direction) in &groups {
        push(&mut text, format_args!("\nRun status group {number} (all jobs):\n"));
        let of_group = sections.iter().filter(|section| section.group == *number);
        group_lines(&mut text, by_direction, &of_group.collect::<Vec<_>>());
    }
    if !report.disks.is_empty() {
        text.push_str("\nDisk stats (read/write):\n");
        report.disks.iter().for_each(|disk| disk_line(&mut text, disk));
    }
    if let Some(idleness) = &report.idleness {
        text.push_str(&idleness.normal());
    }
    text
}

struct Paragraph<'a, 's> {
    text: &'a mut String,
    section: &'a Section<'s>,
}

impl Paragraph<'_, '_> {
    fn write(&mut self, group: &PerDirection<GroupStats>, report: &Report<'_>) {
        let section = self.section;
        self.header(report);
        for direction in DIRECTIONS {
            let stats = section.by_direction.of(direction);
            if stats.bytes > 0 {
                let name = if section.mixed { "mixed" } else { direction.name() };
                self.direction(name, stats, group.of(direction));
            }
        }
        if section.reporting.unified == Unified::Both {
            let all = section.all_directions();
            self.direction("mixed", &all, &group.read);
        }
        let shares = section.latency_shares();
        self.classes("nsec", &shares.ns);
        self.classes("usec", &shares.us);
        self.classes("msec", &shares.ms);
        self.sync();
        self.account();
    }

    fn line(&mut self, arguments: std::fmt::Arguments<'_>) {
        push(self.text, arguments);
        self.text.push('\n');
    }

    fn header(&mut self, report: &Report<'_>) {
        let section = self.section;
        let name = one_line(section.name);
        let jobs = format!("(groupid={}, jobs={})", section.group, section.members);
        let reason = match (section.error(), &section.account.failure) {
            (0, _) => String::new(),
            (_, Some(failure)) => format!(" ({})", one_line(failure)),
            (errno, None) => format!(" ({})", error_text(errno)),
        };
        let (error, pid, written) = (section.error(), report.pid, report.written());
        self.line(format_args!("{name}: {jobs}: err={error:2}{reason}: pid={pid}: {written}"));
        if let Some(description) = &section.reporting.description {
            self.line(format_args!("  Description  : [{}]", one_line(description)));
        }
    }

    fn direction(&mut self, name: &str, stats: &DirectionStats, group: &GroupStats) {
        let reporting = self.section.reporting;
        let iops = num2str(stats.whole_iops(), FIGURES, false, Unit::None);
        let rates = both_units(stats.bytes_per_s(), rate_unit(reporting), reporting);
        let moved = num2str(stats.bytes, FIGURES, reporting.kb_base == 1024, Unit::Bytes);
        let ms = stats.runtime_ms;
        self.line(format_args!("  {name}: IOPS={iops}, BW={rates}({moved}/{ms}msec)"));
        self.latencies("slat", &stats.slat);
        self.latencies("clat", &stats.clat);
        self.latencies(" lat", &stats.lat);
        let asked = &reporting.percentiles;
        let ranked = stats.priorities();
        let of_priority = |[class, level, hint]: [u16; 3]| {
            let kind = if asked.lat { "lat" } else { "clat" };
            format!("{kind} prio {class}/{level}/{hint}")
        };
        for (priority, histogram) in &ranked {
            self.latencies(&of_priority(*priority), histogram);
        }
        for (asked, name, histogram) in [
            (asked.slat, "slat", &stats.slat),
            (asked.clat, "clat", &stats.clat),
            (asked.lat, "lat", &stats.lat),
        ] {
            if asked {
                self.percentiles(name, histogram);
            }
        }
        for (priority, histogram) in ranked.iter().filter(|_| asked.clat || asked.lat) {
            let all = if asked.lat { stats.lat.count() } else { stats.clat.count() };
            let share = 100.0 * histogram.count() as f64 / all as f64;
            let name = format!("{} ({share:.2}% of IOs)", of_priority(*priority));
            self.percentiles(&name, histogram);
        }
        if stats.bandwidth.count > 0 {
            self.bandwidth(&stats.bandwidth, group);
        }
        if stats.iops.count > 0 {
            let Samples { min, max, mean, count, .. } = stats.iops;
            let deviation = stats.iops.deviation();
            self.line(format_args!(
                "   iops        : min={min:5}, max={max:5}, avg={mean:5.2}, stdev={deviation:5.2}, \
                 samples={count}"
            ));
        }
    }

    fn latencies(&mut self, name: &str, histogram: &Histogram) {
        let (Some(min), Some(max)) = (histogram.min_ns(), histogram.max_ns()) else { return };
        let (unit, ns) = unit_of_line(histogram);
        let scaled = |value: Option<f64>| value.unwrap_or(0.0) / ns as f64;
        let (mean, deviation) = (scaled(histogram.mean_ns()), scaled(histogram.stdev_ns()));
        let whole = |value: u64| num2str(value / ns, 6, false, Unit::None);
        let (min, max) = (whole(min), whole(max));
        self.line(format_args!(
            "    {name} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={deviation:5.2}"
        ));
    }

    /// Prints percentiles in a suitable unit, rounded up, as many per line as fit in 80 columns.
    fn percentiles(&mut self, name: &str, histogram: &Histogram) {
        let found = percentiles(histogram, &self.section.reporting.percentile_list());
        let (Some((_, min)), Some((_, max))) = (found.first(), found.last()) else { return };
        let (unit, ns) = match (*min, *max) {
            (2_000_001.., 100_000_000..) => ("msec", 1_000_000),
            (2_001.., 100_000..) => ("usec", 1_000),
            _ => ("nsec", 1),
        };
        let width = (max / ns).to_string().len().max(5);
        let decimals = self.section.reporting.percentiles.decimals;
        let in_line = ((80 - 7) / (decimals + 10 + width)).max(1);
        self.line(format_args!("    {name} percentiles ({unit}):"));
        for line in found.chunks(in_line) {
            let ends = line.last() == found.last();
            let entries = line.iter().map(|(percent, value)| {
                let (wide, value) = (decimals + 3, value.div_ceil(ns));
                format!(" {percent:wide$.decimals$}th=[{value:width$}]")
            });
            let entries: Vec<String> = entries.collect();
            self.line(format_args!("     |{}{}", entries.join(","), if ends { "" } else { "," }));
        }
    }

    fn bandwidth(&mut self, samples: &Samples, group: &GroupStats) {
        let reporting = self.section.reporting;
        let base = f64::from(reporting.kb_base);
        let binary = reporting.kb_base == 1024;
        let bits = if reporting.bits { 8.0 } else { 1.0 };
        // fio names the unit by its base, but leaves the samples in KiB.
        let (mut unit, mut scale) = match (reporting.bits, binary) {
            (true, true) => ("Kibit", bits),
            (true, false) => ("kbit", bits),
            (false, true) => ("KiB", bits),
            (false, false) => ("kB", bits),
        };
        if samples.mean * bits > base * base {
            unit = if reporting.bits { "Mibit" } else { "MiB" };
            scale /= base;
        }
        let (min, max) = ((samples.min as f64 * scale) as u64, (samples.max as f64 * scale) as u64);
        let (mean, deviation) = (samples.mean * scale, samples.deviation() * scale);
        let share = group.share_percent(samples);
        let count = samples.count;
        self.line(format_args!(
            "   bw ({unit:>5}/s): min={min:5}, max={max:5}, per={share:.2}%, avg={mean:5.2}, \
             stdev={deviation:5.2}, samples={count}"
        ));
    }

    /// Prints shares of non-empty classes, five per line.
    fn classes(&mut self, unit: &str, shares: &[f64]) {
        let names = RANGES.iter().map(|end| format!("{end}=")).chain([">=2000=".to_owned()]);
        let shown: Vec<String> = names
            .zip(shares)
            .filter(|(_, share)| **share > 0.0)
            .map(|(name, share)| format!("{name}{share:.2}%"))
            .collect();
        for line in shown.chunks(5) {
            self.line(format_args!("  lat ({unit})   : {}", line.join(", ")));
        }
    }

    fn sync(&mut self) {
        let sync = &self.section.account.sync;
        if sync.count() > 0 {
            self.line(format_args!("  fsync/fdatasync/sync_file_range/syncfs:"));
            self.latencies("sync", sync);
            self.percentiles("sync", sync);
        }
    }

    fn account(&mut self) {
        let section = self.section;
        let account = &section.account;
        let (user, system) = section.cpu_percent;
        let (switches, major, minor) =
            (account.switches, account.major_faults, account.minor_faults);
        self.line(format_args!(
            "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={switches}, majf={major}, \
             minf={minor}"
        ));
        let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
        let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
        self.levels("  IO depths    ", depths, &account.depth_levels);
        self.levels("     submit    ", batches, &account.submit_levels);
        self.levels("     complete  ", batches, &account.complete_levels);
        let PerDirection { read, write, trim } = &section.by_direction;
        self.line(format_args!(
            "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
            read.ios,
            write.ios,
            trim.ios,
            section.syncs(),
            read.short_ios,
            write.short_ios,
            trim.short_ios
        ));
        if section.reporting.continue_on_error {
            let what = match section.first_error {
                0 => "Success".to_owned(),
                errno => error_text(errno),
            };
            let (count, first) = (section.errors, section.first_error);
            self.line(format_args!("     errors    : total={count}, first_error={first}/<{what}>"));
        }
        if section.iodepth > 0 {
            self.latency_target();
        }
        self.block_lives();
        if let Some(asked) = &section.reporting.steadystate {
            let found = section.steady.evaluate(asked);
            let attained = if section.steadystate_attained { "yes" } else { "no" };
            let unit = rate_unit(section.reporting);
            let bw = both_units(found.bytes_per_s, unit, section.reporting);
            let iops = num2str(found.iops, FIGURES, false, Unit::None);
            let latency = found.latency_ns.map_or(String::new(), |ns| {
                let (name, one_ns) = match ns {
                    2_000_001.. => ("msec", 1_000_000),
                    2_001.. => ("usec", 1_000),
                    _ => ("nsec", 1),
                };
                format!(", lat={}{name}", num2str(ns / one_ns, FIGURES, false, Unit::None))
            });
            let (what, criterion) = (found.what, found.criterion);
            let percent = if asked.percent { "%" } else { "" };
            self.line(format_args!(
                "  steadystate  : attained={attained}, bw={bw}, iops={iops}{latency}, \
                 {what}={criterion:.3}{percent}"
            ));
        }
    }

    fn block_lives(&mut self) {
        let lives = &self.section.account.block_lives;
        if lives.is_empty() {
            return;
        }
        let list = self.section.reporting.percentile_list();
        let found = block_lives::percentiles(lives, &list);
        let found: Vec<_> = found.iter().map(|(of, trims)| format!(" {of:.2}th={trims}")).collect();
        self.line(format_args!("  block lifetime percentiles :"));
        for line in found.chunks(6) {
            self.line(format_args!("   |{}", line.join(",")));
        }
        let states = block_lives::states(lives).map(|(name, blocks)| format!(" {name}={blocks}"));
        self.line(format_args!("        states               :{}", states.join(",")));
    }

    fn levels(&mut self, title: &str, names: [&str; 7], counts: &[u64; 7]) {
        let shares = level_shares(counts);
        let entries = names.iter().zip(shares).map(|(name, share)| format!("{name}={share:.1}%"));
        let entries: Vec<String> = entries.collect();
        self.line(format_args!("{title}: {}", entries.join(", ")));
    }

    fn latency_target(&mut self) {
        let unlimited = LatencyTarget { target_ns: 0, window_ns: 0, percentile: 100.0, run: false };
        let target = self.section.reporting.latency_target.unwrap_or(unlimited);
        let (limit, window) = (scaled(target.target_ns), scaled(target.window_ns));
        let (percentile, depth) = (target.percentile, self.section.iodepth);
        self.line(format_args!(
            "     latency   : target={limit}, window={window}, percentile={percentile:.2}%, \
             depth={depth}"
        ));
    }
}

/// Formats a time as fio 3.42 does here: `50.00ms`.
fn scaled(ns: u64) -> String {
    let (unit, one_ns) = match ns {
        2_000_000_000.. => ("s", 1_000_000_000),
        2_000_000.. => ("ms", 1_000_000),
        2_000.. => ("us", 1_000),
        _ => ("ns", 1),
    };
    format!("{:.2}{unit}", ns as f64 / f64::from(one_ns))
}

/// Lines of a group, in the units of its first section.
fn group_lines(
    text: &mut String,
    by_direction: &PerDirection<GroupStats>,
    sections: &[&Section<'_>],
) {
    let Some(first) = sections.first() else { return };
    let names = PerDirection { read: "   READ", write: "  WRITE", trim: "   TRIM" };
    for (direction, stats) in by_direction.iter() {
        let name = if first.mixed { "  MIXED" } else { names.of(direction) };
        group_line(text, name, stats, stats.aggregate_bytes_per_s(), first.reporting);
    }
    if sections.iter().any(|section| section.reporting.unified == Unified::Both) {
        let mut mixed = GroupStats::default();
        by_direction.iter().for_each(|(_, stats)| mixed.widen(stats));
        let sum = by_direction.iter().map(|(_, stats)| stats.aggregate_bytes_per_s()).sum();
        group_line(text, "  MIXED", &mixed, sum, first.reporting);
    }
}

fn group_line(text: &mut String, name: &str, stats: &GroupStats, all: u64, reporting: &Reporting) {
    if stats.runtime_ms.1 == 0 {
        return;
    }
    let unit = rate_unit(reporting);
    let binary = reporting.kb_base == 1024;
    let range = |binary: bool| {
        let (low, high) = stats.bytes_per_s;
        let ends = [low, high].map(|end| num2str(end, FIGURES, binary, unit));
        ends.join("-")
    };
    let all = both_units(all, unit, reporting);
    let (first, second) = (range(binary), range(!binary));
    let moved = both_units(stats.bytes, Unit::Bytes, reporting);
    let (shortest, longest) = stats.runtime_ms;
    push(
        text,
        format_args!(
            "{name}: bw={all}, {first} ({second}), io={moved}, run={shortest}-{longest}msec\n"
        ),
    );
}

fn disk_line(text: &mut String, disk: &DiskUse) {
    let figures = |disk: &DiskUse, prefix: &str| {
        format!(
            "{prefix}ios={}/{}, {prefix}sectors={}/{}, {prefix}merge={}/{}, {prefix}ticks={}/{}, \
             {prefix}in_queue={}",
            disk.read_ios,
            disk.write_ios,
            disk.read_sectors,
            disk.write_sectors,
            disk.read_merges,
            disk.write_merges,
            disk.read_ticks_ms,
            disk.write_ticks_ms,
            disk.in_queue_ms
        )
    };
    let aggregate = disk.aggregate();
    let indent = if aggregate.is_some() { "    " } else { "  " };
    let (name, util) = (one_line(&disk.name), disk.util_percent());
    push(text, format_args!("{indent}{name}: {}, util={util:.2}%", figures(disk, "")));
    if let Some((mean, util)) = aggregate {
        let mean = figures(&mean, "aggr").replace("aggrsectors", "aggsectors");
        push(text, format_args!(", {mean}, aggrutil={util:.2}%"));
    }
    text.push('\n');
}

/// `116MiB/s (122MB/s)`: the unit of `kb_base` first.
fn both_units(value: u64, unit: Unit, reporting: &Reporting) -> String {
    let binary = reporting.kb_base == 1024;
    let first = num2str(value, FIGURES, binary, unit);
    format!("{first} ({})", num2str(value, FIGURES, !binary, unit))
}

fn rate_unit(reporting: &Reporting) -> Unit {
    if reporting.bits { Unit::BitsPerSecond } else { Unit::BytesPerSecond }
}

fn error_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Replaces control characters by blanks.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
