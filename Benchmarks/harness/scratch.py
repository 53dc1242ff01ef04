"""The scratch space: where it may stand, what it costs there to create files, how it goes away."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

IN_MEMORY = ("tmpfs", "ramfs")  # every sync would be free
PROBE_FILES = 1000


class NoPlace(Exception):
    """There is no directory to work in; the message says what to do."""


def make_work_directory(asked: Path | None, space: int) -> Path:
    """A new directory on a real file system with `space` bytes free."""
    candidates = [asked] if asked else [Path(os.environ.get("TMPDIR") or "/var/tmp"), Path("/var/tmp")]
    for parent in candidates:
        if parent.is_dir() and not file_system(parent.resolve()).startswith(IN_MEMORY):
            break
    else:
        raise NoPlace(f"{candidates[0]} is no directory on a real file system; give one with --work")
    if shutil.disk_usage(parent).free < space:
        raise NoPlace(f"{parent} has less than {space >> 30} GiB free; give another place with --work")
    return Path(tempfile.mkdtemp(prefix="castree-bench-", dir=parent)).resolve()


def spread_directories(path: Path) -> None:
    """Makes `path`; on ext4 each directory in it begins in a block group of its own, away from inodes
    that were freed a moment ago. Elsewhere, or without chattr, it is a directory like others."""
    path.mkdir()
    if shutil.which("chattr"):
        subprocess.run(["chattr", "+T", path], stderr=subprocess.DEVNULL)


def creation_cost(work: Path) -> float:
    """Seconds to create one empty file now: tells whether the file system is at its usual speed."""
    probe = Path(tempfile.mkdtemp(prefix="probe-", dir=work / "now"))
    start = time.perf_counter()
    for number in range(PROBE_FILES):
        os.close(os.open(probe / str(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    return (time.perf_counter() - start) / PROBE_FILES


def remove_tree(path: Path) -> None:
    """Removes read-only trees too. Only directories change their mode: files share inodes with stores."""
    if path.exists():
        subprocess.run(["find", path, "-type", "d", "!", "-perm", "-u=w", "-exec", "chmod", "u+w", "{}", "+"],
                       check=True)
        subprocess.run(["rm", "-rf", path], check=True)


def file_system(path: Path) -> str:
    """Type and mount options of the file system that holds `path`."""
    best, found = "", "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, behind = line.partition(" - ")
        fields = mount.split()
        point = fields[4].replace("\\040", " ")
        inside = point == "/" or str(path) == point or str(path).startswith(point + "/")
        if inside and len(point) >= len(best):
            kind, _, options = behind.split(" ", 2)
            best, found = point, f"{kind} ({options}){_journal(kind, fields[2])}"
    return found


def _journal(kind: str, device: str) -> str:
    """An ext4 without a journal syncs and creates files differently; worth saying."""
    name = os.path.basename(os.path.realpath(f"/sys/dev/block/{device}"))
    journals = os.listdir("/proc/fs/jbd2") if os.path.isdir("/proc/fs/jbd2") else []
    has_one = any(journal.startswith(f"{name}-") for journal in journals)
    return ", without a journal" if kind == "ext4" and not has_one else ""
