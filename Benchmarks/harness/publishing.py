"""What packs cost: the publisher's processor and memory, and the device's."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Callable

from .carriers import OriginServer
from .comparing import Comparison
from .pairs import HISTORY, NotFetched, Release, unpack
from .programs import Castree, demand
from .scratch import remove_tree
from .stopwatch import BenchmarkError, Sample

MIB, MEGABYTE = 1 << 20, 10**6
LEVELS = {19: 2.5, 3: 0.2}  # of compression; CPU seconds allowed for each MB of new content
WATCHED = ("streamlit", "mlflow", "small")  # apps of whose pulls memory is looked at
TIMED = "streamlit"
FIRST, UPDATE = "first", "update"


def cost_rows() -> list[Comparison]:
    return [
        *(Comparison(f"publish-{level}", f"publish with four bases at level {level}, for each MB of new content", "",
                     limit, "CPU s/MB") for level, limit in LEVELS.items()),
        Comparison("publish-rss", "highest peak memory of any publish", "", 256, "MiB"),
        Comparison("publish-heap", "the same without the files it maps", "", 256, "MiB"),
        Comparison("publish-again", "publish of what is published", "", 0.5, "CPU s"),
        Comparison("publish-again-files", "the same, files that are new in the origin", "", 0, "files"),
        Comparison("pull-heap", "memory of a pull, above one of the same with --no-packs", "", 16, "MiB"),
        Comparison("decode-first", f"{TIMED}, first install: time of the pull", "pull --no-packs", 1.2),
        Comparison("decode-update", f"{TIMED}, update: time of the pull", "pull --no-packs", 1.2),
        Comparison("decode-hash", f"{TIMED}, update: CPU of the pull", "sha256sum of what is new", None, "CPU s"),
    ]


@dataclass
class Publishing:
    """The publisher. Every publish is watched, and told in `account`."""
    castree: Castree
    rows: dict[str, Comparison]
    rounds: int
    seed: int
    say: Callable[[str], None]
    account: list[dict] = field(default_factory=list)

    def wants(self, *names: str) -> list[Comparison]:
        return [self.rows[name] for name in names if name in self.rows]

    def add(self, store: Path, release: Release, before: Release | None) -> None:
        if not before:
            self.castree.init(store)
        self.castree.add(store, release.root, release.version)

    def publish(self, app: str, store: Path, origin: Path, release: Release, before: list[Release],
                *options) -> float:
        """CPU seconds for each MB of objects that the origin did not have."""
        sample, anonymous, _ = self.castree.watch(store, "publish", release.version, origin, *options)
        new = sum(release.sizes[address] for address in release.new_since(*before))
        self.account.append({
            "app": app, "version": release.version, "options": " ".join(map(str, options)), "bases": len(before),
            "new": new, "cpu": sample.cpu, "wall": sample.wall, "rss": sample.rss, "anonymous": anonymous})
        for name, value in (("publish-rss", sample.rss), ("publish-heap", anonymous)):
            for row in self.wants(name):
                row.raise_to(value / MIB, f"{app} {release.version}")
        return sample.cpu / (new / MEGABYTE)

    def publish_again(self, app: str, store: Path, origin: Path, release: Release, *options) -> None:
        """Publishing the same again: nothing to compress, nothing to write."""
        before = _files(origin)
        sample, _ = self.castree.call(store, "publish", release.version, origin, *options)
        for row in self.wants("publish-again"):
            row.raise_to(sample.cpu, app)
        for row in self.wants("publish-again-files"):
            row.raise_to(len(_files(origin) - before), app)

    def history(self, work: Path, wheels: Path) -> None:
        """Five releases in a row: the last is published where four have been."""
        place = work / "now" / "history"
        place.mkdir()
        try:
            releases = [unpack(HISTORY, version, wheels, place) for version in HISTORY.versions]
        except NotFetched as error:
            raise BenchmarkError(str(error)) from error
        for level in LEVELS:
            if not self.wants(f"publish-{level}"):
                continue
            store, origin = place / f"store-{level}", place / f"origin-{level}"
            for number, release in enumerate(releases):
                self.say(f"publishing {HISTORY.name} {release.version} at level {level}")
                self.add(store, release, releases[number - 1] if number else None)
                cost = self.publish(HISTORY.name, store, origin, release, releases[:number], "--level", level)
            for row in self.wants(f"publish-{level}"):
                row.ours.append(cost)
            self.publish_again(HISTORY.name, store, origin, releases[-1], "--level", level)
        remove_tree(place)


@dataclass
class Devices:
    """Devices that pull with packs and without, in turn: time, and memory in runs of their own."""
    publishing: Publishing
    server: OriginServer
    place: Path
    app: str

    def pull(self, step: str, release: Release, before: Release | None) -> None:
        if self.app not in WATCHED or not self.publishing.wants(
                "pull-heap", *([f"decode-{step}", "decode-hash"] if self.app == TIMED else [])):
            return
        grown = []
        for number in range(self.publishing.rounds):
            kinds = ["packs", "raw"]
            random.Random(f"{self.publishing.seed}/{number}/{step}").shuffle(kinds)
            if self.app == TIMED:
                timed = {kind: self._pull(f"{kind}-{number}", kind, before, False)[0] for kind in kinds}
                for row in self.publishing.wants(f"decode-{step}"):
                    row.add(timed["packs"], timed["raw"])
                self._hash(step, release, before, timed["packs"])
            watched = {kind: self._pull(f"watched-{kind}-{number}", kind, before, True)[1] for kind in kinds}
            grown.append((watched["packs"] - watched["raw"]) / MIB)
        for row in self.publishing.wants("pull-heap"):
            row.raise_to(median(grown), f"{self.app}, {step}")

    def _pull(self, name: str, kind: str, before: Release | None, watch: bool) -> tuple[Sample, int]:
        castree, store = self.publishing.castree, self.place / name
        if not before:
            castree.init(store)
        castree.stopwatch.run(["sync"], told=False)
        arguments = (store, "pull", self.server.url, *(castree.without_packs() if kind == "raw" else []))
        if watch:
            sample, anonymous, done = castree.watch(*arguments)
        else:
            (sample, done), anonymous = castree.call(*arguments), 0
        demand(not done.get("unchanged"), "pull found nothing new")
        return sample, anonymous

    def _hash(self, step: str, release: Release, before: Release | None, pulled: Sample) -> None:
        for row in self.publishing.wants("decode-hash") if step == UPDATE else []:
            files = [release.file(address) for address in release.new_since(before)]
            sample, _ = self.publishing.castree.stopwatch.run(["sha256sum", *files], told=False)
            row.ours.append(pulled.cpu)
            row.theirs.append(sample.cpu)


def _files(origin: Path) -> set[Path]:
    return {path for path in origin.rglob("*") if path.is_file()}
