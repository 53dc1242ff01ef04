"""What each operation costs in stores of growing size, and how the cost grows."""

import math
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .generated import PROBE_OWN, Plan, lay_out
from .programs import Castree, Raw, demand
from .rows import MIB
from .scratch import remove_tree
from .stopwatch import BenchmarkError, Sample, Series

LISTS_PER_ROUND = 7  # a process of a few milliseconds
FIXED_FILES = 100
INDEX_PER_OBJECT, INDEX_PER_REFERENCE = 150, 20
FLAT_MEMORY = 64  # MiB


@dataclass
class Operation:
    """One line of the table."""
    id: str
    work: str
    series: dict[int, Series] = field(default_factory=dict)  # by objects

    def note(self, objects: int, sample: Sample) -> None:
        self.series.setdefault(objects, Series()).samples.append(sample)

    def exponent(self, cost) -> float | None:
        """The b of cost = a * objects^b between the two largest sizes, where starting weighs least; None for one size."""
        if len(self.series) < 2:
            return None
        small, large = sorted(self.series)[-2:]
        ratio = max(cost(self.series[large]), 1e-6) / max(cost(self.series[small]), 1e-6)
        return math.log(ratio) / math.log(large / small)


@dataclass
class Judged:
    """A number of the report with its limit."""
    id: str
    work: str
    limit: float
    unit: str = ""
    value: float | None = None
    text: str = "not measured"

    def judge(self, value: float) -> None:
        self.value = value
        self.text = "PASS" if value <= self.limit else "FAIL"


def all_operations() -> list[Operation]:
    return [
        Operation("rebuild", "`versions` that rebuilds the index"),
        Operation("deep", "`fsck --deep` after that, fingerprints come back"),
        Operation("versions", "`versions`"),
        Operation("show", "`show` of a small version"),
        Operation("add-fixed", f"`add` of {FIXED_FILES} new files"),
        Operation("add-share", "`add` of new files, 1 % of the objects"),
        Operation("add-again", "`add` of these again, one changed"),
        Operation("retire", "`retire` of one version"),
        Operation("gc", f"`gc` of its {PROBE_OWN} objects"),
        Operation("gc-raw", "raw/gc.c after `retire` of another: the same statements, deletions and syncs"),
        Operation("gc-dry", "`gc --dry-run` before that"),
        Operation("gc-none", "`gc` without garbage"),
        Operation("du", "`du`"),
        Operation("fsck", "`fsck`, page cache warm"),
        Operation("fsck-raw", "raw/fsck.c over the same objects"),
    ]


class ScaleBench:
    def __init__(self, work: Path, castree: Castree, sizes: list[int], versions: int, rounds: int, seed: int,
                 say):
        self.work, self.castree, self.sizes, self.rounds, self.seed, self.say = (
            work, castree, sizes, rounds, seed, say)
        self.raw = Raw(castree.stopwatch)
        self.versions = versions
        self.operations = {operation.id: operation for operation in all_operations()}
        self.indexes: list[tuple[int, int, int, int, str]] = []  # objects, references, bytes, cached files, tables
        self.tables: dict[int, str] = {}
        self.failures: list[str] = []

    def run(self) -> None:
        for size in self.sizes:
            try:
                self._measure(size)
            except (BenchmarkError, OSError, KeyError, TypeError) as error:
                self.failures.append(f"{size:,} objects: {error}")
                self.say(f"failed: {error}")

    # One store.

    def _measure(self, size: int) -> None:
        # Each of the two collectors has garbage of its own.
        plan = Plan(size, self.versions, self.rounds * (1 if self.raw.missing else 2), self.seed)
        store = self.work / "now" / f"store-{size}"
        self.say(f"laying out {plan.distinct:,} objects, {plan.versions + plan.probes:,} versions, "
                 f"{plan.references:,} references")
        self.castree.init(store)
        lay_out(store, plan)
        self._forget_index(store)
        subprocess.run(["sync"], check=True)
        registered = plan.versions + plan.probes
        self.say("rebuild, fsck --deep")
        self._note("rebuild", size, self.castree.versions(store, registered))
        self._note("deep", size, self._fsck(store, plan, "--deep"))
        self._note_index(store, size, plan)
        self.say("versions, show")
        for _ in range(self.rounds * LISTS_PER_ROUND):
            self._note("versions", size, self.castree.versions(store, registered))
            self._note("show", size, self._call(store, "show", "probe-1"))
        self.say("retire, gc")
        for number in range(1, plan.probes + 1):
            self._retire(store, size, number)
        self.say("add")
        for number in range(self.rounds):
            self._add(store, size, number)
        self.say("du, fsck")
        for _ in range(self.rounds):
            self._note("du", size, self._call(store, "du"))
        # Each in turn the first: whoever comes second finds what the other has warmed.
        for number in range(self.rounds):
            steps = [self._note_fsck, self._note_raw_fsck]
            for step in steps if number % 2 == 0 else reversed(steps):
                step(store, size, plan)
        remove_tree(store)

    def _note_fsck(self, store: Path, size: int, plan: Plan) -> None:
        self._note("fsck", size, self._fsck(store, plan))

    def _note_raw_fsck(self, store: Path, size: int, plan: Plan) -> None:
        if not self.raw.missing:
            self._note("fsck-raw", size, self.raw.fsck(store / "objects", plan))

    def _retire(self, store: Path, size: int, number: int) -> None:
        self._sync()
        self._note("gc-none", size, self._call(store, "gc"))
        self._sync()
        self._note("retire", size, self._call(store, "retire", f"probe-{number}"))
        self._sync()
        if not self.raw.missing and number % 2 == 0:
            self._note("gc-raw", size, self.raw.gc(store, PROBE_OWN))
            return
        sample, plan = self.castree.call(store, "gc", "--dry-run")
        demand(plan["objects"] == PROBE_OWN, f"gc --dry-run would collect {plan['objects']}, not {PROBE_OWN}")
        self._note("gc-dry", size, sample)
        self._sync()
        sample, done = self.castree.call(store, "gc")
        demand(done["objects"] == PROBE_OWN, f"gc collected {done['objects']}, not {PROBE_OWN}")
        self._note("gc", size, sample)

    def _add(self, store: Path, size: int, number: int) -> None:
        for id, files in (("add-fixed", FIXED_FILES), ("add-share", max(1, size // 100))):
            source = self.work / "now" / f"source-{size}-{id}-{number}"
            make_source(source, files, f"{self.seed}/{size}/{id}/{number}")
            self._sync()
            sample, done = self.castree.add(store, source, f"{id}-{number}")
            demand(done["newObjects"] >= files, f"add stored {done['newObjects']} objects of {files}")
            self._note(id, size, sample)
            if id == "add-share":
                changed = next(iter(sorted(source.glob("*/*"))))
                changed.write_text(f"changed {size} {number}\n")
                self._sync()
                sample, done = self.castree.add(store, source, f"{id}-{number}-again")
                demand(1 <= done["newObjects"] <= 2, f"add stored {done['newObjects']} objects, not 1")
                self._note("add-again", size, sample)
            remove_tree(source)

    def _call(self, store: Path, *arguments) -> Sample:
        return self.castree.call(store, *arguments)[0]

    def _fsck(self, store: Path, plan: Plan, *options) -> Sample:
        sample, done = self.castree.call(store, "fsck", *options)
        demand(done["findings"] == [], f"fsck found {done['findings'][:1]}")
        demand(done["checkedObjects"] >= plan.objects // 2, f"fsck checked {done['checkedObjects']} objects")
        return sample

    def _note(self, id: str, size: int, sample: Sample) -> None:
        self.operations[id].note(size, sample)

    @staticmethod
    def _forget_index(store: Path) -> None:
        for name in ("index.sqlite", "index.sqlite-journal", "stamp"):
            (store / name).unlink(missing_ok=True)

    @staticmethod
    def _sync() -> None:
        subprocess.run(["sync"], check=True)

    # The index.

    def _note_index(self, store: Path, size: int, plan: Plan) -> None:
        index = store / "index.sqlite"
        self.indexes.append((size, plan.references, index.stat().st_size, 0, f"{size:,} objects"))
        self.tables[size] = describe_tables(index, plan.distinct)

    def measure_added_index(self, files: int) -> None:
        """The index of a store that was filled by adds: it holds the stat cache too."""
        store, source = self.work / "now" / "added", self.work / "now" / "added-source"
        self.say(f"index of a store of {files:,} added files")
        self.castree.init(store)
        make_source(source, files, f"{self.seed}/added", spread=0)
        self._sync()
        self.castree.add(store, source, "1")
        # As a build changes them; and what was too young for the cache is noted now.
        for number, path in enumerate(sorted(source.glob("*/*"))):
            if number % 100 == 0:
                path.write_text(f"changed {number}\n")
        self.castree.add(store, source, "2")
        objects, references = files + (files + 99) // 100, 2 * files
        index = store / "index.sqlite"
        self.indexes.append((objects, references, index.stat().st_size, files, f"{files:,} files added twice"))
        self.tables[-files] = describe_tables(index, objects)
        remove_tree(store)
        remove_tree(source)

    # Verdicts.

    def judge(self) -> list[Judged]:
        small, large = min(self.sizes), max(self.sizes)
        rows = [
            Judged("scale-versions", f"open + `versions` at {large:,} against {small:,} objects, wall", 1.5),
            Judged("scale-gc", f"`gc` of one retired version, same garbage, {large:,} against {small:,}, wall", 1.3),
            Judged("scale-gc-raw", f"`gc` against raw/gc.c, same garbage, wall, {large:,} objects", 1.5),
            Judged("scale-du-cpu", f"CPU of `du` for 10^6 references, {large:,} objects", 1, "s"),
            Judged("scale-du-rss", f"peak memory of `du`, {large:,} objects", 256, "MiB"),
            Judged("scale-fsck-raw", f"`fsck` against raw/fsck.c, page cache warm, wall, {large:,} objects", 1.2),
            Judged("scale-rss", f"highest peak memory of all runs but `du`, {large:,} objects", FLAT_MEMORY, "MiB"),
        ]
        by_id = {row.id: row for row in rows}
        if len(self.sizes) > 1:
            by_id["scale-versions"].judge(self._ratio(["versions"], small, large))
            by_id["scale-gc"].judge(self._ratio(["gc"], small, large))
            if not self.raw.missing:
                grown = self._ratio(["gc-raw"], small, large)
                by_id["scale-gc"].work += f" (raw/gc.c: {grown:.3g})"
        du = self.operations["du"].series.get(large)
        if du:
            references = next(entry[1] for entry in self.indexes if entry[0] == large)
            by_id["scale-du-cpu"].judge(du.cpu / references * 1e6)
            by_id["scale-du-rss"].judge((du.rss or 0) / MIB)
        ours = self._against_raw(large, "gc")
        if ours is not None:
            by_id["scale-gc-raw"].judge(ours)
        elif self.raw.missing:
            by_id["scale-gc-raw"].text = f"not measured: {self.raw.missing}"
        against = {size: self._against_raw(size, "fsck") for size in self.sizes}
        if against[large] is not None:
            by_id["scale-fsck-raw"].judge(against[large])
            smaller = [f"{size:,}: {ratio:.3g}" for size, ratio in against.items() if size != large and ratio is not None]
            by_id["scale-fsck-raw"].work += f" ({', '.join(smaller)})" if smaller else ""
        elif self.raw.missing:
            by_id["scale-fsck-raw"].text = f"not measured: {self.raw.missing}"
        peaks = [series.rss or 0 for operation in self.operations.values() if operation.id not in ("du", "fsck-raw", "gc-raw")
                 for size, series in operation.series.items() if size == large]
        if peaks:
            by_id["scale-rss"].judge(max(peaks) / MIB)
        told = False
        for objects, references, size, _, title in self.indexes:
            what = f"index: bytes an object, less {INDEX_PER_REFERENCE} a reference" if not told else "the same"
            row = Judged("scale-index", f"{what}; {title}, {references:,} references", INDEX_PER_OBJECT, "B")
            told = True
            row.judge((size - INDEX_PER_REFERENCE * references) / objects)
            rows.append(row)
        for failure in self.failures:
            rows.append(Judged("scale", failure, 0, text="ERROR"))
        return rows

    def _against_raw(self, size: int, id: str) -> float | None:
        ours, theirs = (self.operations[name].series.get(size) for name in (id, f"{id}-raw"))
        if not ours or not theirs:
            return None
        return min(sample.wall for sample in ours.samples) / min(sample.wall for sample in theirs.samples)

    def _ratio(self, ids: list[str], small: int, large: int) -> float:
        """Of the lowest times: what disturbs makes a run longer, never shorter."""
        total = {size: sum(min(sample.wall for sample in self.operations[id].series[size].samples) for id in ids)
                 for size in (small, large)}
        return total[large] / total[small]


def make_source(root: Path, files: int, seed: str, spread: int = 64) -> None:
    """A directory of tiny files, 100 in each directory, every one distinct."""
    choice = random.Random(seed)
    for start in range(0, files, 100):
        directory = root / f"part{start // 100:04}"
        directory.mkdir(parents=True)
        for number in range(start, min(start + 100, files)):
            (directory / f"asset-{number:06}.js").write_text(
                f"{seed} {number}\n" + "." * choice.randrange(spread + 1))


def describe_tables(index: Path, objects: int) -> str:
    """Bytes for each object in each table and index, as SQLite's dbstat tells; empty without sqlite3."""
    if not shutil.which("sqlite3"):
        return ""
    done = subprocess.run(
        ["sqlite3", "-readonly", index, "SELECT name, sum(pgsize), sum(unused) FROM dbstat GROUP BY name "
         "ORDER BY 2 DESC LIMIT 6; SELECT '(free)', freelist_count * page_size, 0 FROM "
         "pragma_freelist_count, pragma_page_size"], capture_output=True, text=True)
    if done.returncode != 0:
        return ""
    parts = []
    for line in done.stdout.splitlines():
        name, size, unused = line.split("|")
        parts.append(f"{name} {int(size) / objects:.1f} ({int(unused) * 100 // max(int(size), 1)} % unused)")
    return ", ".join(parts)
