#!/usr/bin/env python3
"""Job files as people have them: each one that uses a local I/O engine must run, or be refused with the option named.

    python3 crosscheck/wild.py --binary target/release/iodyno --corpus DIRECTORY
    python3 crosscheck/wild.py --binary target/release/iodyno --corpus DIRECTORY --only ceph --keep

It needs fio: what does not run is shown to it as well. The corpus has NNN-name.fio.txt files. Of each a copy is made in which only that differs which a user would have to change
as well: paths are below a temporary directory, devices are files of the same name there, sizes are scaled by one factor
for the file, times and numbers of clones, loops and files are capped, ${NAME} comes from the environment. Options are as they were.
The last lines count; the exit status is 1 where less than --share run, or one neither runs nor is refused by name.
"""

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# What reads and writes files and devices of this machine through its kernel. No engine is fio's default, psync.
LOCAL = {"sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "io_uring_cmd", "mmap", "splice", "sg"}
LARGEST = 16 << 20
DEVICE_BYTES = 160 << 20
# Nothing may fill the disk by mistake.
FILE_BYTES = 1 << 30
LIMIT_S = 60
# For job files that leave it to the command line.
SIZE = "--size=4m"
CLONES = 4
LOOPS = 2
FILES = 100
SIZES = {"size", "filesize", "file_size", "io_size", "io_limit", "offset", "file_offset", "start_offset", "offset_increment",
         "zonesize", "zonerange", "zoneskip"}  # fmt: skip
TIMES = {"runtime", "timeout", "ramp_time", "startdelay", "start_delay", "steadystate_duration", "ss_dur", "steadystate_ramp_time",
         "ss_ramp", "steadystate_check_interval", "ss_interval"}  # fmt: skip
CAPPED = {"numjobs": CLONES, "loops": LOOPS, "nrfiles": FILES}
PATHS = re.compile(r"filename|directory|opendir|read_iolog|write_(bw|lat|iops|hist)_log|write_iolog|aux-path")
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
# The words to type, as iodyno prints them.
ADVICE = re.compile(r"(--(?:allow-write|discard-data)) (\S+?)[`,.;)]*(?:\s|$)")


def variable(name, root):
    """A value that a variable of this name may well have."""
    low = name.lower()

    def has(*parts):
        return any(part in low for part in parts)

    if has("engine", "eng"):
        return "libaio"
    if has("sync_type"):
        return "dsync"
    if has("read_type"):
        return "randread"
    if has("rw", "mode", "pattern", "operation", "job_type") and not has("mix", "percent"):
        return "randread"
    if has("bs", "blk", "block") and not has("job"):
        return "4k"
    if has("ramp", "time") and not has("think"):
        return "1"
    if has("size"):
        return "16m"
    if has("direct", "sync", "report") and not has("directory"):
        return "1"
    if has("dir", "mount", "path", "cont", "pool"):
        return f"{root}/mnt/data"
    if has("dev", "disk", "file") and not has("nr", "num"):
        return f"{root}/dev/nvme0n1"
    return "4"


def number(text):
    """Bytes of `10g`; None for what is no plain size."""
    match = re.fullmatch(r"(\d+)\s*([kmgtp]?)(?:i?b)?", text.strip().lower())
    return int(match[1]) * UNITS[match[2]] if match else None


class Copy:
    """A job file made to fit a directory."""

    def __init__(self, text, root, beside=""):
        """`beside`: another job file that works on the same files."""
        self.root, self.environment = Path(root), {}
        self.folders, self.devices = set(), set()
        self.block = max([4096, *self._blocks(text)])
        self.factor = max(1, -(-max([0, *self._sizes(text), *self._sizes(beside)]) // max(LARGEST, 2 * self.block)))
        self.text = "".join(map(self._line, text.splitlines(keepends=True)))

    @staticmethod
    def _options(text):
        for line in text.splitlines():
            if match := re.match(r"\s*([A-Za-z_-]+)\s*=\s*([^;#]*)", line):
                yield match[1].lower(), match[2].strip()

    def _sizes(self, text):
        for name, value in self._options(text):
            if name in SIZES:
                yield from (size for part in value.split("-") if (size := number(part)))

    def _blocks(self, text):
        for name, value in self._options(text):
            if name in ("bs", "blocksize", "bsrange"):
                yield from (size for part in re.split("[-,]", value) if (size := number(part)) and size <= FILE_BYTES)

    def _line(self, line):
        match = re.match(r"(\s*)([A-Za-z_-]+)(\s*=\s*)([^;#\n\r]*?)(\s*(?:[;#\n\r].*)?)$", line, re.S)
        for name in re.findall(r"\$\{([A-Za-z_0-9]+)\}", line):
            self.environment[name] = variable(name, self.root)
        if not match or line.lstrip()[:1] in (";", "#", "["):
            return line
        indent, name, equals, value, rest = match.groups()
        return indent + name + equals + self._value(name.lower(), value) + rest

    def _value(self, name, value):
        if name in SIZES:
            return "-".join(self._size(part, name) for part in value.split("-"))
        if name in TIMES and value[:1].isdigit():
            return self._time(value, name)
        if name in CAPPED and value.isdigit():
            return str(min(int(value), CAPPED[name]))
        if name == "cpus_allowed":
            beyond = any(int(cpu) >= os.cpu_count() for cpu in re.findall(r"\d+", value))
            return f"0-{os.cpu_count() - 1}" if beyond else value
        if PATHS.fullmatch(name):
            return self._paths(name, value)
        return value

    def _size(self, text, name):
        if "$mb_memory" in text:
            return str(LARGEST)
        size = number(text)
        if not size or self.factor == 1:
            return text
        blocks = size // self.factor // self.block
        return str((blocks if "offset" in name else max(1, blocks)) * self.block)

    @staticmethod
    def _time(text, name):
        digits, unit = re.match(r"(\d+)\s*(.*)", text).groups()
        short = {"us", "usec", "ms", "msec"}
        if unit in short or int(digits) == 0:
            return text
        return {"startdelay": "200ms", "start_delay": "200ms", "ramp_time": "200ms", "steadystate_duration": "2", "ss_dur": "2"}.get(name, "1")

    def _paths(self, name, value):
        parts = []
        for part in value.split(":") if value.count("/dev/") > 1 or name == "directory" else [value]:
            if part.startswith("/") and not part.startswith(str(self.root)) and part not in ("/dev/null", "/dev/zero"):
                part = f"{self.root}{part}"
            expanded = re.sub(r"\$\{([A-Za-z_0-9]+)\}", lambda m: variable(m[1], self.root), part).rstrip("/")
            path = Path(self.root, "work", expanded)
            self.folders.add(path if name in ("directory", "opendir") else path.parent)
            if f"{self.root}/dev/" in expanded + "/" and name == "filename":
                self.devices.add(path)
            parts.append(part)
        return ":".join(parts)

    def prepare(self):
        """Makes folders, and the files that stand for devices."""
        for folder in (self.root / "work", *self.folders):
            folder.mkdir(parents=True, exist_ok=True)
        for device in self.devices:
            with open(device, "wb") as file:
                file.truncate(DEVICE_BYTES)


KINDS = {
    "runs": "runs",
    "refused": "is refused, with the line and the option",
    "fails": "neither runs nor is refused",
    "neither": "fio refuses it, or fails, as well",
    "other": "is for another engine, or no job file",
}


@dataclass
class Fate:
    """What became of a job file."""

    name: str
    kind: str  # one of KINDS
    reason: str = ""


def engines(text):
    found = {re.sub(r"\$\{.*\}", "libaio", value) for name, value in Copy._options(text) if name == "ioengine"}
    return {engine.split(":")[0] for engine in found if engine} or {"psync"}


def call(argv, root, environment, limit_s=LIMIT_S):
    """Exit status and what it said."""
    child = subprocess.Popen(argv, cwd=root / "work", text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env={**os.environ, **environment}, start_new_session=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES)))  # fmt: skip
    try:
        said, _ = child.communicate(timeout=limit_s)
        return child.returncode, said
    except subprocess.TimeoutExpired:
        return None, f"did not end within {limit_s} s"
    finally:
        if child.poll() is None:
            # fio's jobs are in sessions of their own, and hold the pipe.
            while left := list(working_in(root)):
                for pid in left:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                child.poll()
            child.communicate()


def working_in(root):
    """Processes that work in a folder below `root`, but for zombies."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((folder / "cwd").readlink()).startswith(f"{root}/"):
                yield int(folder.name)


def included(path, text, root):
    """Copies what it includes; the first that the corpus has not."""
    for name in re.findall(r"^\s*include\s+(\S+)", text, re.M):
        there = [other for other in path.parent.glob(f"*-{name}.txt")]
        if not there:
            return name
        copy = Copy(there[0].read_text(errors="surrogateescape"), root)
        (root / "work" / name).write_text(copy.text, errors="surrogateescape")
    return None


def before_it(path):
    """The job file of fio's tests that writes what this one verifies."""
    if "-post" not in path.name:
        return None
    name = re.sub(r"^\d+-", "", path.name).replace("-post", "-pre")
    return next(path.parent.glob(f"*-{name}"), None)


def attempt(path, arguments, base):
    """Runs one job file."""
    name = path.name.removesuffix(".txt")
    text = path.read_bytes().decode(errors="surrogateescape")
    if others := engines(text) - LOCAL:
        return Fate(name, "other", f"ioengine={sorted(others)[0]}")
    if "$@" in text:
        return Fate(name, "other", "a template of another program")
    if not re.search(r"^\s*\[(?!global\])", text, re.M) and "include" not in text:
        return Fate(name, "other", "there is no job in it")
    if re.search(r"^\s*fill_(device|fs)\s*=\s*1", text, re.M):
        return Fate(name, "other", "it fills the disk")
    root = Path(base, path.name.split("-")[0])
    before = before_it(path)
    copy = Copy(text, root, before.read_text() if before else "")
    copy.prepare()
    if missing := included(path, text, root):
        return Fate(name, "other", f"include {missing} is not in the corpus")
    job = root / "work" / name
    job.write_text(copy.text, errors="surrogateescape")
    environment = {**copy.environment, "IODYNO_STORE": str(root / "store.sqlite")}
    argv, allowed = [str(arguments.binary), "run"], []
    if before:
        (root / "work" / "before.fio").write_text(Copy(before.read_text(), root, text).text)
        call([*argv, "before.fio"], root, environment)
    while True:
        status, said = call([*argv, *allowed, str(job)], root, environment, LIMIT_S + 3 * text.count("["))
        if status == 2 and "`size` is missing" in said and SIZE not in allowed:
            allowed.append(SIZE)
            continue
        # A user would type what iodyno says, as long as it is about files that stand for devices.
        advice = ADVICE.search(said) if status == 2 else None
        if not advice or advice[2] in allowed or not advice[2].startswith(str(root)):
            break
        allowed += [advice[1], advice[2]]
    (root / "said").write_text(said, errors="surrogateescape")
    fate = Fate(name, *judged(status, said))
    if fate.kind != "runs":
        copy.prepare()
        parse = ["--parse-only"] if fate.kind == "refused" else []
        status, fios = call(["fio", *parse, *(word for word in allowed if word == SIZE), str(job)], root, environment)
        (root / "fio-said").write_text(fios, errors="surrogateescape")
        if status:
            fate.kind = "neither"
    if not arguments.keep:
        shutil.rmtree(root, ignore_errors=True)
    return fate


def judged(status, said):
    lines = [line for line in said.splitlines() if not line.startswith("note:")] or [""]
    told = next((line for line in lines if line.startswith("iodyno: ")), lines[-1])
    if status == 0:
        return "runs", ""
    # `x.fio line 12: ...`: where, and what.
    place = re.search(r"\S+ line \d+: (.*)", said)
    if status == 2 and place:
        return "refused", re.sub(r"^job `[^`]*`: ", "", place[1])
    return "fails", f"status {status}: {told}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--only", default="", help="job files with this in their names")
    parser.add_argument("--directory", help="where files are made [default: the temporary directory]")
    parser.add_argument("--share", type=float, default=0.85, help="the least that has to run [default: 0.85]")
    parser.add_argument("--keep", action="store_true", help="leave copies and outputs behind")
    parser.add_argument("--jobs", type=int, default=2, help="how many at the same time")
    arguments = parser.parse_args()
    arguments.binary = arguments.binary.resolve()
    paths = sorted(path for path in arguments.corpus.glob("*.txt") if arguments.only in path.name)
    if not paths:
        raise SystemExit(f"no job files in {arguments.corpus}")
    base = tempfile.mkdtemp(prefix="iodyno-wild-", dir=arguments.directory)
    try:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            fates = []
            for future in as_completed([pool.submit(attempt, path, arguments, base) for path in paths]):
                fate = future.result()
                fates.append(fate)
                if fate.kind in ("refused", "fails", "neither"):
                    print(f"{fate.kind:8} {fate.name}: {fate.reason}", flush=True)
    finally:
        if not arguments.keep:
            shutil.rmtree(base, ignore_errors=True)
    return report(fates, arguments.share)


def report(fates, share):
    """Prints the counts; the exit status."""
    kinds = Counter(fate.kind for fate in fates)
    for kind in ("other", "neither", "refused", "fails"):
        # The option, without its value.
        reasons = Counter(re.sub(r"^`([\w]+)[ =].*?`.*", r"\1", fate.reason)[:90] for fate in fates if fate.kind == kind)
        print(f"\n{kinds[kind]}: {KINDS[kind]}")
        for reason, count in reasons.most_common():
            print(f"{count:6}  {reason}")
    print("\n       all  runs  refused  fails  neither  other")
    for origin in ("wild", "example", "fio-tests"):
        row = Counter(fate.kind for fate in fates if f"-{origin}-" in fate.name)
        print(f"{sum(row.values()):10}  {row['runs']:4}  {row['refused']:7}  {row['fails']:5}  {row['neither']:7}  {row['other']:5}  {origin}")
    local = kinds["runs"] + kinds["refused"] + kinds["fails"]
    part = kinds["runs"] / local if local else 0.0
    print(f"\n{kinds['runs']} of {local} job files with a local engine that fio takes run ({part:.1%}), {kinds['refused']} are "
          f"refused by name, {kinds['fails']} fail")  # fmt: skip
    return int(part < share or kinds["fails"] > 0)


if __name__ == "__main__":
    sys.exit(main())
