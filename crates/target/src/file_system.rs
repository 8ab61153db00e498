//! Detects the file system of a path, and its effect on measurements.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use iodyno_host::unescape_bytes;
use iodyno_model::{Caveat, FileSystemEffect};

/// A mounted file system, from /proc/self/mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Type: `ext4`, `fuse.sshfs`.
    pub kind: String,
    /// Mount point.
    pub at: PathBuf,
    /// Folder of the file system that is mounted there: `/` for all of it.
    root: PathBuf,
    /// Mount source: `/dev/nvme0n1p2`, `server:/export`, `tmpfs`.
    pub source: PathBuf,
    /// Options of the mount and of the file system.
    pub options: String,
}

impl FileSystem {
    /// Finds the file system of `path`, which is absolute and without symbolic links. `None` if the
    /// kernel does not say.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        // The mount table is specific to this process and moment: it is read together with the
        // path, not from a snapshot that may be older.
        Self::find(&Self::table()?, path)
    }

    /// Finds the mount in `mountinfo` (proc_pid_mountinfo(5)) that covers `path`: the deepest one,
    /// and the last of several at the same mount point.
    fn find(mountinfo: &[u8], path: &Path) -> Option<Self> {
        Self::covering(&Self::all(mountinfo), path).cloned()
    }

    /// All mounts of a `mountinfo`, in its order.
    pub(crate) fn all(mountinfo: &[u8]) -> Vec<Self> {
        mountinfo.split(|byte| *byte == b'\n').filter_map(Self::parse).collect()
    }

    /// As [`Self::find`], among `mounts`.
    pub(crate) fn covering<'m>(mounts: &'m [Self], path: &Path) -> Option<&'m Self> {
        let covering = mounts.iter().filter(|mount| path.starts_with(&mount.at));
        covering.max_by_key(|mount| mount.at.components().count())
    }

    /// Parses a line: `36 35 98:0 /root /mount options optional… - type source options`.
    fn parse(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let dash = fields.iter().position(|field| *field == b"-").filter(|dash| *dash >= 6)?;
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        Some(Self {
            kind: text(fields.get(dash + 1)?),
            at: unescape(fields[4]),
            root: unescape(fields[3]),
            source: unescape(fields.get(dash + 2)?),
            options: format!("{},{}", text(fields[5]), text(fields.get(dash + 3)?)),
        })
    }

    fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            key == name && !matches!(value, "no" | "none" | "off")
        })
    }

    /// True if its files are in memory only.
    pub fn is_in_memory(&self) -> bool {
        self.in_memory(&Self::table().unwrap_or_default())
    }

    /// As [`Self::is_in_memory`], by a given mount table. Writes to an overlay go to its upper
    /// directory, which is looked up in the mounts that this process sees.
    fn in_memory(&self, mountinfo: &[u8]) -> bool {
        match self.kind.as_str() {
            // The first root file system, of an initramfs: a ramfs or a tmpfs.
            "tmpfs" | "ramfs" | "rootfs" => true,
            "overlay" => {
                let under = self.upper().and_then(|upper| Self::find(mountinfo, &upper));
                // Nested overlays: only an upper directory on another type is followed.
                under.is_some_and(|under| under.kind != "overlay" && under.in_memory(mountinfo))
            }
            _ => false,
        }
    }

    /// Folder to which an overlay writes, as its mounter named it.
    fn upper(&self) -> Option<PathBuf> {
        let mut options = self.options.split(',').filter(|_| self.kind == "overlay");
        let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
        Some(unescape(upper.as_bytes()))
    }

    /// Path at which the file at `path` of an overlay is if it was written before.
    pub(crate) fn in_upper(&self, path: &Path) -> Option<PathBuf> {
        self.in_(&self.upper().filter(|upper| upper.is_absolute())?, path)
    }

    pub(crate) fn is_overlay(&self) -> bool {
        self.kind == "overlay"
    }

    /// Folders of an overlay's layers as its mounter named them, the upper one first; those that
    /// were named by a relative path are missing.
    pub(crate) fn layers(&self) -> Vec<PathBuf> {
        self.upper().into_iter().chain(self.lower()).filter(|layer| layer.is_absolute()).collect()
    }

    /// True if layers of an overlay were named relative to the mounter's folder, which is unknown.
    pub(crate) fn has_relative_layers(&self) -> bool {
        self.is_overlay() && self.upper().into_iter().chain(self.lower()).any(|l| l.is_relative())
    }

    /// Lower layers of an overlay.
    fn lower(&self) -> impl Iterator<Item = PathBuf> {
        let options = self.options.split(',').filter_map(|option| option.split_once('='));
        // Since Linux 6.8 each of them may be an option of its own.
        let lower = options.filter(|(key, _)| matches!(*key, "lowerdir" | "lowerdir+"));
        lower.flat_map(|(_, value)| separated(unescape(value.as_bytes()).as_path()))
    }

    /// Path in a layer of an overlay of its file at `path`.
    pub(crate) fn in_(&self, layer: &Path, path: &Path) -> Option<PathBuf> {
        let root = self.root.strip_prefix("/").ok()?;
        Some(layer.join(root).join(path.strip_prefix(&self.at).ok()?))
    }

    /// Path of an overlay's file that has this path in a layer.
    pub(crate) fn merged(&self, in_layer: &Path) -> Option<PathBuf> {
        let root = self.root.strip_prefix("/").ok()?;
        Some(self.at.join(in_layer.strip_prefix(root).ok()?))
    }

    /// Reads the mount table of this process.
    fn table() -> Option<Vec<u8>> {
        std::fs::read("/proc/self/mountinfo").ok()
    }

    /// Returns why measuring files in it would reveal nothing about storage.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.is_in_memory().then(|| {
            let kind = match self.kind.as_str() {
                "overlay" => "an overlay on a file system in memory",
                kind => kind,
            };
            format!("it is in memory ({kind}), not on storage: name a directory on a disk")
        })
    }

    /// Returns why it cannot hold test files.
    pub(crate) fn unusable(&self) -> Option<String> {
        let kind = self.kind.as_str();
        match kind {
            "devtmpfs" | "hugetlbfs" => {
                Some(format!("{kind} holds no data files: name a directory on a disk"))
            }
            "proc" | "sysfs" | "cgroup" | "cgroup2" | "devpts" | "debugfs" | "tracefs"
            | "securityfs" | "configfs" | "pstore" | "bpf" | "mqueue" | "efivarfs" | "autofs"
            | "binfmt_misc" | "fusectl" | "selinuxfs" | "smackfs" | "apparmorfs" | "resctrl"
            | "nfsd" | "rpc_pipefs" | "openpromfs" | "xenfs" => {
                Some(format!("{kind} holds no data of its own: name a directory on a disk"))
            }
            _ => None,
        }
    }

    /// Returns the caveat for measurements of files in it.
    pub(crate) fn remark(&self) -> Option<Caveat> {
        let effect = match self.kind.as_str() {
            _ if self.is_in_memory() => FileSystemEffect::InMemory,
            "overlay" | "aufs" => FileSystemEffect::Overlay,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "ceph" | "afs" | "lustre" | "gpfs"
            | "beegfs" | "pvfs2" | "9p" | "virtiofs" => FileSystemEffect::Network,
            "zfs" => FileSystemEffect::OwnCache,
            kind if kind == "fuse" || kind.starts_with("fuse.") => FileSystemEffect::UserSpace,
            _ if self.compresses() => FileSystemEffect::Compresses,
            "squashfs" | "erofs" => FileSystemEffect::Decompresses,
            _ => return None,
        };
        Some(Caveat::FileSystem { name: self.kind.clone(), effect })
    }

    fn compresses(&self) -> bool {
        match self.kind.as_str() {
            "btrfs" => self.has_option("compress") || self.has_option("compress-force"),
            "f2fs" => self.has_option("compress_algorithm"),
            "bcachefs" => {
                self.has_option("compression") || self.has_option("background_compression")
            }
            _ => false,
        }
    }
}

/// Paths that `:` separates; a backslash makes the next character part of a path.
fn separated(paths: &Path) -> Vec<PathBuf> {
    let (mut found, mut path) = (Vec::new(), Vec::new());
    let mut bytes = paths.as_os_str().as_bytes().iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b':' => found.push(std::mem::take(&mut path)),
            b'\\' => path.extend(bytes.next()),
            byte => path.push(*byte),
        }
    }
    found.push(path);
    found.into_iter().map(|path| OsString::from_vec(path).into()).collect()
}

/// Decodes a path of mountinfo or /proc/swaps.
pub(crate) fn unescape(field: &[u8]) -> PathBuf {
    OsString::from_vec(unescape_bytes(field)).into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const MOUNTINFO: &[u8] = br"22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:40 /@home /home rw,noatime shared:1 master:2 - btrfs /dev/nvme0n1p2 rw,compress=zstd:3,ssd
31 27 0:41 / /mnt/two\040words rw - nfs4 server:/export rw,vers=4.2
32 27 0:42 / /dev/shm rw - ext4 /dev/vdb rw
33 32 0:43 / /dev/shm rw - tmpfs tmpfs rw,size=1k
garbage
34 27 0:44
";

    fn find(path: &str) -> FileSystem {
        FileSystem::find(MOUNTINFO, Path::new(path)).unwrap()
    }

    #[test]
    fn the_deepest_and_last_mount_covers_a_path() {
        assert_eq!(find("/srv/x").kind, "ext4");
        assert_eq!(find("/homework").at, Path::new("/"));
        let home = find("/home/ann");
        assert_eq!((home.kind.as_str(), home.source.to_str()), ("btrfs", Some("/dev/nvme0n1p2")));
        assert!(home.options.contains("noatime") && home.options.contains("ssd"));
        assert_eq!(find("/mnt/two words/a").kind, "nfs4");
        assert_eq!(find("/dev/shm").kind, "tmpfs");
        assert_eq!(FileSystem::find(b"", Path::new("/")), None);
    }

    #[test]
    fn memory_is_refused_and_layers_are_reported() {
        assert!(find("/dev/shm").refusal().unwrap().contains("memory"));
        assert!(find("/proc/1").unusable().is_some());
        // Their files change the kernel.
        for kind in ["binfmt_misc", "fusectl", "selinuxfs", "resctrl", "nfsd"] {
            let of = FileSystem { kind: kind.into(), ..find("/srv") };
            assert!(of.unusable().is_some(), "{kind}");
        }
        assert_eq!((find("/dev/shm").unusable(), find("/srv").unusable()), (None, None));
        assert_eq!((find("/srv").refusal(), find("/srv").remark()), (None, None));
        assert!(find("/home").remark().unwrap().to_string().contains("compresses"));
        assert!(find("/mnt/two words").remark().unwrap().to_string().contains("network"));

        let with = |kind: &str, options: &str| {
            let kind = kind.into();
            FileSystem { kind, options: options.into(), ..find("/srv") }.remark().is_some()
        };
        assert!(!with("btrfs", "rw,ssd"));
        assert!(!with("btrfs", "rw,compress=no"));
        assert!(with("btrfs", "rw,compress-force=lzo"));
        assert!(with("f2fs", "rw,compress_algorithm=lz4"));
        assert!(with("zfs", "rw") && with("overlay", "rw") && with("fuse.sshfs", "rw"));
        assert!(!with("xfs", "rw,compress=zstd"));
    }

    #[test]
    fn the_first_root_and_an_overlay_on_memory_are_memory() {
        let table = br"1 0 0:2 / / rw - rootfs none rw
27 1 0:30 / /run rw - tmpfs tmpfs rw
28 1 254:0 / /srv rw - ext4 /dev/vda rw
29 1 0:31 / /live rw - overlay overlay rw,lowerdir=/rom,upperdir=/run/rw/up,workdir=/run/rw/work
30 1 0:32 / /box rw - overlay overlay rw,lowerdir=/rom,upperdir=/srv/up,workdir=/srv/work
31 1 0:33 / /ro rw - overlay overlay ro,lowerdir=/rom:/rom2
";
        let in_memory =
            |path: &str| FileSystem::find(table, Path::new(path)).unwrap().in_memory(table);
        assert!(["/etc", "/run/x", "/live/home"].into_iter().all(in_memory));
        assert!(!["/srv/x", "/box/x", "/ro/x"].into_iter().any(in_memory));
    }

    #[test]
    fn garbage_is_neither_a_mount_nor_a_panic() {
        let mut random = crate::random::Random::new(1);
        let mut bytes = [0; 300];
        for _ in 0..2000 {
            random.fill(&mut bytes);
            // Few distinct bytes, so that separators and escapes are frequent.
            bytes.iter_mut().for_each(|byte| *byte = b" -\\\n07/"[usize::from(*byte % 7)]);
            let _ = FileSystem::find(&bytes, Path::new("/"));
        }
        assert_eq!(unescape(br"\04").as_os_str().as_bytes(), br"\04");
        assert_eq!(unescape(br"\999").as_os_str().as_bytes(), br"\999");
        assert_eq!(unescape(br"\134").as_os_str().as_bytes(), br"\");
    }
}
