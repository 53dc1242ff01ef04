"""What small commands are made of: the calls they make and the time these take, fixed and for each file."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from .calls import MISSING, traced
from .content import Content
from .programs import Castree, demand
from .scratch import remove_tree

FILES, CONTENT_BYTES, CHANGED = 1_000, 20_000_000, 10
SETTLING = 3  # seconds: a careful stat cache does not trust a file that is younger

# The calls that touch the disk, by what they do; the rest (memory, signals, threads) is one kind.
KINDS = {
    "opens": ("open", "openat", "openat2"),
    "looks": ("stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink",
              "readlinkat", "statfs", "fstatfs", "lseek"),
    "reads": ("read", "pread64", "readv", "preadv"),
    "writes": ("write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate", "copy_file_range"),
    "links": ("link", "linkat"), "renames": ("rename", "renameat", "renameat2"),
    "removals": ("unlink", "unlinkat", "rmdir"), "directories": ("mkdir", "mkdirat"),
    "lists": ("getdents", "getdents64"), "modes": ("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown"),
    "locks": ("flock", "fcntl"), "closes": ("close",), "syncs": ("fsync", "fdatasync", "syncfs"),
    "memory": ("mmap", "munmap", "mprotect", "madvise", "brk", "mremap"),
}
SHOWN = {"opens", "locks", "syncs", "all"}  # on the page
KIND_OF = {call: kind for kind, calls in KINDS.items() for call in calls}
SYNCS = ",".join(KINDS["syncs"])


@dataclass
class Work:
    """One command: its time, and its calls with one file and with all."""
    id: str
    walls: list[float] = field(default_factory=list)
    syncs: list[tuple[int, float]] = field(default_factory=list)  # how many, and their seconds
    calls: dict[int, dict[str, int]] = field(default_factory=dict)  # by files

    def fixed(self, kind: str) -> int:
        return self.calls[1].get(kind, 0)

    def each(self, kind: str) -> float:
        return (self.calls[FILES].get(kind, 0) - self.fixed(kind)) / (FILES - 1)


class FixedBench:
    """Runs each command in turn, timed alone, counted under strace(1) in runs that are not timed."""

    def __init__(self, work: Path, castree: Castree, rounds: int, seed: int, say):
        self.work, self.castree, self.rounds, self.seed, self.say = work, castree, rounds, seed, say
        self.missing = MISSING
        self.works = {name: Work(name) for name in ("add", "add again", "checkout", "fsck")}
        self.starting: list[float] = []
        self.opening: list[float] = []

    def run(self) -> None:
        for number in range(self.rounds):
            self.say(f"round {number + 1} of {self.rounds}")
            self._round(FILES, lambda name, command: self.works[name].walls.append(self._time(command)))
            self._round(FILES, lambda name, command: self.works[name].syncs.append(self._sync_time(command)))
        for files in (1, FILES):
            self.say(f"calls with {files:,} files")
            self._round(files, lambda name, command: self.works[name].calls.__setitem__(files, self._count(command)))

    def _round(self, files: int, measured) -> None:
        """The life of one store: each command once, by `measured`."""
        place = self.work / "now" / "round"
        place.mkdir()
        (place / "source").mkdir()
        content = Content(place / "source", files, CONTENT_BYTES * files // FILES, self.seed)
        store, program = place / "store", self.castree.program
        self.castree.init(store)
        for _ in range(5):
            self.starting.append(self._time([program, "--version"]))
            self.opening.append(self._time([program, "--store", store, "versions"]))
        subprocess.run(["sleep", str(SETTLING)], check=True)
        command = [program, "--store", store, "--quiet"]
        self._step(measured, "add", [*command, "add", content.root, "--version", "1"])
        changed = [entry for entry in content.entries if entry.size > 0][:max(1, CHANGED * files // FILES)]
        for entry in changed:
            path = content.root / entry.path
            path.write_bytes(bytes(reversed(path.read_bytes())) + b"!")
        subprocess.run(["sleep", str(SETTLING)], check=True)
        self._step(measured, "add again", [*command, "add", content.root, "--version", "2"])
        self._step(measured, "checkout", [*command, "checkout", "2", place / "tree"])
        self._step(measured, "fsck", [*command, "fsck"])
        _, left = self.castree.call(store, "versions")
        demand(len(left) == 2, f"the store has {len(left)} versions")
        demand(sum(path.is_file() for path in (place / "tree").rglob("*")) == files, "checkout left files out")
        remove_tree(place)

    @staticmethod
    def _step(measured, name: str, command: list) -> None:
        subprocess.run(["sync"], check=True)
        measured(name, command)

    def _time(self, command: list) -> float:
        return self.castree.stopwatch.run(command, told=False)[0].wall

    def _traced(self, options: list[str], command: list) -> str:
        return traced(self.castree.stopwatch, options, command)

    def _sync_time(self, command: list) -> tuple[int, float]:
        # Other calls are not stopped at: what is timed here is as quick as without strace.
        trace = self._traced(["--seccomp-bpf", "-T", "-e", f"trace={SYNCS}"], command)
        times = [float(text) for text in re.findall(r"= 0 <([0-9.]+)>", trace)]
        return len(times), sum(times)

    def _count(self, command: list) -> dict[str, int]:
        counts: dict[str, int] = {}
        for call in re.findall(r"^\d+ +([a-z0-9_]+)\(", self._traced([], command), re.MULTILINE):
            kind = KIND_OF.get(call, "others")
            counts[kind] = counts.get(kind, 0) + 1
        return counts

    # The report.

    def record(self) -> dict:
        """Two tables: milliseconds of each part, and calls by kind."""
        start, opened = median(self.starting), median(self.opening)
        times = []
        for work in self.works.values():
            wall, syncs = median(work.walls), median(seconds for _, seconds in work.syncs)
            count = work.syncs[-1][0]
            rest = wall - opened - syncs
            times.append([f"`{work.id}`", *(f"{1000 * each:.1f}" for each in (wall, start, opened - start)),
                          f"{1000 * syncs:.1f} ({count})", f"{1000 * max(rest, 0):.1f}",
                          f"{100 * min(1, (opened + syncs) / wall):.0f} %"])
        kinds = [kind for kind in [*KINDS, "others"] if any(w.calls[FILES].get(kind) for w in self.works.values())]
        calls = [[kind, *(_cell(work, kind) for work in self.works.values())] for kind in kinds]
        sums = ["all"]
        for work in self.works.values():
            fixed, total = sum(work.calls[1].values()), sum(work.calls[FILES].values())
            sums.append(f"{fixed:,} + {(total - fixed) / (FILES - 1):.2f}")
        return {"times": times, "calls": [*calls, sums], "works": [f"`{name}`" for name in self.works]}


def _cell(work: Work, kind: str) -> str:
    fixed, each = work.fixed(kind), work.each(kind)
    if not fixed and abs(each) < 0.005:
        return ""
    return f"{fixed}" if abs(each) < 0.005 else f"{fixed} + {each:.2f}"


def fixed_tables(section: dict, table) -> list[str]:
    """Its part of the page: of the times all but the rest, which the others leave."""
    calls = [line for line in section["calls"] if line[0] in SHOWN]
    return [
        "### Time, ms", "",
        *table(["", "whole", "starting", "opening the store", "syncs (how many)", "fixed"],
               [[*line[:-2], line[-1]] for line in section["times"]]),
        "", "### Calls: with one file, and for each more", "", *table(["", *section["works"]], calls), "",
        "- *Starting*: `castree --version`. *Opening*: `castree versions` of an empty store, less that. *Syncs*: seconds in "
        "fsync(2), fdatasync(2) and syncfs(2). *Fixed*: the share of these three.",
        "- *Calls*: whole processes under strace(1), a selection; `a + b` is a calls with one file, and b for each of the "
        "other 999."]
