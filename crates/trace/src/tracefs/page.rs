//! Parses pages of the kernel's trace ring buffer (kernel/trace/ring_buffer.c), as read from
//! `trace_pipe_raw`.

use super::layout::Layout;

/// Mask of the bytes of a page that hold events (bits 0 to 19 of its second word).
const USED: u64 = 0xf_ffff;
/// Set if events before this page were dropped.
const MISSED: u64 = 1 << 31;
/// Set if their number is stored after the events.
const MISSED_STORED: u64 = 1 << 30;
/// Bits of an absolute time stamp; the higher bits are the page's.
const ABSOLUTE_BITS: u32 = 59;

/// Layout of a page header, from the kernel's `header_page`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageLayout {
    commit_bytes: usize,
    data_at: usize,
    /// Page size, bytes.
    pub(super) length: usize,
}

impl PageLayout {
    /// Parses the text of `header_page`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let number = |name: &str, what: &str| -> Option<usize> {
            let line = text.lines().find(|line| {
                line.split(';').next().is_some_and(|field| field.trim().ends_with(name))
            })?;
            let mut parts = line.split(';').map(str::trim);
            parts.find_map(|part| part.strip_prefix(what))?.parse().ok()
        };
        let (data_at, data_bytes) = (number(" data", "offset:")?, number(" data", "size:")?);
        let commit_bytes = number(" commit", "size:")?;
        let length = data_at.checked_add(data_bytes)?;
        let is_known = matches!(commit_bytes, 4 | 8) && data_at == 8 + commit_bytes;
        (is_known && length <= 1 << 20).then_some(Self { commit_bytes, data_at, length })
    }
}

/// Passes time and data of each event of a page to `give`. Returns the number of events dropped
/// before it; 1 if the kernel does not report the number.
pub(super) fn events(layout: PageLayout, page: &[u8], mut give: impl FnMut(u64, &[u8])) -> u64 {
    let word = |at: usize| {
        page.get(at..at + 4)?.try_into().ok().map(|bytes| u64::from(u32::from_ne_bytes(bytes)))
    };
    let long = |at: usize| page.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    let Some(start_ns) = long(0) else { return 0 };
    let commit = if layout.commit_bytes == 8 { long(8) } else { word(8) };
    let Some(commit) = commit else { return 0 };
    let end = (layout.data_at + (commit & USED) as usize).min(page.len());
    let missed = match commit {
        commit if commit & MISSED == 0 => 0,
        commit if commit & MISSED_STORED != 0 => long(end).unwrap_or(1),
        _ => 1,
    };
    let (mut at, mut now_ns) = (layout.data_at, start_ns);
    while at + 4 <= end {
        let Some(head) = word(at) else { break };
        let (kind, delta) = event_head(head as u32);
        at += 4;
        let following = if at + 4 <= end { word(at) } else { None };
        let length = match (kind, following) {
            (0, Some(length)) => length as usize,
            (1..=28, _) => kind as usize * 4,
            // Padding: to the end of the page, or with a length.
            (29, _) if delta == 0 => break,
            (29, Some(length)) => {
                now_ns = now_ns.wrapping_add(delta);
                at += length as usize;
                continue;
            }
            (30, Some(high)) => {
                now_ns = now_ns.wrapping_add(delta | high << 27);
                at += 4;
                continue;
            }
            (31, Some(high)) => {
                let above = start_ns >> ABSOLUTE_BITS << ABSOLUTE_BITS;
                now_ns = above | delta | high << 27;
                at += 4;
                continue;
            }
            _ => break,
        };
        now_ns = now_ns.wrapping_add(delta);
        // A length includes itself.
        let begin = if kind == 0 { at + 4 } else { at };
        let Some(data) = page.get(begin..at + length).filter(|_| at + length <= end) else { break };
        give(now_ns, data);
        at += length;
    }
    missed
}

/// Splits an event header: type in 5 bits and time delta in 27, from the low end, or from the high
/// end on big-endian machines.
const fn event_head(head: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (head & 31, (head >> 5) as u64)
    } else {
        (head >> 27, (head & 0x7ff_ffff) as u64)
    }
}

/// Finds the layout of an event by the id at the start of its data.
pub(super) fn layout_of<'a>(layouts: &'a [Layout], data: &[u8]) -> Option<&'a Layout> {
    let id = u16::from_ne_bytes(data.get(..2)?.try_into().ok()?);
    layouts.iter().find(|layout| layout.id == id)
}
