"""The system calls of a command of castree, recorded by strace(1) and made again in plain C by `raw/replay.c`.

Recorded are the calls on files below the working directory, by whatever thread, in the order in which they were
finished. Left out are those on memory, threads, signals and sockets, on terminals and pipes, and on files elsewhere:
libraries, /proc, /sys, /etc. A call on a file that has no shape here is an error, so nothing is left out unseen.

A command is recorded on one store and made again on another of the same making, which castree never opens afterwards.
"""

import errno
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Iterator

from .programs import Castree, demand
from .stopwatch import BenchmarkError, Sample, Stopwatch

MISSING = "" if shutil.which("strace") else "strace is not installed"
AS_NUMBERS = ["--seccomp-bpf", "-xx", "-s", "0", "-X", "raw", "-e", "trace=%file,%desc,sync",
              "-e", "verbose=fcntl,openat2"]

# Each argument of a call: d a descriptor, p a path, t a text, n a number, c a number of bytes, b what it reads into,
# z what it writes from, h struct open_how, l struct flock. A call that has > opens a descriptor.
SHAPES = {
    "open": "pnn>", "openat": "dpnn>", "openat2": "dphn>", "close": "d", "dup": "d>",
    "read": "dbc", "pread64": "dbcn", "write": "dzc", "pwrite64": "dzcn", "copy_file_range": "dndnnn",
    "lseek": "dnn", "ftruncate": "dn", "fallocate": "dnnn", "fadvise64": "dnnn", "sync_file_range": "dnnn",
    "fsync": "d", "fdatasync": "d", "syncfs": "d", "sync": "", "flock": "dn", "fcntl": "dnn",
    "stat": "pb", "lstat": "pb", "fstat": "db", "newfstatat": "dpbn", "statx": "dpnnb", "statfs": "pb", "fstatfs": "db",
    "access": "pn", "faccessat": "dpn", "faccessat2": "dpnn", "readlink": "pbc", "readlinkat": "dpbc",
    "getdents64": "dbc", "mkdir": "pn", "mkdirat": "dpn", "rmdir": "p", "unlink": "p", "unlinkat": "dpn",
    "link": "pp", "linkat": "dpdpn", "symlink": "tp", "symlinkat": "tdp", "rename": "pp", "renameat": "dpdp",
    "renameat2": "dpdpn", "chmod": "pn", "fchmod": "dn", "fchmodat": "dpn", "fchown": "dnn", "ioctl": "dnd",
}
LOCKS, DUPLICATES, CLONE = (5, 6, 7, 36, 37, 38), (0, 1030), 0x40049409  # of fcntl; the one ioctl that has a shape
UNCOUNTED = ("mmap", "getcwd")  # on files here, too: a mapping is memory's

LINE = re.compile(r"(\d+) +(?:<\.\.\. \w+ resumed>(.*)|(\w+)\((.*))")
ENDED = re.compile(r"(.*)\) += (-?\w+)(?: (E[A-Z0-9]+))?")
BETWEEN = re.compile(r",(?![^{\[]*[}\]])\s*")  # two arguments, and not two fields of a structure
STRUCTURES = {"h": ("=3Q", ("flags", "mode", "resolve")),
              "l": ("=hh4xqqi4x", ("l_type", "l_whence", "l_start", "l_len", "l_pid"))}
FIELD = re.compile(r"(\w+)=(-?\w+)")
UNFINISHED = "<unfinished ...>"

NUMBER, DESCRIPTOR, TEXT, FILLED, ZEROS = range(5)  # as raw/replay.c has them
KINDS = {"d": DESCRIPTOR, "b": FILLED, "z": ZEROS}
SMALLEST_BUFFER = 4096  # holds every structure that a call fills


def traced(stopwatch: Stopwatch, options: list[str], command: list) -> str:
    """What strace(1) wrote of the command and all its threads."""
    report = stopwatch.work / ".trace"
    command = [str(word) for word in command]
    done = subprocess.run(["strace", "-f", "-o", str(report), *options, *command], cwd=stopwatch.work,
                          env=stopwatch.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchmarkError(f"{command[3:]} under strace ended with {done.returncode}: {done.stderr[-200:]}")
    return report.read_text(errors="replace")


class Replay:
    """Records and makes calls again."""

    def __init__(self, stopwatch: Stopwatch, castree: Castree):
        self.stopwatch, self.castree = stopwatch, castree
        self.missing = stopwatch.raw_missing or MISSING or castree.missing

    def record(self, command: list, recorded: Path, replayed: Path) -> Path:
        """Runs the command on the store in `recorded`, and writes its calls as a list that makes them in `replayed`."""
        # Their own books are of one length: a number in them may have a digit more in one than in the other.
        for book in (recorded / "store").iterdir():
            if book.is_file():
                (replayed / "store" / book.name).write_bytes(book.read_bytes())
        trace = traced(self.stopwatch, AS_NUMBERS,
                       [self.castree.program, "--store", recorded / "store", "--json", *command])
        try:
            calls = _CallList(self.stopwatch.work, recorded, replayed, trace)
        except (LookupError, ValueError, AttributeError, struct.error) as error:
            raise BenchmarkError(f"strace wrote what harness/calls.py does not read: {error!r}") from error
        listed = replayed.with_name(f"{replayed.name}.calls")
        listed.write_bytes(calls.packed())
        return listed

    def run(self, listed: Path) -> Sample:
        sample, output = self.stopwatch.run([self.stopwatch.raw["replay"], listed])
        demand(int(output) > 0, "nothing was recorded")
        return sample


class _CallList:
    def __init__(self, work: Path, recorded: Path, replayed: Path, trace: str):
        self.work, self.recorded, self.replayed = (str(path).encode() for path in (work, recorded, replayed))
        self.names: dict[str, int] = {}
        self.texts: dict[bytes, int] = {}
        self.text = bytearray()
        self.buffer = SMALLEST_BUFFER
        self.open: set[int] = set()  # descriptors of recorded files
        starters = set(re.findall(r"^(\d+) +execve", trace, re.MULTILINE))
        demand(len(starters) == 1, "it starts a process of its own, whose descriptors are others")
        self.calls = [packed for call in _finished(trace) if (packed := self._pack(*call))]

    def packed(self) -> bytes:
        names = b"".join(struct.pack("32s", name.encode()) for name in self.names)
        head = struct.pack("=8s4I", b"replay 1", len(self.calls), len(self.names), len(self.text), self.buffer)
        return b"".join([head, *self.calls, names, self.text])

    def _pack(self, name: str, spelled: list[str], result: int) -> bytes | None:
        """The call as raw/replay.c reads it, or None if it is left out."""
        if name == "execve":  # every descriptor closes then
            self.open.clear()
            return None
        shape = SHAPES.get(name) if name != "ioctl" or int(spelled[1], 0) == CLONE else None
        if shape is None:
            first = spelled[0]
            here = self._is_here("p", first) if '"' in first else first.isdigit() and int(first) in self.open
            demand(name in UNCOUNTED or not here, f"{name} on a file has no shape in harness/calls.py")
            return None
        if name == "fcntl" and int(spelled[1], 0) in LOCKS:
            shape = "dnl"
        opens = shape.endswith(">") or (name == "fcntl" and int(spelled[1], 0) in DUPLICATES)
        pairs = list(zip(shape.rstrip(">"), spelled))
        if not all(self._is_here(kind, text) for kind, text in pairs):
            return None
        self.open |= {result} if opens and result >= 0 else set()
        self.open -= {int(spelled[0])} if name == "close" else set()
        kinds, values = zip(*(self._argument(*pair) for pair in pairs + [("n", "0")] * (6 - len(pairs))))
        return struct.pack("=8B7q", self.names.setdefault(name, len(self.names)), opens, *kinds, *values, result)

    def _is_here(self, kind: str, text: str) -> bool:
        """Is this a file below the working directory, or a directory above it?"""
        if kind == "d":
            return int(text) < 0 or int(text) in self.open
        path = _bytes(text) if kind == "p" else b""
        return path[:1] != b"/" or path.startswith(self.work + b"/") or (self.work + b"/").startswith(path + b"/")

    def _argument(self, kind: str, text: str) -> tuple[int, int]:
        if text == "NULL" or kind in "bz":
            return NUMBER if text == "NULL" else KINDS[kind], 0
        if kind in "pt":
            path = _bytes(text)
            if path == self.recorded or path.startswith(self.recorded + b"/"):
                path = self.replayed + path[len(self.recorded):]
            if path not in self.texts:
                self.texts[path] = self._append(path + b"\0")
            return TEXT, self.texts[path]
        if kind in STRUCTURES:  # one for each call: F_GETLK writes into it
            return TEXT, self._append(_structure(kind, text))
        if kind == "c":
            self.buffer = max(self.buffer, _number(text))
        return KINDS.get(kind, NUMBER), _number(text)

    def _append(self, text: bytes) -> int:
        self.text += bytes(-len(self.text) % 8)
        self.text += text
        return len(self.text) - len(text)


def _finished(trace: str) -> Iterator[tuple[str, list[str], int]]:
    """Name, arguments, result. A `close` counts from its beginning: its number can be given anew before its end."""
    begun: dict[str, tuple[str, str]] = {}  # of each thread
    for line in trace.splitlines():
        match = LINE.match(line)
        if not match:  # a signal, or the end of a thread
            continue
        thread, rest, name, text = match.groups()
        if rest is not None:
            name, text = begun.pop(thread)
            if name == "close":
                continue
            text += rest
        elif text.endswith(UNFINISHED):
            begun[thread] = name, text.removesuffix(UNFINISHED)
            if name != "close":
                continue
            text = text.removesuffix(UNFINISHED) + ") = 0"
        ended = ENDED.match(text)
        demand(ended is not None, f"strace wrote {line[:200]}")
        arguments, result, failure = ended.groups()
        if result != "?":
            yield name, BETWEEN.split(arguments.strip()), -getattr(errno, failure) if failure else int(result, 0)


def _bytes(text: str) -> bytes:
    return b"" if text == "NULL" else bytes.fromhex(text.split('"')[1].replace("\\x", ""))


def _number(text: str) -> int:
    """A number, or flags that strace wrote apart, the empty ones as nothing; a mode is octal."""
    return sum(int(part, 8 if re.fullmatch("0[0-7]+", part) else 0) for part in text.split("|") if part)


def _structure(kind: str, text: str) -> bytes:
    layout, names = STRUCTURES[kind]
    found = dict(FIELD.findall(text))
    return struct.pack(layout, *(_number(found.get(name, "0")) for name in names))
