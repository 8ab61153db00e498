//! Finds what servers in the kernel export to other machines and guests.
//!
//! Such a server holds a block device without a claim that conflicts with O_EXCL, and no process
//! has it open.

use std::io;

use iodyno_model::add_missing;

use crate::read;
use crate::source::Source;

const CONFIGFS: &str = "/sys/kernel/config";

/// A device or file exported by a server in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Server and export: `nvmet as nqn.2014-08.org.example/1`.
    pub by: String,
    /// Path given to the server.
    pub path: String,
}

/// All exports, as far as visible.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exports {
    /// Current exports.
    pub found: Vec<Export>,
    /// Folders of a server that cannot be read.
    pub unreadable: Vec<String>,
}

/// Place where a server lists its exports.
struct Server {
    name: &'static str,
    /// Kernel module whose folder is `root`.
    module: &'static str,
    root: &'static str,
    /// Folders of single exports below the root; `*` is any name.
    below: &'static str,
    /// File that reads 1 while the export is enabled.
    enabled: Option<&'static str>,
    /// File with the path.
    file: &'static str,
    /// Text before and after the path in that file.
    around: &'static [(&'static str, &'static str)],
}

/// nvmet: drivers/nvme/target/configfs.c. LIO: target_core_configfs.c,
/// `iblock_show_configfs_dev_params`, `fd_show_configfs_dev_params`. USB mass
/// storage: Documentation/usb/mass-storage.rst. SCST: its README, `filename`.
const SERVERS: [Server; 5] = [
    Server {
        name: "nvmet",
        module: "nvmet",
        root: "/sys/kernel/config/nvmet",
        below: "subsystems/*/namespaces/*",
        enabled: Some("enable"),
        file: "device_path",
        around: &[("", "")],
    },
    Server {
        name: "nvmet",
        module: "nvmet",
        root: "/sys/kernel/config/nvmet",
        below: "subsystems/*/passthru",
        enabled: Some("enable"),
        file: "device_path",
        around: &[("", "")],
    },
    Server {
        name: "LIO",
        module: "target_core_mod",
        root: "/sys/kernel/config/target",
        below: "core/*/*",
        enabled: Some("enable"),
        file: "info",
        around: &[("UDEV PATH: ", "  readonly:"), ("File: ", "  Size:")],
    },
    Server {
        name: "a USB gadget",
        module: "usb_f_mass_storage",
        root: "/sys/kernel/config/usb_gadget",
        below: "*/functions/*/*",
        enabled: None,
        file: "file",
        around: &[("", "")],
    },
    Server {
        name: "SCST",
        module: "scst",
        root: "/sys/kernel/scst_tgt",
        below: "devices/*",
        enabled: None,
        file: "filename",
        around: &[("", "")],
    },
];

/// Lists the exports of the kernel's servers: NVMe over fabrics, SCSI targets, vhost, USB gadgets.
pub fn exports(source: &dyn Source) -> Exports {
    let mut exports = Exports::default();
    for server in &SERVERS {
        let mut unreadable = |folder: String| add_missing(&mut exports.unreadable, [folder]);
        // configfs may be unmounted, as in a container.
        let is_loaded = source.list(&format!("/sys/module/{}", server.module)).is_ok();
        let is_configured = server.root.starts_with(CONFIGFS);
        if is_loaded && is_configured && source.list(server.root).is_err() {
            unreadable(server.root.into());
            continue;
        }
        for (folder, place) in folders(source, server, &mut unreadable) {
            let mut text = |file: &str| match read::file(source, &format!("{folder}/{file}")) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    unreadable(folder.clone());
                    None
                }
                text => text.ok(),
            };
            let is_on = server
                .enabled
                .is_none_or(|file| text(file).is_some_and(|enabled| enabled.trim() == "1"));
            let path = text(server.file).filter(|_| is_on);
            if let Some(path) = path.and_then(|path| path_in(&path, server.around)) {
                let by = read::clean(&format!("{} as {place}", server.name));
                exports.found.push(Export { by, path });
            }
        }
    }
    exports
}

/// Folders of a server's exports, each with the names matched by `*`.
fn folders(
    source: &dyn Source,
    server: &Server,
    unreadable: &mut dyn FnMut(String),
) -> Vec<(String, String)> {
    let mut found = vec![(server.root.to_owned(), String::new())];
    for part in server.below.split('/') {
        let mut next = Vec::new();
        for (folder, place) in found {
            if part != "*" {
                next.push((format!("{folder}/{part}"), place));
                continue;
            }
            let names = source.list(&folder).unwrap_or_else(|error| {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    unreadable(folder.clone());
                }
                Vec::new()
            });
            next.extend(names.into_iter().map(|name| {
                let slash = if place.is_empty() { "" } else { "/" };
                (format!("{folder}/{name}"), format!("{place}{slash}{name}"))
            }));
        }
        found = next;
    }
    found
}

/// Extracts the path from the text of a server's file.
fn path_in(text: &str, around: &[(&str, &str)]) -> Option<String> {
    let path = around.iter().find_map(|(before, behind)| {
        let path = text.split_once(before)?.1.lines().next()?;
        Some(if behind.is_empty() { path } else { path.split_once(behind)?.0 })
    })?;
    path.starts_with('/').then(|| path.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_parsed_from_a_scsi_targets_info() {
        let around = SERVERS[2].around;
        let block = "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512\n        \
                     iBlock device: sdb  UDEV PATH: /dev/disk/by-id/a  readonly: 0\n        \
                     Major: 8 Minor: 16  CLAIMED: IBLOCK\n";
        assert_eq!(path_in(block, around).as_deref(), Some("/dev/disk/by-id/a"));
        let file =
            "TCM FILEIO ID: 0        File: /srv/a b  Size: 8388608  Mode: O_DSYNC Async: 0\n";
        assert_eq!(path_in(file, around).as_deref(), Some("/srv/a b"));
        for text in ["", "TCM RAMDISK: 0", "File: relative  Size: 1", "File: /no/end"] {
            assert_eq!(path_in(text, around), None, "{text}");
        }
    }
}
