"""The rows of `delivery`: what a release of a real app costs over the air, by every way there is."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from .bases import by_content, by_name
from .carriers import (CastreeDevice, Carrier, CasyncCarrier, Cost, OriginServer, OstreeCarrier, ZsyncCarrier)
from .comparing import Comparison
from .pairs import APPS, App, NotFetched, Release, unpack
from .programs import PACKLESS, Castree, demand
from .publishing import FIRST, UPDATE, Devices, Publishing
from .scratch import remove_tree
from .shrinking import BROTLI, BSDIFF, GZIP, HDIFFPATCH, ZIP, ZSTD, ZSTD_PATCH, Shrinker
from .stopwatch import BenchmarkError, Stopwatch

KILOBYTE = 1000
OURS, RAW, CASYNC, ZSYNC = "castree", "castree --no-packs", "casync", "zsync"
OSTREE, OSTREE_DELTA = "ostree", "ostree delta"
BY_NAME, BY_CONTENT = "base by name", "base by content"
PATCHES = (ZSTD_PATCH, BSDIFF, HDIFFPATCH)
UPDATE_LIMITS = {"streamlit": 120, "marimo": 28, "mlflow": 5, "dagster": 127, "bokeh": 4.5, "notebook": 16.6,
                 "plotly": 15}
SMALL_LIMIT, MOST_REQUESTS = 1600, 3


def byte_rows() -> list[Comparison]:
    rows = [Comparison(f"first-{app.name}", f"{app.name}, first install", ZIP, 1.0, "KB") for app in APPS
            if app.name in UPDATE_LIMITS]
    rows.append(Comparison("first-small", "15,142 small files, first install", "", SMALL_LIMIT, "KB"))
    rows += [Comparison(f"update-{name}", f"{name}, update", "", limit, "KB")
             for name, limit in UPDATE_LIMITS.items()]
    return rows + [
        Comparison("requests-first", "most requests of a first install", "", MOST_REQUESTS, "requests"),
        Comparison("requests-update", "most requests of an update", "", MOST_REQUESTS, "requests"),
        Comparison("origin-packs", "packs against the objects of an origin, bytes", "", 0.55, ""),
    ]


@dataclass
class Measured:
    """What was measured of one app, as it stands in the document."""
    app: App
    label: str = ""
    problem: str = ""
    costs: dict[str, dict[str, dict]] = field(default_factory=lambda: {FIRST: {}, UPDATE: {}})

    def record(self) -> dict:
        return {"app": self.app.name, "label": self.label, "problem": self.problem, **self.costs}


@dataclass
class DeliveryBench:
    work: Path
    stopwatch: Stopwatch
    castree: Castree
    shrinker: Shrinker
    wheels: Path
    rows: dict[str, Comparison]
    publishing: Publishing
    say: Callable[[str], None]
    ours_only: bool
    contents: list[Measured] = field(default_factory=list)

    def wants(self, *names: str) -> list[Comparison]:
        return [self.rows[name] for name in names if name in self.rows]

    def measure(self, app: App) -> None:
        """All ways for one app. What is not to be had is said and left out; a way that fails is out alone."""
        measured = Measured(app)
        self.contents.append(measured)
        place = self.work / "now" / app.name
        place.mkdir()
        try:
            releases = [unpack(app, version, self.wheels, place) for version in app.versions]
        except NotFetched as error:
            measured.problem = f"not measured: {error}"
            self.say(measured.problem)
            for row in self.wants(f"first-{app.name}", f"update-{app.name}"):
                row.problem = measured.problem
            return
        measured.label = _label(app, releases)
        self.say(measured.label)
        for name in ("origin", "others", "device"):
            (place / name).mkdir()
        with OriginServer(place / "origin", place / "others", self.work) as server:
            if not self.castree.missing:
                self._castree(measured, releases, server, place)
            if not self.ours_only:
                self._carriers(measured, releases, server, place)
        self._shrunk(measured, releases, place)
        self._judge(measured)
        remove_tree(place)

    # MARK: Counted in the log

    def _castree(self, measured: Measured, releases: list[Release], server: OriginServer, place: Path) -> None:
        origin = place / "origin"
        knows_packs = self.castree.knows_packs()
        devices = {}
        for name, options in ((OURS, ()), (RAW, tuple(self.castree.without_packs()))):
            (place / "device" / name).mkdir()
            devices[name] = CastreeDevice(self.stopwatch, server, place / "others", place / "device" / name,
                                          self.castree, options)
        if not knows_packs:
            del devices[OURS]
            for step in (FIRST, UPDATE)[:len(releases)]:
                measured.costs[step][OURS] = {"problem": PACKLESS}
        for step, release, before in _steps(releases):
            try:
                self.publishing.add(place / "publisher", release, before)
                self.publishing.publish(measured.app.name, place / "publisher", origin, release,
                                        [before] if before else [])
            except (BenchmarkError, OSError, KeyError) as error:
                self._failed(measured, step, list(devices), error)
                return
            for name, device in devices.items():
                self._deliver(measured, step, name, device, release, before)
            if knows_packs:
                try:
                    Devices(self.publishing, server, place / "device", measured.app.name).pull(step, release, before)
                except BenchmarkError as error:
                    self._spoiled(measured, error, "pull-heap", f"decode-{step}")
        if knows_packs:
            try:
                self.publishing.publish_again(measured.app.name, place / "publisher", origin, releases[-1])
                packs, objects = _bytes_below(origin / "packs"), _bytes_below(origin / "objects")
                for row in self.wants("origin-packs"):
                    row.raise_to(packs / objects, measured.app.name)
            except BenchmarkError as error:
                self._spoiled(measured, error, "publish-again", "publish-again-files", "origin-packs")

    def _carriers(self, measured: Measured, releases: list[Release], server: OriginServer, place: Path) -> None:
        common = (self.stopwatch, server, place / "others", place / "device")
        ostree, casync, zsync = OstreeCarrier(*common), CasyncCarrier(*common), ZsyncCarrier(*common)
        zsync.start_with(releases[0])  # its first install would be a plain download of a compressed tar
        for step, release, before in _steps(releases):
            for name, carrier in ((OSTREE, ostree), (CASYNC, casync), *(((ZSYNC, zsync),) if before else ())):
                self._deliver(measured, step, name, carrier, release, before)
            if before and "bytes" in measured.costs[step][OSTREE]:
                measured.costs[step][OSTREE_DELTA] = vars(ostree.delta())

    def _deliver(self, measured: Measured, step: str, name: str, carrier: Carrier, release: Release,
                 before: Release | None) -> None:
        missing = carrier.missing()
        if missing:
            measured.costs[step][name] = {"problem": f"not measured: {missing}"}
            return
        try:
            measured.costs[step][name] = vars(carrier.deliver(release, before))
        except (BenchmarkError, OSError, KeyError) as error:
            self._failed(measured, step, [name], error)

    def _failed(self, measured: Measured, step: str, names: list[str], error: Exception) -> None:
        self.say(f"{measured.app.name}, {step}, {', '.join(names)}: {error}")
        for name in names:
            measured.costs[step][name] = {"problem": f"ERROR: {error}"}

    def _spoiled(self, measured: Measured, error: Exception, *names: str) -> None:
        """Rows about several apps, of which one failed."""
        self.say(f"{measured.app.name}: {error}")
        for row in self.wants(*names):
            row.problem = f"ERROR: {measured.app.name}: {error}"

    # MARK: Sizes of files

    def _shrunk(self, measured: Measured, releases: list[Release], place: Path) -> None:
        for step, release, before in _steps(releases):
            new = release.new_since(before) if before else list(release.paths)
            costs = measured.costs[step]
            costs[ZIP] = self._sized(ZIP, lambda: Cost(self.shrinker.whole(release), 1, False))
            if self.ours_only:
                continue
            for method in (GZIP, ZSTD, BROTLI):
                costs[method] = self._sized(method, lambda: Cost(
                    sum(self.shrinker.one(method, release, address) for address in new), len(new), False))
            if before:
                self._patched(measured, release, before, new, place)
        self.shrinker.save()

    def _patched(self, measured: Measured, release: Release, before: Release, new: list[str], place: Path) -> None:
        named = by_name(release, before, new)
        found = by_content(release, before, new, self.stopwatch.raw["closest"], place)
        best = {}
        for address in new:
            candidates = list(dict.fromkeys([*found.get(address, []), *([named[address]] if address in named else [])]))
            if candidates:
                best[address] = min(candidates, key=lambda base: self.shrinker.patch(
                    ZSTD_PATCH, release, address, before, base, level=3))
        for method in PATCHES:
            for title, bases in ((BY_NAME, named), (BY_CONTENT, best)):
                self.say(f"{measured.app.name}: {method}, {title}")
                measured.costs[UPDATE][f"{method}, {title}"] = self._sized(method, lambda: Cost(
                    sum(self._patch_or_whole(method, release, before, address, bases.get(address))
                        for address in new), len(new), False))

    def _patch_or_whole(self, method: str, release: Release, before: Release, address: str, base: str | None) -> int:
        """Without a base, or with one that is no help, a publisher sends the compressed file."""
        whole = self.shrinker.one(ZSTD, release, address)
        return min(whole, self.shrinker.patch(method, release, address, before, base)) if base else whole

    def _sized(self, method: str, measure: Callable[[], Cost]) -> dict:
        missing = self.shrinker.missing(method)
        if missing:
            return {"problem": missing}
        try:
            return vars(measure())
        except (BenchmarkError, OSError, MemoryError) as error:
            self.say(f"{method}: {error}")
            return {"problem": f"ERROR: {error}"}

    # MARK: Rows

    def _judge(self, measured: Measured) -> None:
        for step in (FIRST, UPDATE):
            ours = measured.costs[step].get(OURS, {"problem": "not measured: castree is left out"})
            for row in self.wants(f"{step}-{measured.app.name}"):
                theirs = measured.costs[step][row.peer] if row.peer else {}
                row.problem = ours.get("problem", "") or theirs.get("problem", "")
                if not row.problem:
                    row.ours = [ours["bytes"] / KILOBYTE]
                    row.theirs = [theirs["bytes"] / KILOBYTE] if row.peer else []
            for row in self.wants(f"requests-{step}"):
                if "requests" in ours:
                    row.raise_to(ours["requests"], measured.app.name)
                elif measured.costs[step]:
                    row.problem = ours["problem"]


def _steps(releases: list[Release]) -> list[tuple[str, Release, Release | None]]:
    return list(zip((FIRST, UPDATE), releases, (None, *releases)))


def _label(app: App, releases: list[Release]) -> str:
    first = releases[0]
    text = f"{app.name} {first.version}: {len(first.files):,} files, {first.bytes / 1e6:.1f} MB"
    if len(releases) == 1:
        return text
    new = releases[1].new_since(first)
    return (f"{text}; {releases[1].version}: {len(new)} new object{'s' * (len(new) != 1)} of "
            f"{sum(releases[1].sizes[address] for address in new) / 1e6:.1f} MB")


def _bytes_below(directory: Path) -> int:
    demand(directory.is_dir(), f"the origin has no {directory.name}/")
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
