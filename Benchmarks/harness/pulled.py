"""What the rows of `pull` pull: many small files, and a manifest of many entries."""

import base64
import json
import random
from pathlib import Path

from .programs import demand

FILES, SMALLEST, LARGEST = 10_000, 4096, 6144
FILES_PER_DIRECTORY = 50
ENTRIES = 100_000


def write_long_manifest(path: Path, seed: int) -> int:
    """Writes a manifest as a Meteor server gives it, and returns its size."""
    chosen = random.Random(f"{seed}/manifest")
    entries = []
    for number in range(ENTRIES):
        name, label = f"assets/{number // 100:04}/asset-{number:06}.js", chosen.randbytes(20).hex()
        entries.append({"path": f"app/{name}", "url": f"/{name}?hash={label}", "type": "asset", "where": "client",
                        "cacheable": True, "hash": label, "size": chosen.randint(1, 100_000),
                        "sri": base64.b64encode(chosen.randbytes(64)).decode()})
    path.parent.mkdir(parents=True)
    return path.write_text(json.dumps(
        {"version": chosen.randbytes(20).hex(), "format": "web-program-pre1",
         "cordovaCompatibilityVersions": {"android": "1", "ios": "1"}, "manifest": entries}))


class ManyFiles:
    """A directory of files of about the same size, of which 1 % change."""

    def __init__(self, root: Path, seed: int):
        self.root, self.seed = root, seed
        self.paths = [f"part-{number // FILES_PER_DIRECTORY:03}/asset-{number:05}.js" for number in range(FILES)]
        self.changed = set(random.Random(f"{seed}/changed").sample(range(FILES), FILES // 100))
        for number, path in enumerate(self.paths):
            if number % FILES_PER_DIRECTORY == 0:
                (root / path).parent.mkdir(parents=True)
            (root / path).write_bytes(self._bytes(number, False))

    def change(self) -> None:
        for number in self.changed:
            (self.root / self.paths[number]).write_bytes(self._bytes(number, True))

    def _bytes(self, number: int, changed: bool) -> bytes:
        chosen = random.Random(f"{self.seed}/{number}/{changed and number in self.changed}")
        return chosen.randbytes(chosen.randint(SMALLEST, LARGEST))

    def demand_in(self, tree: Path, changed: bool) -> None:
        """All paths are there; the bytes of the changed ones and a few others are right."""
        found = sum(1 for path in self.paths if (tree / path).is_file())
        demand(found == FILES, f"the tree has {found} of the files")
        for number in [*self.changed, *range(0, FILES, 500)]:
            demand((tree / self.paths[number]).read_bytes() == self._bytes(number, changed),
                   f"the bytes of {self.paths[number]} differ")
