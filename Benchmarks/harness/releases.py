"""Two consecutive releases of an app in one directory: first the one, then in its place the other."""

import filecmp
import os
import shutil
import time
from pathlib import Path

from .content import SETTLE_SECONDS, Content, list_tree


class GeneratedPair:
    """Generated files; for the next release 1 % of them are rewritten in place, the others are not touched."""

    def __init__(self, root: Path, files: int, total: int, seed: int):
        self.content = Content(root, files, total, seed)
        self.root = root
        self.label = f"{files:,} files of {total // 10**6} MB, 1 % of them changed"

    def first(self) -> None:
        """What stood there last is as good a first release as any."""
        self.content.settle()

    def second(self) -> None:
        self.content.change()
        self.content.settle()

    def differs_from(self, tree: Path) -> str | None:
        return self.content.differs_from(tree)


class RealPair:
    """Two releases of a real app, unpacked one after the other at the same place: every file is new there."""

    def __init__(self, root: Path, name: str, releases: list[Path]):
        self.root, self.releases = root, releases
        sizes = [[size for _, size in list_tree(release)] for release in releases]
        first, second = (f"{len(held)} files of {sum(held) / 1e6:.1f} MB" for held in sizes)
        versions = [release.name.removeprefix(name + "-") for release in releases]
        self.label = f"{name} {versions[0]} ({first}) and {versions[1]} ({second})"

    def first(self) -> None:
        self._unpack(0)

    def second(self) -> None:
        self._unpack(1)

    def differs_from(self, tree: Path) -> str | None:
        """All paths and all bytes."""
        wanted = {path for path, _ in list_tree(self.root)}
        wrong = sorted(wanted ^ {path for path, _ in list_tree(tree)})
        if wrong:
            return f"{len(wrong)} paths differ, first {wrong[0]}"
        for path in sorted(wanted):
            if not filecmp.cmp(self.root / path, tree / path, shallow=False):
                return f"the bytes of {path} differ"
        return None

    def _unpack(self, number: int) -> None:
        if self.root.exists():
            shutil.rmtree(self.root)
        shutil.copytree(self.releases[number], self.root)
        for path, _ in list_tree(self.root):
            os.utime(self.root / path)
        time.sleep(SETTLE_SECONDS)


def fetched_releases(cache: Path) -> tuple[str, list[Path]] | None:
    """The real app that `make run` has fetched: its name and the directories of two releases, or None."""
    found = sorted(path for path in cache.glob("*-*") if path.is_dir()) if cache.is_dir() else []
    names = {path.name.rsplit("-", 1)[0] for path in found}
    return (names.pop(), found) if len(names) == 1 and len(found) == 2 else None
