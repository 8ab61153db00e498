//! Source of facts about this machine.

use std::fs::File;
use std::io::{self, Read as _};
use std::time::{SystemTime, UNIX_EPOCH};

use iodyno_model::BackingFile;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use crate::device_mapper::ioctl::table;
use crate::loop_device::ioctl::loop_backing;
use crate::nvme::ioctl;
use crate::source::{AdminRead, FileId, Source};

/// This machine, as it is now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live;

impl Live {
    /// Source of facts about this machine.
    pub fn new() -> Self {
        Self
    }
}

impl Source for Live {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = std::fs::read_dir(path)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    fn link(&self, path: &str) -> io::Result<String> {
        text(std::fs::read_link(path)?)
    }

    fn real_path(&self, path: &str) -> io::Result<String> {
        text(std::fs::canonicalize(path)?)
    }

    fn block_number(&self, path: &str) -> io::Result<(u32, u32)> {
        let stat = rustix::fs::stat(path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)))
    }

    fn file_id(&self, path: &str) -> io::Result<FileId> {
        // A server that does not answer (NFS, FUSE) would block the caller.
        let stat = rustix::fs::statx(
            CWD,
            path,
            AtFlags::STATX_DONT_SYNC,
            StatxFlags::TYPE | StatxFlags::INO,
        )?;
        Ok(match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::BlockDevice => FileId::Block(stat.stx_rdev_major, stat.stx_rdev_minor),
            FileType::CharacterDevice => {
                FileId::Character(stat.stx_rdev_major, stat.stx_rdev_minor)
            }
            _ => FileId::Inode {
                device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
                inode: stat.stx_ino,
            },
        })
    }

    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>> {
        // A read-only descriptor is enough for these commands; the node is root's.
        let path = format!("/dev/{controller}");
        ioctl::admin_read(&File::open(path)?, command)
    }

    fn dm_table(&self, _: &str, number: (u32, u32)) -> io::Result<String> {
        table(&File::open("/dev/mapper/control")?, number)
    }

    fn backing_file(&self, name: &str, number: (u32, u32)) -> io::Result<BackingFile> {
        let path = format!("/dev/{name}");
        if self.block_number(&path)? != number {
            return Err(io::ErrorKind::NotFound.into());
        }
        loop_backing(&File::open(path)?)
    }

    fn taken_ns(&self) -> i64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_nanos()).ok())
            .unwrap_or_default()
    }
}

fn text(path: std::path::PathBuf) -> io::Result<String> {
    path.into_os_string().into_string().map_err(|_| io::ErrorKind::InvalidData.into())
}
