//! Writes a phase as a job file for fio.

use std::collections::BTreeMap;
use std::fmt::Write;

use iodyno_job::{
    Amount, CpuPolicy, IoEngine, Job, OptionSpec, READING_ENGINES_OF_FIO, Replay, Support, options,
};

/// Options that are not passed on: those the phase has already resolved (clones, files, order), and
/// those that decide how fio reports, which iodyno sets.
const RESOLVED: [&str; 22] = [
    "clat_percentiles",
    "description",
    "directory",
    "exec_postrun",
    "exec_prerun",
    "filename",
    "filename_format",
    "group_reporting",
    "lat_percentiles",
    "name",
    "new_group",
    "nrfiles",
    "numjobs",
    "offset_increment",
    "percentile_list",
    "slat_percentiles",
    "stonewall",
    "strict_stamps",
    "unified_rw_reporting",
    "unique_filename",
    "wait_for",
    "wait_for_previous",
];

/// Values implied by another option that change nothing; not every version of fio 3 knows these
/// options.
const IMPLIED: [(&str, &str); 3] = [
    ("steadystate_check_interval", "1s"),
    ("steadystate_duration", "0"),
    ("steadystate_ramp_time", "0"),
];

/// A job file and the owners of its sections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct JobFile {
    pub(super) text: String,
    /// For each section, the number of its job in the phase.
    pub(super) owners: Vec<usize>,
}

impl JobFile {
    /// Adds `job`, number `owner` of the phase, on the files at `paths`, the first of which has
    /// `size_bytes`, with the options `fio_only`, which are not in the table.
    ///
    /// # Errors
    /// A sentence that names what cannot be expressed for fio.
    pub(super) fn add(
        &mut self,
        owner: usize,
        job: &Job,
        paths: &[String],
        size_bytes: u64,
        fio_only: &[(String, String)],
    ) -> Result<(), String> {
        check_job(job)?;
        for share in 0..job.threads.shared_by.max(1) {
            let clone_options = clone_options(job, share, size_bytes)?;
            let mut section =
                format!("[{}]\nfilename={}\n", section_name(&job.name), paths.join(":"));
            section.push_str("lat_percentiles=1\nclat_percentiles=1\nslat_percentiles=1\n");
            // fio would leave files in the working directory when interrupted.
            section.push_str("verify_state_save=0\n");
            let usual = Job::default();
            for spec in options().filter(|spec| is_passed_on(spec)) {
                let value = spec.print(job);
                let is_usual = value.is_empty()
                    || value == spec.print(&usual)
                    || IMPLIED.contains(&(spec.name, value.as_str()));
                if !is_usual && !clone_options.contains_key(spec.name) {
                    add_option(&mut section, spec.name, &value)?;
                }
            }
            for (name, value) in &clone_options {
                add_option(&mut section, name, value)?;
            }
            for (name, value) in fio_only {
                check_fio_only(job, name, value)?;
                add_option(&mut section, name, value)?;
            }
            self.text.push_str(&section);
            self.owners.push(owner);
        }
        Ok(())
    }
}

/// True if fio knows the option and the phase has not resolved it.
fn is_passed_on(spec: &OptionSpec) -> bool {
    // fio does not know iodyno's own options.
    !RESOLVED.contains(&spec.name) && spec.support == Support::Native
}

/// Refuses options by which fio would touch names and files that were not cleared for it, or that
/// it does not get.
fn check_job(job: &Job) -> Result<(), String> {
    let engine = job.engine.ioengine;
    let refused = match &job.replay {
        Replay { read_iolog: Some(log), .. } => format!("read_iolog={log}"),
        Replay { redirect: Some(path), .. } => format!("replay_redirect={path}"),
        _ if engine.works_on_names() || engine == IoEngine::Exec => {
            format!("ioengine={}", engine.name())
        }
        _ => return Ok(()),
    };
    Err(format!("{refused} is not passed to fio: use the native generator"))
}

/// Refuses options that could lead fio to a target that was not cleared, or to a program.
fn check_fio_only(job: &Job, name: &str, value: &str) -> Result<(), String> {
    const ELSEWHERE: [&str; 10] = [
        "directory",
        "exec_postrun",
        "exec_prerun",
        "filename",
        "filename_format",
        "merge_blktrace_file",
        "opendir",
        "profile",
        "readwrite",
        "rw",
    ];
    /// Engines that work only on the given files.
    const ENGINES: [&str; 3] = ["ftruncate", "pvsync", "vsync"];
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    // Any other may go anywhere.
    let engine = name == "ioengine"
        && !ENGINES.contains(&value)
        && (job.writes() || !READING_ENGINES_OF_FIO.contains(&value));
    // `mmaphuge:FILE` puts buffers into a file.
    let memory = matches!(name, "mem" | "iomem") && value.contains(':');
    if !plain || name.is_empty() || ELSEWHERE.contains(&name) || engine || memory {
        return Err(format!("{name}={value} is not passed to fio: it may reach other targets"));
    }
    Ok(())
}

/// Options whose value differs because each clone has its own section.
fn clone_options(
    job: &Job,
    share: u32,
    size_bytes: u64,
) -> Result<BTreeMap<&'static str, String>, String> {
    let mut clone_options = BTreeMap::new();
    if job.engine.ioengine == IoEngine::Auto {
        clone_options.insert("ioengine", engine(job).0.to_owned());
    }
    let threads = &job.threads;
    if threads.cpus_allowed_policy == CpuPolicy::Split && !threads.cpus_allowed.is_empty() {
        let turn = (threads.clone + share) as usize % threads.cpus_allowed.len();
        clone_options.insert("cpus_allowed", threads.cpus_allowed[turn].to_string());
        clone_options.insert("cpus_allowed_policy", "shared".to_owned());
    }
    let space = &job.space;
    let increment = match (space.offset, space.offset_increment) {
        (_, Amount::Bytes(0)) => None,
        (Amount::Bytes(start), Amount::Bytes(step)) => {
            Some((start + step * u64::from(threads.clone)).to_string())
        }
        (start, step) => {
            let clone = f64::from(threads.clone);
            let (start, step) = (percent(start, size_bytes), percent(step, size_bytes));
            Some((size_bytes as f64 * (start + step * clone) / 100.0).to_string())
        }
    };
    if let Some(offset) = increment {
        clone_options.insert("offset", offset);
    }
    if !space.extents.is_empty() || threads.shared_by > 1 {
        let (offset, length) = match space.extents.as_slice() {
            [] => (0, size_bytes),
            [extent] => (extent.offset, extent.length),
            _ => return Err("fio cannot use several ranges of a target".to_owned()),
        };
        let bs = job.largest_block().max(1);
        let (first, end) = if job.pattern.rw.is_random() {
            (0, length / bs)
        } else {
            let blocks = u128::from(length / bs);
            let border = |n: u32| (blocks * u128::from(n) / u128::from(threads.shared_by)) as u64;
            (border(share), border(share + 1))
        };
        if first == end {
            return Err("fewer blocks than threads".to_owned());
        }
        clone_options.insert("offset", (offset + first * bs).to_string());
        clone_options.insert("size", ((end - first) * bs).to_string());
        if threads.shared_by > 1 {
            // Threads with the same seed would read the same blocks.
            clone_options.insert("randseed", (job.pattern.randseed + u64::from(share)).to_string());
        }
    }
    Ok(clone_options)
}

/// Engine for fio, which has no `auto`, and the reason for it.
pub(super) fn engine(job: &Job) -> (&'static str, Option<String>) {
    match job.engine.ioengine {
        IoEngine::Auto => {
            let reason = "fio has no ioengine=auto: libaio works on every kernel";
            ("libaio", Some(reason.to_owned()))
        }
        engine => (engine.name(), None),
    }
}

fn percent(amount: Amount, whole: u64) -> f64 {
    match amount {
        Amount::Bytes(bytes) => bytes as f64 * 100.0 / whole.max(1) as f64,
        Amount::Percent(percent) => percent,
    }
}

/// Makes a valid section name; results are matched by order, not by name.
fn section_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+@/ ".contains(c);
    let name: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    // `global` is not a job.
    if name.is_empty() || name == "global" { format!("{name}_") } else { name }
}

fn add_option(section: &mut String, name: &str, value: &str) -> Result<(), String> {
    // In a job file `;` and `#` begin a comment anywhere.
    if value.contains([';', '#', '\n', '\r']) {
        return Err(format!("{name}={value:?} cannot be expressed in a fio job file"));
    }
    writeln!(section, "{name}={value}").expect("a string takes everything");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_job::{Extent, Pattern, apply};

    fn job() -> Job {
        let mut job = Job { name: "a]\n[b;#".into(), ..Job::default() };
        for (name, value) in [("rw", "randread"), ("iodepth", "8"), ("ioengine", "libaio")] {
            apply(&mut job, name, value).unwrap();
        }
        job
    }

    fn text(job: &Job) -> Result<String, String> {
        let mut file = JobFile::default();
        file.add(0, job, &["/dev/fd/3".into()], 1 << 20, &[])?;
        Ok(file.text)
    }

    #[test]
    fn options_that_are_not_the_default_are_written() {
        let text = text(&job()).unwrap();
        assert!(text.starts_with("[a___b__]\nfilename=/dev/fd/3\n"), "{text}");
        assert!(text.contains("\nrw=randread\n") && text.contains("\niodepth=8\n"), "{text}");
        assert!(!text.contains("bs=") && !text.contains("numjobs"), "{text}");
    }

    #[test]
    fn fio_only_options_come_last() {
        let mut file = JobFile::default();
        let fio_only = [("zonemode".to_owned(), "zbd".to_owned())];
        file.add(0, &job(), &["x".into()], 1 << 20, &fio_only).unwrap();
        assert!(file.text.ends_with("\nzonemode=zbd\n"), "{}", file.text);
        let reading = [("ioengine".to_owned(), "sg".to_owned())];
        file.add(0, &job(), &["x".into()], 1 << 20, &reading).unwrap();
        for (name, value) in [
            ("filename", "/dev/sda"),
            ("rw", "write"),
            ("ioengine", "exec"),
            ("ioengine", "external:/tmp/theirs.so"),
            ("ioengine", "/tmp/theirs.so"),
            ("ioengine", "nbd"),
            // It cuts the file to the job's size, even for reading.
            ("ioengine", "libpmem"),
            ("a\nb", "c"),
        ] {
            let elsewhere = [(name.to_owned(), value.to_owned())];
            assert!(file.add(0, &job(), &["x".into()], 1 << 20, &elsewhere).is_err(), "{name}");
        }
        for (name, value) in
            [("read_iolog", "x"), ("replay_redirect", "/dev/sda"), ("ioengine", "filedelete")]
        {
            let mut elsewhere = job();
            iodyno_job::apply(&mut elsewhere, name, value).unwrap();
            assert!(file.add(0, &elsewhere, &["x".into()], 1 << 20, &[]).is_err(), "{name}");
        }
        let comment = [("description".to_owned(), "a;b".to_owned())];
        assert!(file.add(0, &job(), &["x".into()], 1 << 20, &comment).is_err());
    }

    #[test]
    fn offset_increment_shifts_clones() {
        let mut job = job();
        job.threads.clone = 3;
        job.space.offset_increment = Amount::Bytes(4096);
        assert!(text(&job).unwrap().contains("\noffset=12288\n"));
        job.space.offset_increment = Amount::Percent(25.0);
        assert!(text(&job).unwrap().contains("\noffset=786432\n"));
    }

    #[test]
    fn threads_that_share_a_range_get_a_part_each() {
        let mut job = job();
        job.pattern.rw = Pattern::Read;
        job.threads.shared_by = 3;
        job.space.extents = vec![Extent { offset: 8192, length: 40_960 }];
        let mut file = JobFile::default();
        file.add(5, &job, &["x".into()], 1 << 20, &[]).unwrap();
        assert_eq!(file.owners, [5, 5, 5]);
        let of = |name: &str| -> Vec<u64> {
            let lines = file.text.lines().filter_map(|line| line.strip_prefix(name));
            lines.map(|value| value.parse().unwrap()).collect()
        };
        let (offsets, sizes) = (of("offset="), of("size="));
        assert_eq!(offsets[0], 8192);
        assert_eq!(offsets[1], offsets[0] + sizes[0]);
        assert_eq!(sizes.iter().sum::<u64>(), 40_960);
        job.space.extents.push(Extent { offset: 0, length: 4096 });
        assert!(file.add(0, &job, &["x".into()], 1 << 20, &[]).is_err());
    }
}
