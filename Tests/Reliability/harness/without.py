#!/usr/bin/env python3
"""Runs a program under a kernel that refuses some system calls, as old kernels and sandboxes do (seccomp(2)).

    without.py ENOSYS openat2,statx PROGRAM ARGUMENT…

Needs no root. Status 125: it cannot be done here.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

# asm/unistd_64.h and asm-generic/unistd.h
NUMBERS = {
    "x86_64": (0xC000003E, {"openat2": 437, "renameat2": 316, "statx": 332, "copy_file_range": 326}),
    "aarch64": (0xC00000B7, {"openat2": 437, "renameat2": 276, "statx": 291, "copy_file_range": 285}),
}
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2  # linux/prctl.h


def statements(number, calls, architecture):
    """The filter: which calls fail, for programs of this machine's own kind."""
    yield LOAD, 0, 0, 4
    yield EQUAL, 1, 0, architecture
    yield RETURN, 0, 0, ALLOW
    yield LOAD, 0, 0, 0
    for call in calls:
        yield EQUAL, 0, 1, call
        yield RETURN, 0, 0, REFUSE | number
    yield RETURN, 0, 0, ALLOW


def refuse(number, calls):
    """From here on this process and its children cannot make these calls."""
    code = b"".join(struct.pack("HBBI", *statement) for statement in statements(number, *calls))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.addressof(program), 0, 0)):
        if libc.prctl(*(ctypes.c_ulong(word) for word in words)):
            raise OSError(ctypes.get_errno(), "prctl")


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    architecture, known = NUMBERS.get(platform.machine(), (0, {}))
    names = sys.argv[2].split(",")
    if any(name not in known for name in names):
        print(f"without.py: no numbers of {sys.argv[2]} for {platform.machine()}", file=sys.stderr)
        return 125
    try:
        refuse(getattr(errno, sys.argv[1]), ([known[name] for name in names], architecture))
    except OSError as error:
        print(f"without.py: {error}", file=sys.stderr)
        return 125
    os.execvp(sys.argv[3], sys.argv[3:])
    return 125


if __name__ == "__main__":
    sys.exit(main())
