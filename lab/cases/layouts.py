"""`iodyno layouts` on a spare drive: each layout is built with the system's own tools, measured and taken down, and nothing is left of it."""

import itertools
import json

import topology
from cases.jobs import JobCase

STORE = "/tmp/layouts.sqlite"
# For one command, on a host that has other things to do.
LIMIT_S = 900
PLAN, PLAN_PATH = """
format = "iodyno.plan/1"
name = "short"
fresh = true
[stop]
min_time = "100ms"
max_time = "{time}"
[job]
ioengine = "psync"
direct = 1
bs = "64k"
[grid]
rw = ["read", "randwrite"]
""", "/tmp/short.toml"


class LayoutCase(JobCase):
    """A test that builds on `devices`, named for writing by `words`."""

    devices, words = (), ()
    names = itertools.count(1)

    @property
    def named(self):
        """The drives, and that they may be written."""
        return " ".join([*self.devices, *(f"--allow-write {word}" for word in self.words)])

    def command(self, *layouts, named=None, time="200ms"):
        """The command that measures layouts."""
        self.file(PLAN_PATH, PLAN.format(time=time))
        asked = " ".join(f"--layout '{layout}'" for layout in layouts)
        return f"iodyno layouts --store {STORE} --json --run-name try{next(self.names)} --plan {PLAN_PATH} --range 8m {asked} {self.named if named is None else named}"

    def built(self, *layouts, **more):
        """The Result of a command on layouts."""
        result = self.lab.run(self.command(*layouts, **more), LIMIT_S)
        self.no_panic(result)
        return result

    def measured(self, *layouts, **more):
        """{workload: {layout: its result}} of layouts that all went well."""
        result = self.built(*layouts, **more)
        self.assertEqual(result.status, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "iodyno.layouts/1")
        found = {one["name"]: {r["layout"]: r for r in one["results"]} for one in document["workloads"]}
        for workload, results in found.items():
            for layout, of in results.items():
                self.assertGreater(of["rate"] or 0, 0, f"{workload} on {layout}\n{result.stderr}")
        return found

    def stood(self, found, layout):
        """{kind: block} of what the host had while a layout was measured."""
        run = next(iter(found.values()))[layout]["run"]
        result = self.lab.run(f"iodyno show {run} --json --store {STORE}")
        host = self.document("show", result)[1]["host"]
        return host["blocks"]

    def assert_clean(self):
        """No signature, array, mapping or mount is left, and the journal is empty."""
        for device in self.devices:
            # A drive that was taken out and came back has its name; wipefs of one that is gone fails.
            self.assertEqual(self.say(f"wipefs --no-act {device}"), "", device)
        self.assertNotIn("active", self.say("cat /proc/mdstat"))
        self.assertIn("No devices found", self.say("dmsetup ls 2>&1"))
        self.assertNotIn("/run/iodyno", self.say("cat /proc/mounts"))
        self.assertEqual(self.say("ls /run/iodyno 2>/dev/null || true"), "")
        self.assertEqual(self.cleaned(), [], "the journal still has something")

    def cleaned(self):
        """What `clean-up` says that it undid: [(what, how)]."""
        said = self.say(f"iodyno clean-up --store {STORE}", LIMIT_S)
        return [] if said == "No leftovers found.\n" else [tuple(line.rsplit(": ", 1)) for line in said.splitlines()]


class Layouts(LayoutCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab.load("layouts")
        controller = cls.enterClassContext(cls.lab.spare())
        cls.devices = [f"/dev/{controller}n{nsid}" for nsid in topology.SPARE_NAMESPACES]
        cls.words = [f"{topology.SPARE_SERIAL}:{nsid}" for nsid in topology.SPARE_NAMESPACES]

    def test_built_measured_and_taken_down(self):
        found = self.measured("raw", "lvm-stripe:64k", "md0+crypt+ext4")
        labels = {"raw", "2 raw at once", "lvm-stripe:64k", "md0:512k+crypt+ext4"}
        self.assertEqual([set(results) for results in found.values()], [labels] * 2)
        self.keep("layouts.json", json.dumps(self.stood(found, "md0:512k+crypt+ext4")))
        self.assert_clean()

    def test_nothing_is_written_unless_all_is_in_order(self):
        """Without permission, without a tool, with a drive in use or too few of them."""
        def check(said, *layouts, **more):
            before = [self.lab.spare_checksum(nsid) for nsid in topology.SPARE_NAMESPACES]
            result = self.built(*layouts, **more)
            self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
            for word in said:
                self.assertIn(word, result.stderr)
            self.say("sync")
            self.assertEqual([self.lab.spare_checksum(nsid) for nsid in topology.SPARE_NAMESPACES], before)

        first, second = self.devices
        check(["--allow-write"], "raw", "md0", named=f"{first} {second} --allow-write {self.words[0]}")
        check(["3 drives"], "md5")
        self.say("mv /bin/mkfs.xfs /bin/kept")
        try:
            check(["mkfs.xfs", "xfsprogs"], "raw", "xfs")
        finally:
            self.say("mv /bin/kept /bin/mkfs.xfs")
        self.say(f"mkfs.ext4 -q {second}")
        check(["holds unused data", "ext4", "--discard-data"], "raw", "md0")
        self.say(f"mount -o ro -t ext4 {second} /mnt")
        try:
            check(["is in use", "mounted at /mnt"], "raw", "md0")
        finally:
            self.say(f"umount /mnt; wipefs --all --quiet {second}")

    def test_what_somebody_makes_between_two_trials_is_not_taken(self):
        """A file system on the second drive, while the first is measured alone."""
        _, second = self.devices
        self.say("; ".join(f"blkdiscard {device}" for device in self.devices))
        result = self.lab.run(
            f"{self.command('raw', time='2s')} >/tmp/out 2>/tmp/err & pid=$!; until grep -q '1 of 2' /tmp/err || ! kill -0 $pid; do usleep 10000; done; "
            f"mkfs.ext4 -q {second} >&2; wait $pid; status=$?; cat /tmp/err >&2; exit $status", LIMIT_S)
        self.no_panic(result)
        try:
            self.assertEqual(result.status, 3, result.stderr)
            for word in ["holds unused data", "ext4", "--discard-data"]:
                self.assertIn(word, result.stderr)
            self.assertIn("ext4", self.say(f"wipefs --no-act {second}"))
        finally:
            self.say(f"wipefs --all --quiet {second}")
        self.assert_clean()
