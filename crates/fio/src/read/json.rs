//! fio's JSON and JSON+.

use std::collections::BTreeMap;

use iodyno_job::parse_size;
use iodyno_model::{
    Account, Conditions, CpuUse, Direction, DirectionResult, EndReason, ErrorCount, Estimate,
    Measurement, SplitLatency, Workload,
};
use serde_json::Value;

use crate::out::DiskUse;
use crate::read::document::{Document, ReadError};
use crate::read::members::{counts, float, histogram, integer, mean_ns, options, text};

const MS_NS: u64 = 1_000_000;

/// The measurements in `output`, which may have other lines around its
/// documents. Of several reports of the same run the last one counts.
///
/// # Errors
/// As of [`documents`].
pub fn json(output: &str) -> Result<Vec<Measurement>, ReadError> {
    let documents = documents(output)?;
    let last = documents.len() - 1;
    let counts = |n: usize| n == last || !documents[n].continues_in(&documents[n + 1]);
    let kept: Vec<bool> = (0..documents.len()).map(counts).collect();
    let kept = documents.into_iter().zip(kept).filter(|(_, kept)| *kept);
    Ok(kept.flat_map(|(document, _)| document.measurements).collect())
}

/// All documents in `output`, at least one, in order. A document begins at a
/// line that holds nothing but `{`, with `"fio version"` as its first member;
/// everything outside of documents is passed over.
///
/// # Errors
/// No document, or one that is damaged, that has no jobs, or of fio 2.x.
pub fn documents(output: &str) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    let mut from = 0;
    while let Some(start) = next_document(output, from) {
        let line = 1 + output[..start].matches('\n').count();
        let mut values = serde_json::Deserializer::from_str(&output[start..]).into_iter::<Value>();
        let value = values
            .next()
            .unwrap_or(Ok(Value::Null))
            .map_err(|error| ReadError::NotJson { line, what: error.to_string() })?;
        from = start + values.byte_offset();
        documents.push(document(&value, line)?);
    }
    if documents.is_empty() { Err(ReadError::NoDocument) } else { Ok(documents) }
}

/// Where the next document begins.
fn next_document(output: &str, from: usize) -> Option<usize> {
    let mut at = from;
    for line in output.get(from..)?.split_inclusive('\n') {
        let rest = &output[at + line.len()..];
        if line.trim() == "{" && rest.trim_start().starts_with("\"fio version\"") {
            return Some(at + line.find('{')?);
        }
        at += line.len();
    }
    None
}

fn document(value: &Value, line: usize) -> Result<Document, ReadError> {
    let missing = |member| ReadError::Missing { line, member };
    let version = text(value, "fio version").ok_or_else(|| missing("fio version"))?;
    if version.strip_prefix("fio-").unwrap_or(&version).starts_with("2.") {
        return Err(ReadError::TooOld { line, version });
    }
    // A client's report of several servers ends with their sum, `All clients`.
    let jobs = value.get("jobs").or_else(|| value.get("client_stats"));
    let jobs = jobs.and_then(Value::as_array).ok_or_else(|| missing("jobs"))?;
    let single = |job: &&Value| text(job, "jobname").is_none_or(|name| name != "All clients");
    let jobs: Vec<&Value> = jobs.iter().filter(single).collect();

    let written_ns = written_ns(value);
    let global_options = options(value, "global options");
    let run = Run { value, version: &version, global_options: &global_options, written_ns };
    let measurements = jobs.iter().map(|job| run.measurement(job)).collect();
    let job_options = jobs.iter().map(|job| options(job, "job options")).collect();
    let elapsed_s = jobs.iter().filter_map(|job| integer(job, "elapsed")).max();
    let disks = value.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    let disks = disks.map(|one| disk(one, elapsed_s)).collect();
    Ok(Document {
        version,
        written_ns,
        measurements,
        job_options,
        disks,
        elapsed_s,
        global_options,
    })
}

fn written_ns(value: &Value) -> Option<i64> {
    let ms = integer(value, "timestamp_ms")
        .or_else(|| integer(value, "timestamp")?.checked_mul(1000))?;
    i64::try_from(ms).ok()?.checked_mul(1_000_000)
}

/// What the jobs of a document have in common.
struct Run<'a> {
    value: &'a Value,
    version: &'a str,
    global_options: &'a [(String, String)],
    written_ns: Option<i64>,
}

impl Run<'_> {
    fn measurement(&self, job: &Value) -> Measurement {
        let mut asked: BTreeMap<String, String> = self.global_options.iter().cloned().collect();
        asked.extend(options(job, "job options"));
        let names = ["read", "write", "trim", "mixed"];
        let total: Vec<DirectionResult> = names
            .into_iter()
            .filter_map(|name| self.direction(name, job.get(name)?))
            // With unified_rw_reporting=both the directions stand beside their sum.
            .collect();
        let failed = integer(job, "total_err").unwrap_or(0);
        let mixed_only = total.iter().all(|one| one.direction == Direction::Mixed);
        let mut total: Vec<_> = total
            .into_iter()
            .filter(|one| mixed_only || one.direction != Direction::Mixed)
            .collect();
        // fio does not tell them by direction.
        if let [only] = total.as_mut_slice() {
            only.errors = Some(failed);
        }
        let runtimes = names.into_iter().filter_map(|name| integer(job.get(name)?, "runtime"));
        let counted_ns = runtimes.max().unwrap_or(0).saturating_mul(MS_NS);
        let account = self.account(job, &total, counted_ns);
        let end = match &account.failure {
            Some(failure) => EndReason::Failed(failure.clone()),
            None if asked.contains_key("runtime") => EndReason::Time,
            None => EndReason::Done,
        };
        let targets = asked.get("filename").map_or_else(Vec::new, |names| split_names(names));
        let workload = workload(asked);
        // Without latency_target this is the depth in effect, asked for or not.
        let depth = || integer(job, "latency_depth").and_then(|depth| u32::try_from(depth).ok());
        let searched = integer(job, "latency_target").is_some_and(|target| target > 0);
        let iodepth = workload.iodepth.or_else(|| depth().filter(|_| !searched));
        let group = integer(job, "groupid").and_then(|group| u32::try_from(group).ok());
        Measurement {
            name: text(job, "jobname").unwrap_or_default(),
            // fio counts a group at each stonewall, and at new_group, which is rare.
            phase: group.unwrap_or(0),
            group: group.unwrap_or(0),
            round: None,
            targets,
            workload: Workload { iodepth, ..workload },
            source: self.version.replacen("fio-", "fio ", 1),
            started_ns: Some(account.started_ns),
            duration_ns: Some(counted_ns),
            warmup_ns: 0,
            total,
            parts: Vec::new(),
            conditions: Conditions::default(),
            cpu: Some(account.cpu),
            account: Some(account),
            end,
            before: None,
            under_load: None,
            after: None,
        }
    }

    fn direction(&self, name: &str, value: &Value) -> Option<DirectionResult> {
        let direction = match name {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "trim" => Direction::Trim,
            _ => Direction::Mixed,
        };
        let ios = integer(value, "total_ios")?;
        let bytes = integer(value, "io_bytes")?;
        if ios == 0 && bytes == 0 {
            return None;
        }
        let runtime_s = integer(value, "runtime").unwrap_or(0) as f64 / 1e3;
        let per_s = |amount: u64| if runtime_s > 0.0 { amount as f64 / runtime_s } else { 0.0 };
        // As the report says; exactly, where it was only truncated.
        let stated = |name: &str, amount: u64| {
            let exact = per_s(amount);
            let stated = float(value, name).filter(|stated| (stated - exact).abs() >= 1.0);
            Estimate::bare(stated.unwrap_or(exact))
        };
        Some(DirectionResult {
            ios: Some(ios),
            bytes: Some(bytes),
            // As far as is known: what a ramp_time did is not in the report.
            whole_ios: Some(ios),
            whole_bytes: Some(bytes),
            short_ios: integer(value, "short_ios"),
            iops: Some(stated("iops", ios)),
            bandwidth: Some(stated("bw_bytes", bytes)),
            latency_mean: mean_ns(value, "lat_ns").map(Estimate::bare),
            latency: histogram(value, "lat_ns").unwrap_or_default(),
            split: self.split(value),
            ..DirectionResult::unknown(direction)
        })
    }

    /// slat and clat, but for our own documents where clat repeats the total.
    fn split(&self, value: &Value) -> Option<SplitLatency> {
        let submission = histogram(value, "slat_ns");
        if self.value.get("iodyno").is_some() && mean_ns(value, "slat_ns").is_none() {
            return None;
        }
        let completion = histogram(value, "clat_ns");
        let any = submission.is_some() || completion.is_some();
        any.then(|| SplitLatency {
            submission: submission.unwrap_or_default(),
            completion: completion.unwrap_or_default(),
        })
    }

    fn account(&self, job: &Value, total: &[DirectionResult], counted_ns: u64) -> Account {
        let errno = integer(job, "error").and_then(|errno| i32::try_from(errno).ok()).unwrap_or(0);
        let elapsed_ns = match integer(job, "job_runtime") {
            Some(ms) => ms.saturating_mul(MS_NS),
            None => counted_ns,
        };
        let started_ns = match integer(job, "job_start").and_then(|ms| i64::try_from(ms).ok()) {
            Some(ms) => ms.saturating_mul(1_000_000),
            // Not when it started, but near enough to put runs in order.
            None => self.written_ns.unwrap_or(0).saturating_sub_unsigned(counted_ns),
        };
        let share = |name: &str| float(job, name).unwrap_or(0.0) / 100.0;
        let failed = integer(job, "total_err").unwrap_or(0);
        let direction = match total {
            [only] => only.direction,
            _ => Direction::Mixed,
        };
        let first = integer(job, "first_error").and_then(|errno| i32::try_from(errno).ok());
        let errors = (failed > 0).then(|| ErrorCount {
            errno: first.unwrap_or(0),
            direction,
            count: failed,
            offsets: Vec::new(),
        });
        let ios = total.iter().filter_map(|one| one.ios).fold(0, u64::saturating_add);
        Account {
            started_ns,
            elapsed_ns,
            counted_ns,
            error: errno,
            failure: (errno != 0).then(|| std::io::Error::from_raw_os_error(errno).to_string()),
            errors: errors.into_iter().collect(),
            cpu: CpuUse {
                user: share("usr_cpu"),
                system: share("sys_cpu"),
                busiest_thread: share("usr_cpu") + share("sys_cpu"),
            },
            switches: integer(job, "ctx").unwrap_or(0),
            major_faults: integer(job, "majf").unwrap_or(0),
            minor_faults: integer(job, "minf").unwrap_or(0),
            depth_levels: counts(job, "iodepth_level", ios),
            sync: job.get("sync").and_then(|sync| histogram(sync, "lat_ns")).unwrap_or_default(),
            ..Account::default()
        }
    }
}

/// What is known of the workload, from the options as written.
fn workload(mut options: BTreeMap<String, String>) -> Workload {
    let mut take = |names: [&str; 2]| names.iter().find_map(|name| options.remove(*name));
    let rw = take(["rw", "readwrite"]);
    let bs = take(["bs", "blocksize"]);
    let iodepth = take(["iodepth", ""]);
    let numjobs = take(["numjobs", ""]);
    let ioengine = take(["ioengine", ""]);
    let direct = take(["direct", ""]);
    let size = take(["size", ""]);
    options.remove("filename");
    let mut workload = Workload { rw, ioengine, ..Workload::default() };
    // What is not one number stays as it was written.
    let mut number = |name: &str, text: Option<String>, parsed: fn(&str) -> Option<u64>| {
        let text = text?;
        let number = parsed(&text);
        if number.is_none() {
            options.insert(name.to_owned(), text);
        }
        number
    };
    let plain = |text: &str| text.parse().ok();
    workload.bs = number("bs", bs, |text| parse_size(text).ok());
    workload.size = number("size", size, |text| parse_size(text).ok());
    workload.iodepth = number("iodepth", iodepth, plain).and_then(|n| u32::try_from(n).ok());
    workload.numjobs = number("numjobs", numjobs, plain).and_then(|n| u32::try_from(n).ok());
    workload.direct = number("direct", direct, plain).map(|n| n == 1);
    workload.options = options;
    workload
}

/// Names separated by `:`; `\:` stands for a colon in a name.
fn split_names(names: &str) -> Vec<String> {
    let marked = names.replace("\\:", "\0");
    marked.split(':').map(|name| name.replace('\0', ":")).collect()
}

fn disk(value: &Value, elapsed_s: Option<u64>) -> DiskUse {
    let number = |name: &str| integer(value, name).unwrap_or(0);
    // fio keeps neither time nor busy time, but their ratio.
    let elapsed_ns = elapsed_s.unwrap_or(0).saturating_mul(1000 * MS_NS);
    let util = float(value, "util").unwrap_or(0.0);
    DiskUse {
        name: text(value, "name").unwrap_or_default(),
        read_ios: number("read_ios"),
        write_ios: number("write_ios"),
        read_sectors: number("read_sectors"),
        write_sectors: number("write_sectors"),
        read_merges: number("read_merges"),
        write_merges: number("write_merges"),
        read_ticks_ms: number("read_ticks"),
        write_ticks_ms: number("write_ticks"),
        in_queue_ms: number("in_queue"),
        busy_ns: (util / 100.0 * elapsed_ns as f64).round() as u64,
        elapsed_ns,
        members: Vec::new(),
    }
}
