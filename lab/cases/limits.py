"""One thing is wrong on a healthy machine: `iodyno check` names it, and nothing else."""

import contextlib

import topology
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE


class Limits(Scenario):
    def test_two_drives_share_something_that_is_no_link(self):
        """Alone each has its rate, together they have that of one."""
        document = self.unhurried("ABC", [self.lab.controller(drive) for drive in "ABC"], self.lab.sharing("A", "B"))
        self.named("two drives share a limit", document, {"all-at-once|shared-limit"})

    def test_all_drives_share_something_that_is_no_link(self):
        document = self.unhurried("AB", [self.lab.controller(drive) for drive in "AB"], self.lab.sharing("A", "B"))
        self.named("all drives share a limit", document, {"all-at-once"})

    def test_one_drive_is_capped(self):
        with self.lab.throttled("C", 1 / 4):
            document = self.checked()
        self.named("one drive capped", document, {"unlike-peers", "below-claim"}, "C")

    def test_every_answer_takes_long(self):
        """20 ms for each I/O: at depth the rates are as they were."""
        with self.lab.slow_to_answer("C", 20_000_000):
            document = self.checked("--time 3")
        self.named("20 ms for each I/O", document, {"unlike-peers"}, "C")

    def test_unreadable_blocks(self):
        with self.lab.unreadable("C", 2048, 64):
            document = self.checked(f"--time 2 {self.lab.controller('C')}")
        self.named("unreadable blocks", document, {"io-errors|measurement-failed"}, "C")

    def test_degraded_link(self):
        self.needs_registers()
        with self.lab.trained("C", topology.GEN3_X2):
            document = self.checked("--no-load")
        self.named("degraded link", document, {"link-degraded"}, "C")

    def test_critical_warning_raised_while_it_is_measured(self):
        begun = self.lab.begin(self.checking(self.lab.controller("C")), 120)
        self.lab.wait_for_reads("C", 4096 + 50)
        with self.lab.critical_warning("C", 0x04):
            document = self.documented("check", self.lab.finish(begun))
        self.named("critical warning raised while it is measured", document, {"health-critical"}, "C")

    def test_temperature_above_its_warning_level(self):
        self.needs_registers()
        with self.lab.temperature("C", 365):
            document = self.checked("--no-load")
        self.named("temperature above its warning level", document, {"temperature"}, "C")

    def test_function_without_driver(self):
        with self.lab.without_driver("C"):
            document = self.checked("--no-load")
        self.named("function without driver", document, {"drive-dead"}, "C")

    @contextlib.contextmanager
    def lost_fabric(self):
        """An NVMe/TCP controller whose target does not answer any more; its name."""
        target, port = "/sys/kernel/config/nvmet/subsystems/lost", "/sys/kernel/config/nvmet/ports/1"
        self.lab.load("fabrics")
        self.say(
            "grep -q ' /sys/kernel/config ' /proc/mounts || mount -t configfs configfs /sys/kernel/config; ifconfig lo up; set -e; truncate -s 64M /tmp/lost.img; "
            f"mkdir -p {target}/namespaces/1 {port}; echo 1 >{target}/attr_allow_any_host; echo -n /tmp/lost.img >{target}/namespaces/1/device_path; "
            f"echo 1 >{target}/namespaces/1/buffered_io; "
            f"echo 1 >{target}/namespaces/1/enable; echo tcp >{port}/addr_trtype; echo ipv4 >{port}/addr_adrfam; echo 127.0.0.1 >{port}/addr_traddr; "
            f"echo 4420 >{port}/addr_trsvcid; ln -s {target} {port}/subsystems/lost; "
            "nvme connect -t tcp -a 127.0.0.1 -s 4420 -n lost --ctrl-loss-tmo=3600 --reconnect-delay=2"
        )
        path = self.say("grep -l lost /sys/class/nvme/*/subsysnqn").strip()
        try:
            self.say(f"for i in $(seq 200); do ls -d $(dirname {path})/nvme*n1 && break; usleep 50000; done; rm {port}/subsystems/lost")
            self.say(f"for i in $(seq 200); do [ $(cat $(dirname {path})/state) = connecting ] && exit 0; usleep 50000; done; exit 1")
            yield path.split("/")[4]
        finally:
            self.say(f"nvme disconnect -n lost; echo 0 >{target}/namespaces/1/enable; rmdir {target}/namespaces/1 {target} {port}; rm /tmp/lost.img")

    def test_a_fabric_that_is_lost(self):
        """Its namespace is left, and is none that was measured."""
        with self.lost_fabric() as controller:
            for words in ("--no-load", "--no-load --quiet"):
                document = self.checked(words)
                found = [f for f in document["findings"] if f["rule"] == "drive-dead"]
                self.assertEqual([(f["severity"], f["subjects"]) for f in found], [("FAIL", [controller])], document["findings"])
                self.assertEqual(document["exit_status"], 1)
        self.named("a fabric that is lost", document, {"drive-dead"})

    def test_drive_unplugged_while_it_is_measured(self):
        begun = self.lab.begin(self.checking(self.lab.controller("D")), 120)
        self.lab.wait_for_reads("D", 4096 + 50)
        self.lab.unplug("D")
        try:
            document = self.documented("check", self.lab.finish(begun))
            self.named("unplugged while it is measured", document, {"drive-missing", "io-errors|measurement-failed"}, "D")
        finally:
            self.lab.cut_power()
