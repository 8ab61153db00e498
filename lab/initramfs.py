"""The guest's root file system: a cpio archive (`newc`) that the kernel unpacks into memory.

Two archives, one after the other, as the kernel allows: the base, which changes with the packages only and is
cached, and what is under test, which is packed at every start.
"""

import contextlib
import hashlib
import lzma
import os
import re
import stat
import subprocess
import tempfile
from pathlib import Path

GUEST = Path(__file__).with_name("guest")
OWN_PROGRAMS = ["aer_inject", "without_io_uring"]
# What a kernel has built in is not among its modules, and left out.
MODULES = ["virtio_pci", "virtio_console", "dm_mod", "dm_flakey", "nvme"]
# Sets that are loaded by the cases that want them: they bring devices of their own.
LATER_MODULES = {
    "layers": ["loop", "raid0", "raid1", "dm_mod"],
    "thin": ["dm_thin_pool"],
    # No program loads modules here: what dm-crypt and xfs would ask the kernel for comes along.
    "layouts": ["raid0", "raid1", "raid10", "raid456", "dm_crypt", "xts", "ecb", "crc32c_intel", "xfs", "btrfs"],
    "disk": ["virtio_blk"],
    "aer": ["aer_inject"],
    "memory": ["lzo_rle", "zram"],
    "raid": ["sd_mod", "megaraid_sas"],
    "bcache": ["bcache"],
    "nfs": ["nfsd", "nfsv4"],
    # Servers in the kernel: NVMe over fabrics and SCSI targets.
    "targets": ["nvmet", "target_core_iblock", "target_core_file"],
    # One that this machine is its own client of, over TCP.
    "fabrics": ["nvmet_tcp", "nvme_tcp"],
    "user_space": ["uio_pci_generic"],
    # One that this machine is its own client of.
    "schedulers": ["bfq", "kyber_iosched"],
    "volumes": ["sd_mod", "target_core_file", "tcm_loop"],
}
TOOLS = [
    *("sbin/blkid", "sbin/cryptsetup", "sbin/dmsetup", "sbin/losetup", "sbin/lvm", "sbin/mdadm"),
    *("sbin/mkfs.btrfs", "sbin/mkfs.ext4", "sbin/mkfs.xfs", "sbin/blkdiscard", "sbin/wipefs", "usr/sbin/nvme", "usr/bin/lspci", "usr/bin/setpci"),
    *("usr/sbin/make-bcache", "usr/bin/sg_persist", "usr/sbin/exportfs", "usr/sbin/rpc.mountd", "usr/sbin/rpc.nfsd"),
]
# Names by which lvm is called.
LVM = ["lvcreate", "pvs", "vgcreate"]
DIRECTORIES = ["bin", "dev", "etc", "lib", "lib64", "mnt", "modules", "proc", "root", "run", "sys", "tmp", "usr/share/misc", "var"]


class Archive:
    """A cpio archive in the making; paths are relative to the guest's root."""

    def __init__(self):
        self._chunks, self._seen, self._inode = [], set(), 0

    def _entry(self, name, mode, body=b"", device=(0, 0)):
        self._inode += 1
        path = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(body), 0, 0, *device, len(path), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        for part in (header, body):
            self._chunks.append(part + b"\0" * (-len(part) % 4))

    def directory(self, name):
        parents = [str(p) for p in reversed(Path(name).parents) if str(p) != "."]
        for path in (*parents, name):
            if path not in self._seen:
                self._seen.add(path)
                self._entry(path, stat.S_IFDIR | 0o755)

    def file(self, name, body, executable=False):
        if name in self._seen:
            return
        self._seen.add(name)
        if "/" in name:
            self.directory(str(Path(name).parent))
        self._entry(name, stat.S_IFREG | (0o755 if executable else 0o644), body)

    def symlink(self, name, target):
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def character_device(self, name, major, minor):
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def program(self, path, name=None, tree=None):
        """An executable with the shared libraries it loads, those of `tree` (unpacked packages) preferred."""
        self.file(f"bin/{name or path.name}", path.read_bytes(), executable=True)
        for library in _libraries(path, tree):
            # The loader is called by its full path; everything else is found in /lib.
            loader = library.name.startswith("ld-linux")
            self.file(str(library).lstrip("/") if loader else f"lib/{library.name}", library.read_bytes(), executable=True)

    def bytes(self):
        self._entry("TRAILER!!!", 0)
        return b"".join(self._chunks)


def _libraries(path, tree):
    environment = dict(os.environ)
    if tree:
        directories = sorted({str(p.parent) for p in tree.glob("**/*.so.*")})
        environment["LD_LIBRARY_PATH"] = ":".join(directories)
    done = subprocess.run(["ldd", str(path)], env=environment, capture_output=True, text=True, timeout=30)
    if missing := re.findall(r"(\S+) => not found", done.stdout):
        raise FileNotFoundError(f"{path} needs {', '.join(missing)}, which neither the packages nor this machine have")
    return [Path(p) for p in re.findall(r"(/\S+) \(0x", done.stdout)]


def _module_files(tree, modules):
    """Files of `modules` and of what they depend on, in an order in which they load."""
    files = {p.name.split(".")[0].replace("-", "_"): p for p in tree.glob("lib/modules/*/kernel/**/*.ko*")}
    order = []

    def visit(name):
        path = files.get(name)
        if path is None or any(path == p for p, _ in order):
            return  # absent: built into the kernel
        body = path.read_bytes()
        body = lzma.decompress(body) if path.suffix == ".xz" else body
        needs = re.search(rb"\0depends=([^\0]*)\0", body)
        for need in needs[1].decode().split(",") if needs else []:
            visit(need.replace("-", "_"))
        order.append((path, body))

    for module in modules:
        visit(module)
    return [(f"{i:02}-{path.name.split('.')[0]}.ko", body) for i, (path, body) in enumerate(order)]


@contextlib.contextmanager
def _compiled(name):
    """A program of the guest's own, from its source; the C compiler is the one that links Rust."""
    with tempfile.TemporaryDirectory(prefix="iodyno-lab-") as directory:
        program = Path(directory, name)
        try:
            subprocess.run(["cc", "-Os", "-o", str(program), str(GUEST / f"{name}.c")], check=True, timeout=60)
        except FileNotFoundError:
            raise FileNotFoundError("cc not found: 'make deps' installs a C compiler") from None
        yield program


def base(tree, kernel):
    """The path of the base archive for unpacked tools and a kernel, made where it is missing."""
    init = (GUEST / "init.sh").read_bytes()
    sources = b"".join((GUEST / f"{name}.c").read_bytes() for name in OWN_PROGRAMS)
    version = hashlib.sha256(init + sources + Path(__file__).read_bytes() + tree.name.encode()).hexdigest()[:12]
    path = kernel / f"base-{version}.cpio"
    if path.exists():
        return path
    for stale in kernel.glob("base-*.cpio"):
        stale.unlink()
    archive = Archive()
    for name in DIRECTORIES:
        archive.directory(name)
    archive.character_device("dev/console", 5, 1)
    archive.file("init", init, executable=True)
    busybox = tree / "bin/busybox"
    archive.program(busybox)
    for applet in subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=True).stdout.split():
        # The tools themselves can do more than their applets.
        if applet not in {"busybox", *(Path(tool).name for tool in TOOLS)}:
            archive.symlink(f"bin/{applet}", "busybox")
    for tool in TOOLS:
        archive.program(tree / tool, tree=tree)
    for name in LVM:
        archive.symlink(f"bin/{name}", "lvm")
    archive.file("etc/mke2fs.conf", (tree / "etc/mke2fs.conf").read_bytes())
    for name in OWN_PROGRAMS:
        with _compiled(name) as helper:
            archive.program(helper)
    archive.file("usr/share/misc/pci.ids", (tree / "usr/share/misc/pci.ids").read_bytes())
    sets = {"modules": MODULES, **{f"modules/{name}": modules for name, modules in LATER_MODULES.items()}}
    for folder, modules in sets.items():
        archive.directory(folder)
        for name, body in _module_files(kernel, modules):
            archive.file(f"{folder}/{name}", body)
    partial = path.with_suffix(".partial")
    partial.write_bytes(archive.bytes())
    partial.rename(path)
    return path


def under_test(programs, files):
    """An archive with `programs` ({name in /bin: host path}) and `files` ({guest path: bytes})."""
    archive = Archive()
    for name, program in programs.items():
        archive.program(program, name)
    for name, body in files.items():
        archive.file(name, body)
    return archive.bytes()
