"""The rows of the report: what is compared with what, and how much is allowed."""

from dataclasses import dataclass
from typing import NamedTuple

from .stopwatch import Series

MIB = 1 << 20


class Key(NamedTuple):
    """Names a series: the content and the thing that was timed."""
    content: str
    name: str

    @property
    def program(self) -> str:
        return self.name.split()[0]


@dataclass(frozen=True)
class Size:
    """A size of content."""
    label: str
    files: int
    bytes: int


SMALL = Size("1,000 files", 1_000, 20_000_000)
NORMAL = Size("10,000 files", 10_000, 300_000_000)
COLLECTION = "200 versions"
COLLECTION_TENFOLD = "200 versions, 10x objects"
LISTING = "100,000 objects"
ONE_FILE = "one file"


@dataclass
class Verdict:
    text: str  # PASS, FAIL, told, ERROR ..., not measured ...
    value: float | None = None
    rounds: tuple[float, float] | None = None  # lowest and highest value of single rounds


@dataclass(frozen=True)
class Row:
    """Wall time of `ours` divided by wall time of `peer`."""
    id: str
    work: str
    ours: Key
    peer: Key
    limit: float | None  # None: told, not judged
    unit = ""

    @property
    def content(self) -> str:
        return self.ours.content

    @property
    def needs(self) -> tuple[Key, ...]:
        return (self.ours, self.peer)

    def judge(self, results: "Results") -> Verdict:
        reason = results.reason_without(self.needs)
        if reason:
            return Verdict(reason)
        ours, peer = results.series[self.ours], results.series[self.peer]
        value = self.value(ours, peer)
        if value is None:
            return Verdict("not measured: peak memory needs raw/measure.c (cc)")
        text = "told" if self.limit is None else "PASS" if value <= self.limit else "FAIL"
        return Verdict(text, value, self.round_values(ours, peer))

    def value(self, ours: Series, peer: Series) -> float | None:
        return ours.wall / peer.wall

    def round_values(self, ours: Series, peer: Series) -> tuple[float, float] | None:
        ratios = [a.wall / b.wall for a, b in zip(ours.samples, peer.samples)]
        return min(ratios), max(ratios)


@dataclass(frozen=True)
class MemoryRow(Row):
    """(Peak RSS of `ours` - peak RSS of `peer`) / `divisor`."""
    divisor: float
    unit: str

    def value(self, ours: Series, peer: Series) -> float | None:
        if ours.rss is None or peer.rss is None:
            return None
        return (ours.rss - peer.rss) / self.divisor

    def round_values(self, ours: Series, peer: Series) -> None:
        return None


@dataclass(frozen=True)
class HighestMemoryRow:
    """The highest peak RSS of all runs of castree, set-up included."""
    id: str
    work: str
    ours: Key
    limit: float
    peer = None
    unit = "MiB"
    content = "all"

    @property
    def needs(self) -> tuple[Key, ...]:
        return (self.ours,)

    def judge(self, results: "Results") -> Verdict:
        if results.highest is None:
            return Verdict(results.reason_without(self.needs) or "not measured: needs raw/measure.c (cc)")
        value = results.highest[0] / MIB
        return Verdict("PASS" if value < self.limit else "FAIL", value)


class Results:
    """What the experiments fill and the rows are judged by."""

    def __init__(self, missing: dict[str, str]):
        self.missing = missing  # program -> why it is not here, or ""
        self.series: dict[Key, Series] = {}
        self.commands: dict[str, list[str]] = {}  # name of a series -> the commands that were timed
        self.failed: dict[Key, str] = {}
        self.highest: tuple[int, str] | None = None

    def reason_without(self, needs: tuple[Key, ...]) -> str:
        """Why a row cannot be judged, or the empty string."""
        for key in needs:
            if self.missing.get(key.program):
                return f"not measured: {self.missing[key.program]}"
        for key in needs:
            if key in self.failed:
                return f"ERROR: {self.failed[key]}"
            if key not in self.series:
                return "ERROR: no run"
        return ""


def all_rows(sizes: list[Size]) -> list[Row | HighestMemoryRow]:
    rows: list[Row | HighestMemoryRow] = []

    def compare(id, work, content, ours, peer, limit):
        rows.append(Row(id, work, Key(content, ours), Key(content, peer), limit))

    for size in sizes:
        at = size.label
        compare("add-raw", "first durable add", at, "castree add", "raw add", 1.3)
        compare("add-ostree", "first durable add", at, "castree add", "ostree commit", 0.5)
        compare("add2-first", "second add, 1 % changed", at, "castree add again", "castree add", 0.2)
        compare("add2-ostree", "second add, 1 % changed", at, "castree add again", "ostree commit again", 0.1)
        compare("checkout-raw", "checkout by hard links", at, "castree checkout", "raw checkout", 1.3)
        compare("checkout-ostree", "checkout by hard links", at, "castree checkout", "ostree checkout", 0.9)
        compare("fsck-raw", "fsck, cache warm", at, "castree fsck", "raw fsck", 1.3)
        compare("fsck-ostree", "fsck, cache warm", at, "castree fsck", "ostree fsck", 0.25)
        # Its own calls in plain C, and what these alone are to the peers.
        for row, command in (("fsck", "fsck"), ("add2", "add again"), ("checkout", "checkout")):
            compare(f"{row}-calls", f"{command}, against its own calls in plain C", at, f"castree {command}",
                    f"replay {command}", 2)
        for row, command, peer in (("fsck-floor", "fsck", "raw fsck"), ("checkout-floor", "checkout", "raw checkout"),
                                   ("add2-floor", "add again", "castree add"),
                                   ("add2-floor-ostree", "add again", "ostree commit again")):
            compare(row, f"the calls of {command} alone, in plain C", at, f"replay {command}", peer, None)
    compare("gc-ostree", "retire and gc one version", COLLECTION, "castree retire+gc", "ostree refs+prune", 0.1)
    rows.append(Row("gc-flat", "retire and gc in a 10x store", Key(COLLECTION_TENFOLD, "castree retire+gc"),
                    Key(COLLECTION, "castree retire+gc"), 1.3))
    compare("versions-git", "list the versions", LISTING, "castree versions", "git --version", 5)

    largest = sizes[-1].label
    rows.append(HighestMemoryRow("rss-all", "peak RSS of every castree run", Key(largest, "castree add"), 64))
    if SMALL in sizes and NORMAL in sizes:
        for verb in ("add", "checkout", "fsck"):
            rows.append(MemoryRow(f"rss-{verb}", f"{verb}: RSS growth per file", Key(NORMAL.label, f"castree {verb}"),
                                  Key(SMALL.label, f"castree {verb}"), 200, NORMAL.files - SMALL.files, "B/file"))
    rows.append(MemoryRow("rss-large", "add of 1 GiB against 10 MiB", Key(ONE_FILE, "castree add 1 GiB"),
                          Key(ONE_FILE, "castree add 10 MiB"), 4, MIB, "MiB"))
    return rows
