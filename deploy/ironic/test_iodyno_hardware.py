"""The clean step without Ironic: its module is stood in for, and so is iodyno."""

import os
import sys
import tempfile
import types
import unittest

agent = types.ModuleType("ironic_python_agent")
agent.errors = types.SimpleNamespace(CleaningError=type("CleaningError", (Exception,), {}))
agent.hardware = types.SimpleNamespace(
    HardwareManager=object, HardwareSupport=types.SimpleNamespace(NONE=0, SERVICE_PROVIDER=3))
sys.modules["ironic_python_agent"] = agent
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import iodyno_hardware  # noqa: E402


class Step(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", self.path)

    def binary(self, script):
        path = os.path.join(self.folder.name, "iodyno")
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)
        os.environ["PATH"] = f"{self.folder.name}:{self.path}"

    def test_it_is_offered_where_the_binary_is(self):
        manager = iodyno_hardware.IodynoHardwareManager()
        os.environ["PATH"] = self.folder.name
        self.assertEqual(manager.evaluate_hardware_support(), 0)
        self.binary("exit 0")
        self.assertEqual(manager.evaluate_hardware_support(), 3)
        self.assertEqual([step["step"] for step in manager.get_clean_steps({}, [])], ["accept_storage"])

    def test_words_and_verdict(self):
        log = os.path.join(self.folder.name, "log")
        self.binary(f'echo "$@" > {log}; [ "$2" = check ] || {{ echo "iodyno: link-degraded S1: x"; exit 1; }}')
        manager = iodyno_hardware.IodynoHardwareManager()
        node = {"driver_info": {"iodyno_push": "@/etc/iodyno/url"}}
        manager.accept_storage(node, [], deadline="5m")
        with open(log) as file:
            self.assertEqual(file.read().split(),
                             "accept check --deadline 5m --drain-hint --quiet --push @/etc/iodyno/url".split())
        with self.assertRaisesRegex(agent.errors.CleaningError, "link-degraded S1"):
            manager.accept_storage({}, [], profile="write", targets=["/dev/x"], allow_write=["S1"])
        with open(log) as file:
            self.assertIn("write /dev/x --deadline 30m --drain-hint --quiet --allow-write S1", file.read())


if __name__ == "__main__":
    unittest.main()
