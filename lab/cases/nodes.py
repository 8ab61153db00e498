"""Two NUMA nodes, and a drive behind two paths."""

import contextlib

import topology
from cases import command, measurement
from cases.scenario import Scenario

MACHINE = topology.TWO_NODES


class Nodes(Scenario):
    def listed(self):
        """{serial: drive} of `iodyno list`."""
        _, document = self.iodyno("list")
        return {drive["serial"]: drive for drive in document["drives"]}

    def test_planted(self):
        self.assertEqual(self.say("cat /sys/devices/system/node/node1/cpulist"), "2-3\n")
        address = self.lab.address("B")
        self.assertEqual(self.say(f"cat /sys/bus/pci/devices/{address}/numa_node"), "1\n")
        paths = self.say("nvme list-subsys /dev/" + self.lab.namespace("C"))
        self.assertEqual(paths.count(" pcie "), 2, paths)

    def test_a_drive_at_each_node(self):
        self.assertEqual(self.listed()["LABB0001"]["numa_node"], 1)

    def test_two_paths_are_one_drive(self):
        drives = self.listed()
        self.assertEqual(len(drives), len(self.lab.topology.drives))
        namespaces = [namespace["name"] for namespace in drives["LABC0001"]["namespaces"]]
        self.assertEqual(namespaces, [self.lab.namespace("C")])

    def test_it_is_measured_once(self):
        document = self.checked()
        self.keep("nodes.json", str(document))
        found = measurement(document, "seq-read", self.lab.namespace("C"))
        self.assertGreater(found["read"]["bandwidth"]["value"], 0.9 * topology.HEALTHY.bandwidth)
        self.named("two NUMA nodes and two paths, which are no fault", document, set())
        self.fires("one-path-used", document, "one of the 2 paths")
        # The drive with two paths is left with QEMU's own name.
        self.fires("virtual-disk", document, self.lab.controller("C"))

    def test_two_paths_are_one_drive_that_is_expected(self):
        for count, missing in ((3, False), (4, True)):
            self.say(f"echo drives = {count} >/tmp/expect.toml")
            _, document = self.iodyno("check --no-load --expect /tmp/expect.toml")
            self.assertEqual("drive-missing" in {f["rule"] for f in document["findings"]}, missing, count)

    def test_what_reaches_a_head_is_counted_at_its_paths(self):
        """Linux 6.1 counts nothing at the head: that is no page cache which answers."""
        device = f"/dev/{self.lab.namespace('C')}"
        for direct in (1, 0):
            self.say("echo 3 >/proc/sys/vm/drop_caches")
            _, document = self.iodyno(f"run --name=r --rw=read --bs=256k --size=32m --direct={direct} --filename={device}")
            self.assertNotIn("counters-differ", {f["rule"] for f in document["findings"]}, direct)
            self.assertNotEqual(document["measurements"][0]["validity"], "INVALID", direct)

    def test_jobs_far_from_their_drive(self):
        for cpu, far in ((0, True), (2, False)):
            job = f"--name=read --rw=randread --bs=4k --direct=1 --number_ios=200 --cpus_allowed={cpu} --filename=/dev/{self.lab.namespace('B')}"
            _, document = self.iodyno(f"run {job}")
            if far:
                self.fires("numa-remote", document, "read")
            else:
                self.assertNotIn("numa-remote", {f["rule"] for f in document["findings"]})

    @contextlib.contextmanager
    def one_path_in_user_space(self):
        """One of the two controllers of drive C is with a driver for programs (SPDK), as one that is passed to a guest is."""
        self.lab.load("user_space")
        controllers = [path.split("/")[4] for path in self.say("grep -l LABC0001 /sys/class/nvme/*/serial").split()]
        address = self.say(f"basename $(readlink -f /sys/class/nvme/{controllers[-1]}/device)").strip()
        device, drivers = f"/sys/bus/pci/devices/{address}", "/sys/bus/pci/drivers"
        self.say(f"echo {address} >{drivers}/nvme/unbind; echo uio_pci_generic >{device}/driver_override; echo {address} >{drivers}/uio_pci_generic/bind")
        try:
            yield
        finally:
            self.say(f"echo {address} >{drivers}/uio_pci_generic/unbind; echo >{device}/driver_override; echo {address} >{drivers}/nvme/bind")
            self.say("for i in $(seq 200); do [ $(grep -l LABC0001 /sys/class/nvme/*/serial | wc -l) = 2 ] && exit 0; usleep 50000; done; exit 1")

    def test_a_path_that_this_machine_does_not_have_is_asked_for(self):
        device = f"/dev/{self.lab.namespace('C')}"
        write = f"--allow-write LABC0001 --discard-data LABC0001 --name=w --rw=randwrite --bs=4k --size=64k --offset=16m --direct=1 --filename={device}"
        run = lambda words: self.lab.run(command(f"run {words}"))
        self.assertEqual(run(write).status, 0, "both paths are this machine's")
        with self.one_path_in_user_space():
            before = self.lab.writes("C")
            result = run(write)
            self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
            for word in ("cannot verify", "controller ", "--assume-unused LABC0001"):
                self.assertIn(word, result.stderr)
            self.assertEqual(self.lab.writes("C"), before, "drive C was written")
            self.assertEqual(run(f"--assume-unused LABC0001 {write}").status, 0)

    def test_reads_of_others_through_both_paths_are_seen(self):
        device = f"/dev/{self.lab.namespace('C')}"
        # Linux 6.1 counts nothing at the head.
        begun = self.lab.begin(f"(while [ ! -e /tmp/enough ]; do dd if={device} of=/dev/null bs=256k count=100 iflag=direct 2>/dev/null; done) & iodyno check {device} --time 2; touch /tmp/enough; wait; rm /tmp/enough", 120)
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.assertIn("is busy, skipped", result.stdout + result.stderr)
