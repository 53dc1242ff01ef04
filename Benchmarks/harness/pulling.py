"""The rows of `pull`: what is fetched from nginx, and how much is allowed against other clients."""

import random
import time
from dataclasses import dataclass
from pathlib import Path

from .calls import Replay
from .comparing import Comparison
from .content import large_file
from .programs import PACKLESS, SIGNATURELESS, Castree, Ostree, Raw, demand
from .pulled import ENTRIES, FILES, LARGEST, SMALLEST, ManyFiles, write_long_manifest
from .scratch import remove_tree, spread_directories
from .servers import PullServer
from .stopwatch import BenchmarkError, Sample, Stopwatch

LARGE_BYTES = 500 << 20
CONNECTIONS = 16
# A process of milliseconds runs so often in a round; the round's value is the median.
SHORT_RUNS = 15
# What is compared here differs by less than two runs of the same; the round's value is the median, too.
SIGNED_RUNS = 5
MIB = 1 << 20


PACKS = ("packs-raw", "packs-curl", "packs-ostree", "packs-floor", "packs-floor-ostree", "packs-update", "update-raw", "update-calls",
         "update-floor", "update-bytes")


def all_rows() -> list[Comparison]:
    return [
        Comparison("pull-curl", "10,000 files of 4 to 6 KB into an empty store, raw", "curl --parallel", 1.5),
        Comparison("pull-ostree", "the same", "ostree pull", 0.5),
        Comparison("update-time", "1 % of the files changed, raw", "the first pull, raw", 0.1),
        Comparison("packs-curl", "10,000 files of 4 to 6 KB into an empty store, in a pack", "curl --parallel", 0.5),
        Comparison("packs-ostree", "the same", "ostree pull", 0.2),
        Comparison("packs-raw", "the same", "the calls alone, in plain C, from local files", 1.5),
        Comparison("packs-floor", "the fewest calls of all, in plain C, in place of castree", "curl --parallel", None),
        Comparison("packs-floor-ostree", "the same", "ostree pull", None),
        Comparison("packs-update", "1 % of the files changed, in a pack", "the first pull, raw", 0.1),
        Comparison("update-raw", "the same", "its tree of hard links alone, in plain C", 2.5),
        Comparison("update-calls", "the same", "its own calls on files, in plain C", 2.5),
        Comparison("update-floor", "these calls in place of castree", "the first pull, raw", None),
        Comparison("update-bytes", "the same, bytes sent", "the first pull, in a pack", 0.02, "B"),
        Comparison("signed", "10,000 files of 4 to 6 KB into an empty store, in a pack, signed", "the same, not signed", 1.02),
        Comparison("pull-none", "nothing new", "curl -s", 1.5),
        Comparison("pull-large", "one file of 500 MB", "curl -o, then sha256sum", 1.1),
        Comparison("parse-time", "a Meteor manifest of 100,000 entries, 30 MB: fetched, read, planned", "jq -c .", 4),
        Comparison("parse-memory", "the same, peak memory", "the manifest's size", 10, "B"),
        Comparison("pull-rss", "highest peak memory of all pulls but that", "", 64, "MiB"),
    ]


def all_experiments() -> list[tuple[str, tuple[str, ...], str]]:
    return [
        ("many files", ("pull-curl", "pull-ostree", "update-time", *PACKS, "signed", "pull-none"), "many"),
        ("a large file", ("pull-large",), "large"),
        ("a long manifest", ("parse-time", "parse-memory"), "parse"),
    ]


@dataclass
class PullBench:
    work: Path
    stopwatch: Stopwatch
    castree: Castree
    ostree: Ostree
    raw: Raw
    replay: Replay
    rows: dict[str, Comparison]
    rounds: int
    seed: int
    say: object
    site: Path = Path()

    def wants(self, *names: str) -> list[Comparison]:
        return [self.rows[name] for name in names if name in self.rows]

    def many(self) -> None:
        files = ManyFiles(self.site / "content", self.seed)
        self.say("publishing")
        # Two origins, so that nothing changes under the server: one has the first release, one both.
        publishing = self.work / "publishing"
        self.castree.init(publishing)
        self.castree.call(publishing, "add", files.root, "--version", "1")
        for origin in ("first", "both"):
            self.castree.call(publishing, "publish", "1", self.site / origin)
        with_ostree = not self.ostree.missing and bool(
            self.wants("pull-ostree", "packs-ostree", "packs-floor-ostree"))
        with_raw = not self.raw.missing and bool(
            self.wants("packs-raw", "packs-floor", "packs-floor-ostree", "update-raw"))
        with_packs = self.castree.knows_packs() and bool(self.wants(*PACKS))
        with_signatures = self.castree.knows_signatures() and bool(self.wants("signed"))
        if with_signatures:
            self.castree.call(publishing, "key", "new", self._key)
            self.castree.call(publishing, "publish", "1", self.site / "signed", "--sign-key", self._key)
        if with_ostree:
            self._archive(files)
        files.change()
        time.sleep(3)  # a careful stat cache does not trust younger time stamps
        self.castree.call(publishing, "add", files.root, "--version", "2")
        self.castree.call(publishing, "publish", "2", self.site / "both")
        self.castree.highest = None
        with PullServer(self.site, self.work) as server:
            listed = self._list_urls(server)
            for number in range(self.rounds):
                self.say(f"round {number + 1} of {self.rounds}")
                order = ["castree", "curl"] + (["ostree"] if with_ostree else []) + (["packs"] if with_packs else [])
                order += ["raw", "floor"] if with_raw else []
                random.Random(f"{self.seed}/{number}").shuffle(order)
                samples = {}
                for name in order:
                    samples |= getattr(self, f"_{name}")(server, files, number, listed)
                for name, ours, theirs in (("pull-curl", "castree", "curl"), ("pull-ostree", "castree", "ostree"),
                                           ("packs-curl", "packs", "curl"), ("packs-ostree", "packs", "ostree"), ("packs-raw", "packs", "raw"),
                                           ("packs-floor", "floor", "curl"), ("packs-floor-ostree", "floor", "ostree")):
                    for row in self.wants(name):
                        if ours in samples and theirs in samples:
                            row.add(samples[ours], samples[theirs])
                if with_packs:
                    for row in self.wants("packs-update"):
                        row.add(samples["packs update"], samples["castree"])
                    for row in self.wants("update-raw") if with_raw else []:
                        row.add(samples["packs update"], self._links(number))
                    if self.wants("update-calls", "update-floor") and not self.replay.missing:
                        self._replay(server, number, samples)
                if with_signatures:
                    self._signed(server, files, number)
                self._nothing_new(server, number)
        for row in self.wants("signed"):
            row.problem = "" if with_signatures else SIGNATURELESS
        for row in self.wants("pull-ostree", "packs-ostree", "packs-floor-ostree"):
            row.problem = f"not measured: {self.ostree.missing}" if self.ostree.missing else ""
        for row in self.wants("packs-raw", "packs-floor", "update-raw"):
            row.problem = f"not measured: {self.raw.missing}" if self.raw.missing else ""
        for row in self.wants("update-calls", "update-floor") if self.replay.missing else []:
            row.problem = f"not measured: {self.replay.missing}"
        for row in self.wants(*PACKS):
            row.problem = row.problem if self.castree.knows_packs() else PACKLESS

    def _archive(self, files: ManyFiles) -> None:
        archive = self.site / "archive"
        self.ostree.call(archive, "init", "--mode=archive")
        self.ostree.call(archive, "commit", "--branch=app", "--subject=1", files.root)
        self.ostree.call(archive, "summary", "--update")

    def _list_urls(self, server: PullServer) -> Path:
        """What a pull of the first release fetches, as a configuration of curl."""
        origin = self.site / "first"
        paths = sorted(path.relative_to(origin) for path in (origin / "objects").glob("*/*"))
        paths += sorted(path.relative_to(origin) for path in (origin / "manifests").iterdir())
        listed = self.work / "urls"
        with listed.open("w") as file:
            for number, path in enumerate(paths):
                file.write(f'url = "{server.url}/first/{path}"\noutput = "{number:05}"\n')
        return listed

    def _castree(self, server: PullServer, files: ManyFiles, number: int, _) -> dict[str, Sample]:
        """The first pull and the update, object by object."""
        first, _, update, _ = self._pull_both(server, files, number, "store", *self.castree.without_packs())
        for row in self.wants("update-time"):
            row.add(update, first)
        return {"castree": first}

    def _packs(self, server: PullServer, files: ManyFiles, number: int, _) -> dict[str, Sample]:
        first, first_bytes, update, update_bytes = self._pull_both(server, files, number, "packs")
        for row in self.wants("update-bytes"):
            row.ours.append(update_bytes)
            row.theirs.append(first_bytes)
        return {"packs": first, "packs update": update}

    def _pull_both(self, server: PullServer, files: ManyFiles, number: int, name: str,
                   *options) -> tuple[Sample, int, Sample, int]:
        """The first pull and the bytes it took, and behind it the update."""
        store = self._fresh(name, number)
        self.castree.init(store)
        self._sync()
        server.mark()
        first, done = self.castree.call(store, "pull", f"{server.url}/first", *options)
        first_bytes = server.bytes_sent()
        demand(done["files"] == FILES and done["objects"] == FILES, f"pull fetched {done['objects']} objects")
        files.demand_in(store / "versions" / "1", changed=False)
        self._sync()
        server.mark()
        update, done = self.castree.call(store, "pull", f"{server.url}/both", *options)
        update_bytes = server.bytes_sent()
        demand(done["objects"] == FILES // 100, f"the update fetched {done['objects']} objects")
        files.demand_in(store / "versions" / "2", changed=True)
        return first, first_bytes, update, update_bytes

    def _curl(self, server: PullServer, files: ManyFiles, number: int, listed: Path) -> dict[str, Sample]:
        target = self._fresh("curl", number)
        target.mkdir()
        self._sync()
        sample, _ = self.stopwatch.run(
            ["curl", "-s", "--fail", "--parallel", "--parallel-max", CONNECTIONS, "--output-dir", target, "-K",
             listed])
        found = sum(1 for _ in target.iterdir())
        demand(found == FILES + 1, f"curl wrote {found} files")
        return {"curl": sample}

    def _ostree(self, server: PullServer, files: ManyFiles, number: int, _) -> dict[str, Sample]:
        repository = self._fresh("ostree", number)
        self.ostree.init(repository)
        self.ostree.call(repository, "remote", "add", "--no-gpg-verify", "origin", f"{server.url}/archive")
        self._sync()
        sample, _ = self.ostree.call(repository, "pull", "origin", "app")
        found = self.ostree.file_objects(repository)
        demand(found == FILES, f"ostree pulled {found} files")
        return {"ostree": sample}

    def _raw(self, server: PullServer, files: ManyFiles, number: int, _) -> dict[str, Sample]:
        """What any store must ask of the machine to keep these files, once it has their bytes."""
        store = self._fresh("raw", number)
        store.mkdir()
        self._sync()
        sample, output = self.stopwatch.run([self.stopwatch.raw["add"], files.root, store, "v1"])
        demand(output.split()[:2] == [str(FILES), str(FILES)], f"raw add did {output.strip()}")
        return {"raw": sample}

    def _floor(self, server: PullServer, files: ManyFiles, number: int, _) -> dict[str, Sample]:
        """The least that any store must ask of the machine to keep files like these."""
        store = self._fresh("floor", number)
        store.mkdir()
        self._sync()
        sample, output = self.stopwatch.run(
            [self.stopwatch.raw["place"], store, str(FILES), str((SMALLEST + LARGEST) // 2)])
        demand(output.split() == [str(FILES)], f"raw place did {output.strip()}")
        return {"floor": sample}

    def _links(self, number: int) -> Sample:
        """What any store must ask of the machine to make the tree of the update, once it has the objects."""
        self._sync()
        tree = self._place("packs", number) / "versions" / "2"
        sample, output = self.stopwatch.run([self.stopwatch.raw["checkout"], tree, self._fresh("links", number)])
        demand(output.split()[0] == str(FILES), f"raw checkout did {output.strip()}")
        return sample

    def _replay(self, server: PullServer, number: int, samples: dict[str, Sample]) -> None:
        """What the update asks of the machine, but for the network and for thinking."""
        recorded, replayed = (self._fresh(name, number) for name in ("recorded", "replayed"))
        for twin in (recorded, replayed):
            spread_directories(twin)
            self.castree.init(twin / "store")
            self.castree.call(twin / "store", "pull", f"{server.url}/first")
        try:
            calls = self.replay.record(["pull", f"{server.url}/both"], recorded, replayed)
            self._sync()
            sample = self.replay.run(calls)
        except BenchmarkError as error:  # these two rows are void, and no other
            for row in self.wants("update-calls", "update-floor"):
                row.problem = f"ERROR: {error}"
            return
        for row in self.wants("update-calls"):
            row.add(samples["packs update"], sample)
        for row in self.wants("update-floor"):
            row.add(sample, samples["castree"])

    @property
    def _key(self) -> Path:
        return self.work / "release.key"

    def _signed(self, server: PullServer, files: ManyFiles, number: int) -> None:
        """The same release from two origins, in turn: a signature costs less than two runs differ."""
        samples: dict[str, list[Sample]] = {"signed": [], "first": []}
        for run in range(SIGNED_RUNS):
            for name in ("signed", "first") if (number + run) % 2 == 0 else ("first", "signed"):
                store = self._fresh(f"signing-{name}-{run}", number)
                self.castree.init(store)
                if name == "signed":
                    self.castree.call(store, "trust", "add", f"{self._key}.pub", "--origin", f"{server.url}/signed")
                self._sync()
                sample, done = self.castree.call(store, "pull", f"{server.url}/{name}")
                demand(len(done["signedBy"]) == (name == "signed"), f"signed by {done['signedBy']}")
                demand(done["files"] == FILES, f"pull brought {done['files']} files")
                samples[name].append(sample)
                remove_tree(store)
        for row in self.wants("signed"):
            row.add(_middle(samples["signed"]), _middle(samples["first"]))

    def _nothing_new(self, server: PullServer, number: int) -> None:
        for row in self.wants("pull-none"):
            store = self._place("store", number)
            ours, theirs = [], []
            server.mark()
            for _ in range(SHORT_RUNS):
                sample, done = self.castree.call(store, "pull", f"{server.url}/both")
                demand(done["unchanged"] and done["requests"] == 1, "pull found something new")
                ours.append(sample)
                sample, _ = self.stopwatch.run(
                    ["curl", "-s", "-o", "/dev/null", f"{server.url}/both/channels/stable.json"])
                theirs.append(sample)
            row.add(_middle(ours), _middle(theirs))

    def large(self) -> None:
        source = self.site / "large"
        large_file(source, LARGE_BYTES, self.seed)
        publishing = self.work / "publishing-large"
        self.castree.init(publishing)
        self.castree.call(publishing, "add", source, "--version", "1")
        # As an object: blocks that are nearly alike would come out of a pack, and take no time.
        self.castree.call(publishing, "publish", "1", self.site / "one", *self.castree.without_packs())
        highest, self.castree.highest = self.castree.highest, None
        remove_tree(publishing)
        plain = self.work / "now" / "large.bin"
        with PullServer(self.site, self.work) as server:
            for number in range(self.rounds):
                self.say(f"round {number + 1} of {self.rounds}")
                store = self._fresh("large", number)
                self.castree.init(store)
                samples = {}
                for name in ("ours", "curl") if number % 2 == 0 else ("curl", "ours"):
                    self._sync()
                    if name == "ours":
                        samples[name], _ = self.castree.call(store, "pull", f"{server.url}/one")
                    else:
                        url = f"{server.url}/large/large.bin"
                        samples[name], _ = self.stopwatch.run(
                            ["sh", "-c", f"curl -s --fail -o {plain} {url} && sha256sum {plain}"])
                found = (store / "versions" / "1" / "large.bin").stat().st_size
                demand(found == LARGE_BYTES, f"the file has {found} bytes")
                for row in self.wants("pull-large"):
                    row.add(samples["ours"], samples["curl"])
                remove_tree(store)
                plain.unlink()
        if highest and (self.castree.highest is None or highest > self.castree.highest):
            self.castree.highest = highest

    def parse(self) -> None:
        highest = self.castree.highest
        manifest = self.site / "meteor" / "__cordova" / "manifest.json"
        size = write_long_manifest(manifest, self.seed)
        store = self._fresh("parse", 0)
        self.castree.init(store)
        with PullServer(self.site, self.work) as server:
            for number in range(self.rounds):
                self.say(f"round {number + 1} of {self.rounds}")
                samples = {}
                for name in ("ours", "jq") if number % 2 == 0 else ("jq", "ours"):
                    if name == "ours":
                        samples[name], done = self.castree.call(store, "pull", f"{server.url}/meteor", "--format",
                                                                "meteor", "--dry-run")
                        # The manifest does not name index.html; a server always has one.
                        demand(done["files"] == ENTRIES + 1, f"{done['files']} files would be pulled")
                    else:
                        samples[name], _ = self.stopwatch.run(["sh", "-c", f"jq -c . {manifest} > /dev/null"])
                for row in self.wants("parse-time"):
                    row.add(samples["ours"], samples["jq"])
                for row in self.wants("parse-memory"):
                    row.ours.append(samples["ours"].rss or 0)
                    row.theirs.append(size)
        self.castree.highest = highest

    def _place(self, name: str, number: int) -> Path:
        return self.work / "now" / f"{name}-{number}"

    def _fresh(self, name: str, number: int) -> Path:
        place = self._place(name, number)
        place.parent.exists() or spread_directories(place.parent)
        return place

    def _sync(self) -> None:
        self.stopwatch.run(["sync"])


def _middle(samples: list[Sample]) -> Sample:
    return sorted(samples, key=lambda sample: sample.wall)[len(samples) // 2]
