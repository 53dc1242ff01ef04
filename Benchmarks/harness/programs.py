"""The programs under test, each with the same verbs: what to run and how to see that it was done."""

import json
import shutil
from pathlib import Path

from .content import Content, list_tree
from .stopwatch import BenchmarkError, Sample, Stopwatch


def demand(condition: bool, message: str) -> None:
    if not condition:
        raise BenchmarkError(message)


PACKLESS = "ERROR: this castree publishes no packs"
SIGNATURELESS = "ERROR: this castree signs no releases"


class Castree:
    """Ours."""

    def __init__(self, stopwatch: Stopwatch, program: Path | None):
        self.stopwatch, self.program = stopwatch, program
        self.missing = "" if program else "castree is left out"
        self.highest: tuple[int, str] | None = None  # peak RSS of all runs, and of which
        self._knows_packs: bool | None = None

    def call(self, store: Path, *arguments) -> tuple[Sample, object]:
        sample, output = self.stopwatch.run([self.program, "--store", store, "--json", *arguments])
        return sample, self._done(sample, output, arguments[0])

    def watch(self, store: Path, *arguments) -> tuple[Sample, int, object]:
        """The same, and the peak of its anonymous memory in bytes."""
        sample, anonymous, output = self.stopwatch.watch([self.program, "--store", store, "--json", *arguments])
        return sample, anonymous, self._done(sample, output, arguments[0])

    def _done(self, sample: Sample, output: str, verb: str) -> object:
        if sample.rss is not None and (self.highest is None or sample.rss > self.highest[0]):
            self.highest = (sample.rss, f"castree {verb}")
        try:
            return json.loads(output) if output.strip() else None
        except ValueError as error:
            raise BenchmarkError(f"castree {verb} --json printed no JSON: {error}") from error

    def knows_packs(self) -> bool:
        if self._knows_packs is None:
            _, text = self.stopwatch.run([self.program, "publish", "--help"], told=False)
            self._knows_packs = "--no-packs" in text
        return self._knows_packs

    def knows_signatures(self) -> bool:
        _, text = self.stopwatch.run([self.program, "publish", "--help"], told=False)
        return "--sign-key" in text

    def without_packs(self) -> list[str]:
        """What makes `publish` and `pull` work with objects alone; an older castree knows nothing else."""
        return ["--no-packs"] if self.knows_packs() else []

    def init(self, store: Path) -> None:
        self.call(store, "init")

    def add(self, store: Path, source: Path, version: str) -> tuple[Sample, dict]:
        return self.call(store, "add", source, "--version", version)

    def add_first(self, store: Path, content: Content, version: str) -> Sample:
        sample, done = self.add(store, content.root, version)
        _demand_objects("add stored", done["newObjects"], content.distinct, extra=1 + content.has_empty)
        self._demand_tree(store, content, version, done)
        return sample

    def add_next(self, store: Path, content: Content, version: str, changed: int) -> Sample:
        sample, done = self.add(store, content.root, version)
        _demand_objects("add stored", done["newObjects"], changed)
        self._demand_tree(store, content, version, done)
        return sample

    def checkout(self, store: Path, version: str, target: Path, content: Content) -> Sample:
        sample, done = self.call(store, "checkout", version, target)
        demand(done["mode"] == "link", f"checkout used mode {done['mode']}")
        demand_linked(target, content)
        return sample

    def collect_one(self, store: Path, version: str, garbage: int) -> Sample:
        """retire and gc: the sum of both processes."""
        retired, _ = self.call(store, "retire", version)
        collected, done = self.call(store, "gc")
        _demand_objects("gc collected", done["objects"], garbage)
        demand(not self.tree(store, version).exists(), f"the tree of {version} is still there")
        return retired + collected

    def fsck(self, store: Path, content: Content) -> Sample:
        sample, done = self.call(store, "fsck")
        demand(done["findings"] == [], f"fsck found {done['findings'][:1]}")
        demand(done["checkedObjects"] >= content.distinct,
               f"fsck checked {done['checkedObjects']} objects of {content.distinct}")
        return sample

    def versions(self, store: Path, expected: int) -> Sample:
        sample, done = self.call(store, "versions")
        demand(len(done) == expected, f"versions listed {len(done)} of {expected}")
        return sample

    @staticmethod
    def tree(store: Path, version: str) -> Path:
        return store / "versions" / version

    def _demand_tree(self, store: Path, content: Content, version: str, done: dict) -> None:
        demand(done["files"] == content.files, f"add saw {done['files']} files of {content.files}")
        _demand_same(self.tree(store, version), content)


class Ostree:
    """The nearest peer: hard-link trees over a SHA-256 store. Mode bare-user-only, defaults otherwise."""

    def __init__(self, stopwatch: Stopwatch):
        self.stopwatch = stopwatch
        self.missing = "" if shutil.which("ostree") else "ostree is not installed"

    def call(self, repository: Path, *arguments) -> tuple[Sample, str]:
        return self.stopwatch.run(["ostree", f"--repo={repository}", *arguments])

    def init(self, repository: Path) -> None:
        self.call(repository, "init", "--mode=bare-user-only")

    def commit(self, repository: Path, content: Content, version: str, *options) -> Sample:
        sample, _ = self.call(repository, "commit", f"--branch={version}", f"--subject={version}", *options,
                              content.root)
        return sample

    def demand_commit(self, repository: Path, content: Content, version: str) -> None:
        _, listing = self.call(repository, "ls", "-R", version)
        files = sum(line.startswith("-") for line in listing.splitlines())
        demand(files == content.files, f"ostree holds {files} files of {content.files}")

    def checkout(self, repository: Path, version: str, target: Path, content: Content) -> Sample:
        sample, _ = self.call(repository, "checkout", "--user-mode", "--require-hardlinks", version, target)
        demand_linked(target, content)
        return sample

    def collect_one(self, repository: Path, version: str, garbage: int) -> Sample:
        before = self.file_objects(repository)
        deleted, _ = self.call(repository, "refs", "--delete", version)
        pruned, _ = self.call(repository, "prune", "--refs-only")
        gone = before - self.file_objects(repository)
        demand(gone == garbage, f"ostree prune removed {gone} file objects, expected {garbage}")
        return deleted + pruned

    def fsck(self, repository: Path) -> Sample:
        sample, output = self.call(repository, "fsck")
        demand("no errors found" in output, f"ostree fsck said {output.strip()[-80:]}")
        return sample

    @staticmethod
    def file_objects(repository: Path) -> int:
        return sum(path.endswith(".file") for path, _ in list_tree(repository / "objects"))


class Raw:
    """The same system calls in plain C: the lower bound."""

    def __init__(self, stopwatch: Stopwatch):
        self.stopwatch = stopwatch
        self.missing = stopwatch.raw_missing

    def add(self, store: Path, content: Content, version: str) -> Sample:
        sample, output = self.stopwatch.run([self.stopwatch.raw["add"], content.root, store, version])
        expected = f"{content.files} {content.distinct} {content.bytes}"
        demand(output.strip() == expected, f"raw add did {output.strip()}, expected {expected}")
        _demand_same(store / "versions" / version, content)
        return sample

    def checkout(self, tree: Path, target: Path, content: Content) -> Sample:
        sample, _ = self.stopwatch.run([self.stopwatch.raw["checkout"], tree, target])
        demand_linked(target, content)
        return sample

    def fsck(self, objects: Path, content: Content) -> Sample:
        sample, output = self.stopwatch.run([self.stopwatch.raw["fsck"], objects])
        checked = int(output.split()[0])
        demand(checked >= content.distinct, f"raw fsck read {checked} objects of {content.distinct}")
        return sample

    def gc(self, store: Path, garbage: int) -> Sample:
        sample, output = self.stopwatch.run([self.stopwatch.raw["gc"], store])
        demand(output.strip() == str(garbage), f"raw gc deleted {output.strip()} objects, expected {garbage}")
        return sample


class Git:
    """Only its start-up: the cheapest thing that a mature command-line program does."""

    def __init__(self, stopwatch: Stopwatch):
        self.stopwatch = stopwatch
        self.missing = "" if shutil.which("git") else "git is not installed"

    def version(self) -> Sample:
        sample, output = self.stopwatch.run(["git", "--version"])
        demand(output.startswith("git version"), f"git --version said {output.strip()}")
        return sample


def _demand_objects(what: str, found: int, expected: int, extra: int = 1) -> None:
    """A store may keep the manifest, and the empty content, as objects too; anything else is wrong."""
    demand(expected <= found <= expected + extra, f"{what} {found} objects, expected {expected}")


def _demand_same(tree: Path, content: Content) -> None:
    difference = content.differs_from(tree)
    demand(difference is None, f"{tree.name}: {difference}")


def demand_linked(target: Path, content: Content) -> None:
    """The whole content stands there, and its files are links, not copies."""
    _demand_same(target, content)
    copies = [e.path for e in content.entries if e.size > 0 and (target / e.path).lstat().st_nlink < 2]
    demand(not copies, f"{target.name}: {len(copies)} files are copies, first {copies[:1]}")
