"""A hardware manager for ironic-python-agent: the clean step `accept_storage` runs `iodyno accept`.

It takes the place of the burn-in step with fio: bounds on speed instead of none, NVMe's SMART and error logs,
links, and one document that is pushed. iodyno has to be in the ramdisk (diskimage-builder: copy the static binary)."""

import shutil
import subprocess

from ironic_python_agent import errors, hardware

BINARY = "iodyno"

# iodyno's exit statuses.
PASSED, FAIL, USAGE, INTERRUPTED, UNJUDGED = range(5)


class IodynoHardwareManager(hardware.HardwareManager):
    """Accepts the storage of a node while it is cleaned."""

    HARDWARE_MANAGER_NAME = "IodynoHardwareManager"
    HARDWARE_MANAGER_VERSION = "1"

    def evaluate_hardware_support(self):
        found = shutil.which(BINARY) is not None
        return hardware.HardwareSupport.SERVICE_PROVIDER if found else hardware.HardwareSupport.NONE

    def get_clean_steps(self, node, ports):
        return [{
            "step": "accept_storage",
            # 0: manual cleaning, or automated once the operator gives it a priority.
            "priority": 0,
            "interface": "deploy",
            "reboot_requested": False,
            "abortable": True,
            "argsinfo": {
                "profile": {"description": "profile of iodyno accept: quick, check, write, burn-in", "required": False},
                "deadline": {"description": "time in which it ends, such as 30m", "required": False},
                "targets": {"description": "devices, for profiles that write", "required": False},
                "allow_write": {"description": "serial numbers whose data may be lost", "required": False},
            },
        }]

    def accept_storage(self, node, ports, profile="check", deadline="30m", targets=(), allow_write=()):
        """The step. driver_info's `iodyno_push` is where the document goes: a URL without secrets, or @FILE."""
        words = [BINARY, "accept", profile, *targets, "--deadline", deadline, "--drain-hint", "--quiet"]
        for serial in allow_write:
            words += ["--allow-write", serial]
        push = (node.get("driver_info") or {}).get("iodyno_push")
        if push:
            words += ["--push", push]
        ended = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if ended.returncode != PASSED:
            said = ended.stdout.strip() or ended.stderr.strip() or "no reason was given"
            raise errors.CleaningError(f"storage not accepted (status {ended.returncode}): {said}")
        return {"iodyno": f"{profile} passed"}
