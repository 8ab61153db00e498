"""A QEMU process: started paused, steered by QMP, with an agent in the guest that runs commands.

Nothing here waits without a bound, and whatever goes wrong brings the end of the serial console with it.
"""

import base64
import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

QEMU = "qemu-system-x86_64"
BOOT_TIMEOUT_S = 120
QMP_TIMEOUT_S = 20
# What the host waits beyond the guest's own limit for a command.
GRACE_S = 20


class MachineError(Exception):
    """The machine did not do what it should; the text ends with its console's last lines."""


class BootError(MachineError):
    """The guest never reported."""


class Result(NamedTuple):
    """What a command in the guest left: exit status (143: out of time), output, and the seconds it took."""

    status: int
    stdout: str
    stderr: str
    seconds: float


def version():
    """QEMU's version as text, such as '7.2.22'."""
    try:
        text = subprocess.run([QEMU, "--version"], capture_output=True, text=True, timeout=20).stdout
    except FileNotFoundError:
        raise MachineError(f"{QEMU} not found; 'make deps' installs it (package qemu-system-x86)") from None
    return re.search(r"version (\d+(?:\.\d+)*)", text)[1]


class Machine:
    """`with Machine(...) as machine:` gives a paused machine; leaving the block ends it."""

    def __init__(self, directory, kernel, initrd, arguments, kernel_words):
        self.directory = Path(directory)
        self.console = self.directory / "console.log"
        self.uptime_s = None
        self._sent = 0
        qmp, agent = self.directory / "qmp", self.directory / "agent"
        # The guest must not outlive the lab, however the lab ends.
        leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self.argv = [
            *leash, QEMU, "-S", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
            "-kernel", str(kernel), "-initrd", str(initrd),
            # Where this machine is loaded the emulated timer may be late, which Linux else takes for broken and panics.
            "-append", f"console=ttyS0 loglevel=5 panic=-1 no_timer_check {kernel_words}",
            "-serial", f"file:{self.console}",
            "-qmp", f"unix:{qmp},server=on,wait=off",
            "-device", "virtio-serial-pci,id=agents",
            "-chardev", f"socket,id=agent,path={agent},server=on,wait=off",
            "-device", "virtserialport,bus=agents.0,chardev=agent,name=lab.agent",
            *arguments,
        ]  # fmt: skip
        self._paths = qmp, agent

    def __enter__(self):
        self._log = open(self.directory / "qemu.log", "wb")
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        try:
            self._qmp, self._agent = (self._connect(path) for path in self._paths)
            self._replies = self._qmp.makefile("rb")
            self._answers = self._agent.makefile("rb")
            self._qmp.settimeout(QMP_TIMEOUT_S)
            self._receive()  # the greeting
            self.qmp("qmp_capabilities")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(timeout=30)
        self._log.close()

    def _connect(self, path):
        deadline = time.monotonic() + QMP_TIMEOUT_S
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
                return connection
            except OSError:
                connection.close()
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise self.error("QEMU did not start") from None
                time.sleep(0.01)

    def error(self, message):
        """A MachineError with what the console and QEMU said last."""
        tails = []
        for log in (self.console, self.directory / "qemu.log"):
            if log.exists():
                lines = log.read_text(errors="replace").splitlines()[-60:]
                tails.append("\n".join([f"--- end of {log.name}", *lines]))
        return MachineError("\n".join([message, *tails]))

    def console_text(self):
        """What the guest's console said so far."""
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def wait_for(self, happened, otherwise, timeout_s):
        """Waits until something is so that nothing tells of, by asking often."""
        deadline = time.monotonic() + timeout_s
        while not happened():
            if time.monotonic() > deadline:
                raise self.error(f"{otherwise} within {timeout_s} s")
            time.sleep(0.02)

    # QMP

    def _receive(self):
        try:
            line = self._replies.readline()
        except TimeoutError:
            raise self.error(f"no answer from QEMU within {QMP_TIMEOUT_S} s") from None
        except ConnectionError:
            line = b""
        if not line:
            raise self.error("QEMU ended")
        return json.loads(line)

    def qmp(self, command, **arguments):
        """What a QMP command returns; a refusal is a MachineError."""
        self._qmp.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while "event" in (reply := self._receive()):
            pass
        if "error" in reply:
            raise MachineError(f"{command}: {reply['error']['desc']}")
        return reply["return"]

    # The guest

    def boot(self):
        """Lets the paused machine run until its agent reports; keeps the guest's seconds since power-on."""
        self.qmp("cont")
        try:
            self.uptime_s = float(self._answer(0, BOOT_TIMEOUT_S).stdout)
        except MachineError as error:
            raise BootError(str(error)) from None

    def begin(self, command, timeout_s=60):
        """Starts a shell command in the guest; `finish` waits for it. One at a time."""
        self._sent += 1
        line = f"{self._sent} {timeout_s} {base64.b64encode(command.encode()).decode()}\n"
        self._agent.settimeout(QMP_TIMEOUT_S)
        self._agent.sendall(line.encode())
        return self._sent, timeout_s, time.monotonic()

    def finish(self, begun):
        """The Result of a command that `begin` started."""
        number, timeout_s, started = begun
        return self._answer(number, timeout_s + GRACE_S, started)

    def run(self, command, timeout_s=60):
        """Runs a shell command in the guest."""
        return self.finish(self.begin(command, timeout_s))

    def _answer(self, number, timeout_s, started=None):
        started = started or time.monotonic()
        self._agent.settimeout(timeout_s)
        try:
            while True:
                head = self._answers.readline().split()
                if len(head) != 4:
                    raise self.error("the guest ended")
                out, err = (self._answers.read(int(size)).decode(errors="replace") for size in head[2:])
                if int(head[0]) == number:
                    break
                # The answer to a command that a failed test did not wait for.
                if int(head[0]) > number:
                    raise self.error(f"the guest answered {head[0]} instead of {number}")
        except TimeoutError:
            raise self.error(f"no answer from the guest within {timeout_s} s") from None
        return Result(int(head[1]), out, err, time.monotonic() - started)
