"""What other ways make of a release or a file: sizes of what a client would download in one plain request each.

Such sizes are the same in every run, so they are remembered in a file, by method, version of the tool and
SHA-256 of all that went in; brotli and bsdiff take minutes.
"""

import hashlib
import importlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from .pairs import Release
from .stopwatch import BenchmarkError

ZIP, GZIP, ZSTD, BROTLI = "zip -9", "gzip 9", "zstd 19", "brotli 11"
ZSTD_PATCH, BSDIFF, HDIFFPATCH = "zstd --patch-from", "bsdiff", "HDiffPatch"
PROGRAMS = {ZIP: "zip", ZSTD: "zstd", BROTLI: "brotli", ZSTD_PATCH: "zstd"}
MODULES = {BSDIFF: "bsdiff4", HDIFFPATCH: "hdiffpatch"}
GZIP_FRAME = 18  # head and sums around what zlib makes
SAVE_EACH = 500


class Shrinker:
    """Sizes by every method, remembered in `memory`; `modules` is where scripts/setup put the Python packages."""

    def __init__(self, memory: Path, modules: Path):
        self.memory, self.unsaved = memory, 0
        self.known: dict[str, int] = json.loads(memory.read_text()) if memory.exists() else {}
        if modules.is_dir():
            sys.path.insert(0, str(modules))
        self.versions = {method: _program_version(program) for method, program in PROGRAMS.items()}
        self.versions |= {method: _module_version(module) for method, module in MODULES.items()}
        self.versions[GZIP] = f"zlib {zlib.ZLIB_RUNTIME_VERSION}"

    def missing(self, method: str) -> str:
        """Why a method cannot be measured, or the empty string."""
        needed = PROGRAMS.get(method) or MODULES.get(method)
        return "" if self.versions[method] else f"not measured: {needed} is not installed"

    def whole(self, release: Release) -> int:
        """Bytes of the archive that `zip -9` makes of a release."""
        listed = "".join(f"{address} {path}\n" for path, address in release.files.items())
        return self._remembered(ZIP, hashlib.sha256(listed.encode()).hexdigest(), lambda: _zip(release.root))

    def one(self, method: str, release: Release, address: str) -> int:
        """Bytes that a method without a base makes of one object; never more than the object has."""
        file = release.file(address)
        return min(release.sizes[address], self._remembered(method, address, lambda: {
            GZIP: lambda: _gzip(file.read_bytes()),
            ZSTD: lambda: _piped(["zstd", "-q", "-19", "--no-check", "-c", file]),
            BROTLI: lambda: _piped(["brotli", "-q", "11", "-c", file]),
        }[method]()))

    def patch(self, method: str, new: Release, address: str, old: Release, base: str, level: int = 19) -> int:
        """Bytes of the patch that leads from `base` to the object."""
        before, after = old.file(base), new.file(address)
        spelled = method if level == 19 else f"{method} -{level}"
        return self._remembered(spelled, f"{address} from {base}", lambda: {
            ZSTD_PATCH: lambda: _piped(["zstd", "-q", f"-{level}", "--no-check", f"--patch-from={before}", "-c",
                                        after]),
            BSDIFF: lambda: len(self._module(BSDIFF).diff(before.read_bytes(), after.read_bytes())),
            HDIFFPATCH: lambda: self._hdiffpatch(before.read_bytes(), after.read_bytes()),
        }[method](), tool=method)

    def save(self) -> None:
        if self.unsaved:
            self.memory.parent.mkdir(parents=True, exist_ok=True)
            aside = self.memory.with_suffix(".new")
            aside.write_text(json.dumps(self.known, indent=0, sort_keys=True) + "\n")
            aside.rename(self.memory)
            self.unsaved = 0

    def described(self) -> dict[str, str]:
        return {"compressors and patches": "; ".join(sorted(set(filter(None, self.versions.values()))))}

    def _remembered(self, method: str, of: str, measure, tool: str = "") -> int:
        key = f"{method} | {self.versions[tool or method]} | {of}"
        if key not in self.known:
            self.known[key] = measure()
            self.unsaved += 1
            if self.unsaved >= SAVE_EACH:
                self.save()
        return self.known[key]

    def _module(self, method: str):
        return importlib.import_module(MODULES[method])

    def _hdiffpatch(self, before: bytes, after: bytes) -> int:
        module = self._module(HDIFFPATCH)
        return len(module.diff(before, after, compression=module.Lzma2Config(level=9), validate=False))


def _gzip(data: bytes) -> int:
    shrink = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return len(shrink.compress(data)) + len(shrink.flush()) + GZIP_FRAME


def _zip(root: Path) -> int:
    # Into a file: what goes into a pipe has 16 bytes more for each file.
    with tempfile.TemporaryDirectory(dir=root.parent) as place:
        archive = Path(place) / "app.zip"
        _piped(["zip", "-9", "-q", "-r", "-X", archive, "."], root)
        return archive.stat().st_size


def _piped(command: list, directory: Path | None = None) -> int:
    """Bytes that a command writes to its standard output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, cwd=directory)
    if done.returncode != 0:
        raise BenchmarkError(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return len(done.stdout)


def _program_version(program: str) -> str:
    if not shutil.which(program):
        return ""
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if found := re.search(r"\b(?:[Zz]ip|v|brotli) ?([0-9]+\.[0-9.]*[0-9])", line):
            return f"{program} {found[1]}"
    return f"{program} of unknown version"


def _module_version(name: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return ""
