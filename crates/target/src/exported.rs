//! Finds the exports of a device or a file by kernel servers.

use iodyno_host::{FileId, Source, exports};
use iodyno_model::Host;

use crate::BlindSpot;
use crate::extents::below;
use crate::openers::{Look, way};

/// Finds exports of a block device by one of the `ways` to it, or of a device below it: such a
/// server takes no exclusive claim, so that an array's claim on its members does not prevent it.
pub(crate) fn of_block(
    source: &dyn Source,
    host: &Host,
    block: &str,
    ways: &[(String, FileId)],
) -> Look {
    let below = below(host, block).into_iter().filter_map(|name| host.block(name)).map(way);
    let ways: Vec<(String, FileId)> = ways.iter().cloned().chain(below).collect();
    look(source, &ways)
}

/// Finds exports of the file with this device and inode number.
pub(crate) fn of_file(source: &dyn Source, (device, inode): (u64, u64)) -> Look {
    look(source, &[(String::new(), FileId::Inode { device, inode })])
}

fn look(source: &dyn Source, ways: &[(String, FileId)]) -> Look {
    let exports = exports(source);
    let mut look = Look::default();
    for export in exports.found {
        match source.file_id(&export.path) {
            Ok(id) => {
                let way = ways.iter().find(|(_, way)| *way == id);
                look.uses.extend(way.map(|(name, _)| match name.as_str() {
                    "" => format!("exported by {}", export.by),
                    name => format!("{name}: exported by {}", export.by),
                }));
            }
            Err(_) => {
                let path = crate::target::printable(&export.path);
                look.blind.push(BlindSpot::ExportGone { by: export.by, path });
            }
        }
    }
    let folders = exports.unreadable.into_iter();
    look.blind.extend(folders.map(|folder| BlindSpot::Exports { folder }));
    look
}
