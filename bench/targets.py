"""What is read: a file without blocks, a written file, a zram device. All are made here and are gone afterwards."""

import contextlib
import os
import time
from pathlib import Path

MIB = 1 << 20
CONTROL = Path("/sys/class/zram-control")


class Unavailable(Exception):
    """A target that this machine does not have; the text says why."""


@contextlib.contextmanager
def file_of(directory, name, size_bytes, written):
    """A file: only holes, which ext4 reads inline without a device, or every block written with data."""
    path = Path(directory, name)
    path.touch(exist_ok=False)  # what was there is not removed below
    try:
        with open(path, "r+b", buffering=0) as file:
            if written:
                piece = os.urandom(4 * MIB)
                for _ in range(0, size_bytes, len(piece)):
                    file.write(piece)
            file.truncate(size_bytes)
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def zram_device(size_bytes):
    """A zram device of never written pages, added for this and removed again."""
    try:
        number = int((CONTROL / "hot_add").read_text())  # reading it adds one
    except OSError as problem:
        raise Unavailable(f"no zram device can be added here: {problem}") from problem
    device = Path(f"/dev/zram{number}")
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(size_bytes))
        until = time.monotonic() + 5
        while not device.is_block_device():
            if time.monotonic() > until:
                raise Unavailable(f"{device} was added but its node did not appear")
            time.sleep(0.01)
        yield str(device)
    finally:
        _remove(number)


def _remove(number):
    """Something that looks at new devices may still hold it for a moment."""
    until = time.monotonic() + 5
    while True:
        try:
            Path(f"/sys/block/zram{number}/reset").write_text("1")
            (CONTROL / "hot_remove").write_text(str(number))
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def file_system(directory):
    """The type of the file system that holds `directory`, such as ext4."""
    best, kind = "", "unknown"
    here = str(Path(directory).resolve())
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, name, *_ = line.split()
        where = where.encode().decode("unicode_escape")
        if (here == where or here.startswith(where.rstrip("/") + "/")) and len(where) >= len(best):
            best, kind = where, name
    return kind
