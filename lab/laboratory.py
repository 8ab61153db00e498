"""The running laboratory: the machine of topology.py booted, commands in it, and faults that are planted and undone."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import initramfs
import machine
import packages
import topology
from registers import DOWNSTREAM_PORT, INITIAL_TEMPERATURE_K, NVME, ROOT_PORT, TRIED_WITH, UPSTREAM_PORT, Registers

LAB = Path(__file__).parent
CACHE = LAB / "cache"


@contextlib.contextmanager
def _prepared_once():
    """Lets one laboratory at a time fill the cache."""
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _work_directory():
    """A directory for one run, gone afterwards; after a kill -9 the next run sweeps it away."""
    parent, prefix = Path(tempfile.gettempdir()), "iodyno-lab-"
    for left in parent.glob(f"{prefix}*"):
        owner = left.name.removeprefix(prefix).split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(left, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class Lab:
    """The running laboratory: `with Lab(programs) as lab:`; everything it made is gone afterwards."""

    def __init__(self, programs=(), say=lambda text: None):
        self._programs = [Path(p).resolve() for p in programs]
        self._say = say
        self._undo = contextlib.ExitStack()
        self._temperatures, self._target_speeds, self._usage = {}, {}, {}
        # Whether links, identities, usage and temperature can be set with this QEMU.
        self.registers_set = machine.version().startswith(TRIED_WITH)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._undo = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._undo.close()

    def _start(self, stack):
        directory = self._directory = stack.enter_context(_work_directory())
        initrd = directory / "initrd"
        with _prepared_once():
            with self._stage("packages"):
                tree = packages.unpacked(CACHE)
            with self._stage("guest and drives"):
                files = {"root/datasheet.toml": (LAB / "datasheet.toml").read_bytes()}
                initrd.write_bytes(initramfs.base(tree).read_bytes() + initramfs.under_test(self._programs, files))
                arguments = [text for pair in topology.arguments(directory) for text in pair]
        with self._stage("start"):
            kernel, drives = packages.kernel(tree), len(topology.DRIVES) + len(topology.SPARE_NAMESPACES)
            self.machine = stack.enter_context(machine.Machine(directory, kernel, initrd, arguments, drives))
            if self.registers_set:
                self._set_registers()
            for drive in topology.DRIVES:
                self._set_warning(drive.name, 0)
        with self._stage("boot"):
            self.machine.boot()
            self._look_up_drives()
            self._remove_spare()

    @contextlib.contextmanager
    def _stage(self, name):
        started = time.monotonic()
        yield
        self._say(f"{name}: {time.monotonic() - started:.1f} s")

    def _set_registers(self):
        registers = Registers(self.machine.process.pid)
        for slot in topology.ROOT_SLOTS:
            registers.set_link(ROOT_PORT, slot, topology.GEN4_X4)
            self._target_speeds[f"root{slot}"] = registers.target_speed(ROOT_PORT, slot)
        registers.set_link(UPSTREAM_PORT, topology.UPLINK_PORT, topology.GEN4_X4, topology.GEN4_X4)
        for slot in topology.SWITCH_SLOTS:
            registers.set_link(DOWNSTREAM_PORT, slot, topology.GEN4_X4)
        for drive in topology.DRIVES:
            registers.set_link(NVME, drive.mark, topology.GEN4_X4, drive.link)
            self._temperatures[drive.name] = registers.temperature(drive.serial)
            registers.set_identity(drive.serial, topology.MODEL, drive.firmware)
            if not drive.written:
                self._usage[drive.name] = registers.usage(drive.eui64, topology.SIZE_BLOCKS)
                registers.set_usage(self._usage[drive.name], 0)
        self._spare_attributes = registers.format_attributes(topology.SPARE_SERIAL)
        registers.forget()
        self._registers = registers

    def _look_up_drives(self):
        script = 'cd /sys/class/nvme; for n in *; do echo "$(cat $n/serial) $n $(basename $(readlink $n/device))"; done'
        self._names = {}
        for line in self.run(script).stdout.splitlines():
            serial, name, address = line.split()
            self._names[serial] = name, address
        if missing := [drive.serial for drive in topology.DRIVES if drive.serial not in self._names]:
            raise self.machine.error(f"the guest has no drive {', '.join(missing)}")

    # What is where in the guest

    def controller(self, drive):
        """The controller's name, such as 'nvme3', of drive 'A' to 'G'."""
        return self._names[topology.named(drive).serial][0]

    def namespace(self, drive):
        """The block device's name, such as 'nvme3n1'."""
        return self.controller(drive) + "n1"

    def address(self, drive):
        """The PCI address."""
        return self._names[topology.named(drive).serial][1]

    # Commands in the guest

    def run(self, command, timeout_s=60):
        """The Result of a shell command in the guest."""
        return self.machine.run(command, timeout_s)

    def begin(self, command, timeout_s=60):
        """Starts a command; `finish` waits for it."""
        return self.machine.begin(command, timeout_s)

    def finish(self, begun):
        """The Result of a command that was begun."""
        return self.machine.finish(begun)

    # Faults. Each is planted when its block begins and undone when it ends.

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
        drive = topology.named(drive)
        path = f"/objects/throttle-{drive.throttle}"
        self.machine.qmp("qom-set", path=path, property="limits", value=topology.limits(drive.rates.times(factor)))
        try:
            yield
        finally:
            self.machine.qmp("qom-set", path=path, property="limits", value=topology.limits(drive.rates))

    @contextlib.contextmanager
    def unreadable(self, drive, first_block, blocks):
        """Reads of these blocks fail with an unrecovered read error."""
        fault = {"event": "none", "iotype": "read", "errno": 5, "once": False, "immediately": True}
        errors = [{**fault, "sector": block} for block in range(first_block, first_block + blocks)]
        node = f"unreadable-{drive}"
        self.machine.qmp("blockdev-add", **{"driver": "blkdebug", "node-name": node, "image": f"blocks-{drive}", "inject-error": errors})
        self._put_below(drive, node)
        try:
            yield
        finally:
            self._put_below(drive, f"blocks-{drive}")
            self.machine.qmp("blockdev-del", **{"node-name": node})

    @contextlib.contextmanager
    def partly_written(self, drive, share):
        """A drive that was never written, with data in its first `share`, of which it keeps account."""
        blocks = int(topology.SIZE_BLOCKS * share) // 2048 * 2048

        def change(command, used_blocks):
            with self.throttled(drive, 100):
                self._block_layer(drive, f"{command} 0 {blocks * topology.BLOCK_BYTES}")
            self._registers.set_usage(self._usage[drive], used_blocks)

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
    def target_generation(self, drive, generation):
        """The port above a drive told, as firmware may, to train no faster than this generation."""
        address = self._target_speeds[topology.named(drive).port]
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

    def reads(self, drive):
        """How many reads a drive has served since power-on."""
        return self._served(drive)["rd_operations"]

    def writes(self, drive):
        """How many writes; trims are not counted by QEMU."""
        return self._served(drive)["wr_operations"]

    def _served(self, drive):
        for device in self.machine.qmp("query-blockstats"):
            if device.get("qdev", "").split("/")[-1] == f"namespace-{drive}":
                return device["stats"]
        raise machine.MachineError(f"QEMU knows no drive {drive}")

    def wait_for_reads(self, drive, count, timeout_s=60):
        """Waits until a drive has served `count` more reads; QEMU has no event for that, so it is asked often."""
        goal, deadline = self.reads(drive) + count, time.monotonic() + timeout_s
        while self.reads(drive) < goal:
            if time.monotonic() > deadline:
                raise self.machine.error(f"drive {drive} did not serve {count} reads within {timeout_s} s")
            time.sleep(0.05)

    def _put_below(self, drive, node):
        self.machine.qmp("blockdev-reopen", options=[topology.throttle_node(topology.named(drive), node)])

    def _block_layer(self, drive, command):
        """A command of qemu-io on a drive, behind the guest's back."""
        said = self.machine.qmp("human-monitor-command", **{"command-line": f'qemu-io -d namespace-{drive} "{command}"'})
        if said.strip():
            raise machine.MachineError(f"qemu-io {command}: {said.strip()}")

    def _set_warning(self, drive, bits):
        self.machine.qmp("qom-set", path=f"/machine/peripheral/{drive}", property="smart_critical_warning", value=bits)

    def _must(self, command):
        result = self.run(command)
        if result.status != 0:
            raise self.machine.error(f"in the guest: {command}\nended with {result.status}: {result.stderr}")
