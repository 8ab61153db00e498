"""Two NUMA nodes, and a drive behind two paths."""

import topology
from cases import measurement
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

    def test_jobs_far_from_their_drive(self):
        for cpu, far in ((0, True), (2, False)):
            job = f"--name=read --rw=randread --bs=4k --direct=1 --number_ios=200 --cpus_allowed={cpu} --filename=/dev/{self.lab.namespace('B')}"
            _, document = self.iodyno(f"run {job}")
            if far:
                self.fires("numa-remote", document, "read")
            else:
                self.assertNotIn("numa-remote", {f["rule"] for f in document["findings"]})
