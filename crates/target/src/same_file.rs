//! Finds the files that are the same bytes under another device and inode number, through overlays,
//! and the file systems that are mounted from a file.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use iodyno_host::{Live, Source as _};
use iodyno_model::{BackingFile, BlockKind, Fact, Host};
use rustix::fs::{AtFlags, CWD, Dev, FileType, StatxFlags};

use crate::file_system::FileSystem;

/// Device and inode number, as in stat(2).
type Identity = (Dev, u64);

/// Overlays may lie on each other (FILESYSTEM_MAX_STACK_DEPTH of linux/fs.h is 2).
const MOST_OVERLAYS: usize = 3;

/// The mounts of a mount namespace.
struct Namespace {
    /// Path from here to its root; empty for this process's own.
    root: PathBuf,
    mounts: Vec<FileSystem>,
}

/// The mounts of all mount namespaces that this process may see.
#[derive(Default)]
pub(crate) struct Mounts(Vec<Namespace>);

impl Mounts {
    /// Reads them, this process's own first.
    pub(crate) fn read() -> Self {
        let namespace = |process: String| {
            let folder = Path::new("/proc").join(&process);
            let table = fs::read(folder.join("mountinfo")).ok()?;
            let root = if process == "self" { PathBuf::new() } else { folder.join("root") };
            Some(Namespace { root, mounts: FileSystem::all(&table) })
        };
        Self(Live::new().mount_namespaces().filter_map(namespace).collect())
    }

    /// Returns the snapshot with loop devices over the files that hold their bytes, where these are
    /// files of overlays.
    pub(crate) fn under_overlays<'h>(&self, host: &'h Host) -> Cow<'h, Host> {
        let mut host = Cow::Borrowed(host);
        for number in 0..host.blocks.len() {
            if let Some(kind) = self.under_overlay(&host.blocks[number].kind) {
                host.to_mut().blocks[number].kind = kind;
            }
        }
        host
    }

    /// As [`Self::under_overlays`], for one device; `None` if it is not over a file of an overlay.
    /// The file is unknown where the overlay's layers were named by relative paths.
    pub(crate) fn under_overlay(&self, kind: &BlockKind) -> Option<BlockKind> {
        let BlockKind::Loop { backing_file: Some(path), backing } = kind else { return None };
        let file = backing.get().filter(|file| file.block.is_none())?;
        let identity = (rustix::fs::makedev(file.device.0, file.device.1), file.inode);
        let path_of_it = Path::new(path);
        let sees_it = |of: &&Namespace| identity_of(&of.seen(path_of_it)) == Some(identity);
        let seeing: Vec<&Namespace> = self.0.iter().filter(sees_it).collect();
        let mut below = seeing.iter().filter_map(|namespace| self.below(namespace, path_of_it));
        let backing = match below.next().and_then(|below| identity_of(&below)) {
            Some((device, inode)) => {
                let device = (rustix::fs::major(device), rustix::fs::minor(device));
                Fact::Read(BackingFile { device, inode, ..*file })
            }
            // It may be any file.
            None => {
                let is_relative = |of: &&Namespace| {
                    FileSystem::covering(&of.mounts, path_of_it)
                        .is_some_and(FileSystem::has_relative_layers)
                };
                seeing.into_iter().find(is_relative).map(|_| Fact::Absent)?
            }
        };
        Some(BlockKind::Loop { backing_file: Some(path.clone()), backing })
    }

    /// Returns the file that holds the bytes of the overlay's file at `path`; `None` if that is in
    /// no overlay, or its layers cannot be reached.
    fn below(&self, namespace: &Namespace, path: &Path) -> Option<PathBuf> {
        let mut found = namespace.in_layer(path)?;
        for _ in 1..MOST_OVERLAYS {
            let own = self.0.first().filter(|own| own.root.as_os_str().is_empty());
            let next = own.zip(found.canonicalize().ok()).and_then(|(own, at)| own.in_layer(&at));
            let Some(next) = next else { break };
            found = next;
        }
        Some(found)
    }

    /// Returns the file at `path` and those of overlays that show its bytes.
    pub(crate) fn same_as(&self, path: &Path, identity: Identity) -> Vec<Identity> {
        let mut same = vec![identity];
        let seen = |of: &Namespace| [Some(of.seen(path)), self.below(of, path)];
        let mut seen = self.0.iter().flat_map(seen).flatten();
        let mut todo = Vec::from_iter(seen.find(|at| identity_of(at) == Some(identity)));
        while let Some(path) = todo.pop() {
            for (namespace, merged) in self.above(&path) {
                let below = self.below(namespace, &merged);
                if below.is_some_and(|below| identity_of(&below) == Some(identity))
                    && let Some(one) = identity_of(&namespace.seen(&merged))
                    && !same.contains(&one)
                {
                    same.push(one);
                    todo.push(namespace.seen(&merged));
                }
            }
        }
        same
    }

    /// Returns the paths that a file has in overlays with a layer on its way.
    fn above(&self, path: &Path) -> Vec<(&Namespace, PathBuf)> {
        let folders = path.ancestors().skip(1);
        let folders: Vec<_> = folders.filter_map(|at| Some((identity_of(at)?, at))).collect();
        let merged = |overlay: &FileSystem, layer: &Path| {
            let layer = identity_of(layer)?;
            let (_, at) = folders.iter().find(|(folder, _)| *folder == layer)?;
            overlay.merged(path.strip_prefix(at).ok()?)
        };
        let mut found = Vec::new();
        for namespace in &self.0 {
            for overlay in namespace.mounts.iter().filter(|mount| mount.is_overlay()) {
                let layers = overlay.layers().into_iter();
                let layers = layers.flat_map(|layer| namespace.seen_by_both(&layer));
                let paths = layers.filter_map(|layer| merged(overlay, &layer));
                found.extend(paths.map(|path| (namespace, path)));
            }
        }
        found
    }

    /// Returns where a file system is mounted whose source is one of these files.
    pub(crate) fn mounted_from(&self, path: &Path, files: &[Identity]) -> Option<&Path> {
        let is_mounted = |namespace: &Namespace, mount: &FileSystem| {
            if mount.source.is_absolute() {
                let source = identity_of(&namespace.seen(&mount.source));
                return source.is_some_and(|source| files.contains(&source));
            }
            // EROFS has files as sources, and mount(2) takes a path that is relative to any folder.
            mount.kind == "erofs" && mount.source.file_name() == path.file_name()
        };
        self.0.iter().find_map(|namespace| {
            let mut mounts = namespace.mounts.iter();
            mounts.find(|mount| is_mounted(namespace, mount)).map(|mount| mount.at.as_path())
        })
    }
}

impl Namespace {
    /// Path from here to a path of this namespace.
    fn seen(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(rest) if !self.root.as_os_str().is_empty() => self.root.join(rest),
            _ => path.to_owned(),
        }
    }

    /// A layer's path is that of the namespace in which the overlay was mounted: this one or, for a
    /// container, the one of the program that set it up.
    fn seen_by_both(&self, layer: &Path) -> [PathBuf; 2] {
        [layer.to_owned(), self.seen(layer)]
    }

    /// Returns the file in the layer of an overlay that holds the bytes of its file at `path`.
    fn in_layer(&self, path: &Path) -> Option<PathBuf> {
        let overlay = FileSystem::covering(&self.mounts, path).filter(|of| of.is_overlay())?;
        let candidates = overlay.layers().into_iter().filter_map(|layer| overlay.in_(&layer, path));
        let mut candidates = candidates.flat_map(|path| self.seen_by_both(&path));
        candidates.find(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
    }
}

/// Device and inode number of a file or folder. A server that does not answer (NFS, FUSE) is not
/// waited for.
fn identity_of(path: &Path) -> Option<Identity> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
    let stat = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, wanted).ok()?;
    let kind = FileType::from_raw_mode(stat.stx_mode.into());
    let device = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
    (kind.is_file() || kind.is_dir()).then_some((device, stat.stx_ino))
}
