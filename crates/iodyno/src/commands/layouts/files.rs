//! Loop devices over files, to try layouts without a spare drive.

use std::path::PathBuf;

use anyhow::Result;
use iodyno_campaign::LoopFiles;
use iodyno_host::Depth;
use iodyno_target::Permission;

use crate::commands::setup::Setup;

/// Files in the current directory, and the loop devices over them.
pub(crate) struct Files {
    made: LoopFiles,
    /// Names of the loop devices.
    pub(crate) drives: Vec<String>,
}

/// Number of devices: a stripe needs two.
const COUNT: usize = 2;

impl Files {
    /// Creates the files, each of `size_bytes`, and their loop devices.
    pub(crate) fn make(setup: &mut Setup, size_bytes: u64) -> Result<Self> {
        let directory = PathBuf::from(".").canonicalize()?;
        let made = LoopFiles::make(&mut setup.store, &directory, COUNT, size_bytes)?;
        setup.refresh_host(Depth::Full);
        let drives = made.devices().iter().map(|device| device.trim_start_matches("/dev/").into());
        Ok(Self { drives: drives.collect(), made })
    }

    /// Permission to write and empty them: they are ours.
    pub(crate) fn permission(&self) -> Permission {
        let words = self.made.words();
        Permission {
            allow_write: words.clone(),
            discard_data: words.clone(),
            assume_unused: words,
            ..Permission::default()
        }
    }

    /// Removes the devices and files.
    pub(crate) fn remove(self, setup: &mut Setup) -> Result<()> {
        Ok(self.made.remove(&mut setup.store)?)
    }
}
