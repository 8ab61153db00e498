"""What QEMU fixes and a laboratory must vary: link registers, identities, usage, temperature.

QEMU's NVMe drives always report a 2.5 GT/s x1 link and the model "QEMU NVMe Ctrl". These values lie in QEMU's
heap, where a reset does not touch them, so they can be written through /proc/PID/mem while the machine is
paused. That depends on how QEMU lays out its structures: it is tried with the version below only.

A device is found by its PCI configuration space, and told from its like by a number that the command line sets:
an NVMe drive by its MSI-X table size, a root or downstream port by its slot, an upstream port by its port number.
"""

import struct
from typing import NamedTuple

TRIED_WITH = "7.2."

# Guest memory is one region, and larger than anything of interest.
LARGEST_REGION_BYTES = 48 << 20
CONFIG_SPACE_BYTES = 4096

PCI_EXPRESS, MSI_X = 0x10, 0x11
# Where the extended capabilities begin, and the header of one: Advanced Error Reporting, version 2, the last (7.8.4).
EXTENDED_SPACE, ADVANCED_ERROR_REPORTING = 0x100, 0x0002_0001
# Offsets in the PCI Express capability (PCI Express Base Specification, 7.5.3).
DEVICE_CAPABILITIES, DEVICE_CONTROL, LINK_CAPABILITIES, LINK_STATUS = 0x04, 0x08, 0x0C, 0x12
LINK_CONTROL, SLOT_CAPABILITIES, LINK_CAPABILITIES_2, LINK_CONTROL_2 = 0x10, 0x14, 0x2C, 0x30

ROOT_PORT, UPSTREAM_PORT, DOWNSTREAM_PORT, NVME = "root port", "upstream port", "downstream port", "nvme"
DEVICE_IDS = {
    ROOT_PORT: (0x1B36, 0x000C),
    UPSTREAM_PORT: (0x104C, 0x8232),
    DOWNSTREAM_PORT: (0x104C, 0x8233),
    NVME: (0x1B36, 0x0010),
}
BRIDGE_CLASS, NVME_CLASS = b"\x00\x04\x06", b"\x02\x08\x01"

# QEMU keeps a drive's composite temperature, which starts with this, and its critical warning byte together, and
# both within so many bytes of its Identify Controller page.
INITIAL_TEMPERATURE_K = 0x143
WARNING_MARK = 0x15
NEAR_BYTES = 16384


class LayoutError(Exception):
    """Something was not found in QEMU's memory, or more than once."""


class Link(NamedTuple):
    """A PCIe link's generation (1: 2.5 GT/s, 2: 5, 3: 8, 4: 16, 5: 32) and number of lanes."""

    generation: int
    lanes: int


class Registers:
    """Writes into the memory of a paused QEMU; look-ups use one snapshot, taken at the start.

    What `express`, `namespace` and `temperature` give are addresses that hold as long as QEMU runs.
    """

    def __init__(self, pid):
        self._path = f"/proc/{pid}/mem"
        self._regions, self._found = [], {}
        with open(f"/proc/{pid}/maps") as maps, open(self._path, "rb", 0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                start, end = (int(x, 16) for x in span.split("-"))
                if rights.startswith("rw") and end - start <= LARGEST_REGION_BYTES:
                    try:
                        memory.seek(start)
                        self._regions.append((start, memory.read(end - start)))
                    except OSError:
                        pass  # a guard page or a device's mapping

    def _find(self, needle, length, before=0):
        """[(address, bytes)] of the places that hold `needle`, `before` bytes into what is given."""
        key = needle, length, before
        if key not in self._found:
            hits = self._found[key] = []
            for start, region in self._regions:
                at = region.find(needle)
                while at >= 0:
                    if at >= before and at - before + length <= len(region):
                        hits.append((start + at - before, region[at - before : at - before + length]))
                    at = region.find(needle, at + 1)
        return self._found[key]

    def forget(self):
        """Frees the snapshot; nothing can be looked up any more, addresses can be written to."""
        self._regions, self._found = [], {}

    def _write(self, address, form, *values):
        with open(self._path, "r+b", 0) as memory:
            memory.seek(address)
            memory.write(struct.pack(form, *values))

    def _read(self, address, form):
        with open(self._path, "rb", 0) as memory:
            memory.seek(address)
            return struct.unpack(form, memory.read(struct.calcsize(form)))[0]

    def _only(self, hits, what):
        hits = list(hits)
        if len(hits) != 1:
            raise LayoutError(f"{what} found {len(hits)} times in QEMU's memory")
        return hits[0]

    # Links

    def _config_space(self, kind, number):
        def matches(hit):
            address, config = hit
            if address % 8 or config[9:12] != (NVME_CLASS if kind == NVME else BRIDGE_CLASS):
                return False
            capabilities = _capabilities(config)
            if PCI_EXPRESS not in capabilities:
                return False
            express = capabilities[PCI_EXPRESS]
            if kind == NVME:
                if MSI_X not in capabilities:
                    return False
                return (struct.unpack_from("<H", config, capabilities[MSI_X] + 2)[0] & 0x7FF) + 1 == number
            if kind == UPSTREAM_PORT:
                return config[express + LINK_CAPABILITIES + 3] == number
            return struct.unpack_from("<I", config, express + SLOT_CAPABILITIES)[0] >> 19 == number

        needle = struct.pack("<HH", *DEVICE_IDS[kind])
        return self._only(filter(matches, self._find(needle, CONFIG_SPACE_BYTES)), f"{kind} {number}")

    def express(self, kind, number):
        """Address of a device's PCI Express capability."""
        address, config = self._config_space(kind, number)
        return address + _capabilities(config)[PCI_EXPRESS]

    def set_link(self, kind, number, able, now=None):
        """Sets what a device's link is able to, and where `now` is given, what it was trained to.

        A port's current link is computed by QEMU from the device below it.
        """
        express = self.express(kind, number)
        self.set_able(express, able)
        self.set_target_speed(express, able.generation)
        if now:
            self.set_trained(express, now)

    def set_able(self, express, link):
        """Sets what a device's link is able to; works while the machine runs."""
        self._write(express + LINK_CAPABILITIES, "<I", _with_link(self._read(express + LINK_CAPABILITIES, "<I"), link))
        self._write(express + LINK_CAPABILITIES_2, "<I", ((1 << link.generation) - 1) << 1)

    def set_trained(self, express, link):
        """Sets what a link was trained to; works while the machine runs."""
        self._write(express + LINK_STATUS, "<H", _with_link(self._read(express + LINK_STATUS, "<H"), link))

    def set_target_speed(self, express, generation):
        """Sets the generation that a link is told to train to; works while the machine runs."""
        self._write(express + LINK_CONTROL_2, "<H", self._read(express + LINK_CONTROL_2, "<H") & ~0xF | generation)

    def set_resting(self, express, states):
        """Sets the states in which a link may rest (ASPM; 1: L0s, 2: L1); works while the machine runs."""
        self._write(express + LINK_CONTROL, "<H", self._read(express + LINK_CONTROL, "<H") & ~0x3 | states)

    def set_payload_able(self, express, size):
        """Sets the largest payload that a device can take, 128 << size bytes; works while the machine runs."""
        able = self._read(express + DEVICE_CAPABILITIES, "<I")
        self._write(express + DEVICE_CAPABILITIES, "<I", able & ~0x7 | size)

    def report_errors(self, kind, number):
        """Gives a device an Advanced Error Reporting capability, the only one in its extended space, and has it report."""
        express = self.express(kind, number)
        self._write(express + DEVICE_CONTROL, "<H", self._read(express + DEVICE_CONTROL, "<H") | 0xF)
        self._write(self._config_space(kind, number)[0] + EXTENDED_SPACE, "<I", ADVANCED_ERROR_REPORTING)

    # What a drive says of itself

    def _controller(self, serial):
        """Address of a drive's Identify Controller page."""
        hits = self._find(b"QEMU NVMe Ctrl".ljust(40), 4096, before=24)
        return self._only((h for h in hits if h[1][4:24] == serial.encode().ljust(20)), f"drive {serial}")[0]

    def set_identity(self, serial, model, firmware):
        """Sets a drive's model and firmware; it is found by its serial number."""
        self._write(self._controller(serial) + 24, "40s8s", model.encode().ljust(40), firmware.encode().ljust(8))

    def format_attributes(self, serial):
        """Address of a drive's FNA: bit 0, a format is one of all namespaces, bit 1, an erase is."""
        return self._controller(serial) + 524

    def set_format_attributes(self, address, bits):
        """Sets an FNA found earlier; works while the machine runs."""
        self._write(address, "<B", bits)

    def namespace(self, eui64, size_blocks):
        """Address of a namespace's Identify Namespace page; it is found by its EUI-64 and its size."""
        page = struct.pack("<QQQ", size_blocks, size_blocks, size_blocks)
        hits = (h for h in self._find(struct.pack(">Q", eui64), 4096, before=120) if h[1].startswith(page))
        return self._only(hits, f"namespace {eui64:016x}")[0]

    def set_usage(self, namespace, used_blocks):
        """Sets NUSE; works while the machine runs."""
        self._write(namespace + 16, "<Q", used_blocks)

    def set_performance(self, namespace, performance):
        """Sets the relative performance of the first LBA format (0 best, 3 degraded); works while the machine runs."""
        self._write(namespace + 128 + 3, "<B", performance)

    def temperature(self, serial):
        """Address of a drive's temperature; the drive must have been started with WARNING_MARK."""
        controller = self._controller(serial)
        needle = struct.pack("<HB", INITIAL_TEMPERATURE_K, WARNING_MARK)
        start, region = next(r for r in self._regions if r[0] <= controller < r[0] + len(r[1]))
        near = max(0, controller - start - NEAR_BYTES)
        window = region[near : controller - start + NEAR_BYTES]
        hits = [start + near + i for i in range(len(window)) if window.startswith(needle, i)]
        return self._only(hits, f"temperature of {serial}")

    def set_temperature(self, address, kelvin):
        """Sets a temperature found earlier; works while the machine runs."""
        self._write(address, "<H", kelvin)


def _capabilities(config):
    """{capability id: offset} of a configuration space; stops at nonsense, since any bytes may come in."""
    found, at = {}, config[0x34]
    while 0x40 <= at < 0xFE and len(found) < 48 and config[at] not in found:
        found[config[at]] = at
        at = config[at + 1]
    return found


def _with_link(register, link):
    return register & ~0x3FF | link.generation | link.lanes << 4
