"""Cases: what iodyno, run in the laboratory, must say. One boot serves them all; each undoes the faults it plants."""

import json
import unittest
from pathlib import Path

import results

DATASHEET = "/root/datasheet.toml"
STORE = "/tmp/iodyno.sqlite"
# So many times its rates a drive is as fast as this machine can make it.
FREE = 20
# Where outputs worth looking at are left.
OUT = Path(__file__).parent.parent / "out"


def long(test):
    """Marks a test that `make test` leaves out: a shorter one goes through the same code there."""
    test.long = True
    return test


class Case(unittest.TestCase):
    """A test in the running laboratory, which the runner puts into `lab`."""

    lab = None
    # Differences are shown in full: a second boot to see the rest costs more than the lines.
    maxDiff = None

    def needs_registers(self):
        """Skips where QEMU's registers could not be written (another version than the one tried)."""
        if not self.lab.registers_set:
            self.skipTest("link registers are set in QEMU 7.2 only")

    def say(self, command, timeout_s=60):
        """What a command in the guest prints; it must succeed."""
        result = self.lab.run(command, timeout_s)
        self.assertEqual(result.status, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def iodyno(self, arguments, timeout_s=60):
        """(exit status, document) of `iodyno --json ...`; standard output must be one JSON document and nothing else."""
        return self.document(arguments, self.lab.run(command(arguments), timeout_s))

    def document(self, arguments, result):
        """(exit status, document) of a Result."""
        try:
            return result.status, json.loads(result.stdout)
        except ValueError:
            self.fail(f"iodyno {arguments} ended with {result.status} and no JSON:\n{result.stdout[:2000]}\n{result.stderr[:2000]}")

    def fires(self, rule, document, what=""):
        """A rule says something, of `what` if that is given; the table of rules names this case."""
        said = [f for f in document["findings"] if f["rule"] == rule]
        told = [text for f in said for text in (f["what"], *f["subjects"], *(e[part] for e in f["evidence"] for part in ("what", "value")))]
        self.assertTrue([text for text in told if what in text], f"{rule} {what}: {said or [f['rule'] for f in document['findings']]}")
        results.fired(rule, self.id())

    def keep(self, name, text):
        """Leaves an output in lab/out."""
        OUT.mkdir(exist_ok=True)
        (OUT / name).write_text(text)

    def no_panic(self, result):
        """A program that panics says so, and ends with 101."""
        self.assertNotIn("panicked", result.stderr)
        self.assertIn(result.status, range(5), result.stderr)


def command(arguments):
    """The guest's command line for iodyno with the laboratory's store and data sheet."""
    verb, _, rest = arguments.partition(" ")
    sheet = f" --datasheet {DATASHEET}" if verb in ("check", "show") else ""
    return f"iodyno {verb} --json --store {STORE}{sheet} {rest}"


def findings(document, subject, rule=""):
    """Findings about a drive or namespace, by any of its names, whose rule contains `rule`."""
    names = {subject, f"{subject}n1"}
    return [f for f in document["findings"] if names & set(f["subjects"]) and rule in f["rule"]]


def severities(found):
    """The severities of findings."""
    return {f["severity"] for f in found}


def measurement(document, name, *targets):
    """The measurement of that name with exactly these targets."""
    found = [m for m in document["measurements"] if m["name"] == name and sorted(m["targets"]) == sorted(targets)]
    if len(found) != 1:
        have = [(m["name"], m["targets"]) for m in document["measurements"]]
        raise AssertionError(f"{len(found)} measurements {name} of {targets}; there are {have}")
    return found[0]
