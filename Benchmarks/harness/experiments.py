"""The experiments: set up, run the programs in turn, check that each did its work, fill the series.

Nothing but the program itself stands in the timed part. Before each timed run the file systems are
synced, so that no run pays for dirty pages of the set-up or of the run before it. Within an experiment
nothing is removed: an ext4 without a journal is slow to create files where inodes were freed in the last
minutes (see README.md, "What disturbs").
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .calls import Replay
from .content import Content, large_file, tiny_files
from .programs import Castree, Git, Ostree, Raw, demand, demand_linked
from .rows import (COLLECTION, COLLECTION_TENFOLD, LISTING, ONE_FILE, MIB, SMALL, Key, Results, Size)
from .scratch import remove_tree, spread_directories
from .stopwatch import BenchmarkError, Sample, Series, Stopwatch

VERSIONS = 200
TENFOLD = 10
LISTED_VERSIONS, LISTED_FILES = 10, 10_000
SHORT_RUNS = 8  # runs a round of a process that takes a millisecond
SMALL_RUNS = 3  # runs a round of one that takes ten


@dataclass
class Bench:
    """What every experiment is given."""
    work: Path
    stopwatch: Stopwatch
    castree: Castree
    ostree: Ostree
    raw: Raw
    git: Git
    replay: Replay
    results: Results
    wanted: set[Key]
    rounds: int
    seed: int

    def wants(self, content: str, *names: str) -> bool:
        """Is one of these series asked for, is its program here, and has it not failed?"""
        return any(Key(content, name) in self.wanted and not self.results.missing[name.split()[0]]
                   and Key(content, name) not in self.results.failed for name in names)

    def alone(self, content: str, name: str, run: Callable):
        """What `run` gives; if it fails, this series alone is void, and not the whole experiment."""
        try:
            return run()
        except BenchmarkError as error:
            print(f"  {content}: {name}: failed: {error}", file=sys.stderr)
            self.results.failed[Key(content, name)] = str(error)

    def measure(self, content: str, name: str, run: Callable[[], Sample]) -> None:
        os.sync()
        begin = len(self.stopwatch.log)
        sample = run()
        self.results.series.setdefault(Key(content, name), Series()).samples.append(sample)
        self.results.commands.setdefault(name, self.stopwatch.log[begin:])
        if len(self.results.series[Key(content, name)].samples) <= self.rounds:  # enough as progress
            print(f"  {content}: {name}: {sample.wall:.4f} s", file=sys.stderr)

    def turns(self, size: Size) -> range:
        """How often to run a process whose time is that of a few system calls a file."""
        return range(self.rounds * (SMALL_RUNS if size is SMALL else 1))

    def content(self, size: Size) -> Content:
        return Content(self.place("content"), size.files, size.bytes, self.seed)

    def place(self, name: str) -> Path:
        """A path in the working directory where nothing stands or stood in this experiment."""
        path, number = self.work / "now" / name, 1
        while path.exists():
            number += 1
            path = self.work / "now" / f"{name}-{number}"
        return path

    def clear(self) -> None:
        """After an experiment."""
        remove_tree(self.work / "now")
        spread_directories(self.work / "now")


@dataclass(frozen=True)
class Experiment:
    title: str
    contents: tuple[str, ...]
    names: tuple[str, ...]
    run: Callable[[Bench], None]

    @property
    def keys(self) -> set[Key]:
        return {Key(content, name) for content in self.contents for name in self.names}


def all_experiments(sizes: list[Size], collection: Size) -> list[Experiment]:
    experiments = []

    def experiment(title, contents, names, run):
        experiments.append(Experiment(title, contents, names, run))

    for size in sizes:
        at = (size.label,)
        experiment("add", at, ("castree add", "castree add again", "raw add", "ostree commit", "ostree commit again",
                                "replay add again"),
                   lambda bench, size=size: add(bench, size))
        experiment("checkout", at, ("castree checkout", "raw checkout", "ostree checkout", "replay checkout"),
                   lambda bench, size=size: checkout(bench, size))
        experiment("fsck", at, ("castree fsck", "raw fsck", "ostree fsck", "replay fsck"),
                   lambda bench, size=size: fsck(bench, size))
    experiment("collect", (COLLECTION, COLLECTION_TENFOLD), ("castree retire+gc", "ostree refs+prune"),
               lambda bench: collect(bench, collection))
    experiment("list versions", (LISTING,), ("castree versions", "git --version"), list_versions)
    experiment("add a large file", (ONE_FILE,), ("castree add 10 MiB", "castree add 1 GiB"), add_large_file)
    return experiments


def add(bench: Bench, size: Size) -> None:
    """First adds into fresh stores; then 1 % changes in place and second adds into the same stores."""
    at = size.label
    ours = bench.wants(at, "castree add", "castree add again")
    raw = bench.wants(at, "raw add")
    ostree = bench.wants(at, "ostree commit", "ostree commit again")
    again = bench.wants(at, "castree add again", "ostree commit again", "replay add again")
    content = bench.content(size)
    for _ in range(bench.rounds):
        content.settle()
        store, raw_store, repository = (bench.place(name) for name in ("store", "raw-store", "repository"))
        if ours:
            bench.castree.init(store)
            bench.measure(at, "castree add", lambda: bench.castree.add_first(store, content, "v1"))
        if raw:
            raw_store.mkdir()
            bench.measure(at, "raw add", lambda: bench.raw.add(raw_store, content, "v1"))
        if ostree:
            bench.ostree.init(repository)
            bench.measure(at, "ostree commit", lambda: bench.ostree.commit(repository, content, "v1"))
            bench.ostree.demand_commit(repository, content, "v1")
        if bench.wants(at, "replay add again"):
            twins = _twins(bench, content)
        if again:
            changed = content.change()
            content.settle()
            if ours:
                bench.measure(at, "castree add again",
                              lambda: bench.castree.add_next(store, content, "v2", changed))
            if ostree:
                before = bench.ostree.file_objects(repository)
                bench.measure(at, "ostree commit again",
                              lambda: bench.ostree.commit(repository, content, "v2"))
                bench.ostree.demand_commit(repository, content, "v2")
                new = bench.ostree.file_objects(repository) - before
                demand(new == changed, f"ostree stored {new} file objects, expected {changed}")
            if bench.wants(at, "replay add again"):
                command = ["add", content.root, "--version", "v2"]
                _replay(bench, at, "replay add again", _record(bench, at, "replay add again", command, twins))


def checkout(bench: Bench, size: Size) -> None:
    """Trees of hard links, each made beside the ones before."""
    at = size.label
    content = bench.content(size)
    content.settle()
    store, repository = bench.place("store"), bench.place("repository")
    _prepare_store(bench, store, content)
    if bench.wants(at, "ostree checkout"):
        bench.ostree.init(repository)
        bench.ostree.commit(repository, content, "v1")
    if bench.wants(at, "replay checkout"):
        recorded, replayed = twins = _twins(bench, content)
        for twin in twins:
            (twin / "trees").mkdir()
        calls = _record(bench, at, "replay checkout", ["checkout", "v1", recorded / "trees" / "v1"], twins)
    for _ in bench.turns(size):
        if bench.wants(at, "castree checkout"):
            target = bench.place("target")
            bench.measure(at, "castree checkout",
                          lambda: bench.castree.checkout(store, "v1", target, content))
        if bench.wants(at, "raw checkout"):
            target = bench.place("target")
            bench.measure(at, "raw checkout",
                          lambda: bench.raw.checkout(store / "versions" / "v1", target, content))
        if bench.wants(at, "ostree checkout"):
            target = bench.place("target")
            bench.measure(at, "ostree checkout",
                          lambda: bench.ostree.checkout(repository, "v1", target, content))
        if bench.wants(at, "replay checkout") and _replay(bench, at, "replay checkout", calls):
            demand_linked(replayed / "trees" / "v1", content)
            (replayed / "trees").rename(bench.place("target"))
            (replayed / "trees").mkdir()


def fsck(bench: Bench, size: Size) -> None:
    """One run of each that is not counted warms the page cache."""
    at = size.label
    content = bench.content(size)
    content.settle()
    store, repository = bench.place("store"), bench.place("repository")
    _prepare_store(bench, store, content)
    if bench.wants(at, "ostree fsck"):
        bench.ostree.init(repository)
        bench.ostree.commit(repository, content, "v1")
    if bench.wants(at, "replay fsck"):
        twins = _twins(bench, content)
        for twin in twins:
            bench.castree.fsck(twin / "store", content)  # warm, and with the notes that a first one leaves
        calls = _record(bench, at, "replay fsck", ["fsck"], twins)
    runs = {
        "castree fsck": lambda: bench.castree.fsck(store, content),
        "raw fsck": lambda: bench.raw.fsck(store / "objects", content),
        "ostree fsck": lambda: bench.ostree.fsck(repository),
    }
    runs = {name: run for name, run in runs.items() if bench.wants(at, name)}
    for run in runs.values():
        run()
    for _ in bench.turns(size):
        for name, run in runs.items():
            bench.measure(at, name, run)
        if bench.wants(at, "replay fsck"):
            _replay(bench, at, "replay fsck", calls)


def collect(bench: Bench, size: Size) -> None:
    """Retire one version and collect its 1 %, in stores that hold the same 200 versions.

    Each version is the base content with 1 % of the files changed, always other ones or to other bytes,
    and the base is a version of its own. So whichever version goes, its garbage is exactly the changed
    files. The tenfold store holds, besides the same versions, one version of unrelated tiny files with
    nine times as many objects as all the others together.
    """
    ours = bench.wants(COLLECTION, "castree retire+gc")
    tenfold = bench.wants(COLLECTION_TENFOLD, "castree retire+gc")
    ostree = bench.wants(COLLECTION, "ostree refs+prune")
    store, large_store, repository = (bench.place(name) for name in ("store", "store-10x", "repository"))
    stores = [path for path, wanted in ((store, ours), (large_store, tenfold)) if wanted]
    content = bench.content(size)
    content.settle()
    for path in stores:
        bench.castree.init(path)
        bench.castree.add_first(path, content, "base")
    if ostree:
        bench.ostree.init(repository)
        bench.ostree.commit(repository, content, "base", "--fsync=false")
    changed = 0
    versions = VERSIONS + bench.rounds - 1  # 200 are left when the last round begins
    for number in range(1, versions):
        changed = content.change()
        for path in stores:
            bench.castree.add_next(path, content, f"v{number}", changed)
        if ostree:
            bench.ostree.commit(repository, content, f"v{number}", "--fsync=false")
        content.restore()
        if number % 50 == 0:
            print(f"  {number} of {versions} versions", file=sys.stderr)
    if tenfold:
        unrelated = bench.place("unrelated")
        tiny_files(unrelated, (TENFOLD - 1) * (content.distinct + versions * changed), "unrelated")
        bench.castree.add(large_store, unrelated, "unrelated")
    for round in range(bench.rounds):
        victim = f"v{VERSIONS // 2 + round}"
        if ours:
            bench.measure(COLLECTION, "castree retire+gc",
                          lambda: bench.castree.collect_one(store, victim, changed))
        if tenfold:
            bench.measure(COLLECTION_TENFOLD, "castree retire+gc",
                          lambda: bench.castree.collect_one(large_store, victim, changed))
        if ostree:
            bench.measure(COLLECTION, "ostree refs+prune",
                          lambda: bench.ostree.collect_one(repository, victim, changed))


def list_versions(bench: Bench) -> None:
    """Ten versions of 10,000 unrelated tiny files each; as a process, start-up included."""
    store = bench.place("store")
    if bench.wants(LISTING, "castree versions"):
        bench.castree.init(store)
        for number in range(LISTED_VERSIONS):
            source = bench.place("tiny")
            tiny_files(source, LISTED_FILES, f"version {number}")
            _, done = bench.castree.add(store, source, f"v{number}")
            demand(done["newObjects"] == LISTED_FILES, f"add stored {done['newObjects']} objects")
        bench.castree.versions(store, LISTED_VERSIONS)
    for _ in range(bench.rounds * SHORT_RUNS):
        if bench.wants(LISTING, "castree versions"):
            bench.measure(LISTING, "castree versions", lambda: bench.castree.versions(store, LISTED_VERSIONS))
        if bench.wants(LISTING, "git --version"):
            bench.measure(LISTING, "git --version", bench.git.version)


def add_large_file(bench: Bench) -> None:
    """Memory only: adding a file must not cost memory in proportion to its size."""
    for _ in range(min(3, bench.rounds)):
        for name, size in (("castree add 10 MiB", 10 * MIB), ("castree add 1 GiB", 1024 * MIB)):
            if not bench.wants(ONE_FILE, name):
                continue
            source, store = bench.place("large"), bench.place("store")
            large_file(source, size, bench.seed)
            bench.castree.init(store)

            def run() -> Sample:
                sample, done = bench.castree.add(store, source, "v1")
                demand(done["bytes"] == size, f"add saw {done['bytes']} bytes of {size}")
                return sample

            bench.measure(ONE_FILE, name, run)
            remove_tree(source)  # two inodes, but gigabytes
            remove_tree(store)


def _twins(bench: Bench, content: Content) -> tuple[Path, Path]:
    """Two stores with the content as v1, each in a place of its own: for `Replay`."""
    places = []
    for name in ("recorded", "replayed"):
        place = bench.place(name)
        spread_directories(place)
        _prepare_store(bench, place / "store", content)
        places.append(place)
    return tuple(places)


def _record(bench: Bench, content: str, name: str, command: list, twins: tuple[Path, Path]) -> Path | None:
    return bench.alone(content, name, lambda: bench.replay.record(command, *twins))


def _replay(bench: Bench, content: str, name: str, calls: Path | None) -> bool:
    """Measures it, if it could be recorded. Was it done?"""
    if calls:
        bench.alone(content, name, lambda: bench.measure(content, name, lambda: bench.replay.run(calls)))
    return bench.wants(content, name)


def _prepare_store(bench: Bench, store: Path, content: Content) -> None:
    """A store with the content as v1: ours, or for the raw programs alone, theirs."""
    if not bench.castree.missing:
        bench.castree.init(store)
        bench.castree.add_first(store, content, "v1")
    elif not bench.raw.missing:
        store.mkdir()
        bench.raw.add(store, content, "v1")
