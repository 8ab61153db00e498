"""What `iodyno check --no-load` finds: links, health, inventory; and that it finds nothing once a fault is gone."""

import topology
from cases import Case, findings, severities


class Faults(Case):
    def look(self, arguments=""):
        """(exit status, document) of a look without load."""
        return self.iodyno(f"check --no-load {arguments}")

    def found(self, drive, arguments="", rule=""):
        _, document = self.look(arguments)
        return findings(document, self.lab.controller(drive), rule)

    def test_links(self):
        self.needs_registers()
        status, document = self.look()
        self.assertEqual(status, 1)
        degraded = findings(document, self.lab.controller("C"), "link")
        self.assertIn("FAIL", severities(degraded))
        evidence = " ".join(e["value"] for f in degraded for e in f["evidence"])
        self.assertIn("Gen3 x2", evidence)
        self.assertIn("Gen4 x4", evidence)
        uplink = [f for f in document["findings"] if "shared" in f["rule"] or "oversubscribed" in f["rule"]]
        self.assertIn("WARN", severities(uplink), document["findings"])
        self.fires("link-degraded", document, self.lab.controller("C"))
        self.fires("link-oversubscribed", document, self.lab.controller("A"))
        for name in "ABDEFG":
            self.assertNotIn("FAIL", severities(findings(document, self.lab.controller(name))), name)

    def test_other_firmware(self):
        self.needs_registers()
        _, document = self.look()
        self.assertIn("WARN", severities(f for f in document["findings"] if "firmware" in f["rule"]))
        self.fires("firmware-differs", document)

    def test_healthy_drive_is_left_alone(self):
        self.needs_registers()
        for name in "FG":
            self.assertEqual([f for f in self.found(name) if f["severity"] == "FAIL"], [])

    def test_critical_warnings(self):
        for bits, severity in ((0x01, "FAIL"), (0x02, "WARN"), (0x04, "FAIL"), (0x08, "FAIL")):
            with self.subTest(bits=bits), self.lab.critical_warning("G", bits):
                self.assertIn(severity, severities(self.found("G")))
        self.assertNotIn("FAIL", severities(self.found("G")))

    def test_temperature(self):
        self.needs_registers()
        with self.lab.temperature("G", 365):
            hot = self.found("G")
            self.assertIn("WARN", severities(hot))
            self.assertNotIn("FAIL", severities(hot))

    def test_target_speed_below_capability(self):
        self.needs_registers()
        with self.lab.target_generation("G", 3):
            _, document = self.look()
        self.assertIn("WARN", severities(findings(document, self.lab.controller("G"), "target")))
        self.fires("link-target-speed", document, self.lab.controller("G"))
        self.assertEqual(self.found("G", rule="target"), [])

    def test_function_without_driver(self):
        address = self.lab.address("G")
        with self.lab.without_driver("G"):
            status, document = self.look()
            self.assertEqual(status, 1)
            self.assertIn("FAIL", severities(f for f in document["findings"] if address in f["subjects"]))
        _, document = self.look()
        self.assertEqual([f for f in document["findings"] if address in f["subjects"] and f["severity"] == "FAIL"], [])

    def test_missing_drive(self):
        serials = ", ".join(f'"{serial}"' for serial in [*(d.serial for d in topology.DRIVES), "LABX0001"])
        self.say(f"echo 'serials = [{serials}]' > /tmp/expect.toml")
        status, document = self.look("--expect /tmp/expect.toml")
        self.assertEqual(status, 1)
        self.assertTrue(any("LABX0001" in str(f) for f in document["findings"] if f["severity"] == "FAIL"))
        self.fires("drive-missing", document)
