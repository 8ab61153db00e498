"""Kernels of years ago: nothing is found where nothing is wrong, and what they lack is done without and said."""

import packages
import topology
from cases import command
from cases.recording import counted
from cases.scenario import Scenario, above_info

MACHINES = topology.OLD_MACHINES
# Since when io_uring has what iodyno uses of it.
URING = (5, 6)
# Since when its structures are those that record's programs follow.
PROGRAMS = (5, 15)


class OldKernel(Scenario):
    def version(self):
        return tuple(int(part) for part in self.say("uname -r").split(".")[:2])

    def has_uring(self):
        return self.version() >= URING

    def job(self, engine):
        where = f"--filename=/dev/{self.lab.namespace('A')}"
        return command(f"run --name=r --rw=randread --bs=4k --direct=1 --runtime=1 --time_based {where} --ioengine={engine}")

    def test_kernel_is_the_one_drawn(self):
        (drawn,) = (version for version, kernel in packages.OLD_KERNELS.items() if kernel == self.lab.topology.kernel)
        self.assertTrue(self.say("uname -r").startswith(f"{drawn}."))
        if missing := set(packages.OLD_KERNELS) - set(packages.old_kernels()):
            self.skipTest(f"without LAB_UBUNTU also no {', '.join(sorted(missing))}")

    def test_nothing_is_found(self):
        self.needs_registers()
        words = command("check --time 2")
        document = self.documented(words, self.lab.run(words, 600))
        self.assertEqual([(f["rule"], f["severity"], f["what"]) for f in above_info(document)], [])
        engine = "io_uring" if self.has_uring() else "libaio"
        self.assertEqual({of["workload"]["ioengine"] for of in document["measurements"]}, {engine})

    def test_a_summary_is_counted(self):
        by = "bpf" if self.version() >= PROGRAMS else "tracefs"
        self.assertEqual(counted(self, self.lab.namespace("A"))["source"], by)

    def test_every_engine_measures_or_says_why_not(self):
        for engine in ("auto", "libaio", "psync", "pvsync2", "mmap", "posixaio", "io_uring"):
            with self.subTest(engine):
                result = self.lab.run(self.job(engine), 120)
                self.no_panic(result)
                (of,) = self.document(self.job(engine), result)[1]["measurements"]
                if engine == "io_uring" and not self.has_uring():
                    self.assertEqual(result.status, 3)
                    self.assertIn("older than Linux 5.6", str(of))
                else:
                    self.assertEqual(result.status, 0, result.stderr)
                    taken = "io_uring" if self.has_uring() else "libaio"
                    self.assertEqual(of["workload"]["ioengine"], taken if engine == "auto" else engine)

    def test_without_io_uring(self):
        words = self.job("auto")
        document = self.documented(words, self.lab.run(f"without_io_uring 38 {words}", 120))
        (of,) = document["measurements"]
        self.assertEqual(of["workload"]["ioengine"], "libaio")
        self.assertIn("io_uring", of["conditions"]["engine_reason"])
