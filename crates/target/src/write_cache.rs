//! Switches the volatile write cache of an NVMe controller.

use std::fs::{File, read_to_string};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use iodyno_host::{AdminRead, Source};

use crate::nvme::{Command, send};

/// The volatile write cache of one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteCache {
    /// The controller, `nvme0`.
    pub controller: String,
    /// Serial number: another controller may have that name tomorrow.
    pub serial: String,
}

impl WriteCache {
    /// True if it is enabled (Get Features 06h).
    ///
    /// # Errors
    /// `NotFound` if the controller is gone; otherwise the kernel's or the drive's error.
    pub fn is_on(&self, source: &dyn Source) -> io::Result<bool> {
        self.open_controller()?;
        let answer = source.admin(&self.controller, AdminRead::VolatileWriteCache)?;
        answer.first().map(|first| first & 1 == 1).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Switches it (Set Features 06h, until the controller is reset). No data is lost: the drive
    /// writes the cache's content first.
    ///
    /// # Errors
    /// As [`Self::is_on`].
    pub fn switch(&self, on: bool) -> io::Result<()> {
        send(&self.open_controller()?, Command::write_cache(on))
    }

    /// Opens the controller: a character device with the number and the serial in sysfs.
    fn open_controller(&self) -> io::Result<File> {
        let Self { controller, serial } = self;
        let number = controller.strip_prefix("nvme").map(str::parse::<u32>);
        if !matches!(number, Some(Ok(_))) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no NVMe controller"));
        }
        let held = File::open(format!("/dev/{controller}"))?;
        let metadata = held.metadata()?;
        let (major, minor) =
            (rustix::fs::major(metadata.rdev()), rustix::fs::minor(metadata.rdev()));
        let sysfs = |file: &str| read_to_string(format!("/sys/class/nvme/{controller}/{file}"));
        let is_it = metadata.file_type().is_char_device()
            && sysfs("dev")?.trim() == format!("{major}:{minor}")
            && sysfs("serial")?.trim() == serial;
        is_it.then_some(held).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_controllers_are_opened() {
        for controller in ["null", "nvme", "nvme0n1", "nvme0/../null", "../null", ""] {
            let cache = WriteCache { controller: controller.into(), serial: String::new() };
            let error = cache.switch(false).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{controller}");
        }
    }
}
