//! Reads loop devices and their backing files.

#[allow(unsafe_code)] // one ioctl, which the standard library does not offer
pub(crate) mod ioctl;

use iodyno_model::{BlockKind, Fact};

use crate::read;
use crate::source::Source;

/// Reads the bound loop device whose sysfs folder is `real`.
pub(crate) fn read(source: &dyn Source, real: &str, name: &str, number: (u32, u32)) -> BlockKind {
    BlockKind::Loop {
        backing_file: read::text(source, &format!("{real}/loop/backing_file")).value(),
        backing: source
            .backing_file(name, number)
            .map_or_else(|error| read::unknown(&error), Fact::Read),
    }
}

/// Lists the loop devices bound now, by name, without the rest of a snapshot.
pub fn loop_devices(source: &dyn Source) -> Vec<(String, BlockKind)> {
    let names = source.list("/sys/block").unwrap_or_default();
    let bound = |name: String| {
        let real = format!("/sys/block/{name}");
        if !name.starts_with("loop") || source.list(&format!("{real}/loop")).is_err() {
            return None;
        }
        let number = read::device_number(&read::text(source, &format!("{real}/dev")).value()?)?;
        let kind = read(source, &real, &name, number);
        Some((name, kind))
    };
    names.into_iter().filter_map(bound).collect()
}
