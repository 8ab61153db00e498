"""The laboratory's machines, as QEMU's arguments. That of most cases has seven drives, and faults from the start:

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

HEALTHY_MACHINE has four drives and nothing wrong; SMALL_MACHINE the same, smaller. TWO_NODES has two NUMA nodes of two
CPUs, with a drive at each, and one drive whose two controllers are two paths to one namespace; TWO_PATHS is the same with a
kernel that does not join the paths. SWITCHED has two drives
behind a switch and two beside it. RAID_CARD has three volumes behind a card, of which two share a limit, one drive beside
it, and a strict IOMMU. ZONED has a zoned namespace, whose controller has one I/O queue, beside a healthy drive.

All drives but the spare are one model of 1 GB. A drive's rates are a QEMU throttle, well below what an emulated CPU can submit.
"""

import json
import os
import subprocess
from typing import NamedTuple

import image
import packages
from registers import WARNING_MARK, Link

MODEL, FIRMWARE, OTHER_FIRMWARE = "IODYNO LAB 1GB", "1.2.0", "1.1.7"
SIZE_BYTES = 1_000_000_000
BLOCK_BYTES, VOLUME_BLOCK_BYTES = 512, 4096
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
    """One emulated drive; `port` is the id of the port it sits in, `throttle` a group that drives may share.

    `zoned`, each zone holds three quarters of its size, and it has one I/O queue.

    With a `second_port` it has a second controller, and is left with QEMU's own identity.
    """

    name: str
    port: str
    throttle: str
    rates: Rates = HEALTHY
    link: Link = GEN4_X4
    firmware: str = FIRMWARE
    written: bool = True
    second_port: str = ""
    zoned: bool = False

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


class Topology(NamedTuple):
    """A machine: its drives, the slots of its ports, and what else makes it. The switch sits in the first root port."""

    drives: tuple
    root_slots: range
    switch_slots: tuple = ()
    spare: bool = False
    # NUMA nodes with two CPUs each, and the root ports that are at another than the first.
    nodes: int = 1
    far_slots: tuple = ()
    # What a RAID card in its last root port presents.
    volumes: tuple = ()
    kernel: str = packages.CLOUD_KERNEL
    strict_iommu: bool = False
    # Whether the kernel makes two paths to an NVMe namespace one device.
    multipath: bool = True
    # Of each drive and volume.
    size_bytes: int = SIZE_BYTES

    def named(self, name):
        """The drive or volume of that name."""
        return next(drive for drive in self.all() if drive.name == name)

    def all(self):
        """Drives and volumes."""
        return self.drives + self.volumes


UPLINK_SLOTS = (10, 11)
SPARE_SERIAL, SPARE_BYTES, SPARE_NAMESPACES = "LABH0001", 16 << 20, (1, 2)
SPARE_SLOT = 20

FAULTY_MACHINE = Topology(
    drives=(
        Drive("A", "switch0", "uplink"),
        Drive("B", "switch1", "uplink"),
        Drive("C", "root2", "C", link=GEN3_X2, firmware=OTHER_FIRMWARE),
        Drive("D", "root3", "D", rates=HEALTHY.times(1 / 4)),
        Drive("E", "root4", "E", rates=HEALTHY.times(1.5), written=False),
        Drive("F", "root5", "F"),
        Drive("G", "root6", "G"),
    ),
    root_slots=range(1, 7),
    switch_slots=UPLINK_SLOTS,
    spare=True,
)
HEALTHY_MACHINE = Topology(drives=tuple(Drive(name, f"root{i}", name) for i, name in enumerate("ABCD", 1)), root_slots=range(1, 5))
# Arrays on them agree within seconds; no smaller drive takes an XFS.
SMALL_MACHINE = HEALTHY_MACHINE._replace(size_bytes=320 << 20)
OLD_MACHINES = tuple(HEALTHY_MACHINE._replace(kernel=kernel) for kernel in packages.old_kernels().values())
TWO_NODES = Topology(
    drives=(Drive("A", "root1", "A"), Drive("B", "root2", "B"), Drive("C", "root3", "C", second_port="root4")),
    root_slots=range(1, 5),
    nodes=2,
    far_slots=(2,),
)
# Each path to a namespace is a device of its own, as two hosts that share a namespace have one each.
TWO_PATHS = TWO_NODES._replace(multipath=False)
SWITCHED = Topology(
    drives=(Drive("A", "switch0", "uplink"), Drive("B", "switch1", "uplink"), Drive("C", "root2", "C"), Drive("D", "root3", "D")),
    root_slots=range(1, 4),
    switch_slots=UPLINK_SLOTS,
)
RAID_CARD = Topology(
    drives=(Drive("A", "root1", "A"),),
    root_slots=range(1, 3),
    volumes=(Drive("B", "card", "card"), Drive("C", "card", "card"), Drive("D", "card", "D")),
    kernel=packages.FULL_KERNEL,
    strict_iommu=True,
)
ZONE_BYTES, ZONE_CAPACITY_BYTES = 16 << 20, 12 << 20
ZONED = Topology(
    drives=(Drive("A", "root1", "A", rates=HEALTHY.times(10), written=False, zoned=True), Drive("B", "root2", "B")),
    root_slots=range(1, 3),
    size_bytes=8 * ZONE_BYTES,
)
DRIVES = FAULTY_MACHINE.drives


def limits(rates):
    """A throttle group's `limits` property, of which QEMU keeps what is not given: a burst would outlive its case."""
    usual = {"iops-total": rates.iops, "bps-total": rates.bandwidth}
    return {**usual, **{f"{name}-max": 0 for name in usual}, **{f"{name}-max-length": 1 for name in usual}}


def processors(topology):
    """QEMU's arguments for CPUs and memory."""
    yield "-smp", str(2 * topology.nodes)
    yield "-m", "1024"
    if topology.strict_iommu:
        yield "-device", "intel-iommu"
    for node in range(topology.nodes if topology.nodes > 1 else 0):
        yield "-object", f"memory-backend-ram,id=memory{node},size={1024 // topology.nodes}M"
        yield "-numa", f"node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=memory{node}"
        if node:
            yield "-device", f"pxb-pcie,id=node{node},bus=pcie.0,bus_nr={64 * node},numa_node={node}"


def _ports(topology):
    for slot in topology.root_slots:
        bus = "node1" if slot in topology.far_slots else "pcie.0"
        yield "-device", f"pcie-root-port,id=root{slot},bus={bus},chassis={slot},slot={slot},x-speed=16,x-width=4"
    if topology.switch_slots:
        yield "-device", f"x3130-upstream,id=uplink,bus=root1,port={UPLINK_PORT}"
    for i, slot in enumerate(topology.switch_slots):
        yield "-device", f"xio3130-downstream,id=switch{i},bus=uplink,chassis={slot},slot={slot},port={i + 1}"


def namespaces(topology):
    """How many namespaces the guest has to find, each as often as there are paths to it."""
    return sum(2 if drive.second_port else 1 for drive in topology.drives) + (len(SPARE_NAMESPACES) if topology.spare else 0)


def kernel_words(topology):
    """What the guest's kernel is told on its command line."""
    iommu = " intel_iommu=on iommu.strict=1" if topology.strict_iommu else ""
    paths = "" if topology.multipath else " nvme_core.multipath=N"
    return f"lab.drives={namespaces(topology)}{iommu}{paths}"


def throttle_node(drive, below):
    """The block node that a drive stands on, over the node named `below`."""
    group = f"throttle-{drive.throttle}"
    return {"driver": "throttle", "node-name": drive.name, "throttle-group": group, "discard": "unmap", "file": below}


def overlay(directory, drive):
    """The blocks of a drive, by its name, that were written or discarded."""
    return directory / f"{drive}.qcow2"


def _backend(drive, size_bytes, directory, data):
    """A drive's blocks: an overlay of its own over the shared data, so that writes stay its own, and a throttle."""
    image_path = overlay(directory, drive.name)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(image_path), str(size_bytes)], check=True, timeout=30)
    file = {"driver": "file", "filename": str(image_path)}
    blocks = {"driver": "qcow2", "node-name": f"blocks-{drive.name}", "discard": "unmap", "file": file}
    if drive.written:
        reading = {"read-only": True}
        shared = {"driver": "qcow2", **reading, "file": {"driver": "file", "filename": str(data), **reading}}
        window = {"offset": drive.index * SHIFT_BYTES, "size": size_bytes}
        blocks["backing"] = {"driver": "raw", **reading, **window, "file": shared}
    yield "-blockdev", json.dumps(blocks)
    yield "-blockdev", json.dumps(throttle_node(drive, f"blocks-{drive.name}"))


def arguments(topology, directory):
    """QEMU's arguments for processors, ports and drives, in pairs; the drives' images are made in `directory`."""
    data = directory / "data.qcow2"
    image.write_repeating(data, topology.size_bytes + len(topology.all()) * SHIFT_BYTES)
    yield from processors(topology)
    yield from _ports(topology)
    groups = {drive.throttle: drive.rates for drive in topology.all()}
    for name, rates in groups.items():
        yield "-object", json.dumps({"qom-type": "throttle-group", "id": f"throttle-{name}", "limits": limits(rates)})
    for drive in topology.drives:
        yield from _backend(drive, topology.size_bytes, directory, data)
        # The warning mark is taken away again before the guest starts.
        marks = f"serial={drive.serial},msix_qsize={drive.mark},smart_critical_warning={WARNING_MARK}"
        subsystem = f",subsys=subsystem-{drive.name}" if drive.second_port else ""
        if subsystem:
            yield "-device", f"nvme-subsys,id=subsystem-{drive.name}"
        queues = ",max_ioqpairs=1" if drive.zoned else ""
        yield "-device", f"nvme,id={drive.name},bus={drive.port},{marks}{queues}{subsystem}"
        if subsystem:
            yield "-device", f"nvme,id={drive.name}-again,bus={drive.second_port},serial={drive.serial},msix_qsize={drive.mark + 32}{subsystem}"
        shared = ",shared=on" if subsystem else ""
        if drive.zoned:
            shared += f",zoned=on,zoned.zone_size={ZONE_BYTES},zoned.zone_capacity={ZONE_CAPACITY_BYTES}"
        yield "-device", f"nvme-ns,id=namespace-{drive.name},bus={drive.name},drive={drive.name},nsid=1,eui64={drive.eui64:#x}{shared}"
    if topology.volumes:
        yield "-device", f"megasas-gen2,id=card,bus=root{topology.root_slots[-1]}"
    for number, volume in enumerate(topology.volumes):
        yield from _backend(volume, topology.size_bytes, directory, data)
        place = f"bus=card.0,channel=0,scsi-id={number},lun=0,physical_block_size={VOLUME_BLOCK_BYTES}"
        yield "-device", f"scsi-hd,id={volume.name},{place},drive={volume.name},serial={volume.serial}"
    if topology.spare:
        yield from _spare(directory)


def spare_image(directory, nsid):
    """The blocks of a namespace of the spare drive, as they are."""
    return directory / f"spare-{nsid}.raw"


def _spare(directory):
    yield "-device", f"pcie-root-port,id=spare,bus=pcie.0,chassis={SPARE_SLOT},slot={SPARE_SLOT}"
    yield "-device", f"nvme,id=H,bus=spare,serial={SPARE_SERIAL},msix_qsize={65 + len(DRIVES)}"
    for nsid in SPARE_NAMESPACES:
        # Random, so that a trim or a format shows as well as a write.
        spare_image(directory, nsid).write_bytes(image.test_data(SPARE_BYTES))
        file = {"driver": "file", "filename": str(spare_image(directory, nsid))}
        yield "-blockdev", json.dumps({"driver": "raw", "node-name": f"H{nsid}", "discard": "unmap", "file": file})
        yield "-device", f"nvme-ns,id=namespace-H{nsid},bus=H,drive=H{nsid},nsid={nsid}"
