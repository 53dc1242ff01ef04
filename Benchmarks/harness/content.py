"""Seeded content: the directories that every program is given.

The same seed makes the same paths, sizes and bytes on every machine.
"""

import math
import os
import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

EMPTY_SHARE = 0.005
DUPLICATE_SHARE = 0.01
EXECUTABLE_SHARE = 0.02
FILES_PER_DIRECTORY = 25
DEEPEST = 6
MEDIAN_SIZE, SPREAD = 6_000, 1.5  # of the log-normal distribution, before scaling to the total
SMALLEST, LARGEST = 16, 4 << 20
EXTENSIONS = ("js", "css", "png", "svg", "json", "html", "woff2", "map")

# A file changed less than this ago may change again within the same time stamp, so a stat cache that
# is careful does not trust it yet.
SETTLE_SECONDS = 3


@dataclass
class FileEntry:
    path: str
    size: int
    key: int  # files with the same key have the same bytes
    executable: bool = False
    generation: int = 0


class Content:
    """A directory of generated files that can be changed in place and knows what it should hold."""

    def __init__(self, root: Path, files: int, total: int, seed: int):
        self.root, self.seed = root, seed
        self.entries = _plan(files, total, seed)
        self._step = 0
        self._changed: list[FileEntry] = []
        self._changeable = _without_copies(self.entries)
        for directory in sorted({os.path.dirname(entry.path) for entry in self.entries}):
            os.makedirs(root / directory, exist_ok=True)
        for entry in self.entries:
            path = root / entry.path
            path.write_bytes(self._bytes(entry))
            path.chmod(0o755 if entry.executable else 0o644)

    @property
    def files(self) -> int:
        return len(self.entries)

    @property
    def bytes(self) -> int:
        return sum(entry.size for entry in self.entries)

    @property
    def distinct(self) -> int:
        """Distinct contents other than the empty one."""
        return len({(entry.key, entry.generation) for entry in self.entries if entry.size > 0})

    @property
    def has_empty(self) -> bool:
        return any(entry.size == 0 for entry in self.entries)

    def change(self) -> int:
        """Rewrites 1 % of the files in place, others each time; touches no other. Returns how many."""
        self._step += 1
        chosen = random.Random(f"{self.seed}/change/{self._step}")
        self._changed = chosen.sample(self._changeable, max(1, self.files // 100))
        for entry in self._changed:
            entry.generation = self._step
            self._rewrite(entry)
        return len(self._changed)

    def restore(self) -> None:
        """Gives the files of the last change their first bytes back."""
        for entry in self._changed:
            entry.generation = 0
            self._rewrite(entry)
        self._changed = []

    def settle(self) -> None:
        """Lets the time stamps become old enough to be trusted and the page cache warm."""
        for entry in self.entries:
            (self.root / entry.path).read_bytes()
        time.sleep(SETTLE_SECONDS)

    def differs_from(self, tree: Path, samples: int = 32) -> str | None:
        """Why `tree` is not this content: all paths and sizes, the bytes of a few; or None."""
        found = {path: size for path, size in list_tree(tree)}
        wanted = {entry.path: entry.size for entry in self.entries}
        if found != wanted:
            wrong = sorted(found.items() ^ wanted.items())
            return f"{len(wrong)} paths or sizes differ, first {wrong[0][0]}"
        for entry in random.Random(self.seed).sample(self.entries, min(samples, self.files)):
            if (tree / entry.path).read_bytes() != self._bytes(entry):
                return f"the bytes of {entry.path} differ"
        return None

    def _bytes(self, entry: FileEntry) -> bytes:
        return random.Random(f"{self.seed}/{entry.key}/{entry.generation}").randbytes(entry.size)

    def _rewrite(self, entry: FileEntry) -> None:
        with open(self.root / entry.path, "r+b", buffering=0) as file:
            file.write(self._bytes(entry))


def _plan(files: int, total: int, seed: int) -> list[FileEntry]:
    chosen = random.Random(f"{seed}/plan/{files}")
    directories = [""]
    while len(directories) < max(8, files // FILES_PER_DIRECTORY):
        parent = chosen.choice(directories)
        if parent.count("/") < DEEPEST - 1:
            directories.append(f"{parent}part-{len(directories):03}/")
    sizes = [math.exp(chosen.gauss(math.log(MEDIAN_SIZE), SPREAD)) for _ in range(files)]
    scale = total / sum(sizes)
    entries = []
    for number, size in enumerate(sizes):
        name = f"{chosen.choice(directories)}asset-{number:05}.{chosen.choice(EXTENSIONS)}"
        entry = FileEntry(name, min(LARGEST, max(SMALLEST, int(size * scale))), key=number)
        entry.executable = chosen.random() < EXECUTABLE_SHARE
        draw = chosen.random()
        if draw < EMPTY_SHARE:
            entry.size = 0
        elif draw < EMPTY_SHARE + DUPLICATE_SHARE and entries:
            original = chosen.choice(entries)
            entry.size, entry.key = original.size, original.key
        entries.append(entry)
    return entries


def _without_copies(entries: list[FileEntry]) -> list[FileEntry]:
    copies = Counter(entry.key for entry in entries)
    return [entry for entry in entries if entry.size > 0 and copies[entry.key] == 1]


def tiny_files(root: Path, files: int, label: str) -> None:
    """`files` files of some 50 distinct bytes each, a hundred to a directory."""
    for start in range(0, files, 100):
        directory = root / f"{start // 10_000:02}" / f"{start // 100 % 100:02}"
        os.makedirs(directory)
        for number in range(start, min(start + 100, files)):
            (directory / f"{number:06}.txt").write_bytes(f"{label}: tiny file number {number:06}\n".encode())


def large_file(root: Path, size: int, seed: int) -> None:
    """One file of `size` bytes, no two blocks alike."""
    root.mkdir()
    block = random.Random(seed).randbytes(1 << 20)
    with open(root / "large.bin", "wb", buffering=0) as file:
        for number in range(size >> 20):
            file.write(number.to_bytes(8, "little") + block[8:])


def list_tree(root: Path):
    """(path, size) of every regular file below `root`."""
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            yield os.path.relpath(path, root), os.lstat(path).st_size
