//! Bounded queue of lines for a reader that may be slow; lines that do not fit are counted.

use std::collections::VecDeque;
use std::sync::Arc;

use iodyno_report::document::stream::{Dropped, StreamRecord};

/// Maximum size of a reader's queue, bytes: minutes of a few jobs.
const MAX_BYTES: usize = 4 << 20;

/// A record as written, with its line break.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) bytes: Arc<[u8]>,
    /// One of many seconds, dropped first.
    is_second: bool,
    /// Start or end of a run, which may have been refused in between.
    pub(crate) is_frame: bool,
}

impl Line {
    pub(crate) fn new(record: &StreamRecord) -> Self {
        let mut bytes = serde_json::to_vec(record).unwrap_or_default();
        bytes.push(b'\n');
        let is_frame = matches!(record, StreamRecord::RunStart(_) | StreamRecord::RunEnd(_));
        let is_second = matches!(record, StreamRecord::Second(_));
        Self { bytes: bytes.into(), is_second, is_frame }
    }
}

/// Queue of one reader.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    lines: VecDeque<Line>,
    bytes: usize,
    /// Lines dropped since the last queued line: seconds, others.
    unreported: (u64, u64),
    /// Lines dropped in total: seconds, others.
    dropped: (u64, u64),
}

impl Queue {
    /// Queues a line, or drops and counts it. Half of the room is reserved for starts and ends; a
    /// line reports where others are missing.
    pub(crate) fn push(&mut self, line: &Line) {
        let most = if line.is_second { MAX_BYTES / 2 } else { MAX_BYTES };
        if self.bytes + line.bytes.len() > most {
            self.drop_line(line);
            return;
        }
        if let (seconds, others) = std::mem::take(&mut self.unreported)
            && seconds + others > 0
        {
            self.put(Line::new(&StreamRecord::Dropped(Dropped { seconds, others })));
        }
        self.put(line.clone());
    }

    /// Returns the next line.
    pub(crate) fn pop(&mut self) -> Option<Line> {
        let line = self.lines.pop_front()?;
        self.bytes -= line.bytes.len();
        Some(line)
    }

    /// Counts a line as dropped.
    pub(crate) fn drop_line(&mut self, line: &Line) {
        for count in [&mut self.unreported, &mut self.dropped] {
            count.0 += u64::from(line.is_second);
            count.1 += u64::from(!line.is_second);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Drops all queued lines; returns the total: seconds, others.
    pub(crate) fn drop_all(&mut self) -> (u64, u64) {
        while let Some(line) = self.pop() {
            self.drop_line(&line);
        }
        self.dropped
    }

    fn put(&mut self, line: Line) {
        self.bytes += line.bytes.len();
        self.lines.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use iodyno_report::document::stream::Second;

    use super::*;

    fn second(jobs: usize) -> Line {
        let record = Second {
            time_s: 0.0,
            start_ns: 0,
            duration_ns: 1,
            temperature_c: None,
            jobs: Vec::new(),
        };
        let mut line = Line::new(&StreamRecord::Second(record));
        line.bytes = vec![b' '; jobs].into();
        line
    }

    #[test]
    fn a_slow_reader_gets_a_count_of_lost_seconds() {
        let (mut queue, large) = (Queue::default(), second(MAX_BYTES / 8));
        (0..7).for_each(|_| queue.push(&large));
        assert_eq!(queue.dropped, (3, 0), "a half of the room is for starts and ends");
        let end = Line { is_second: false, ..large.clone() };
        queue.push(&end);
        let lines: Vec<Line> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(lines.len(), 6);
        let said: StreamRecord = serde_json::from_slice(&lines[4].bytes).unwrap();
        assert_eq!(said, StreamRecord::Dropped(Dropped { seconds: 3, others: 0 }));
        assert!(queue.is_empty() && queue.bytes == 0);
        queue.push(&large);
        assert_eq!(queue.lines.len(), 1, "it is said once");
        assert_eq!(queue.drop_all(), (4, 0));
    }
}
