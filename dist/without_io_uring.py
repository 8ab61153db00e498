"""Runs a command as if on a kernel without io_uring: `without_io_uring.py [--forbidden|--early|--old] COMMAND...`.

io_uring's three system calls answer ENOSYS, by a filter of seccomp(2) that the command inherits; with --forbidden
EPERM, as under container runtimes; with --early EINVAL, as Linux before 5.6 to today's flags. With --old ENOSYS is
the answer to all system calls since Linux 5.0 (of 4.18, RHEL 8's).
"""

import ctypes
import os
import struct
import sys

# The same numbers on every architecture; what came after Linux 5.0 begins with pidfd_send_signal.
IO_URING_SETUP, IO_URING_REGISTER = 425, 427
FIRST_AFTER_5_0, LAST = 424, 0x3FFFFFFF
EPERM, EINVAL, ENOSYS = 1, 22, 38
# prctl(2)
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
# seccomp(2)'s verdicts, and classic BPF's instructions: load a word, compare, return.
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, JUMP_IF_AT_LEAST, JUMP_IF_GREATER, RETURN = 0x20, 0x35, 0x25, 0x06


def refuse(first, last, errno):
    """A filter that answers `errno` to these numbers: (code, jump if true, jump if false, operand)."""
    return [
        (LOAD, 0, 0, 0),  # seccomp_data.nr
        (JUMP_IF_AT_LEAST, 0, 2, first),
        (JUMP_IF_GREATER, 1, 0, last),
        (RETURN, 0, 0, ERRNO | errno),
        (RETURN, 0, 0, ALLOW),
    ]


KINDS = {
    "--forbidden": (IO_URING_SETUP, IO_URING_REGISTER, EPERM),
    "--early": (IO_URING_SETUP, IO_URING_REGISTER, EINVAL),
    "--old": (FIRST_AFTER_5_0, LAST, ENOSYS),
}


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def main(command):
    kind = KINDS.get(command[0])
    instructions = refuse(*kind or (IO_URING_SETUP, IO_URING_REGISTER, ENOSYS))
    command = command[1:] if kind else command
    program = Program(len(instructions), b"".join(struct.pack("HBBI", *instruction) for instruction in instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    for arguments in [
        (PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero),
        (PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(program), zero, zero),
    ]:
        if libc.prctl(*arguments) != 0:
            sys.exit(f"without_io_uring.py: no filter here: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
