"""What a control group does not let through is no fault of drive or CPU."""

import contextlib

import topology
from cases import DATASHEET, FREE, STORE, command
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
HIERARCHY, GROUP = "/sys/fs/cgroup", "lab/inner"
STREAM, SMALL = "rw=read bs=256k iodepth=32", "rw=randread bs=4k iodepth=32"


class ControlGroups(Scenario):
    @contextlib.contextmanager
    def grouped(self, controllers, **settings):
        """A control group with these settings, and one in it, in which commands run."""
        controllers = " ".join(f"+{name}" for name in controllers.split())
        write = "; ".join(f"echo '{value}' >{HIERARCHY}/lab/{name.replace('_', '.')}" for name, value in settings.items())
        self.say(
            f"grep -q ' {HIERARCHY} ' /proc/mounts || mount -t cgroup2 none {HIERARCHY}; set -e; echo {controllers} >{HIERARCHY}/cgroup.subtree_control; "
            f"mkdir -p {HIERARCHY}/{GROUP}; {write}"
        )
        try:
            yield
        finally:
            self.say(f"rmdir {HIERARCHY}/{GROUP} {HIERARCHY}/lab")

    def inside(self, words, timeout_s=300):
        """The document of an iodyno that runs in the inner group."""
        result = self.lab.run(f"echo $$ >{HIERARCHY}/{GROUP}/cgroup.procs; {words}", timeout_s)
        return self.documented(words, result)

    def number(self, drive):
        return self.say(f"cat /sys/class/block/{self.lab.namespace(drive)}/dev").strip()

    def explained_inside(self, workload):
        (of,) = self.inside(f"iodyno explain --json --budget 30s --store {STORE} --datasheet {DATASHEET} /dev/{self.lab.namespace('A')} {workload}")["explained"]
        self.keep(f"explain-{self.id()}.json", str(of))
        return of

    def test_io_max_of_a_parent(self):
        half = topology.HEALTHY.bandwidth // 2
        with self.grouped("io cpu", io_max=f"{self.number('A')} rbps={half}"):
            document = self.inside(command(f"check --time 2 {self.lab.controller('A')}"))
            self.named("a control group's io.max", document, {"cgroup-limit", "below-claim"}, "A")
            self.assertNotIn("FAIL", {f["severity"] for f in document["findings"]})
            self.assertIn("io.max of control group /lab ", str(document["measurements"][0]["reasons"]))
            of = self.explained_inside(STREAM)
        self.limited("a control group's io.max", of, "control-group")
        self.assertIn("io.max of control group /lab ", of["sentence"])
        # Where its reads wait is measured, too.
        (held,) = (suspect for suspect in of["suspects"] if suspect["limiter"] == "before-device")
        self.assertEqual(held["standing"], "confirmed", held)

    def test_io_max_that_is_not_reached(self):
        with self.grouped("io cpu", io_max=f"{self.number('A')} rbps={4 * topology.HEALTHY.bandwidth}"):
            document = self.inside(command(f"check --time 2 {self.lab.controller('A')}"))
            self.named("a control group's io.max, which is not reached", document, set())

    def test_cpu_max(self):
        with self.lab.throttled("A", FREE), self.grouped("io cpu", cpu_max="30000 100000"):
            of = self.explained_inside(SMALL)
        self.limited("a control group's cpu.max", of, "control-group")
        self.assertIn("cpu.max (0.30 CPUs) of control group /lab ", of["sentence"])

    def test_shared_out_by_cost(self):
        number = self.number("A")
        with self.grouped("io cpu"):
            self.say(f"echo '{number} ctrl=user model=linear rbps=5000000 rseqiops=200 rrandiops=200 wbps=5000000 wseqiops=200 wrandiops=200' >{HIERARCHY}/io.cost.model")
            self.say(f"echo '{number} enable=1 ctrl=user min=100 max=100' >{HIERARCHY}/io.cost.qos")
            try:
                document = self.inside(command(f"check --time 2 {self.lab.controller('A')}"))
                job = f"--name=r --rw=randread --bs=4k --iodepth=32 --direct=1 --runtime=2 --time_based --filename=/dev/{self.lab.namespace('A')}"
                by_libaio = self.inside(command(f"run {job} --ioengine=libaio"))
            finally:
                self.say(f"echo '{number} enable=0' >{HIERARCHY}/io.cost.qos")
            self.fires("cgroup-limit", document, "io.cost.qos")
            self.assertNotIn("FAIL", {f["severity"] for f in document["findings"]})
            self.named("shares by cost (io.cost)", by_libaio, {"cgroup-limit"}, "A")
            self.assertIn("stalled its threads", str(by_libaio["measurements"][0]["reasons"]))
