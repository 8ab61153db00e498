#!/usr/bin/env python3
"""Runs a command with a terminal of 160 by 50 of its own as standard error, and ends as it does.

    python3 bench/in_terminal.py COMMAND ARGUMENT...
"""

import fcntl
import os
import pty
import struct
import sys
import termios


def main():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        os.dup2(theirs, 2)
        os.environ["TERM"] = "xterm"
        os.execvp(sys.argv[1], sys.argv[1:])
    os.close(theirs)
    try:
        while os.read(ours, 1 << 16):
            pass
    except OSError:  # EIO: nobody has the other end any more
        pass
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
