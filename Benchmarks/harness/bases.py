"""Which old file a new one is patched from: as a user could pick it by names, and as content says."""

import re
import subprocess
from pathlib import Path

from .pairs import Release
from .stopwatch import BenchmarkError

CANDIDATES = 3  # by content, beside those by names
# What bundlers put into names: hexadecimal digits (webpack, rollup, esbuild), or eight of base64 (vite).
HASHES = [re.compile(r"[.\-_](?=[0-9a-f]*[0-9])[0-9a-f]{6,64}(?=[.\-])"), re.compile(r"[.\-][0-9A-Za-z_-]{8}(?=\.)")]


def without_hash(path: str) -> str:
    directory, slash, name = path.rpartition("/")
    for pattern in HASHES:
        name = pattern.sub("", name)
    return directory + slash + name


def by_name(new: Release, old: Release, addresses: list[str]) -> dict[str, str]:
    """New address to old one: of the same path, else of the same name without its hash, the nearest in size."""
    named: dict[str, list[str]] = {}
    for path, address in old.files.items():
        named.setdefault(without_hash(path), []).append(address)
    found = {}
    for address in addresses:
        path = new.paths[address]
        if path in old.files:
            found[address] = old.files[path]
        elif without_hash(path) in named:
            found[address] = min(named[without_hash(path)],
                                 key=lambda base: abs(old.sizes[base] - new.sizes[address]))
    return found


def by_content(new: Release, old: Release, addresses: list[str], program: str, work: Path) -> dict[str, list[str]]:
    """New address to the old ones that share most with it, the most first (raw/closest.c)."""
    bases = list(old.paths)
    lists = work / "old-files", work / "new-files"
    lists[0].write_text("".join(f"{old.file(address)}\n" for address in bases))
    lists[1].write_text("".join(f"{new.file(address)}\n" for address in addresses))
    done = subprocess.run([program, str(CANDIDATES), *map(str, lists)], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchmarkError(f"raw/closest: {done.stderr.strip()}")
    found = {}
    for line in done.stdout.splitlines():
        number, *matches = map(int, line.split())
        found[addresses[number]] = [bases[base] for base in matches[::2]]
    return found
