//! Commands that build a layout, and those that take it down. They do not check drives: the caller
//! has cleared them.

use iodyno_model::{Built, Mark};
use thiserror::Error;

use crate::command::Command;
use crate::geometry::{Extents, mkfs_geometry, stripe};
use crate::layer::{Crypt, FileSystem, FileSystemKind, Layer, Layout, Lvm, Md};

/// Names not in use on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Proof that what is built is ours: names contain it, or its first digits, and arrays and file
    /// systems have it as their UUID.
    pub mark: Mark,
    /// A free md device: `/dev/md127`.
    pub array: String,
    /// Mount point of a file system, an empty directory.
    pub directory: String,
}

/// Directory of mount points: gone after a restart, as mounts are.
const MOUNTS: &str = "/run/iodyno";

impl Names {
    /// Names for a mark, and a free md device.
    pub fn new(mark: Mark, array: String) -> Self {
        Self { mark, array, directory: Self::mount_point(mark) }
    }

    /// Label of what is built: XFS labels have at most 12 characters.
    pub fn label(&self) -> String {
        label(self.mark)
    }

    /// True if a label or name printed by blkid or mdadm is that of this mark. An array's name
    /// begins with a host name.
    pub fn is_label(mark: Mark, found: &str) -> bool {
        found.rsplit(':').next() == Some(&label(mark))
    }

    /// Name of a volume group, without a hyphen, which would be doubled in the names of its
    /// mappings.
    pub fn group(&self) -> String {
        format!("iodyno_{}", self.mark)
    }

    /// Name of the dm-crypt mapping.
    pub fn crypt(&self) -> String {
        format!("iodyno-{}-crypt", self.mark)
    }

    /// Mount point of the file system of a mark.
    pub fn mount_point(mark: Mark) -> String {
        format!("{MOUNTS}/{mark}")
    }

    /// True if the name of a volume group or a mapping is one of this mark.
    pub fn are_of(mark: Mark, name: &str) -> bool {
        let rest = name.strip_prefix("iodyno_").or_else(|| name.strip_prefix("iodyno-"));
        let rest = rest.and_then(|rest| rest.strip_prefix(&mark.to_string()));
        rest.is_some_and(|rest| matches!(rest, "" | "-data" | "-crypt"))
    }
}

fn label(mark: Mark) -> String {
    format!("iodyno-{}", mark.tag())
}

/// Space that dm-crypt leaves for the drive's own mark at its beginning, in sectors of 512 bytes: 1
/// MiB, a multiple of every page.
const CRYPT_OFFSET: &str = "2048";

/// A command with its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Purpose in a few words.
    pub what: String,
    /// The command.
    pub command: Command,
    /// What to take down once it was tried; `None` if it makes nothing.
    pub makes: Option<Built>,
    /// Exit statuses that count as success.
    pub fine: &'static [i32],
}

/// Target of the I/O on a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Top {
    /// A block device, by path.
    Device(String),
    /// A mounted file system, by its directory.
    Directory(String),
}

/// Why a layout cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// Too few drives.
    #[error("{layout} takes {least} drives or more, {given} are named")]
    TooFew {
        /// The layout.
        layout: String,
        /// Number of drives needed.
        least: usize,
        /// Number of drives given.
        given: usize,
    },
}

/// Steps that build `layout` on `drives` (paths; a layout that joins nothing takes the first one),
/// and the target of I/O then. The first step takes the drives, which must be free; the others work
/// on what earlier steps made.
///
/// # Errors
/// There are too few drives.
pub fn build(
    layout: &Layout,
    drives: &[String],
    names: &Names,
) -> Result<(Vec<Step>, Top), BuildError> {
    let needs = |layer: &Layer| match layer {
        Layer::Md(md) => md.level.least_drives(),
        Layer::Lvm(Lvm::Striped { .. }) => 2,
        _ => 1,
    };
    let least = layout.layers.iter().map(needs).max().unwrap_or(1);
    if drives.len() < least {
        let (layout, given) = (layout.to_string(), drives.len());
        return Err(BuildError::TooFew { layout, least, given });
    }
    let mut below = drives[..layout.drives(drives.len())].to_vec();
    let mut steps = Vec::new();
    let mut mounted = None;
    for layer in &layout.layers {
        let device = match layer {
            Layer::Md(md) => array(md, &below, names, &mut steps),
            Layer::Lvm(lvm) => {
                let of_data = Extents::on(layout, drives.len());
                volume(lvm, &below, of_data, names, &mut steps)
            }
            Layer::Crypt(crypt) => {
                let is_lowest = steps.is_empty();
                mapping(crypt, &below[0], is_lowest, names, &mut steps)
            }
            Layer::FileSystem(of) => {
                let geometry = mkfs_geometry(of, stripe(layout, drives.len()));
                steps.extend(file_system(of, &geometry, &below[0], names));
                mounted = Some(Top::Directory(names.directory.clone()));
                continue;
            }
        };
        below = vec![device];
    }
    let top = mounted.unwrap_or_else(|| Top::Device(below.swap_remove(0)));
    Ok((steps, top))
}

fn array(md: &Md, members: &[String], names: &Names, steps: &mut Vec<Step>) -> String {
    let (device, name) = (names.array.clone(), names.label());
    let mut words = vec![
        "--create".into(),
        device.clone(),
        // Do not ask for confirmation.
        "--run".into(),
        "--metadata=1.2".into(),
        "--homehost=any".into(),
        format!("--name={name}"),
        format!("--uuid={}", names.mark.uuid()),
        format!("--level={}", md.level.number()),
        format!("--raid-devices={}", members.len()),
    ];
    words.extend(md.chunk_bytes.map(|bytes| format!("--chunk={}", bytes >> 10)));
    if md.level.is_redundant() {
        // The default of mdadm for drives of any usual size.
        words.push("--bitmap=internal".into());
    }
    steps.push(Step {
        what: format!("md RAID {} of {} drives", md.level.number(), members.len()),
        command: Command::new("mdadm", words).with(members.iter().cloned()),
        makes: Some(Built::Array { device: device.clone(), name, mark: Some(names.mark) }),
        fine: &[0],
    });
    if md.level.is_redundant() {
        steps.push(Step {
            what: "wait for the initial resync".into(),
            command: Command::new("mdadm", ["--wait", &device]),
            makes: None,
            // 1: there was nothing to wait for.
            fine: &[0, 1],
        });
    }
    device
}

/// LVM command that sees these devices alone, whatever the machine's configuration says.
pub fn lvm_command(program: &'static str, devices: &[String]) -> Command {
    Command::new(program, lvm_configuration(devices))
}

fn lvm_configuration(devices: &[String]) -> [String; 2] {
    let accept = devices.iter().map(|device| format!("\"a|^{device}$|\","));
    let filter: String = accept.collect();
    let text = format!(
        "devices {{ use_devicesfile=0 filter=[{filter}\"r|.*|\"] global_filter=[\"a|.*|\"] }} \
         backup {{ backup=0 archive=0 }}"
    );
    ["--config".into(), text]
}

fn volume(
    lvm: &Lvm,
    devices: &[String],
    of_data: Extents,
    names: &Names,
    steps: &mut Vec<Step>,
) -> String {
    let group = names.group();
    let command = |program| lvm_command(program, devices).with(["--yes"]);
    let [alignment, extent] =
        [of_data.begin_bytes, of_data.extent_bytes].map(|bytes| format!("{}k", bytes >> 10));
    steps.push(Step {
        what: format!("a volume group of {} devices", devices.len()),
        command: command("vgcreate")
            .with(["--dataalignment", &alignment, "--physicalextentsize", &extent, &group])
            .with(devices.iter().cloned()),
        makes: None,
        fine: &[0],
    });
    let (kind, how): (_, Vec<String>) = match lvm {
        Lvm::Linear => ("linear", Vec::new()),
        Lvm::Striped { stripe_bytes } => {
            let stripes = devices.len().to_string();
            let stripe = format!("{}k", stripe_bytes >> 10);
            ("striped", ["--stripes".into(), stripes, "--stripesize".into(), stripe].into())
        }
    };
    let name = format!("{group}-data");
    steps.push(Step {
        what: format!("a {kind} volume over the group"),
        command: command("lvcreate")
            .with(["--wipesignatures", "y", "--name", "data", "--extents", "100%FREE"])
            .with(["--type", kind])
            .with(how)
            .with([group.as_str()]),
        makes: Some(Built::Mapping { name: name.clone(), mark: Some(names.mark) }),
        fine: &[0],
    });
    format!("/dev/mapper/{name}")
}

fn mapping(
    crypt: &Crypt,
    device: &str,
    is_lowest: bool,
    names: &Names,
    steps: &mut Vec<Step>,
) -> String {
    let name = names.crypt();
    let mut command = Command::new(
        "cryptsetup",
        ["open", "--type", "plain", "--batch-mode", "--cipher", "aes-xts-plain64"],
    )
    .with(["--key-size", "512", "--key-file", "/dev/urandom"]);
    if crypt.inline {
        command = command.with(["--perf-no_read_workqueue", "--perf-no_write_workqueue"]);
    }
    if is_lowest {
        command = command.with(["--offset", CRYPT_OFFSET]);
    }
    steps.push(Step {
        what: "dm-crypt with a random key".into(),
        command: command.with([device, &name]),
        makes: Some(Built::Mapping { name: name.clone(), mark: Some(names.mark) }),
        fine: &[0],
    });
    format!("/dev/mapper/{name}")
}

fn file_system(
    of: &FileSystem,
    geometry: &[(&str, u64)],
    device: &str,
    names: &Names,
) -> [Step; 2] {
    let pairs = |separator: char| -> Vec<String> {
        let written = geometry
            .iter()
            .map(|(name, value)| format!("{}={value}", name.replace('-', &separator.to_string())));
        written.collect()
    };
    // No discard: the drive's state is up to the preparation. Nothing is left to initialise during
    // measurements.
    let uuid = names.mark.uuid();
    let (program, words): (_, Vec<String>) = match of.kind {
        FileSystemKind::Ext4 => {
            let extended = ["lazy_itable_init=0", "lazy_journal_init=0", "nodiscard"];
            let extended = extended.into_iter().map(String::from).chain(pairs('_'));
            let extended = extended.collect::<Vec<_>>().join(",");
            ("mkfs.ext4", vec!["-q".into(), "-F".into(), "-E".into(), extended, "-U".into(), uuid])
        }
        FileSystemKind::Xfs => {
            let identity = format!("uuid={uuid}");
            let mut words = vec!["-q".into(), "-f".into(), "-K".into(), "-m".into(), identity];
            if !geometry.is_empty() {
                words.extend(["-d".into(), pairs('-').join(",")]);
            }
            ("mkfs.xfs", words)
        }
        FileSystemKind::Btrfs => {
            ("mkfs.btrfs", ["-q", "-f", "-K", "-U", &uuid].map(String::from).into())
        }
    };
    let (name, at, label) = (of.kind.name(), names.directory.clone(), names.label());
    [
        Step {
            what: name.into(),
            command: Command::new(program, words).with(["-L", &label, device]),
            makes: None,
            fine: &[0],
        },
        Step {
            what: "mounted".into(),
            command: Command::new("mount", ["-t", name, device, &at]),
            makes: Some(Built::Mount { at, mark: Some(names.mark) }),
            fine: &[0],
        },
    ]
}

/// Command that takes something down. `None` for a drive, see [`empty`], and for a file, whose loop
/// devices its remover has to find.
pub fn take_down(built: &Built) -> Option<Command> {
    match built {
        Built::Array { device, .. } => Some(Command::new("mdadm", ["--stop", device])),
        // Not with LVM's own programs, which need the complete group: a drive of it may be gone.
        // LVM's metadata is erased with the drives' blocks.
        Built::Mapping { name, .. } => Some(Command::new("dmsetup", ["remove", "--retry", name])),
        Built::Mount { at, .. } => Some(Command::new("umount", [at])),
        Built::Drive { .. } | Built::BackingFile { .. } => None,
    }
}

/// Commands that empty a drive: discard its blocks if supported, then wipe any signature left.
pub fn empty(device: &str) -> [Command; 2] {
    [Command::new("blkdiscard", [device]), Command::new("wipefs", ["--all", "--quiet", device])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::script;
    use crate::notation::parse;

    const MARK: iodyno_model::Mark = iodyno_model::Mark(0x3f9a_b012_3456_7890_abcd_ef01_2345_6789);

    fn names() -> Names {
        Names::new(MARK, "/dev/md127".into())
    }

    fn built(text: &str, drives: usize) -> (String, Top) {
        let drives: Vec<String> = (0..drives).map(|n| format!("/dev/nvme{n}n1")).collect();
        let (steps, top) = build(&parse(text).unwrap(), &drives, &names()).unwrap();
        (script(&steps), top)
    }

    #[test]
    fn nothing_is_done_to_a_raw_drive() {
        assert_eq!(built("raw", 2), (String::new(), Top::Device("/dev/nvme0n1".into())));
    }

    #[test]
    fn an_array_with_a_file_system_is_built_and_mounted() {
        let (text, top) = built("md5:128k+xfs", 3);
        assert_eq!(
            text,
            "# md RAID 5 of 3 drives\n\
             mdadm --create /dev/md127 --run --metadata=1.2 --homehost=any --name=iodyno-3f9ab \
             --uuid=3f9ab012-3456-7890-abcd-ef0123456789 --level=5 --raid-devices=3 --chunk=128 --bitmap=internal \
             /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1\n\
             # wait for the initial resync\n\
             mdadm --wait /dev/md127\n\
             # xfs\n\
             mkfs.xfs -q -f -K -m uuid=3f9ab012-3456-7890-abcd-ef0123456789 -d su=131072,sw=2 -L iodyno-3f9ab /dev/md127\n\
             # mounted\n\
             mount -t xfs /dev/md127 /run/iodyno/3f9ab01234567890abcdef0123456789\n"
        );
        assert_eq!(top, Top::Directory(names().directory));
    }

    #[test]
    fn a_striped_volume_is_encrypted_and_formatted() {
        let (text, _) = built("lvm-stripe:64k+crypt:inline+ext4", 2);
        for part in [
            "vgcreate --config",
            "--dataalignment 1024k --physicalextentsize 4096k iodyno_3f9ab01234567890abcdef0123456789 /dev/nvme0n1 /dev/nvme1n1\n",
            "--type striped --stripes 2 --stripesize 64k iodyno_3f9ab01234567890abcdef0123456789\n",
            "--perf-no_write_workqueue /dev/mapper/iodyno_3f9ab01234567890abcdef0123456789-data \
             iodyno-3f9ab01234567890abcdef0123456789-crypt\n",
            "stripe_width=32 -U 3f9ab012-3456-7890-abcd-ef0123456789 -L iodyno-3f9ab \
             /dev/mapper/iodyno-3f9ab01234567890abcdef0123456789-crypt\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn layout_that_joins_nothing_takes_one_drive() {
        let (text, _) = built("ext4", 2);
        assert!(
            text.contains("-L iodyno-3f9ab /dev/nvme0n1\n") && !text.contains("nvme1n1"),
            "{text}"
        );
        let error = build(&parse("md5").unwrap(), &["/dev/a".into(), "/dev/b".into()], &names());
        assert_eq!(error.unwrap_err().to_string(), "md5:512k takes 3 drives or more, 2 are named");
    }

    #[test]
    fn dm_crypt_leaves_the_mark_of_a_drive_alone() {
        let (on_drive, on_array) = (built("crypt", 1).0, built("md5+crypt", 3).0);
        assert!(on_drive.contains("--offset 2048 /dev/nvme0n1 "), "{on_drive}");
        // There it would shift stripes.
        assert!(!on_array.contains("--offset"), "{on_array}");
        let names = names();
        assert!(Names::are_of(MARK, &names.crypt()) && Names::are_of(MARK, &names.group()));
        assert!(!Names::are_of(MARK, "iodyno-3f9ab-crypt") && !Names::are_of(MARK, "root"));
    }

    #[test]
    fn layers_are_taken_down_from_the_top() {
        let drives: Vec<String> = ["/dev/a", "/dev/b"].map(String::from).into();
        let (steps, _) = build(&parse("md0+lvm+crypt+xfs").unwrap(), &drives, &names()).unwrap();
        let made = steps.iter().rev().filter_map(|step| step.makes.as_ref());
        let lines: Vec<_> = made.filter_map(take_down).map(|command| command.line()).collect();
        let expected = [
            "umount /run/iodyno/3f9ab01234567890abcdef0123456789",
            "dmsetup remove --retry iodyno-3f9ab01234567890abcdef0123456789-crypt",
            "dmsetup remove --retry iodyno_3f9ab01234567890abcdef0123456789-data",
            "mdadm --stop /dev/md127",
        ];
        assert_eq!(lines, expected);
        let [discarded, wiped] = empty("/dev/a").map(|command| command.line());
        assert_eq!((&*discarded, &*wiped), ("blkdiscard /dev/a", "wipefs --all --quiet /dev/a"));
    }
}
