"""The laboratory's machine: seven drives and what is wrong with them from the start, as QEMU's arguments.

    root port 1 (Gen4 x4) - switch -+- A   healthy   } their shared uplink carries what one of them can deliver:
                                    +- B   healthy   } oversubscribed 2:1
    root port 2 - C   able to do Gen4 x4, trained to Gen3 x2; other firmware than its peers
    root port 3 - D   a quarter as fast as its peers
    root port 4 - E   never written: reads zeros, uses no blocks, and is faster than drives that hold data
    root port 5 - F   healthy
    root port 6 - G   healthy

Beside them a spare behind the last root port, small, unthrottled, with two namespaces: the port and all behind it are
taken away as soon as the guest is there, and come back only for those who want it (`with lab.spare():`). It is the last
one, so that it leaves no gap in the kernel's numbers.

All drives but the spare are one model of 1 GB. A drive's rates are a QEMU throttle, well below what an emulated CPU can submit.
"""

import json
import os
import subprocess
from typing import NamedTuple

import image
from registers import WARNING_MARK, Link

MODEL, FIRMWARE, OTHER_FIRMWARE = "IODYNO LAB 1GB", "1.2.0", "1.1.7"
SIZE_BYTES = 1_000_000_000
BLOCK_BYTES = 512
SIZE_BLOCKS = SIZE_BYTES // BLOCK_BYTES
# The data of all drives lies in one image; each begins this much further on, so that no two are equal
# (7 drives: less than the image's period).
SHIFT_BYTES = 1 << 20

GEN4_X4, GEN3_X2 = Link(4, 4), Link(3, 2)
UPLINK_PORT = 7


class Rates(NamedTuple):
    """A throttle: I/O operations per second, bytes per second."""

    iops: int
    bandwidth: int

    def times(self, factor):
        return Rates(int(self.iops * factor), int(self.bandwidth * factor))


# As datasheet.toml states them.
HEALTHY = Rates(1000, 25_000_000)


class Drive(NamedTuple):
    """One emulated drive; `port` is the id of the port it sits in, `throttle` a group that drives may share."""

    name: str
    port: str
    throttle: str
    rates: Rates = HEALTHY
    link: Link = GEN4_X4
    firmware: str = FIRMWARE
    written: bool = True

    @property
    def index(self):
        return ord(self.name) - ord("A")

    @property
    def serial(self):
        return f"LAB{self.name}0001"

    @property
    def eui64(self):
        return 0x001122_0000000001 + self.index

    @property
    def mark(self):
        """MSI-X table size, by which the drive is found in QEMU's memory."""
        return 65 + self.index


DRIVES = [
    Drive("A", "switch0", "uplink"),
    Drive("B", "switch1", "uplink"),
    Drive("C", "root2", "C", link=GEN3_X2, firmware=OTHER_FIRMWARE),
    Drive("D", "root3", "D", rates=HEALTHY.times(1 / 4)),
    Drive("E", "root4", "E", rates=HEALTHY.times(1.5), written=False),
    Drive("F", "root5", "F"),
    Drive("G", "root6", "G"),
]
SPARE_SERIAL, SPARE_BYTES, SPARE_NAMESPACES = "LABH0001", 16 << 20, (1, 2)
ROOT_SLOTS = range(1, 7)
SWITCH_SLOTS = (10, 11)
SPARE_SLOT = 20


def limits(rates):
    """A throttle group's `limits` property."""
    return {"iops-total": rates.iops, "bps-total": rates.bandwidth}


def _ports():
    for slot in ROOT_SLOTS:
        yield "-device", f"pcie-root-port,id=root{slot},bus=pcie.0,chassis={slot},slot={slot},x-speed=16,x-width=4"
    yield "-device", f"x3130-upstream,id=uplink,bus=root1,port={UPLINK_PORT}"
    for i, slot in enumerate(SWITCH_SLOTS):
        yield "-device", f"xio3130-downstream,id=switch{i},bus=uplink,chassis={slot},slot={slot},port={i + 1}"


def throttle_node(drive, below):
    """The block node that a drive stands on, over the node named `below`."""
    group = f"throttle-{drive.throttle}"
    return {"driver": "throttle", "node-name": drive.name, "throttle-group": group, "discard": "unmap", "file": below}


def _backend(drive, directory, data):
    """A drive's blocks: an overlay of its own over the shared data, so that writes stay its own, and a throttle."""
    overlay = directory / f"{drive.name}.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(overlay), str(SIZE_BYTES)], check=True, timeout=30)
    file = {"driver": "file", "filename": str(overlay)}
    blocks = {"driver": "qcow2", "node-name": f"blocks-{drive.name}", "discard": "unmap", "file": file}
    if drive.written:
        reading = {"read-only": True}
        shared = {"driver": "qcow2", **reading, "file": {"driver": "file", "filename": str(data), **reading}}
        window = {"offset": drive.index * SHIFT_BYTES, "size": SIZE_BYTES}
        blocks["backing"] = {"driver": "raw", **reading, **window, "file": shared}
    yield "-blockdev", json.dumps(blocks)
    yield "-blockdev", json.dumps(throttle_node(drive, f"blocks-{drive.name}"))


def arguments(directory):
    """QEMU's arguments for ports and drives, in pairs; the drives' images are made in `directory`."""
    data = directory / "data.qcow2"
    image.write_repeating(data, SIZE_BYTES + len(DRIVES) * SHIFT_BYTES)
    yield from _ports()
    groups = {drive.throttle: drive.rates for drive in DRIVES}
    for name, rates in groups.items():
        yield "-object", json.dumps({"qom-type": "throttle-group", "id": f"throttle-{name}", "limits": limits(rates)})
    for drive in DRIVES:
        yield from _backend(drive, directory, data)
        # The warning mark is taken away again before the guest starts.
        marks = f"msix_qsize={drive.mark},smart_critical_warning={WARNING_MARK}"
        yield "-device", f"nvme,id={drive.name},bus={drive.port},serial={drive.serial},{marks}"
        yield "-device", f"nvme-ns,id=namespace-{drive.name},bus={drive.name},drive={drive.name},nsid=1,eui64={drive.eui64:#x}"
    yield from _spare(directory)


def spare_image(directory, nsid):
    """The blocks of a namespace of the spare drive, as they are."""
    return directory / f"spare-{nsid}.raw"


def _spare(directory):
    yield "-device", f"pcie-root-port,id=spare,bus=pcie.0,chassis={SPARE_SLOT},slot={SPARE_SLOT}"
    yield "-device", f"nvme,id=H,bus=spare,serial={SPARE_SERIAL},msix_qsize={65 + len(DRIVES)}"
    for nsid in SPARE_NAMESPACES:
        # Random, so that a trim or a format shows as well as a write.
        spare_image(directory, nsid).write_bytes(os.urandom(SPARE_BYTES))
        file = {"driver": "file", "filename": str(spare_image(directory, nsid))}
        yield "-blockdev", json.dumps({"driver": "raw", "node-name": f"H{nsid}", "discard": "unmap", "file": file})
        yield "-device", f"nvme-ns,id=namespace-H{nsid},bus=H,drive=H{nsid},nsid={nsid}"


def named(name):
    """The drive of that name."""
    return next(d for d in DRIVES if d.name == name)
