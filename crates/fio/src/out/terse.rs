//! Writes fio's terse output (`--minimal`), versions 2 to 5.

use iodyno_job::Unified;
use iodyno_model::{DiskUse, Histogram, PerDirection};

use crate::out::json_value::push;
use crate::out::rates::Samples;
use crate::out::report::{Report, Reporting};
use crate::out::section::{DirectionStats, GroupStats, Section, group_of, groups, sections};
use crate::out::shares::{level_shares, percentiles};

/// Number of percentile fields.
const PERCENTILES: usize = 20;

/// `report` as `--output-format=terse --terse-version=VERSION`: a line for each section, fields
/// separated by `;`. All latencies are in us.
///
/// Versions 2 to 5 are supported; smaller numbers count as 2, larger ones as 5 (fio's default is
/// 3). A `;` in a name, which would shift the fields, becomes `,`.
pub fn terse(report: &Report<'_>, version: u32) -> String {
    let version = version.clamp(2, 5);
    let sections = sections(report);
    let groups = groups(&sections);
    let mut text = String::new();
    for section in &sections {
        let group = group_of(&groups, section);
        let mut line = Line { text: &mut text, version };
        line.section(section, &group, report);
    }
    text
}

struct Line<'a> {
    text: &'a mut String,
    version: u32,
}

impl Line<'_> {
    fn section(
        &mut self,
        section: &Section<'_>,
        group: &PerDirection<GroupStats>,
        report: &Report<'_>,
    ) {
        let (name, error) = (field(section.name), section.error());
        match self.version {
            2 => push(self.text, format_args!("2;{name};{};{error}", section.group)),
            version => {
                let fio = report.fio_version();
                push(self.text, format_args!("{version};{fio};{name};{};{error}", section.group));
            }
        }
        let PerDirection { read, write, trim } = &section.by_direction;
        self.direction(read, &group.read, section.reporting);
        if !section.mixed {
            self.direction(write, &group.write, section.reporting);
            if self.version != 3 {
                self.direction(trim, &group.trim, section.reporting);
            }
        }
        if section.reporting.unified == Unified::Both {
            self.direction(&section.all_directions(), &group.read, section.reporting);
        }
        let account = &section.account;
        push(
            self.text,
            format_args!(
                ";{:.6}%;{:.6}%;{};{};{}",
                section.cpu_percent.0,
                section.cpu_percent.1,
                account.switches,
                account.major_faults,
                account.minor_faults
            ),
        );
        for share in level_shares(&account.depth_levels) {
            push(self.text, format_args!(";{share:.1}%"));
        }
        let shares = section.latency_shares();
        for share in shares.us_with_ns().iter().chain(&shares.ms) {
            push(self.text, format_args!(";{share:.2}%"));
        }
        if self.version >= 3 {
            report.disks.iter().for_each(|disk| self.disk(disk));
        }
        if section.reporting.continue_on_error {
            push(self.text, format_args!(";{};{}", section.errors, section.first_error));
        }
        if let Some(description) = &section.reporting.description {
            // Version 2 prints it on a separate line.
            let before = if self.version == 2 { "\n" } else { "" };
            push(self.text, format_args!("{before};{}", field(description)));
        }
        self.text.push('\n');
    }

    fn direction(&mut self, stats: &DirectionStats, group: &GroupStats, reporting: &Reporting) {
        let bandwidth = stats.bytes_per_s() >> 10;
        push(
            self.text,
            format_args!(
                ";{};{bandwidth};{};{}",
                stats.bytes >> 10,
                stats.whole_iops(),
                stats.runtime_ms
            ),
        );
        self.latencies(&stats.slat);
        self.latencies(&stats.clat);
        self.percentiles(stats, reporting);
        self.latencies(&stats.lat);
        self.samples(&stats.bandwidth, Some(group.share_percent(&stats.bandwidth)));
        if self.version == 5 {
            push(self.text, format_args!(";{}", stats.bandwidth.count));
            self.samples(&stats.iops, None);
            push(self.text, format_args!(";{}", stats.iops.count));
        }
    }

    fn latencies(&mut self, histogram: &Histogram) {
        let us = |ns: Option<u64>| ns.unwrap_or(0) / 1000;
        let mean = histogram.mean_ns().unwrap_or(0.0) / 1000.0;
        let deviation = histogram.stdev_ns().unwrap_or(0.0) / 1000.0;
        let (min, max) = (us(histogram.min_ns()), us(histogram.max_ns()));
        push(self.text, format_args!(";{min};{max};{mean:.6};{deviation:.6}"));
    }

    /// Percentiles of the total latency if requested, else of the completion latency; 20 fields.
    fn percentiles(&mut self, stats: &DirectionStats, reporting: &Reporting) {
        let histogram = match &reporting.percentiles {
            asked if asked.lat => Some(&stats.lat),
            asked if asked.clat => Some(&stats.clat),
            _ => None,
        };
        let mut places = 0;
        if let Some(histogram) = histogram {
            let list = reporting.percentile_list();
            let found = percentiles(histogram, &list);
            for (n, percent) in list.iter().take(PERCENTILES).enumerate() {
                let us = found.get(n).map_or(0, |(_, ns)| ns / 1000);
                push(self.text, format_args!(";{percent:.6}%={us}"));
                places += 1;
            }
        }
        for _ in places..PERCENTILES {
            self.text.push_str(";0%=0");
        }
    }

    fn samples(&mut self, samples: &Samples, share_percent: Option<f64>) {
        push(self.text, format_args!(";{};{}", samples.min, samples.max));
        if let Some(share) = share_percent {
            push(self.text, format_args!(";{share:.6}%"));
        }
        push(self.text, format_args!(";{:.6};{:.6}", samples.mean, samples.deviation()));
    }

    fn disk(&mut self, disk: &DiskUse) {
        let one = |disk: &DiskUse| {
            format!(
                "{};{};{};{};{};{};{}",
                disk.read_ios,
                disk.write_ios,
                disk.read_merges,
                disk.write_merges,
                disk.read_ticks_ms,
                disk.write_ticks_ms,
                disk.in_queue_ms
            )
        };
        let util = disk.util_percent();
        push(self.text, format_args!(";{};{};{util:.2}%", field(&disk.name), one(disk)));
        if let Some((mean, util)) = disk.aggregate() {
            push(self.text, format_args!(";slaves;{};{util:.2}%", one(&mean)));
        }
    }
}

/// Replaces characters that would split a field or line.
fn field(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            ';' => ',',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}
