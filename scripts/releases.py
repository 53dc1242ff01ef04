"""Two consecutive releases of an app, and one that does not start."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from showing import Failure, demand, say, shown

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = "streamlit"
INSIDE_WHEEL = "streamlit/static/"
WHEELS = {
    "1.38.0": "0653ecfe86fef0f1608e3e082aef7eb335d8713f6f31e9c3b19486d1c67d7c41",
    "1.39.0": "a359fc54ed568b35b055ff1d453c320735539ad12e264365a36458aef55a5fba",
}
# What an app says to castree (docs/serving.md); the sample app has it in js/updates.js.
CONFIRMING = (
    '<script src="/_castree/bridge.js"></script>'
    "<script>addEventListener('load', () => castree.confirm())</script>")
BROKEN = (
    '<!doctype html><title>broken</title><script src="/_castree/bridge.js"></script>'
    "<script>throw new Error('this release does not start')</script>\n")


@dataclass
class Release:
    version: str
    source: Path

    @property
    def page(self):
        return (self.source / "index.html").read_bytes()


def files(directory):
    for folder, _, names in os.walk(directory):
        for name in names:
            yield Path(folder, name)


def sample_releases():
    sample = PROJECT / "Examples" / "sample-app"
    return [Release(version, sample / version) for version in ("1.0", "2.0")]


def broken_copy(release, target):
    """The release, with a page that throws before it confirms."""
    shutil.copytree(release.source, target)
    os.chmod(target / "index.html", 0o644)
    (target / "index.html").write_text(BROKEN)
    return Release("broken", target)


# --- Releases of a real app.


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetched(version, cache):
    """The wheel of a version, from the cache or else from the network; None if neither has it."""
    wheel = cache / f"{PACKAGE}-{version}-py2.py3-none-any.whl"
    if wheel.is_file() and digest(wheel) == WHEELS[version]:
        return wheel
    if importlib.util.find_spec("pip") is None:
        say("  There is no pip to fetch it with.")
        return None
    wanted = cache / f"{PACKAGE}-{version}.txt"
    wanted.write_text(f"{PACKAGE}=={version} --hash=sha256:{WHEELS[version]}\n")
    command = [
        "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "0",
        "--timeout", "10", "--no-deps", "--only-binary", ":all:", "--require-hashes",
        "--requirement", str(wanted), "--dest", str(cache)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise Failure(f"what was offered as {PACKAGE} {version} is not what it should be:\n{done.stderr}")
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        say(f"  pip could not fetch it: {reason}")
        return None
    demand(wheel.is_file() and digest(wheel) == WHEELS[version],
           f"pip said it fetched {wheel.name}, but {shown(wheel)} is not that file")
    return wheel


def unpacked(version, wheel, cache):
    """The app inside a wheel as a directory; one that stands there already is compared first."""
    target = cache / f"{PACKAGE}-{version}"
    with zipfile.ZipFile(wheel) as archive:
        members = [
            member for member in archive.infolist()
            if member.filename.startswith(INSIDE_WHEEL) and not member.is_dir()]
        if target.exists():
            expected = {member.filename[len(INSIDE_WHEEL):]: member.CRC for member in members}
            actual = {
                str(file.relative_to(target)): zlib.crc32(file.read_bytes()) for file in files(target)}
            demand(expected == actual,
                   f"{shown(target)} is not what {wheel.name} holds; move it away and run this again")
            return target
        aside = Path(tempfile.mkdtemp(prefix="unpacking-", dir=cache))
        try:
            archive.extractall(aside, members)
            (aside / INSIDE_WHEEL).rename(target)
        finally:
            shutil.rmtree(aside)
    return target


def confirming(version, source):
    """A copy of the release whose page confirms that it works, as an app served by castree does."""
    target = source.with_name(source.name + "-confirming")
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)
    page = target / "index.html"
    text, count = re.subn("</head>", CONFIRMING + "</head>", page.read_text(), count=1)
    demand(count == 1, f"{shown(page)} has no </head> to put two lines before")
    os.chmod(page, 0o644)
    page.write_text(text)
    return Release(version, target)


def real_releases():
    """The two releases, or None when they cannot be had here."""
    cache = Path(os.environ.get("CASTREE_RUN_CACHE") or PROJECT / ".cache" / "run")
    cache.mkdir(parents=True, exist_ok=True)
    say(f"  Fetching {PACKAGE} {' and '.join(WHEELS)} once, into {shown(cache)} (--sample goes without) ...")
    releases = []
    for version in WHEELS:
        wheel = fetched(version, cache)
        if wheel is None:
            return None
        releases.append(confirming(version, unpacked(version, wheel, cache)))
    return releases
