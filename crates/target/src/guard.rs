//! Checks that a target may be written, and clears it.
//!
//! A device is written only if it is unused, the user named it, and it holds no data or the user
//! gave that up as well. O_EXCL alone does not prove that it is unused (a loop device on it, a
//! process that has it open, a stopped array), nor do signatures alone; so everything is checked,
//! then the device is opened with O_EXCL, which keeps mounts, swap and arrays away, and then
//! everything is checked again, since something may have changed in between.

use std::os::fd::OwnedFd;
use std::path::Path;

use iodyno_host::{Depth, Live, Source, snapshot};
use iodyno_model::{BlockDevice, BlockKind, Host, Mark};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::contents::Lost;
use crate::file_system::FileSystem;
use crate::identity::Identity;
use crate::in_use::{file_write_blockers, write_blockers};
use crate::job_files::mark;
use crate::open_how::OpenHow;
use crate::openers::Usage;
use crate::resolve::path_of_word;
use crate::target::{BlockTarget, PathTarget, Target};
use crate::thin_pool::FullPool;
use crate::{BlindSpot, Permission, ReadClearance, TargetError, WriteClearance, contents, stamp};

/// To look at a file, without following a link or waiting.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

impl Target {
    /// Verifies that the target is unused, that `permission` names it, and that its data may be
    /// lost; opens it for writing, verifies all of that again, and keeps it open. `host` is the
    /// snapshot that it was resolved with; a new snapshot is taken as well, and a use in either
    /// counts. A refusal writes nothing.
    ///
    /// A file that iodyno laid out itself ([`crate::survey`]) needs no permission; any other has to
    /// be named by its path.
    ///
    /// # Errors
    /// In use, possibly in use, not named, holds data that was not given up, read-only, gone,
    /// replaced by something else; a directory. [`TargetError::next_step`] says what to type.
    pub fn clear_for_writing(
        &self,
        host: &Host,
        permission: &Permission,
    ) -> Result<WriteClearance, TargetError> {
        self.clear_with(&Live::new(), host, permission)
    }

    /// Verifies of a block device what [`Self::clear_for_writing`] verifies before opening it: for
    /// callers that change it through a program, and before a descriptor is closed after writing,
    /// since udev would then probe it and activate what is on it.
    ///
    /// # Errors
    /// As [`Self::clear_for_writing`]; a target that is not a block device.
    pub fn verify_for_writing(
        &self,
        host: &Host,
        permission: &Permission,
    ) -> Result<(), TargetError> {
        let Self::Block(block) = self else {
            let why = "only a block device is verified without being opened".into();
            return Err(TargetError::Refused { name: self.name().into(), why });
        };
        Guard { source: &Live::new(), host, permission }.verify(block).map(drop)
    }

    /// As [`Self::clear_for_writing`], with facts supplied by a test.
    pub(crate) fn clear_with(
        &self,
        source: &dyn Source,
        host: &Host,
        permission: &Permission,
    ) -> Result<WriteClearance, TargetError> {
        match self {
            Self::Block(block) => Guard { source, host, permission }.block(block),
            Self::File(file) => Guard { source, host, permission }.file(file, None),
            Self::Directory(directory) => Err(TargetError::Refused {
                name: directory.name.clone(),
                why: "a directory cannot be written: name a file in it".into(),
            }),
        }
    }

    /// Returns the word that names a block device for writing ([`Permission`]), if it has one.
    pub fn permission_word(&self, host: &Host) -> Option<String> {
        let Self::Block(block) = self else { return None };
        let source = Live::new();
        Identity::of(&source, host, host.block(&block.name)?).best().map(str::to_owned)
    }

    /// True if `permission` names it for writing.
    pub fn is_allowed_by(&self, host: &Host, permission: &Permission) -> bool {
        let source = Live::new();
        let names = |word: &String| match self {
            Self::Block(block) => host.block(&block.name).is_some_and(|device| {
                Identity::of(&source, host, device).is_named_by(&source, word)
            }),
            Self::File(file) => names_file(file, word),
            Self::Directory(_) => false,
        };
        permission.allow_write.iter().any(names)
    }

    /// Verifies that `permission` names it for writing, and nothing else.
    ///
    /// # Errors
    /// It does not.
    pub fn verify_named(&self, host: &Host, permission: &Permission) -> Result<(), TargetError> {
        let name = self.name().to_owned();
        let device = host.block(&name).filter(|_| matches!(self, Self::Block(_)));
        match device {
            _ if self.is_allowed_by(host, permission) => Ok(()),
            Some(device) => {
                let typed = permission.kernel_name(&name);
                Err(Identity::of(&Live::new(), host, device).refusal(name, typed, Vec::new()))
            }
            None => {
                let word = Some(name.clone());
                Err(TargetError::NotAllowed { name, word, typed: None, lost: Vec::new() })
            }
        }
    }

    /// Lists unused data that writing it would destroy, a line each: signatures of partition
    /// tables, file systems, arrays and volumes on a device and its partitions; a file that iodyno
    /// did not make. What cannot be examined is listed too.
    pub fn data_at_risk(&self, host: &Host) -> Vec<String> {
        let lost = match self {
            Self::Block(block) => {
                let device = host.block(&block.name);
                let lost = |device| lost_with_partitions(host, device, block, &[]);
                device
                    .map_or(Ok(Vec::new()), lost)
                    .map(|lost| lost.iter().map(Lost::to_string).collect())
            }
            Self::File(file) => self.clear_for_reading().and_then(|clearance| {
                let open = clearance.open(OpenHow { direct: false, ..OpenHow::default() })?;
                Ok(if mark::is_free(&open) { Vec::new() } else { vec![describe_file(file)] })
            }),
            Self::Directory(_) => Ok(Vec::new()),
        };
        lost.unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// Describes a file that is not iodyno's as data that would be lost.
fn describe_file(file: &PathTarget) -> String {
    format!("a file of {} that iodyno did not make", iodyno_model::Bytes(file.size_bytes).binary())
}

/// Returns the data on a device, and on its partitions, whose names precede it.
fn lost_with_partitions(
    host: &Host,
    device: &BlockDevice,
    target: &BlockTarget,
    own_marks: &[Mark],
) -> Result<Vec<Lost>, TargetError> {
    let own_blocks: Vec<Vec<u8>> = own_marks.iter().map(|mark| stamp::block(*mark)).collect();
    let on = |target: &BlockTarget| {
        let clearance = ReadClearance::of_block(target)?;
        let open = clearance.open(OpenHow { direct: false, ..OpenHow::default() })?;
        Ok::<_, TargetError>(contents::lost(&open, clearance.size_bytes(), &own_blocks))
    };
    let mut lost = on(target)?;
    let above = host.above(&device.name);
    for part in above.into_iter().filter(|above| above.kind == BlockKind::Partition) {
        let path = Path::new("/dev").join(part.name.replace('!', "/"));
        // An extended partition has two sectors, and contains only partitions.
        let found = BlockTarget::new(host, part, path).and_then(|part| on(&part));
        match found {
            Ok(found) => {
                lost.extend(found.into_iter().map(|lost| Lost::OnPartition {
                    name: part.name.clone(),
                    lost: Box::new(lost),
                }))
            }
            Err(TargetError::TooSmall { .. }) => {}
            Err(error) => lost.push(Lost::NotLookedAt { why: error.to_string() }),
        }
    }
    Ok(lost)
}

/// Inputs of the decision whether a target may be written.
pub(crate) struct Guard<'g> {
    pub(crate) source: &'g dyn Source,
    /// The snapshot that the target was resolved with.
    pub(crate) host: &'g Host,
    pub(crate) permission: &'g Permission,
}

impl Guard<'_> {
    fn block(&self, target: &BlockTarget) -> Result<WriteClearance, TargetError> {
        let words = self.verify(target).map_err(|error| match error {
            // No "unused data" where a claim has no other trace, such as a mount after umount -l.
            TargetError::NotAllowed { .. } | TargetError::HoldsData { .. }
                if is_claimed(target) =>
            {
                TargetError::Claimed { name: target.name.clone() }
            }
            error => error,
        })?;
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let name = target.name.as_str();
        let descriptor =
            rustix::fs::open(&target.path, flags, Mode::empty()).map_err(|errno| match errno {
                Errno::BUSY => TargetError::Claimed { name: name.into() },
                Errno::ROFS | Errno::ACCESS if self.is_read_only(name) => read_only(name),
                Errno::LOOP | Errno::NOENT => TargetError::gone(name, &target.path, errno),
                errno => TargetError::of(name, "open it for writing", errno),
            })?;
        verify_is_target(&descriptor, target)?;
        // udev leaves a locked device alone (systemd: "Locking Block Device Access"); if it is
        // probing already, it will finish by itself.
        let _ = rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive);
        // Nobody can claim it now: verify that it is still unused and the same.
        if self.verify(target)? != words {
            return Err(TargetError::Changed { name: name.into() });
        }
        let read = ReadClearance::of_block(target)?;
        let identity = (target.number, u64::from(rustix::fs::minor(target.number)));
        Ok(WriteClearance::of_verified(read, descriptor, identity, words))
    }

    /// Verifies everything required for writing a device, at this moment. Returns the words that
    /// name it.
    pub(crate) fn verify(&self, target: &BlockTarget) -> Result<Vec<String>, TargetError> {
        let name = target.name.as_str();
        let changed = || TargetError::Changed { name: name.into() };
        let now = snapshot(self.source, Depth::Quick);
        let device = now.block(name).ok_or_else(changed)?;
        let number = rustix::fs::makedev(device.major, device.minor);
        let size_bytes = device.size.get().map(|size| size.0);
        if number != target.number || size_bytes != target.size_bytes {
            return Err(changed());
        }
        let usage = write_blockers(self.source, &[&now, self.host], name);
        if !usage.uses.is_empty() {
            return Err(TargetError::InUse { name: name.into(), uses: usage.uses });
        }
        // What is still above an unused device are its partitions.
        let parts = now.above(name).into_iter().map(|part| part.name.as_str());
        if let Some(name) = std::iter::once(name).chain(parts).find(|of| self.is_read_only(of)) {
            return Err(read_only(name));
        }
        if let Some(pool) = FullPool::after(&now, name, size_bytes.unwrap_or(u64::MAX)) {
            return Err(pool.error(name));
        }
        let identity = Identity::of(self.source, &now, device);
        let names = |word: &str| identity.is_named_by(self.source, word);
        let lost = lost_with_partitions(&now, device, target, &self.permission.own_marks)?;
        let Some(word) = self.permission.allow_write.iter().find(|word| names(word)) else {
            return Err(identity.refusal(name.into(), self.permission.kernel_name(name), lost));
        };
        self.verify_visibility(name, word, usage.blind, names)?;
        let may_lose = |words: &[String]| words.iter().any(|word| names(word));
        let is_unmarked = lost.iter().all(Lost::is_unknown);
        let may_be_lost = lost.is_empty()
            || may_lose(&self.permission.discard_data)
            || is_unmarked && may_lose(&self.permission.discard_unmarked);
        if !may_be_lost {
            return Err(TargetError::HoldsData { name: name.into(), word: word.clone(), lost });
        }
        Ok(self.permission.naming(names))
    }

    /// Verifies that everything was checked, or that the user takes responsibility for the rest.
    fn verify_visibility(
        &self,
        name: &str,
        word: &str,
        blind: Vec<BlindSpot>,
        names: impl Fn(&str) -> bool,
    ) -> Result<(), TargetError> {
        if blind.is_empty() || self.permission.assume_unused.iter().any(|word| names(word)) {
            return Ok(());
        }
        Err(TargetError::NotKnown { name: name.into(), word: word.into(), blind })
    }

    fn is_read_only(&self, name: &str) -> bool {
        let flag = self.source.read(&format!("/sys/class/block/{name}/ro"), 16);
        flag.is_ok_and(|flag| flag.starts_with(b"1"))
    }

    /// Uses of the file in the upper folder of an overlay, to which writes go: the overlay's own
    /// file tells nothing of who has that open. Nothing where the folder cannot be reached, as from
    /// within a container.
    fn uses_in_upper(&self, path: &Path) -> Usage {
        let upper = FileSystem::of(path).and_then(|of| of.in_upper(path));
        let open = |path: &Path| rustix::fs::open(path, READ, Mode::empty()).ok();
        let Some((upper, file)) = upper.and_then(|upper| open(&upper).map(|file| (upper, file)))
        else {
            return Usage::default();
        };
        match rustix::fs::fstat(&file) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
                let of = (upper.as_path(), (stat.st_dev, stat.st_ino));
                file_write_blockers(self.source, self.host, of, &file)
            }
            _ => Usage::default(),
        }
    }

    /// Clears a file that exists. `grows_to_bytes`: the size it will have.
    pub(crate) fn file(
        &self,
        target: &PathTarget,
        grows_to_bytes: Option<u64>,
    ) -> Result<WriteClearance, TargetError> {
        let name = target.name.as_str();
        // As it has to be typed; the name is as it is shown.
        let word = target.path.to_str().unwrap_or(name);
        // An overlay opens the file as well, so this one is looked at first.
        let mut usage = self.uses_in_upper(&target.path);
        // Open read only first: a refusal must not touch it.
        let read = open_file(target, OFlags::RDONLY)?;
        let of = (target.path.as_path(), target.identity);
        usage.merge(file_write_blockers(self.source, self.host, of, &read));
        if !usage.uses.is_empty() {
            return Err(TargetError::InUse { name: name.into(), uses: usage.uses });
        }
        let words = self.permission.naming(|word| names_file(target, word));
        let allowed = self.permission.allow_write.iter().any(|word| words.contains(word));
        let is_free = mark::is_free(&read);
        if !allowed && !is_free {
            return Err(TargetError::NotAllowed {
                name: name.into(),
                word: Some(word.into()),
                typed: None,
                lost: Vec::new(),
            });
        }
        self.verify_visibility(name, word, usage.blind, |word| names_file(target, word))?;
        let descriptor = open_file(target, OFlags::RDWR)?;
        let read = ReadClearance::of_open_file(&descriptor, target)?;
        let read = match grows_to_bytes {
            Some(bytes) => read.with_current_size(bytes)?,
            None => read.not_empty()?,
        };
        let is_free = is_free && mark::is_free(&descriptor);
        if !allowed && !is_free {
            return Err(TargetError::Changed { name: name.into() });
        }
        let write = WriteClearance::of_verified(read, descriptor, target.identity, words);
        if is_free { write.laid_out() } else { Ok(write) }
    }
}

/// True if a word is the path of this file, in any spelling.
pub(crate) fn names_file(target: &PathTarget, word: &str) -> bool {
    path_of_word(Path::new(word)).is_some_and(|path| path == target.path)
}

fn read_only(name: &str) -> TargetError {
    TargetError::ReadOnly {
        name: name.into(),
        why: "the drive is write-protected, or was set read-only (blockdev --setro)",
    }
}

/// True if the kernel or a process has claimed the device, which must not be this one.
fn is_claimed(target: &BlockTarget) -> bool {
    let flags = READ | OFlags::EXCL;
    rustix::fs::open(&target.path, flags, Mode::empty()).is_err_and(|errno| errno == Errno::BUSY)
}

/// Verifies that the descriptor is the device that was resolved.
fn verify_is_target(descriptor: &OwnedFd, target: &BlockTarget) -> Result<(), TargetError> {
    let stat = rustix::fs::fstat(descriptor)
        .map_err(|errno| TargetError::of(&target.name, "look at it", errno))?;
    let is_block = FileType::from_raw_mode(stat.st_mode).is_block_device();
    if is_block && stat.st_rdev == target.number {
        Ok(())
    } else {
        Err(TargetError::Changed { name: target.name.clone() })
    }
}

/// Opens the file that was resolved, and no other.
fn open_file(target: &PathTarget, access: OFlags) -> Result<OwnedFd, TargetError> {
    let name = target.name.as_str();
    let action = if access == OFlags::RDONLY { "read it" } else { "open it for writing" };
    let flags = access | READ;
    let descriptor =
        rustix::fs::open(&target.path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOENT => TargetError::Changed { name: name.into() },
            errno => TargetError::of(name, action, errno),
        })?;
    let stat = rustix::fs::fstat(&descriptor)
        .map_err(|errno| TargetError::of(name, "look at it", errno))?;
    let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
    if is_file && (stat.st_dev, stat.st_ino) == target.identity {
        Ok(descriptor)
    } else {
        Err(TargetError::Changed { name: name.into() })
    }
}
