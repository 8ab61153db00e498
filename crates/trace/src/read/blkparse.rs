//! blkparse's text: `259,2  0  3  0.000221570  259  D  RS 695296 + 8 [tap]`.

use super::tables::seconds;
use crate::event::{Event, Step, parse_rwbs};
use crate::{Actor, Device, Names};

/// True if a line is an event of any action.
pub(super) fn is_event(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().take(7).collect();
    let [device, cpu, sequence, time, pid, action, _] = words[..] else { return false };
    let is_device = device
        .split_once(',')
        .is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok());
    is_device
        && cpu.parse::<u32>().is_ok()
        && sequence.parse::<u64>().is_ok()
        && seconds(time).is_some()
        && pid.parse::<u32>().is_ok()
        && action.len() <= 2
}

/// True if a line is an event of an action that is not part of an I/O: merges, plugs, messages.
pub(super) fn is_irrelevant(line: &str) -> bool {
    let action = line.split_ascii_whitespace().nth(5);
    is_event(line) && !matches!(action, Some("Q" | "D" | "R" | "C"))
}

/// Parses a line; `None` if it is not a relevant event.
pub(super) fn event(line: &str, names: &mut Names) -> Option<Event> {
    let mut words = line.split_ascii_whitespace();
    let device = words.next()?;
    let time = words.by_ref().nth(2)?;
    let pid = words.next()?.parse().ok()?;
    let step = match words.next()? {
        "Q" => Step::Queued,
        "D" => Step::Issued,
        "R" => Step::Requeued,
        "C" => Step::Completed,
        _ => return None,
    };
    let letters = words.next()?.as_bytes();
    if !letters.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let (operation, flags) = parse_rwbs(letters);
    // A passthrough command has its bytes and its data first; a flush has no sector.
    let rest: Vec<&str> = words.collect();
    let plus = rest.iter().position(|word| *word == "+");
    let number = |at: usize| rest.get(at)?.parse::<u64>().ok();
    let (sector, sectors) = match plus {
        None => (0, 0),
        Some(plus) => (number(plus.checked_sub(1)?)?, number(plus + 1)?),
    };
    let name = rest.last().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let process = name.filter(|_| step != Step::Completed).map(str::to_owned);
    let actor =
        (step != Step::Completed).then_some(Actor { pid: Some(pid), process, cgroup: None });
    Some(Event {
        at_ns: seconds(time)?,
        device: names.device(&Device::named(&device.replace(',', ":")))?,
        step,
        operation,
        flags,
        sector,
        sectors: u32::try_from(sectors).ok()?,
        actor: actor.and_then(|actor| names.actor(&actor)),
    })
}
