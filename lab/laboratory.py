"""The running laboratory: a machine of topology.py booted, commands in it, and its power cut."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

import initramfs
import machine
import packages
import topology
from disk import Disk
from faults import Faults
from registers import DOWNSTREAM_PORT, NVME, ROOT_PORT, TRIED_WITH, UPSTREAM_PORT, Registers

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


class Lab(Faults):
    """The running laboratory: `with Lab(topology.FAULTY_MACHINE, {"iodyno": path}) as lab:`; everything it made is gone afterwards."""

    def __init__(self, machine_drawn, programs, say=lambda text: None):
        self.topology = machine_drawn
        self._programs = {name: Path(path).resolve() for name, path in programs.items()}
        self._say = say
        self._undo = contextlib.ExitStack()
        self._power = contextlib.ExitStack()
        # Addresses in QEMU's memory, by the names of drives and ports.
        self._temperatures, self._express, self._identified = {}, {}, {}
        # Whether links, identities, usage and temperature can be set with this QEMU.
        self.registers_set = machine.version().startswith(TRIED_WITH)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._prepare(stack)
            self._switch_on()
            stack.push(self._power)
            self._undo = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._undo.close()

    def _prepare(self, stack):
        directory = self._directory = stack.enter_context(_work_directory())
        self._initrd = directory / "initrd"
        with _prepared_once():
            with self._stage("packages"):
                tools, kernel = packages.tools(CACHE), packages.kernel(CACHE, self.topology.kernel)
            with self._stage("guest and drives"):
                files = {"root/datasheet.toml": (LAB / "datasheet.toml").read_bytes()}
                self._initrd.write_bytes(initramfs.base(tools, kernel).read_bytes() + initramfs.under_test(self._programs, files))
                self._kernel = packages.image(kernel)
                self._disk = Disk(directory)
                pairs = [*topology.arguments(self.topology, directory), *self._disk.arguments()]
                self._arguments = [text for pair in pairs for text in pair]

    def _switch_on(self):
        try:
            self._start()
        except machine.BootError as error:
            # Emulated CPUs may miss each other while they come up. Nothing that is tested ran yet.
            self._say(f"started once more: {error}")
            self._start()

    def _start(self):
        with contextlib.ExitStack() as stack:
            with self._stage("start"):
                words = topology.kernel_words(self.topology)
                on = machine.Machine(self._directory, self._kernel, self._initrd, self._arguments, words)
                self.machine = stack.enter_context(on)
                if self.registers_set:
                    self._set_registers()
                for drive in self.topology.drives:
                    self._set_warning(drive.name, 0)
            with self._stage("boot"):
                self.machine.boot()
                self._look_up_drives()
                if self.topology.spare:
                    self._remove_spare()
            self._power = stack.pop_all()

    def cut_power(self):
        """Ends the machine from one moment to the next and starts it again. Drives keep what they took, the disk what was flushed."""
        self._power.close()
        self._disk.lose_cache()
        self._switch_on()

    @contextlib.contextmanager
    def disk(self):
        """Where the file system that outlives power cuts is mounted in the guest."""
        self.load("disk")
        self._must("mount -t ext4 /dev/vda /mnt")
        try:
            yield "/mnt"
        finally:
            self._must("umount /mnt")

    def load(self, modules):
        """Loads kernel modules that bring devices of their own, by the name of their set (initramfs.py)."""
        self._must(f"for module in /modules/{modules}/*.ko; do insmod $module 2>&1 | grep -v 'File exists'; done; true")

    @contextlib.contextmanager
    def _stage(self, name):
        started = time.monotonic()
        yield
        self._say(f"{name}: {time.monotonic() - started:.1f} s")

    def _set_registers(self):
        registers = Registers(self.machine.process.pid)
        for slot in self.topology.root_slots:
            registers.set_link(ROOT_PORT, slot, topology.GEN4_X4)
            self._express[f"root{slot}"] = registers.express(ROOT_PORT, slot)
        if self.topology.switch_slots:
            registers.set_link(UPSTREAM_PORT, topology.UPLINK_PORT, topology.GEN4_X4, topology.GEN4_X4)
        for slot in self.topology.switch_slots:
            registers.set_link(DOWNSTREAM_PORT, slot, topology.GEN4_X4)
        for drive in self.topology.drives:
            if drive.second_port:
                continue
            registers.set_link(NVME, drive.mark, topology.GEN4_X4, drive.link)
            registers.report_errors(NVME, drive.mark)
            self._express[drive.name] = registers.express(NVME, drive.mark)
            self._temperatures[drive.name] = registers.temperature(drive.serial)
            registers.set_identity(drive.serial, topology.MODEL, drive.firmware)
            self._identified[drive.name] = registers.namespace(drive.eui64, self.topology.size_bytes // topology.BLOCK_BYTES)
            if not drive.written:
                registers.set_usage(self._identified[drive.name], 0)
        if self.topology.spare:
            self._spare_attributes = registers.format_attributes(topology.SPARE_SERIAL)
        registers.forget()
        self._registers = registers

    def _look_up_drives(self):
        script = 'cd /sys/class/nvme; for n in *; do echo "$(cat $n/serial) $n $(basename $(readlink $n/device))"; done'
        self._names, self._namespaces = {}, {}
        for line in self.run(script).stdout.splitlines():
            serial, name, address = line.split()
            self._names.setdefault(serial, (name, address))
        # What stands on several paths hides them.
        script = 'for b in /sys/block/nvme*n1; do [ $(cat $b/hidden) = 0 ] && echo "$(cat $b/device/serial) $(basename $b)"; done'
        for line in self.run(script).stdout.splitlines():
            serial, name = line.split()
            self._namespaces[serial] = name
        if missing := [drive.serial for drive in self.topology.drives if drive.serial not in self._names]:
            raise self.machine.error(f"the guest has no drive {', '.join(missing)}")

    # What is where in the guest

    def controller(self, drive):
        """The controller's name, such as 'nvme3', of a drive; one of them, where it has two."""
        return self._names[self.topology.named(drive).serial][0]

    def namespace(self, drive):
        """The block device's name, such as 'nvme3n1'."""
        return self._namespaces[self.topology.named(drive).serial]

    def address(self, drive):
        """The PCI address."""
        return self._names[self.topology.named(drive).serial][1]

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

    def reads(self, drive):
        """How many reads a drive has served since power-on."""
        return self.served(f"namespace-{drive}")["rd_operations"]

    def writes(self, drive):
        """How many writes; trims are not counted by QEMU."""
        return self.served(f"namespace-{drive}")["wr_operations"]

    def written_bytes(self, drive):
        """How many bytes were written to a drive since power-on."""
        return self.served(f"namespace-{drive}")["wr_bytes"]

    def served(self, device):
        """QEMU's counts of a device, by its id: a namespace, or a drive that was put in later."""
        for known in self.machine.qmp("query-blockstats"):
            if known.get("qdev", "").split("/")[-1] == device:
                return known["stats"]
        raise machine.MachineError(f"QEMU knows no device {device}")

    def wait_for_reads(self, drive, count, timeout_s=60):
        """Waits until a drive has served `count` more reads; QEMU has no event for that, so it is asked often."""
        goal = self.reads(drive) + count
        self.machine.wait_for(lambda: self.reads(drive) >= goal, f"drive {drive} did not serve {count} reads", timeout_s)

    def _must(self, command):
        result = self.run(command)
        if result.status != 0:
            raise self.machine.error(f"in the guest: {command}\nended with {result.status}: {result.stderr}")
