//! fio's status line, which is overwritten again and again while jobs run.

use iodyno_job::Job;
use iodyno_model::{Direction, PerDirection};

use crate::out::number::{Unit, num2str};

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Not started.
    Pending,
    /// Ramping up (`ramp_time`): not counted.
    Ramping,
    /// Running.
    Running,
    /// Finished.
    Done,
}

/// Content of a status line.
#[derive(Debug, Clone)]
pub struct StatusLine<'a> {
    /// Every job of the run, in order, with its state.
    pub jobs: &'a [(&'a Job, JobState)],
    /// Bytes and I/Os per second since the previous line.
    pub rates: PerDirection<(u64, u64)>,
    /// Time since the start of the run, ns.
    pub elapsed_ns: u64,
    /// Remaining time, ns, if known.
    pub left_ns: Option<u64>,
}

impl StatusLine<'_> {
    /// Formats the line, without a line end: `Jobs: 1 (f=1): [r(1)][50.0%][r=8MiB/s][r=2048
    /// IOPS][eta 00m:05s]` (eta.c, `display_thread_status`).
    pub fn text(&self) -> String {
        let running = self.jobs.iter().filter(|(_, state)| is_running(*state));
        let files: usize = running.clone().map(|(job, _)| job.files.paths.len()).sum();
        let text = format!("Jobs: {} (f={files})", running.count());
        let letters: Vec<char> = self.jobs.iter().map(|(job, state)| letter(job, *state)).collect();
        let groups = letters.chunk_by(|one, next| one == next);
        let groups: Vec<String> = groups.map(|all| format!("{}({})", all[0], all.len())).collect();
        let elapsed_s = self.elapsed_ns.div_ceil(1_000_000_000);
        // fio gives no estimate in the first 3 s.
        let left_s = self.left_ns.filter(|_| elapsed_s >= 3).map(|ns| ns.div_ceil(1_000_000_000));
        let percent = match left_s {
            Some(left_s) => {
                format!("{:.1}%", 100.0 * elapsed_s as f64 / (elapsed_s + left_s).max(1) as f64)
            }
            None => "-.-%".into(),
        };
        let eta = left_s.map_or("--".into(), duration);
        format!("{text}: [{}][{percent}]{}[eta {eta}]", groups.join(","), self.rates())
    }

    fn rates(&self) -> String {
        let some: Vec<(char, u64, u64)> = (self.rates.iter())
            .filter(|(_, (bytes, ios))| *bytes > 0 || *ios > 0)
            .map(|(direction, (bytes, ios))| (initial(direction), *bytes, *ios))
            .collect();
        if some.is_empty() {
            return String::new();
        }
        let base = self.jobs.first().map_or(1024, |(job, _)| job.report.kb_base);
        let each = |text: &dyn Fn(&(char, u64, u64)) -> String| {
            let each: Vec<String> = some.iter().map(text).collect();
            each.join(",")
        };
        let bandwidths = each(&|(letter, bytes, _)| {
            format!("{letter}={}", num2str(*bytes, 4, base == 1024, Unit::BytesPerSecond))
        });
        let iops =
            each(&|(letter, _, ios)| format!("{letter}={}", num2str(*ios, 4, false, Unit::None)));
        format!("[{bandwidths}][{iops} IOPS]")
    }
}

const fn is_running(state: JobState) -> bool {
    matches!(state, JobState::Running | JobState::Ramping)
}

fn initial(direction: Direction) -> char {
    direction.name().chars().next().unwrap_or('r')
}

/// fio's letter for a job (eta.c, `check_str_update`): lower case for random I/O.
fn letter(job: &Job, state: JobState) -> char {
    let rw = job.pattern.rw;
    let has = |direction| rw.has(direction);
    let running = match (has(Direction::Read), has(Direction::Write)) {
        (true, true) => 'M',
        (true, false) => 'R',
        (false, true) => 'W',
        (false, false) => 'D',
    };
    match state {
        JobState::Pending => 'P',
        JobState::Ramping => '/',
        JobState::Done => '_',
        JobState::Running if rw.is_random() => running.to_ascii_lowercase(),
        JobState::Running => running,
    }
}

/// `01m:40s`, `01h:00m:00s`, `01d:00h:00m:00s`.
fn duration(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let rest = format!("{:02}m:{:02}s", seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => rest,
        (0, _) => format!("{hours:02}h:{rest}"),
        _ => format!("{days:02}d:{hours:02}h:{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_line_matches_fio() {
        let mut job = Job::default();
        iodyno_job::apply(&mut job, "rw", "randrw").unwrap();
        job.files.paths = vec!["a".into()];
        let reader = Job { files: job.files.clone(), ..Job::default() };
        let jobs =
            [(&job, JobState::Running), (&job, JobState::Running), (&reader, JobState::Pending)];
        let rates = PerDirection { read: (8 << 20, 2048), write: (1000, 1), trim: (0, 0) };
        let line = StatusLine {
            jobs: &jobs,
            rates,
            elapsed_ns: 5_000_000_000,
            left_ns: Some(15_000_000_000),
        };
        assert_eq!(
            line.text(),
            "Jobs: 2 (f=2): [m(2),P(1)][25.0%][r=8192KiB/s,w=1000B/s][r=2048,w=1 IOPS][eta 00m:15s]"
        );
        let early = StatusLine { elapsed_ns: 1, rates: PerDirection::default(), ..line };
        assert_eq!(early.text(), "Jobs: 2 (f=2): [m(2),P(1)][-.-%][eta --]");
        assert_eq!(duration(100_000), "01d:03h:46m:40s");
    }
}
