"""The two load generators under the same job file: started, watched, read."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections import namedtuple
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 60

# One line of a latency log with log_offset=1; direction 0 is read, 1 write, 2 trim.
Io = namedtuple("Io", "job direction offset length ended_ms")


class GeneratorError(Exception):
    """What it was asked to do it did not do; the text is for people."""


@dataclass
class Outcome:
    """What one run left behind."""

    status: int
    printed: str  # standard output and standard error
    output: str  # what --output was given
    logs: Path
    files: Path
    device: object

    def left(self):
        """{name: contents} of the files that it left behind, or of the device."""
        if self.device:
            return self.device.contents()
        # fio leaves its notes of what it verified (verify_state_save), which only fio reads; ours are in the store.
        paths = [path for path in sorted(self.files.rglob("*")) if path.is_file() and not path.name.endswith("-verify.state")]
        return {str(path.relative_to(self.files)): path.read_bytes() for path in paths}

    def document(self):
        """Its JSON; fio may print lines before it."""
        start = re.search(r"^\{", self.output, re.M)
        if not start:
            raise GeneratorError(f"no JSON document; it said: {self.printed.strip()[-600:]}")
        try:
            return json.loads(self.output[start.start() :])
        except ValueError as problem:
            raise GeneratorError(f"not JSON: {problem}") from problem

    def ios(self):
        """Every I/O that it logged."""
        rows = []
        for path in sorted(self.logs.glob("log_lat.*.log")):
            job = int(path.name.split(".")[1])
            for line in path.read_text().splitlines():
                fields = line.split(",")
                if len(fields) < 5:
                    raise GeneratorError(f"{path.name} has a line without an offset: {line}")
                rows.append(Io(job, int(fields[2]), int(fields[4]), int(fields[3]), int(fields[0])))
        if not rows:
            raise GeneratorError("it logged no I/O")
        return rows


def kill_tree(pid):
    """Kills a process and all below it: fio's jobs are sessions of their own, and hold its output open."""
    with suppress(FileNotFoundError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            kill_tree(child)
    with suppress(ProcessLookupError):
        os.kill(int(pid), signal.SIGKILL)


class Generator:
    """One of them: its command, and the directory in which its files are."""

    def __init__(self, name, command, directory, seed, asks):
        self.name, self.command, self.seed, self._asks = name, command, seed, asks
        self.directory = Path(directory, name)

    def fresh(self):
        """An empty directory for files; returns it."""
        shutil.rmtree(self.directory, ignore_errors=True)
        (self.directory / "files").mkdir(parents=True)
        return self.directory / "files"

    def run(self, job, files, form="json", device=None):
        """Runs the job file with its files in `files`; the Outcome says whether it succeeded."""
        logs, output = self.directory / "logs", self.directory / "output"
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir(parents=True)
        output.unlink(missing_ok=True)
        environment = {**os.environ, "DIR": str(files), "LOG": str(logs), "SEED": str(self.seed), "LC_ALL": "C",
                       "IODYNO_STORE": str(self.directory.parent / "store.sqlite"),
                       "DEVICE": device.path if device else "/nonexistent"}  # fmt: skip
        argv = [*self.command, f"--output={output}", f"--output-format={form}", *self._allowed(job, files, device), str(job)]
        child = subprocess.Popen(argv, cwd=files, env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            printed, _ = child.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired as slow:
            raise GeneratorError(f"did not end within {LIMIT_S} s") from slow
        finally:
            if child.poll() is None:
                kill_tree(child.pid)
                child.communicate()
        return Outcome(child.returncode, printed, output.read_text(errors="replace") if output.exists() else "", logs, files, device)

    def succeeding(self, job, files, **how):
        """`run`, where anything but success is a GeneratorError."""
        outcome = self.run(job, files, **how)
        if outcome.status:
            raise GeneratorError(f"exit status {outcome.status}: {(outcome.printed or outcome.output).strip()[-1200:]}")
        return outcome

    def _allowed(self, job, files, device):
        """fio asks nobody; iodyno wants leave to write to files that it did not make, and to devices by name and size.
        Leave that nothing makes use of is an error."""
        if not self._asks or not re.search(r"^rw=.*(write|rw|trim)", job.read_text(), re.M):
            return []
        if device:
            words = [f"{Path(device.path).name}:{device.size_bytes}"]
        else:
            words = [str(path) for path in sorted(files.iterdir()) if path.is_file()]
        return [text for word in words for text in ("--allow-write", word)]


class LoopDevice:
    """A block device on a file of ours, so that nothing else can be hit; needs root."""

    def __init__(self, directory, size_bytes=8 << 20):
        self.size_bytes, self.path = size_bytes, None
        self._file = Path(directory, "loop.image")

    def __enter__(self):
        with open(self._file, "xb") as file:
            file.truncate(self.size_bytes)
        done = subprocess.run(["losetup", "--find", "--show", str(self._file)], capture_output=True, text=True)
        if done.returncode:
            self._file.unlink()
            raise GeneratorError(f"losetup: {done.stderr.strip()}")
        self.path = done.stdout.strip()
        return self

    def fill(self):
        """Every block of it written with what is neither zero nor a file system."""
        with open(self.path, "r+b", buffering=0) as device:
            device.write(b"\xa5" * self.size_bytes)
            os.fsync(device.fileno())

    def contents(self):
        """What is on it."""
        return {self.path: Path(self.path).read_bytes()}

    def __exit__(self, *_):
        subprocess.run(["losetup", "--detach", self.path], check=True)
        self._file.unlink()
