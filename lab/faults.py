"""Faults: each is planted when its block begins and undone when it ends (`with lab.temperature("G", 365):`)."""

import contextlib
import hashlib
import json
import subprocess

import machine
import topology
from registers import INITIAL_TEMPERATURE_K


class Faults:
    """What of a running laboratory (laboratory.py) makes faults."""

    @contextlib.contextmanager
    def critical_warning(self, drive, bits):
        """SMART critical warning bits (NVM Express Base Specification: 0 spare, 1 temperature, 2 reliability, 3 read only)."""
        self._set_warning(drive, bits)
        try:
            yield
        finally:
            self._set_warning(drive, 0)

    @contextlib.contextmanager
    def temperature(self, drive, kelvin):
        """A drive's composite temperature; from 343 K on it is above its warning level."""
        self._registers.set_temperature(self._temperatures[drive], kelvin)
        try:
            yield
        finally:
            self._registers.set_temperature(self._temperatures[drive], INITIAL_TEMPERATURE_K)

    @contextlib.contextmanager
    def throttled(self, drive, factor):
        """A drive at a fraction of its rates, as one that is too hot."""
        with self._limited(drive, topology.limits(self.topology.named(drive).rates.times(factor))):
            yield

    @contextlib.contextmanager
    def bursting(self, drive, factor, seconds):
        """A drive that has a cache: `factor` times its rates until it is full, then the cliff.

        The cache takes what comes in so many seconds, and loses meanwhile what the drive does at its own rates: with
        a factor of 2 the cliff comes after twice the `seconds`.
        """
        limits = topology.limits(self.topology.named(drive).rates)
        for name in ("iops-total", "bps-total"):
            limits |= {f"{name}-max": int(limits[name] * factor), f"{name}-max-length": seconds}
        with self._limited(drive, limits):
            yield

    @contextlib.contextmanager
    def sharing(self, drive, other):
        """Two drives that together get what one of them can do, by something that no link shows."""
        drive, other = (self.topology.named(name) for name in (drive, other))
        self._put_below(drive._replace(throttle=other.throttle), f"blocks-{drive.name}")
        try:
            yield
        finally:
            self._put_below(drive, f"blocks-{drive.name}")

    @contextlib.contextmanager
    def slow_to_answer(self, drive, nanoseconds):
        """Every I/O takes at least so long, however few they are.

        A quorum of one waits for both its children, and takes of two that differ the last one's data. It wants them for
        itself, so the drive is moved aside first.
        """
        null = {"driver": "null-co", "size": topology.SIZE_BYTES, "read-zeroes": True}
        aside = {**null, "node-name": f"aside-{drive}"}
        children = [{**null, "latency-ns": nanoseconds}, f"blocks-{drive}"]
        node = {"driver": "quorum", "node-name": f"slow-{drive}", "vote-threshold": 1, "children": children}
        with self._over(drive, aside), self._over(drive, node, back=aside["node-name"]):
            yield

    @contextlib.contextmanager
    def unreadable(self, drive, first_block, blocks):
        """Reads of these blocks fail with an unrecovered read error."""
        fault = {"event": "none", "iotype": "read", "errno": 5, "once": False, "immediately": True}
        errors = [{**fault, "sector": block} for block in range(first_block, first_block + blocks)]
        node = {"driver": "blkdebug", "node-name": f"unreadable-{drive}", "image": f"blocks-{drive}", "inject-error": errors}
        with self._over(drive, node):
            yield

    @contextlib.contextmanager
    def partly_written(self, drive, share):
        """A drive that was never written, with data in its first `share`, of which it keeps account."""
        blocks = int(topology.SIZE_BLOCKS * share) // 2048 * 2048

        def change(command, used_blocks):
            with self.throttled(drive, 100):
                self._block_layer(drive, f"{command} 0 {blocks * topology.BLOCK_BYTES}")
            self._registers.set_usage(self._identified[drive], used_blocks)

        change("write -q -P 0x5a", blocks)
        try:
            yield
        finally:
            change("discard -q", 0)

    @contextlib.contextmanager
    def without_driver(self, drive):
        """An NVMe function that no driver is bound to."""
        bus = "/sys/bus/pci/drivers/nvme"
        self._must(f"echo {self.address(drive)} > {bus}/unbind")
        try:
            yield
        finally:
            back = f"/sys/bus/pci/devices/{self.address(drive)}/nvme/*/{self.controller(drive)}*n1"
            self._must(f"echo {self.address(drive)} > {bus}/bind; for i in $(seq 200); do ls {back} && exit 0; usleep 50000; done; exit 1")

    @contextlib.contextmanager
    def trained(self, drive, link):
        """A drive whose link came up as this one."""
        express = self._express[drive]
        self._registers.set_trained(express, link)
        try:
            yield
        finally:
            self._registers.set_trained(express, self.topology.named(drive).link)

    @contextlib.contextmanager
    def able(self, device, link):
        """A drive, or the port above one, that is able to no more than this link."""
        express = self._express[device]
        self._registers.set_able(express, link)
        try:
            yield
        finally:
            self._registers.set_able(express, topology.GEN4_X4)

    @contextlib.contextmanager
    def resting_link(self, drive):
        """A drive whose link may rest in L0s."""
        self._registers.set_resting(self._express[drive], 1)
        try:
            yield
        finally:
            self._registers.set_resting(self._express[drive], 0)

    @contextlib.contextmanager
    def larger_payload(self, drive):
        """A drive and a port that can do 256 bytes in a packet, and were left at 128."""
        ends = [self._express[drive], self._express[self.topology.named(drive).port]]
        for express in ends:
            self._registers.set_payload_able(express, 1)
        try:
            yield
        finally:
            for express in ends:
                self._registers.set_payload_able(express, 0)

    @contextlib.contextmanager
    def slower_format(self, drive):
        """A namespace in an LBA format that is slower than others that it has, as it says itself."""
        self._registers.set_performance(self._identified[drive], 2)
        try:
            yield
        finally:
            self._registers.set_performance(self._identified[drive], 0)

    def pcie_errors(self, drive, correctable, uncorrectable=0):
        """Has the kernel count PCIe errors of a drive (bits of the AER status registers), which stay counted."""
        self.load("aer")
        self._must(f"aer_inject {self.address(drive)} {correctable:#x} {uncorrectable:#x}")

    @contextlib.contextmanager
    def target_generation(self, drive, generation):
        """The port above a drive told, as firmware may, to train no faster than this generation."""
        address = self._express[self.topology.named(drive).port]
        self._registers.set_target_speed(address, generation)
        try:
            yield
        finally:
            self._registers.set_target_speed(address, topology.GEN4_X4.generation)

    @contextlib.contextmanager
    def spare(self):
        """The spare drive, which else is not there: the name of its controller."""
        find = f"grep -l {topology.SPARE_SERIAL} /sys/class/nvme/*/serial"
        there = f'[ "$(ls -d $(dirname $({find}))/nvme*n* | wc -l)" = {len(topology.SPARE_NAMESPACES)} ]'
        self._must(f"echo 1 > /sys/bus/pci/rescan; for i in $(seq 200); do {there} && exit 0; usleep 50000; done; exit 1")
        self._look_up_drives()
        try:
            yield self._names[topology.SPARE_SERIAL][0]
        finally:
            self._remove_spare()

    def _remove_spare(self):
        device = f"/sys/bus/pci/devices/{self._names[topology.SPARE_SERIAL][1]}"
        self._must(f'echo 1 > "$(dirname "$(readlink -f {device})")/remove"')

    def spare_checksum(self, nsid):
        """Of all that is on a namespace of the spare drive, looked at from outside."""
        return hashlib.sha256(self.spare_blocks(nsid)).hexdigest()

    def spare_blocks(self, nsid):
        """All that is on a namespace of the spare drive."""
        return topology.spare_image(self._directory, nsid).read_bytes()

    def is_empty(self, drive):
        """Whether all of a drive was discarded (and not just never written), looked at from outside."""
        self._block_layer(drive, "flush")
        image = topology.overlay(self._directory, drive)
        said = subprocess.run(["qemu-img", "map", "--force-share", "--output=json", image], capture_output=True, check=True, timeout=30)
        return all(extent["zero"] and extent["present"] for extent in json.loads(said.stdout))

    @contextlib.contextmanager
    def formats_reach_all(self):
        """Formats and erases of the spare drive are of all its namespaces, it says (QEMU's do not)."""
        self._registers.set_format_attributes(self._spare_attributes, 0b011)
        try:
            yield
        finally:
            self._registers.set_format_attributes(self._spare_attributes, 0)

    def unplug(self, drive):
        """Takes a drive out for good; the guest is told at once, and I/O to the drive ends."""
        self.machine.qmp("device_del", id=drive)

    def replug(self, drive, serial):
        """Takes a drive out and puts another one, of this serial number and the same content, into its slot for good."""
        self.unplug(drive)
        self.machine.wait_for(lambda: drive not in self._plugged(), f"drive {drive} did not go", 60)
        port = self.topology.named(drive).port

        def is_added():
            try:
                self.machine.qmp("device_add", driver="nvme", id=f"{drive}-new", bus=port, serial=serial, drive=drive)
            except machine.MachineError as error:
                # The namespace stays until its last I/O has ended.
                if "Permission conflict" not in str(error):
                    raise
                return False
            return True

        self.machine.wait_for(is_added, f"drive {drive} kept its image", 60)

    def _plugged(self):
        return [child["name"] for child in self.machine.qmp("qom-list", path="/machine/peripheral")]

    def wait_for_drive(self, serial):
        """Waits until the guest has a drive of this serial number; the name of its block device."""
        there = f"grep -ls {serial} /sys/block/nvme*n1/device/serial"
        self._must(f"for i in $(seq 600); do {there} && exit 0; usleep 50000; done; exit 1")
        return self.run(there).stdout.split("/")[3]

    @contextlib.contextmanager
    def poll_queues(self, drive, count=1):
        """A drive probed anew with queues without interrupts; the others keep theirs."""
        parameter = "/sys/module/nvme/parameters/poll_queues"
        self._must(f"echo {count} > {parameter}")
        with self.without_driver(drive):
            pass
        self._must(f"echo 0 > {parameter}")
        try:
            yield
        finally:
            with self.without_driver(drive):
                pass

    @contextlib.contextmanager
    def _limited(self, drive, limits):
        drive = self.topology.named(drive)
        path = f"/objects/throttle-{drive.throttle}"
        self.machine.qmp("qom-set", path=path, property="limits", value=limits)
        try:
            yield
        finally:
            self.machine.qmp("qom-set", path=path, property="limits", value=topology.limits(drive.rates))

    @contextlib.contextmanager
    def _over(self, drive, node, back=""):
        """A drive whose throttle stands on another block node than its own blocks, or than `back`."""
        self.machine.qmp("blockdev-add", **node)
        drive = self.topology.named(drive)
        self._put_below(drive, node["node-name"])
        try:
            yield
        finally:
            self._put_below(drive, back or f"blocks-{drive.name}")
            self.machine.qmp("blockdev-del", **{"node-name": node["node-name"]})

    def _put_below(self, drive, node):
        self.machine.qmp("blockdev-reopen", options=[topology.throttle_node(drive, node)])

    def _block_layer(self, drive, command):
        """A command of qemu-io on a drive, behind the guest's back."""
        said = self.machine.qmp("human-monitor-command", **{"command-line": f'qemu-io -d namespace-{drive} "{command}"'})
        if said.strip():
            raise machine.MachineError(f"qemu-io {command}: {said.strip()}")

    def _set_warning(self, drive, bits):
        self.machine.qmp("qom-set", path=f"/machine/peripheral/{drive}", property="smart_critical_warning", value=bits)
