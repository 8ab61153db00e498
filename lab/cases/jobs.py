"""What the cases of `iodyno run` share: a job on a drive, and what came of it."""

import re

from cases import FREE, Case, command

SMALL = "--bs=4k --size=64k --offset=16m --direct=1"


class JobCase(Case):
    """A test that runs jobs; on drive F they are not held back, since nothing here stands on its rates."""

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(cls.lab.throttled("F", FREE))

    def job(self, words, before="", timeout_s=90):
        """The Result of `iodyno run`, which never panics."""
        result = self.lab.run(f"{before} {command('run ' + words)}", timeout_s)
        self.no_panic(result)
        return result

    def played(self, words, before="", timeout_s=90):
        """(Result, document) of jobs that ran to their end. Findings about other drives do not matter."""
        result = self.job(words, before, timeout_s)
        self.assertIn(result.status, (0, 1), f"{words}\n{result.stderr}\n{result.stdout[:500]}")
        return result, self.document(words, result)[1]

    def refused(self, words, *said):
        """What is said on standard error where jobs are refused before anything is issued."""
        result = self.job(words)
        self.assertEqual((result.status, result.stdout), (2, ""), f"{words}\n{result.stderr}")
        for word in said:
            self.assertIn(word, result.stderr, words)
        return result.stderr

    def file(self, path, text):
        """Puts a file into the guest."""
        self.say(f"cat > {path} <<'END'\n{text}\nEND")
        return path

    def bytes_of(self, device, offset, length):
        """MD5 of what the block device holds there, past the page cache."""
        return self.say(
            f"dd if=/dev/{device} bs=4096 skip={offset // 4096} count={length // 4096} iflag=direct 2>/dev/null | md5sum"
        ).split()[0]

    def interrupts(self, controller):
        """How many interrupts the I/O queues of a controller have raised."""
        lines = self.say("cat /proc/interrupts").splitlines()
        of = [line for line in lines if re.search(rf"\b{controller}q[1-9]", line)]
        return sum(int(word) for line in of for word in line.split()[1:3])


def named(document, name):
    """The measurement of that name."""
    return next(m for m in document["measurements"] if m["name"] == name)


def shortfalls(measured):
    """What a measurement's conditions fell short of, as one text."""
    return " ".join(one["text"] for one in measured["conditions"]["shortfalls"])
