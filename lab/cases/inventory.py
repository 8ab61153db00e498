"""`iodyno list` against nvme-cli, lspci and sysfs, field by field."""

import json
import re

import topology
from cases import Case

GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}


class Inventory(Case):
    @classmethod
    def setUpClass(cls):
        cls.listed = None

    def list(self):
        if Inventory.listed is None:
            status, Inventory.listed = self.iodyno("list")
            self.assertEqual(status, 0)
        return Inventory.listed

    def drives(self):
        return {drive["serial"]: drive for drive in self.list()["drives"]}

    def test_drives_agree_with_nvme_cli(self):
        theirs = json.loads(self.say("nvme list -o json"))["Devices"]
        ours = self.drives()
        self.assertEqual(sorted(ours), sorted(d["SerialNumber"] for d in theirs))
        for drive in theirs:
            mine = ours[drive["SerialNumber"]]
            namespace = mine["namespaces"][0]
            self.assertEqual(
                (mine["model"], mine["firmware"], f"/dev/{namespace['name']}", namespace["size_bytes"]),
                (drive["ModelNumber"], drive["Firmware"], drive["DevicePath"], drive["PhysicalSize"]),
            )
            self.assertEqual(namespace["logical_block_bytes"], drive["SectorSize"])
            self.assertEqual(namespace["used_bytes"], drive["UsedBytes"])

    def test_health_agrees_with_nvme_cli(self):
        for drive in topology.DRIVES:
            theirs = json.loads(self.say(f"nvme smart-log -o json /dev/{self.lab.controller(drive.name)}"))
            mine = self.drives()[drive.serial]
            self.assertAlmostEqual(mine["temperature_c"] + 273, theirs["temperature"], delta=1)
            for ours, key in (
                ("critical_warning", "critical_warning"),
                ("available_spare_percent", "avail_spare"),
                ("used_percent", "percent_used"),
                ("power_cycles", "power_cycles"),
                ("media_errors", "media_errors"),
            ):
                self.assertEqual(mine["health"][ours], int(theirs[key]), f"{drive.serial} {ours}")

    def test_addresses_and_links_agree_with_lspci(self):
        self.needs_registers()
        links = {link["name"]: link for link in self.list()["links"]}
        for drive in topology.DRIVES:
            address = self.lab.address(drive.name)
            mine = self.drives()[drive.serial]
            self.assertEqual(mine["address"], address)
            text = self.say(f"lspci -n -vv -s {address}")
            now = re.search(r"LnkSta:\s*Speed ([\d.]+)GT/s\S*(?: \(\w+\))?, Width x(\d+)", text)
            able = re.search(r"LnkCap:.*Speed ([\d.]+)GT/s, Width x(\d+)", text)
            link = links[address]
            self.assertEqual((link["in_use"]["generation"], link["in_use"]["width"]), (GENERATIONS[now[1]], int(now[2])))
            self.assertEqual((link["device"]["max_generation"], link["device"]["max_width"]), (GENERATIONS[able[1]], int(able[2])))

    def test_drives_behind_the_switch_share_their_uplink(self):
        paths = {d.name: self.drives()[d.serial]["links"] for d in topology.DRIVES}
        self.assertEqual([len(paths[name]) for name in "ABCDEFG"], [2, 2, 1, 1, 1, 1, 1])
        self.assertEqual(paths["A"][0], paths["B"][0])
        self.assertNotEqual(paths["A"][1], paths["B"][1])

    def test_text_at_forty_columns(self):
        text = self.say("COLUMNS=40 iodyno list")
        for drive in topology.DRIVES:
            self.assertIn(drive.serial, text)

    def test_ordinary_user_is_told_how_to_get_the_rest(self):
        self.say("printf 'root:x:0:0::/root:/bin/sh\\nnobody:x:65534:65534::/tmp:/bin/sh\\n' > /etc/passwd")
        asked = self.lab.run("su -s /bin/sh nobody -c 'iodyno check --store /tmp/nobody.sqlite -v --require-verdict'", 60)
        self.no_panic(asked)
        # C's degraded link is seen without root, and outweighs what could not be judged.
        self.assertEqual(asked.status, 1 if self.lab.registers_set else 4, asked.stderr)
        for drive in topology.DRIVES:
            self.assertIn(drive.serial, asked.stdout)
        self.assertIn("no permission to read it", asked.stdout)
        self.assertRegex(asked.stdout + asked.stderr, r"sudo \S*iodyno check --store /tmp/nobody.sqlite")
