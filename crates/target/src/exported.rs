//! Finds the exports of a device or a file by kernel servers.

use iodyno_host::{FileId, Source, exports};
use iodyno_model::Host;

use crate::BlindSpot;
use crate::extents::below;
use crate::openers::{Usage, entry_point};

/// Finds exports of a block device by one of its `entry_points`, or of a device below it: such a
/// server takes no exclusive claim, so that an array's claim on its members does not prevent it.
pub(crate) fn of_block(
    source: &dyn Source,
    host: &Host,
    block: &str,
    entry_points: &[(String, FileId)],
) -> Usage {
    let below = below(host, block).into_iter().filter_map(|name| host.block(name)).map(entry_point);
    let entry_points: Vec<(String, FileId)> = entry_points.iter().cloned().chain(below).collect();
    find(source, &entry_points)
}

/// Finds exports of the file with this device and inode number.
pub(crate) fn of_file(source: &dyn Source, (device, inode): (u64, u64)) -> Usage {
    find(source, &[(String::new(), FileId::Inode { device, inode })])
}

fn find(source: &dyn Source, entry_points: &[(String, FileId)]) -> Usage {
    let exports = exports(source);
    let mut usage = Usage::default();
    for export in exports.found {
        match source.file_id(&export.path) {
            Ok(id) => {
                let entry_point = entry_points.iter().find(|(_, known)| *known == id);
                usage.uses.extend(entry_point.map(|(name, _)| match name.as_str() {
                    "" => format!("exported by {}", export.by),
                    name => format!("{name}: exported by {}", export.by),
                }));
            }
            Err(_) => {
                let path = crate::target::printable(&export.path);
                usage.blind.push(BlindSpot::ExportGone { by: export.by, path });
            }
        }
    }
    let folders = exports.unreadable.into_iter();
    usage.blind.extend(folders.map(|folder| BlindSpot::Exports { folder }));
    usage
}
