"""Programs that keep several versions of a directory, each with the same verbs.

One object is one program with one store of its own. Every verb runs the commands that a user would, and
returns the sum of their times. What a program does about a power cut is said beside it, because it is most
of the price of writing: `durable` is about `store`.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from .programs import demand
from .stopwatch import Sample, Stopwatch

NOTHING = Sample(0, 0, 0)


@dataclass
class Peer:
    """A program, a place of its own to keep things in, and the verbs."""
    stopwatch: Stopwatch
    root: Path

    name = ""
    variant = ""  # how it differs from the program's default; those only store
    durable = ""
    needs = ""

    @property
    def label(self) -> str:
        return f"{self.name}, {self.variant}" if self.variant else self.name

    def missing(self) -> str:
        return "" if shutil.which(self.needs) else f"{self.needs} is not installed"

    def run(self, *arguments) -> Sample:
        return self.stopwatch.run(list(arguments))[0]

    def prepare(self) -> None:
        self.root.mkdir()

    def store(self, source: Path, version: str, before: str | None) -> Sample:
        raise NotImplementedError

    def tree(self, version: str, target: Path) -> Sample:
        raise NotImplementedError

    def standing(self, target: Path, source: Path) -> Path:
        """Where below `target` the files of `source` stand."""
        return target

    def checks(self) -> dict[str, object]:
        """Ways to verify everything: variant to verb; empty if the program has none."""
        return {}

    def forget(self, version: str, kept: str) -> Sample:
        raise NotImplementedError

    def kept_bytes(self) -> Path:
        """Where contents are kept: a byte that changes there must be found by every check."""
        return self.root


class Castree(Peer):
    """Ours. The tree of each version stands from the beginning; another is made of hard links."""
    name, durable, needs = "castree", "yes: three syncs, whatever the number of files", ""
    program: Path = Path()
    options: tuple[str, ...] = ()

    def missing(self) -> str:
        return ""

    def call(self, *arguments) -> Sample:
        return self.run(self.program, "--store", self.root, "--quiet", *arguments)

    def prepare(self) -> None:
        self.call("init")

    def store(self, source, version, before):
        return self.call("add", source, "--version", version, *self.options)

    def tree(self, version, target):
        return self.call("checkout", version, target)

    def checks(self):
        return {"": lambda: self.call("fsck", "--deep"), "fingerprints only": lambda: self.call("fsck")}

    def forget(self, version, kept):
        return self.call("retire", version) + self.call("gc")

    def kept_bytes(self):
        return self.root / "objects"


class CastreeWithoutSync(Castree):
    variant, durable, options = "--no-sync", "no", ("--no-sync",)


class Git(Peer):
    """Each version a branch without history, so that one can be forgotten."""
    name, durable, needs = "git", "no: loose objects are not waited for (core.fsync as it comes)", "git"
    settings: tuple[tuple[str, str], ...] = ()

    def call(self, *arguments) -> Sample:
        return self.run("git", f"--git-dir={self.root}", *arguments)

    def prepare(self) -> None:
        self.call("init", "-q")
        # Nothing in the background, where no stop-watch sees it.
        for setting in (("gc.auto", "0"), ("user.name", "bench"), ("user.email", "bench@localhost"),
                        *self.settings):
            self.call("config", *setting)

    def store(self, source, version, before):
        head = ["git", f"--git-dir={self.root}", "symbolic-ref", "HEAD", f"refs/heads/{version}"]
        self.stopwatch.run(head, told=False)
        tree = f"--work-tree={source}"
        return self.call(tree, "add", "-A") + self.call(tree, "commit", "-q", "-m", version)

    def tree(self, version, target):
        sample = self.call("worktree", "add", "-q", "--detach", target, version)
        (target / ".git").unlink()  # the way back to the repository; not a file of the version
        return sample

    def checks(self):
        return {"": lambda: self.call("fsck", "--full", "--no-progress")}

    def forget(self, version, kept):
        return (self.call("branch", "-q", "-D", version)
                + self.call("reflog", "expire", "--expire=now", "--all")
                + self.call("gc", "-q", "--prune=now"))

    def kept_bytes(self):
        return self.root / "objects"


class DurableGit(Git):
    variant, durable = "core.fsync=all", "yes, if the file system keeps the order of writes (core.fsyncMethod=batch)"
    settings = (("core.fsync", "all"), ("core.fsyncMethod", "batch"))


class Restic(Peer):
    """Encrypts and compresses; keeps a cache outside its repository, which is not counted on the disk."""
    name, durable, needs = "restic", "yes: one fsync for each pack; it has no switch", "restic"

    def call(self, *arguments) -> Sample:
        self.stopwatch.environment["RESTIC_PASSWORD"] = "bench"
        return self.run("restic", "-r", self.root, "-q", *arguments)

    def prepare(self) -> None:
        self.call("init")

    def store(self, source, version, before):
        return self.call("backup", "--tag", version, source)

    def tree(self, version, target):
        return self.call("restore", self._snapshot(version), "--target", target)

    def standing(self, target, source):
        return target / source.relative_to("/")

    def checks(self):
        return {"": lambda: self.call("check", "--read-data")}

    def forget(self, version, kept):
        return self.call("forget", "--prune", self._snapshot(version))

    def kept_bytes(self):
        return self.root / "data"

    def _snapshot(self, version: str) -> str:
        _, output = self.stopwatch.run(["restic", "-r", self.root, "snapshots", "--json", "--tag", version],
                                       told=False)
        found = json.loads(output)
        demand(len(found) == 1, f"restic has {len(found)} snapshots of {version}")
        return found[0]["short_id"]


class Casync(Peer):
    """Chunks across the borders of files. Has no check: a digest of each index reads and hashes its chunks."""
    name, durable, needs = "casync", "no; it has no switch", "casync"

    def call(self, verb: str, *arguments) -> Sample:
        return self.run("casync", verb, f"--store={self.root / 'store.castr'}", *arguments)

    def store(self, source, version, before):
        return self.call("make", *self.options(), self._index(version), source)

    def options(self) -> list:
        return []

    def tree(self, version, target):
        return self.call("extract", self._index(version), target)

    def checks(self):
        return {"": lambda: sum((self.call("digest", index) for index in sorted(self.root.glob("*.caidx"))),
                                NOTHING)}

    def forget(self, version, kept):
        return self.run("rm", self._index(version)) + self.call("gc", self._index(kept))

    def kept_bytes(self):
        return self.root / "store.castr"

    def _index(self, version: str) -> Path:
        return self.root / f"{version}.caidx"


class CachedCasync(Casync):
    """Remembers, as the others do, what it has read."""
    variant = "--cache"

    def options(self):
        return [f"--cache={self.root / 'cache'}"]


class Ostree(Peer):
    """Mode bare-user-only: the nearest to ours, trees are hard links."""
    name, durable, needs = "ostree", "yes: an fsync for each object, and one for the file system", "ostree"
    settings: tuple[tuple[str, str], ...] = ()

    def call(self, *arguments) -> Sample:
        return self.run("ostree", f"--repo={self.root}", *arguments)

    def prepare(self) -> None:
        self.call("init", "--mode=bare-user-only")
        for setting in self.settings:
            self.call("config", "set", *setting)

    def store(self, source, version, before):
        return self.call("commit", f"--branch={version}", f"--subject={version}", source)

    def tree(self, version, target):
        return self.call("checkout", "--user-mode", "--require-hardlinks", version, target)

    def checks(self):
        return {"": lambda: self.call("fsck", "-q")}

    def forget(self, version, kept):
        return self.call("refs", "--delete", version) + self.call("prune", "--refs-only")

    def kept_bytes(self):
        return self.root / "objects"


class OstreeWithoutSync(Ostree):
    variant, durable, settings = "core.fsync=false", "no", (("core.fsync", "false"),)


class Rsync(Peer):
    """A plain copy, and hard links to the last one for what has not changed. Keeps no sums: cannot verify."""
    name, durable, needs = "rsync", "no", "rsync"
    options: tuple[str, ...] = ()

    def store(self, source, version, before):
        base = [f"--link-dest={self.root / before}"] if before else []
        return self.run("rsync", "-a", *self.options, *base, f"{source}/", f"{self.root / version}/")

    def tree(self, version, target):
        there = self.root / version
        return self.run("rsync", "-a", f"--link-dest={there}", f"{there}/", f"{target}/")

    def forget(self, version, kept):
        return self.run("rm", "-rf", self.root / version)


class DurableRsync(Rsync):
    variant, durable, options = "--fsync", "files, one by one; not their names", ("--fsync",)


def all_peers(castree: Path) -> list[type[Peer]]:
    Castree.program = castree
    return [Castree, CastreeWithoutSync, Ostree, OstreeWithoutSync, Git, DurableGit, Restic, Casync,
            CachedCasync, Rsync, DurableRsync]
