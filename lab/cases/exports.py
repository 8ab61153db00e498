"""Drives that the kernel serves to other machines, or that are reached past the block layer: nothing is written to them."""

import contextlib

from cases.guard import WRITE, WriteCase
from cases.passthrough import PASSED

NVMET = "/sys/kernel/config/nvmet/subsystems/lab"
LIO = "/sys/kernel/config/target/core"
MOUNTED = "mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config"
END_NVMET = f"echo 0 >{NVMET}/namespaces/1/enable; rmdir {NVMET}/namespaces/1 {NVMET}"


def nvmet(device):
    """Has nvmet serve a device."""
    return (
        f"{MOUNTED}; mkdir -p {NVMET}/namespaces/1 && echo -n {device} >{NVMET}/namespaces/1/device_path && "
        f"echo 1 >{NVMET}/namespaces/1/enable"
    )


def lio(kind, control):
    """Has LIO open a device."""
    place = f"{LIO}/{kind}_0/disk"
    return f"{MOUNTED}; mkdir -p {place} && echo '{control}' >{place}/control && echo 1 >{place}/enable"


def end_lio(kind):
    return f"rmdir {LIO}/{kind}_0/disk {LIO}/{kind}_0"


# Its image is random data.
NAMED = "--allow-write LABF0001 --discard-data LABF0001"


class Exports(WriteCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab.load("targets")
        cls.lab.run(MOUNTED)

    @property
    def device(self):
        return f"/dev/{self.lab.namespace('F')}"

    @contextlib.contextmanager
    def made(self, begin, end):
        self.say(begin)
        try:
            yield
        finally:
            self.say(end)

    def written(self):
        self.played(f"{NAMED} {WRITE} {self.of('F')}")

    def left_alone(self, *said):
        with self.untouched("F"):
            self.refused(f"{NAMED} --assume-unused LABF0001 {WRITE} {self.of('F')}", "is in use", *said, "no option overrides it")

    def test_what_nvmet_serves(self):
        link = "/tmp/by-another-name"
        number = self.say(f"cat /sys/class/block/{self.lab.namespace('F')}/dev").strip().replace(":", " ")
        for path in (self.device, link):
            self.say(f"rm -f {link}; mknod {link} b {number}")
            with self.subTest(path), self.made(nvmet(path), END_NVMET):
                self.left_alone("exported by nvmet as lab/1")
                # Prepared and not yet served.
                self.say(f"echo 0 >{NVMET}/namespaces/1/enable")
                self.written()
        self.written()

    def test_what_scsi_targets_serve(self):
        size = self.say(f"blockdev --getsize64 {self.device}").strip()
        controls = {"iblock": f"udev_path={self.device}", "fileio": f"fd_dev_name={self.device},fd_dev_size={size}"}
        for kind, control in controls.items():
            with self.subTest(kind), self.made(lio(kind, control), end_lio(kind)):
                self.left_alone(f"exported by LIO as {kind}_0/disk")
        self.written()

    def test_servers_that_cannot_be_looked_at_are_asked_for(self):
        write = f"{NAMED} {WRITE} {self.of('F')}"
        with self.made("umount /sys/kernel/config", MOUNTED):
            with self.untouched("F"):
                self.refused(write, "cannot verify", "/sys/kernel/config/nvmet", "--assume-unused LABF0001")
            self.played(f"--assume-unused LABF0001 {write}")

    def test_what_is_passed_commands_by_others(self):
        generic = f"/dev/ng{self.lab.namespace('F').removeprefix('nvme')}"
        passed = self.file("/root/passed.fio", f"[w]\nfilename={generic}\n{PASSED}offset=32m\nsize=64k\nbs=4k\nrw=write\n")
        for way in (generic, f"/dev/{self.lab.controller('F')}"):
            with self.subTest(way), self.made(f"(exec sleep 100 <{way} >/dev/null 2>&1 3>&-) & usleep 200000", "killall sleep"):
                said = f"{way.removeprefix('/dev/')}: open by sleep"
                self.left_alone(said)
                with self.untouched("F"):
                    self.refused(f"--allow-write LABF0001 {passed}", "is in use", said)
        self.written()
