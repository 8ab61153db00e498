"""One run of one program: the CPU time that it took, by the kernel's own account, and the I/O that it says it did."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_S = 120


class RunError(Exception):
    """A program that did not do what was asked; the text is for people."""


@dataclass
class Memory:
    """Of the process that was started (fio's jobs are others)."""

    resident_bytes: int = 0  # the most: VmHWM, the program's own pages in the page cache included
    own_bytes: int = 0  # the most that was seen in RssAnon: what nobody shares, and no file backs


@dataclass
class Sample:
    """What one run took. CPU times are the whole process's: its threads, the children it waited for, and the kernel
    threads that io_uring made for it, which end with the process and are counted in it."""

    ios: int
    user_s: float
    system_s: float
    wall_s: float  # the window in which I/O was made, as the program says
    percentiles_ns: dict = field(default_factory=dict)  # of the total latency, or what the program calls it
    memory: Memory = field(default_factory=Memory)

    def less(self, start):
        """This run without what starting and ending takes, and without the few I/Os of that start."""
        ios = self.ios - start.ios
        if ios <= 0:
            raise RunError(f"only {self.ios} I/Os in the run, {start.ios} in the one that measures its start")
        user_s, system_s = (max(a - b, 0.0) for a, b in ((self.user_s, start.user_s), (self.system_s, start.system_s)))
        return Sample(ios, user_s, system_s, self.wall_s, self.percentiles_ns, self.memory)

    @property
    def cpu_ns(self):
        return (self.user_s + self.system_s) * 1e9 / self.ios

    @property
    def user_ns(self):
        return self.user_s * 1e9 / self.ios

    @property
    def system_ns(self):
        return self.system_s * 1e9 / self.ios

    @property
    def iops(self):
        return self.ios / self.wall_s if self.wall_s else 0.0

    def values(self):
        """Every single value, for the JSON document."""
        rates = {"cpu_ns_per_io": self.cpu_ns, "user_ns_per_io": self.user_ns, "system_ns_per_io": self.system_ns, "iops": self.iops}
        return {"ios": self.ios, "user_s": self.user_s, "system_s": self.system_s, "wall_s": self.wall_s, **rates,
                "percentiles_ns": self.percentiles_ns, "memory": vars(self.memory)}  # fmt: skip


@dataclass
class Ended:
    """A process that ended."""

    text: str
    usage: object
    memory: Memory


class Runner:
    """Starts programs pinned to one CPU, at a raised priority where that is allowed."""

    def __init__(self, cpu, directory):
        self.cpu = cpu
        self.raised = os.geteuid() == 0
        # What iodyno keeps of its runs is no part of the machine's own history.
        self._environment = {**os.environ, "IODYNO_STORE": str(Path(directory, "store.sqlite")), "LC_ALL": "C"}

    def _enter(self):
        os.sched_setaffinity(0, {self.cpu})
        if self.raised:
            os.setpriority(os.PRIO_PROCESS, 0, -15)

    def run(self, argv, limit_s=LIMIT_S):
        """Runs it to its end and returns what it printed and used; RunError where it fails."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            started = time.monotonic()
            try:
                child = subprocess.Popen(  # its own session, so that all of it can be ended
                    argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self._environment,
                    preexec_fn=self._enter, start_new_session=True)  # fmt: skip
            except OSError as problem:
                raise RunError(f"{argv[0]}: {problem.strerror}") from problem
            try:
                status, usage, memory = _wait(child, started + limit_s)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                raise
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode(errors="replace"))
        code = os.waitstatus_to_exitcode(status)
        if code:
            raise RunError(f"exit status {code}: {' '.join(argv)}\n{(texts[1] or texts[0])[-1500:].strip()}")
        return Ended(texts[0], usage, memory)

    def like_fio(self, argv):
        """A Sample of a program that writes fio's JSON."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "result.json")
            ended = self.run([*argv, "--output-format=json", f"--output={path}"])
            return _sample(read_fio(path), ended)

    def t_io_uring(self, argv, runtime_s):
        """A Sample of t/io_uring with t_io_uring.patch."""
        ended = self.run([argv[0], f"-r{runtime_s}", *argv[1:]])
        totals = re.findall(r"^total=(\d+)$", ended.text, re.M)
        if not totals:
            raise RunError(f"{argv[0]} prints no total: build it with t_io_uring.patch (see README.md)")
        return Sample(sum(map(int, totals)), ended.usage.ru_utime, ended.usage.ru_stime, float(runtime_s))


def _wait(child, until):
    """wait4 with a limit: subprocess has no way to both wait with a limit and see the usage. The kernel's ru_maxrss
    would be that of this program, from which the child was forked; so the child's own is read while it runs."""
    memory, looked = Memory(), 0.0
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return status, usage, memory
        if time.monotonic() > until:
            raise RunError(f"did not end in time and was killed: {' '.join(child.args)}")
        if time.monotonic() > looked + 0.1:
            looked = time.monotonic()
            with contextlib.suppress(OSError):
                for pid in _family(child.pid):
                    memory = _memory(Path(f"/proc/{pid}/status").read_text(), memory)
        time.sleep(0.02)


def _family(pid):
    """A process and the children that its first thread started: iodyno works in one, fio's jobs are others."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def _memory(status, before):
    """What /proc/PID/status says; of a process that is ending it says nothing."""
    found = dict(re.findall(r"^(VmHWM|RssAnon):\s*(\d+) kB", status, re.M))
    resident, own = (int(found.get(name, 0)) * 1024 for name in ("VmHWM", "RssAnon"))
    return Memory(max(before.resident_bytes, resident), max(before.own_bytes, own))


def read_fio(path):
    """fio's JSON document, also where lines of other text stand before it."""
    text = Path(path).read_text(errors="replace") if Path(path).exists() else ""
    start = re.search(r"^\{", text, re.M)
    try:
        return json.loads(text[start.start() :]) if start else _no_document(text)
    except ValueError as problem:
        raise RunError(f"not JSON: {problem}") from problem


def _no_document(text):
    raise RunError(f"no JSON document in the output: {text[-500:].strip() or 'it is empty'}")


def _sample(document, ended):
    job = document["jobs"][0]
    sides = [job[name] for name in ("read", "write", "trim")]
    ios = sum(side["total_ios"] for side in sides)
    runtime_ms = max(side["runtime"] for side in sides)
    percentiles = {}
    for side in sides:
        for kind in ("clat_ns", "lat_ns"):  # the total, where it is there, stands last
            if side["total_ios"] and "percentile" in side.get(kind, {}):
                percentiles = {float(key): value for key, value in side[kind]["percentile"].items()}
    return Sample(ios, ended.usage.ru_utime, ended.usage.ru_stime, runtime_ms / 1e3, percentiles, ended.memory)
