"""A disk of the guest with a volatile cache: what was not flushed when the power was cut is lost, all of it.

QEMU's `blklogwrites` keeps a log of writes and flushes beside the disk, in the format of Linux's dm-log-writes
(Documentation/admin-guide/device-mapper/log-writes.rst; drivers/md/dm-log-writes.c has the structures). Its superblock
counts the entries as of the last flush, so that what a power cut leaves is the disk before, and the writes counted.
"""

import json
import shutil
import struct
import subprocess

SECTOR_BYTES = 512
MAGIC, VERSION = 0x6A736677736872, 1
SUPERBLOCK, ENTRY = struct.Struct("<QQQI"), struct.Struct("<QQQQ")
DISCARD = 4
SIZE_BYTES = 64 << 20
# So many writes that the superblock is never written because of their number.
NEVER = 1 << 40


class Disk:
    """An ext4 file system that outlives power cuts; the guest sees it once it has loaded virtio_blk."""

    def __init__(self, directory):
        self._image, self._log, self._before = (directory / f"disk.{kind}" for kind in ("raw", "log", "before"))
        with open(self._before, "wb") as image:
            image.truncate(SIZE_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._before)], check=True, timeout=60)
        self._connect()

    def _connect(self):
        shutil.copyfile(self._before, self._image)
        self._log.write_bytes(b"")

    def arguments(self):
        """QEMU's arguments, in pairs."""
        image, log = ({"driver": "file", "filename": str(path)} for path in (self._image, self._log))
        node = {"driver": "blklogwrites", "node-name": "disk", "file": image, "log": log}
        yield "-blockdev", json.dumps({**node, "log-sector-size": SECTOR_BYTES, "log-super-update-interval": NEVER})
        yield "-device", "virtio-blk-pci,id=disk,bus=pcie.0,drive=disk"

    def lose_cache(self):
        """To be called when QEMU has been killed: the disk becomes what it was at the last flush."""
        with open(self._log, "rb") as log, open(self._before, "r+b") as image:
            for sector, data in _flushed(log):
                image.seek(sector * SECTOR_BYTES)
                image.write(data)
        self._connect()


def _flushed(log):
    """[(sector, data)] of the writes up to the last flush."""
    head = log.read(SECTOR_BYTES)
    if len(head) < SECTOR_BYTES:
        return
    magic, version, entries, sector_bytes = SUPERBLOCK.unpack_from(head)
    assert (magic, version, sector_bytes) == (MAGIC, VERSION, SECTOR_BYTES), head[:32]
    for _ in range(entries):
        sector, sectors, flags, _ = ENTRY.unpack_from(log.read(SECTOR_BYTES))
        if not flags & DISCARD:
            yield sector, log.read(sectors * SECTOR_BYTES)
