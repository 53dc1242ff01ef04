"""Pairs of consecutive releases of real web apps: fetched as wheels, unpacked, and what of the second is new."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from .content import list_tree

UNPACKED_AT = 1_600_000_000  # the time of every file: casync sends times, and those of two unpackings differ


@dataclass(frozen=True)
class App:
    """The folders of a Python package that hold a web app. One version: only a first install is asked about."""
    name: str
    package: str
    versions: tuple[str, ...]
    folders: tuple[str, ...]


APPS = [
    App("streamlit", "streamlit", ("1.38.0", "1.39.0"), ("streamlit/static",)),
    App("marimo", "marimo", ("0.9.0", "0.9.1"), ("marimo/_static",)),
    App("mlflow", "mlflow", ("2.16.0", "2.16.1"), ("mlflow/server/js/build",)),
    App("dagster", "dagster-webserver", ("1.8.7", "1.8.8"), ("dagster_webserver/webapp/build",)),
    App("bokeh", "bokeh", ("3.6.0", "3.6.1"), ("bokeh/server/static",)),
    App("notebook", "notebook", ("7.2.1", "7.2.2"), ("notebook/static",)),
    App("plotly", "plotly", ("5.24.0", "5.24.1"), ("plotly/package_data",)),
    App("small", "plotly", ("5.24.0",), ("plotly/graph_objs", "plotly/validators")),
]
# Five releases in a row: the newest is published where four have been.
HISTORY = App("streamlit", "streamlit", ("1.35.0", "1.36.0", "1.37.0", "1.38.0", "1.39.0"), ("streamlit/static",))

WHEELS = {
    "bokeh 3.6.0": "699e0df76cdfe54b5f574738647bd0ce230fa44fa0fcda5923e1f0f550f83d74",
    "bokeh 3.6.1": "6a97271bd4cc5b32c5bc7aa9c1c0dbe0beb0a8da2a22193e57c73f0c88d2075a",
    "dagster-webserver 1.8.7": "958a9847fe8b9895cb23d83b7f3fc6b01c4d639c15a04c8c4c9b3a4c11453eae",
    "dagster-webserver 1.8.8": "ba163479f2b3b55961e01d46a2963c788bec868e2ae60afc5ef3cb898e352f42",
    "marimo 0.9.0": "24db5d1d404bbd79c62b9510d0bff7aa66fba25adf1fda94014401936d69ba18",
    "marimo 0.9.1": "c7e1e013c5862deab5e752be0bbba1eac354b9856b34abc47e07afbadcd48028",
    "mlflow 2.16.0": "9f27ef6ae7a82d7ecd67b6b4a4d50637a5e8160639115570fbc689758f9c0b54",
    "mlflow 2.16.1": "c27f37f3d7d6acffaa495b9376d1e41b758cb2654a3df27dcba2ec4a366e6173",
    "notebook 7.2.1": "f45489a3995746f2195a137e0773e2130960b51c9ac3ce257dbc2705aab3a6ca",
    "notebook 7.2.2": "c89264081f671bc02eec0ed470a627ed791b9156cad9285226b31611d3e9fe1c",
    "plotly 5.24.0": "0e54efe52c8cef899f7daa41be9ed97dfb6be622613a2a8f56a86a0634b2b67e",
    "plotly 5.24.1": "f67073a1e637eb0dc3e46324d9d51e2fe76e9727c892dde64ddf1e1b51f29089",
    "streamlit 1.35.0": "e17d1d86830a0d7687c37faf2fe47bffa752d0c95a306e96d7749bd3faa72a5b",
    "streamlit 1.36.0": "3399a33ea5faa26c05dd433d142eefe68ade67e9189a9e1d47a1731ae30a1c42",
    "streamlit 1.37.0": "d17e2d32b075a270a97f134ab5d22bbb98b4e474fa261ff49dc4a2b380386c84",
    "streamlit 1.38.0": "0653ecfe86fef0f1608e3e082aef7eb335d8713f6f31e9c3b19486d1c67d7c41",
    "streamlit 1.39.0": "a359fc54ed568b35b055ff1d453c320735539ad12e264365a36458aef55a5fba",
}


class NotFetched(Exception):
    """A wheel is not to be had here; the message says why."""


@dataclass
class Release:
    """A release as a directory, and what stands in it under which address (the SHA-256 of a file's bytes)."""
    version: str
    root: Path
    files: dict[str, str] = field(default_factory=dict)  # path -> address
    sizes: dict[str, int] = field(default_factory=dict)  # address -> bytes
    paths: dict[str, str] = field(default_factory=dict)  # address -> the first path in order

    def __post_init__(self):
        for path, size in sorted(list_tree(self.root)):
            address = hashlib.sha256((self.root / path).read_bytes()).hexdigest()
            self.files[path] = address
            self.sizes[address] = size
            self.paths.setdefault(address, path)

    @property
    def bytes(self) -> int:
        """Raw bytes of all objects, each once."""
        return sum(self.sizes.values())

    def file(self, address: str) -> Path:
        return self.root / self.paths[address]

    def new_since(self, *older: "Release") -> list[str]:
        """Addresses that no older release has, in the order of their paths."""
        known = set().union(*(release.sizes for release in older))
        return [address for address in self.paths if address not in known]

    def differs_from(self, tree: Path) -> str | None:
        """Why `tree` is not this release: all paths and all bytes; or None."""
        found = {path for path, _ in list_tree(tree)}
        if found != set(self.files):
            return f"{len(found ^ set(self.files))} paths differ, first {min(found ^ set(self.files))}"
        for path, address in self.files.items():
            if hashlib.sha256((tree / path).read_bytes()).hexdigest() != address:
                return f"the bytes of {path} differ"
        return None


def unpack(app: App, version: str, cache: Path, into: Path) -> Release:
    """The folders of `app` out of its wheel, below `into`."""
    wheel = _wheel(app.package, version, cache)
    shared = os.path.commonpath([f"{folder}/" for folder in app.folders]) + "/"
    target = into / f"{app.name}-{version}"
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.is_dir() or not member.filename.startswith(tuple(f"{folder}/" for folder in app.folders)):
                continue
            path = target / member.filename.removeprefix(shared)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            os.utime(path, (UNPACKED_AT, UNPACKED_AT))
    for directory, _, _ in os.walk(target):
        os.utime(directory, (UNPACKED_AT, UNPACKED_AT))
    return Release(version, target)


def _wheel(package: str, version: str, cache: Path) -> Path:
    """From the cache or else from the network, by exact version and digest."""
    digest = WHEELS[f"{package} {version}"]
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"

    def kept() -> Path | None:
        return next((path for path in cache.glob(pattern)
                     if hashlib.sha256(path.read_bytes()).hexdigest() == digest), None)

    if found := kept():
        return found
    if importlib.util.find_spec("pip") is None:
        raise NotFetched(f"{package} {version} is not in the cache, and there is no pip to fetch it")
    cache.mkdir(parents=True, exist_ok=True)
    wanted = cache / f"{package}-{version}.txt"
    wanted.write_text(f"{package}=={version} --hash=sha256:{digest}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--only-binary", ":all:", "--require-hashes", "--requirement", str(wanted), "--dest", str(cache)],
        capture_output=True, text=True)
    wanted.unlink()
    if found := kept():
        return found
    reason = (done.stderr.strip().splitlines() or ["what came is another file"])[-1]
    raise NotFetched(f"{package} {version} could not be fetched: {reason}")
