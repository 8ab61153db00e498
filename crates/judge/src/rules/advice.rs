//! Fills in device names in the commands of advice.

use iodyno_model::{BlockKind, Host, Measurement, WrittenState, shell_word};

use crate::place::{arrays_under, device_of, devices, place};
use crate::rule_context::RuleContext;

/// Maximum number of devices that are named.
const MOST_NAMED: usize = 4;

/// Placeholder in advice, and the names of the measurements' devices to fill in.
type Place = (&'static str, fn(&Host, &[&Measurement]) -> Vec<String>);

const PLACES: [Place; 5] = [
    ("DEVICE", |host, all| names(all, |of| devices(Some(host), of))),
    ("ARRAY", |host, all| {
        names(all, |of| arrays_under(host, of).into_iter().map(|(name, _)| name).collect())
    }),
    ("CONTROLLER", controllers),
    ("SUBSYSTEM", |host, all| {
        let subsystem = |drive: &String| Some(host.subsystem_of(drive)?.name.clone());
        controllers(host, all).iter().filter_map(subsystem).collect()
    }),
    ("INTERRUPT", interrupts),
];

/// Returns true if the text has a placeholder.
pub(super) fn has_place(next: &str) -> bool {
    PLACES.iter().any(|(word, _)| next.contains(word))
}

/// Fills in the names of these measurements' devices: the first in place, the others in a sentence
/// at the end.
pub(super) fn filled(next: &str, host: Option<&Host>, all: &[&Measurement]) -> String {
    let mut text = next.to_owned();
    for (word, find) in PLACES.iter().filter(|(word, _)| next.contains(word)) {
        let mut found: Vec<String> = Vec::new();
        for name in host.map(|host| find(host, all)).unwrap_or_default() {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        let Some((first, others)) = found.split_first() else { continue };
        text = text.replace(word, first);
        let more = others.len().saturating_sub(MOST_NAMED);
        let named = others[..others.len() - more].join(", ");
        text.push_str(&match (others.len(), more) {
            (0, _) => String::new(),
            (_, 0) => format!(" The same for {named}."),
            _ => format!(" The same for {named} and {more} more."),
        });
    }
    text
}

fn names<'h>(all: &[&Measurement], find: impl Fn(&Measurement) -> Vec<&'h str>) -> Vec<String> {
    all.iter().flat_map(|of| find(of)).map(str::to_owned).collect()
}

fn controllers(host: &Host, all: &[&Measurement]) -> Vec<String> {
    let blocks = names(all, |of| devices(Some(host), of));
    let controller = |block: &String| Some(host.namespace(block)?.0.name.clone());
    blocks.iter().filter_map(controller).collect()
}

/// Common prefix of the names of a device's interrupts: `nvme0q`, `virtio1-`.
fn interrupts(host: &Host, all: &[&Measurement]) -> Vec<String> {
    let blocks = names(all, |of| devices(Some(host), of));
    let functions = blocks.iter().filter_map(|name| host.block(name)?.pci_function.as_deref());
    let begin = |function| {
        let mut names = host.interrupts_of(function).map(|interrupt| interrupt.name.as_str());
        let first = names.next()?;
        let common = names.fold(first, |common, name| {
            let same = common.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            common.get(..same).unwrap_or_default()
        });
        (!common.is_empty()).then(|| common.to_owned())
    };
    functions.filter_map(begin).collect()
}

/// The command that shows what the kernel logged, and those for the drives' error logs; none of this
/// machine's if nothing is known of the machine that measured.
pub(super) fn kernel_log(context: &RuleContext<'_>, of: &Measurement, command: &str) -> String {
    match context.host() {
        None => "See the kernel log of the machine that measured it".into(),
        Some(_) => format!("{command}{}", drive_logs(context, of, "error-log")),
    }
}

/// Commands that show the error logs of a measurement's drives; empty if none is known.
pub(super) fn drive_logs(context: &RuleContext<'_>, of: &Measurement, log: &str) -> String {
    let named = |host| controllers(host, &[of]);
    let names = context.host().map(named).unwrap_or_default();
    let command = |name: &String| format!("sudo nvme {log} /dev/{name}");
    match names.iter().map(command).take(MOST_NAMED).collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        some => format!("; the drive's own log: {}", some.join("; ")),
    }
}

/// Reason and advice for failed writes on a zoned device, which are no fault of the drive.
pub(super) fn zones(context: &RuleContext<'_>, of: &Measurement) -> Option<(&'static str, String)> {
    let host = context.host().filter(|_| crate::measured::writes(of))?;
    let zoned = devices(Some(host), of)
        .into_iter()
        .find(|name| host.block(name).is_some_and(|block| block.zones().is_some()))?;
    Some((
        "Its zones are written in sequence, from their start on: the drive fails any other write, and \
         any write to a zone that is full.",
        format!(
            "Empty and fill them: sudo iodyno prepare {zoned} --fill 1x; write with zonemode=zbd \
             (--generator fio). See the zones: sudo blkzone report /dev/{zoned}"
        ),
    ))
}

/// Advice to fill a target with data, as a command.
pub(super) fn fill(host: Option<&Host>, of: &Measurement, target: &str) -> String {
    let name = target.strip_prefix("/dev/").unwrap_or(target);
    let file = shell_word(target);
    if name.starts_with('/') {
        return format!(
            "If it may be overwritten, write it in full and repeat: iodyno run --name=fill \
             --filename={file} --rw=write --bs=1m --iodepth=32 --ioengine=io_uring --direct=1 \
             --allow-write {file}"
        );
    }
    let block = host.and_then(|host| host.block(device_of(of, target)));
    let is_virtual = place(host, of, target).virtual_disk.is_some();
    let whose = match block.map(|block| &block.kind) {
        Some(BlockKind::Md(_) | BlockKind::DeviceMapper(_)) => "volume",
        Some(BlockKind::Partition) => "partition",
        _ if is_virtual => "disk",
        _ => "drive",
    };
    let device = shell_word(name);
    let provider = match is_virtual {
        true => "; its provider may have a way of its own to make a new volume ready",
        false => "",
    };
    format!(
        "Fill it once and repeat, if the {whose} may be overwritten; see first: sudo iodyno \
         prepare {device} --fill 1x --dry-run{provider}"
    )
}

/// The same for the first target that is not known to be written.
pub(super) fn fill_unknown(context: &RuleContext<'_>, of: &Measurement) -> String {
    let is_open = |target: &&String| crate::measured::written(of, target) != WrittenState::Written;
    let target = of.targets.iter().find(is_open).or(of.targets.first());
    target.map_or_else(String::new, |target| fill(context.host(), of, target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use iodyno_model::{Fact, Interrupt, RunRecord};

    fn record() -> RunRecord {
        let bench = Bench::new(2).measured().host(|host| {
            host.blocks[0].pci_function = Some("0000:10:00.0".into());
            host.interrupts = (0..3)
                .map(|queue| Interrupt {
                    number: 40 + queue,
                    function: "0000:10:00.0".into(),
                    name: format!("virtio1-req.{queue}"),
                    counts: [].into(),
                    effective_cpus: Fact::Absent,
                })
                .collect();
        });
        bench.record()
    }

    #[test]
    fn commands_name_what_they_are_for() {
        let record = record();
        let (one, both) = (&record.measurements[0], &record.measurements[6]);
        let filled = |next: &str, of: &[&Measurement]| filled(next, record.host(), of);
        assert_eq!(filled("cat /sys/block/DEVICE/x", &[one]), "cat /sys/block/nvme0n1/x");
        assert_eq!(
            filled("echo 0 | sudo tee DEVICE.", &[one, both]),
            "echo 0 | sudo tee nvme0n1. The same for nvme1n1."
        );
        assert_eq!(
            filled("grep INTERRUPT /proc/interrupts", &[one]),
            "grep virtio1-req. /proc/interrupts"
        );
        assert_eq!(filled("/dev/CONTROLLER", &[one]), "/dev/nvme0");
        // Without a name, the placeholder remains and says what to fill in.
        assert_eq!(filled("cat ARRAY SUBSYSTEM", &[one]), "cat ARRAY SUBSYSTEM");
        assert!(!has_place("iotop -o") && has_place("DEVICE"));
    }

    #[test]
    fn drives_are_prepared_and_files_are_written() {
        let record = record();
        let of = &record.measurements[0];
        assert!(fill(record.host(), of, "nvme0n1").contains("prepare nvme0n1 --fill 1x --dry-run"));
        assert!(fill(record.host(), of, "/dev/nvme0n1").contains("prepare nvme0n1 "));
        assert!(!fill(record.host(), of, "nvme0n1").contains("provider"));
        let virtio = Bench::new(1).measured().host(|host| {
            host.drives.clear();
            host.blocks[0].kind = BlockKind::Virtual;
        });
        let disk = fill(virtio.record().host(), of, "nvme0n1");
        assert!(disk.contains("if the disk may") && disk.contains("its provider"), "{disk}");
        let file = fill(record.host(), of, "/srv/my file");
        assert!(file.contains("--filename='/srv/my file' ") && !file.contains("prepare"), "{file}");
    }
}
