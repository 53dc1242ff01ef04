"""A disk under a recorder, and the states that a power cut could have left of it."""

import os
import random
import subprocess
import sys
from dataclasses import dataclass

from . import disks
from .patience import LOOKS, Patience, requests_of, work_of
from .recorder import FLUSH, RECORD, WRITE

# The least that a disk writes whole: what it calls a sector. ext4 and xfs ask for no more (their logs know a torn
# record by its checksum, and the superblock of xfs is one sector).
SECTOR = 512
# btrfs asks for more at these places: its superblocks of 4 KiB have one checksum, there is no log for them, and with a
# torn one nothing can be mounted, whatever a program had synced. Disks with sectors of 4 KiB write them whole. All
# else may be torn at any sector: nothing refers to it before a superblock does.
WRITTEN_WHOLE = {"btrfs": (64 << 10, 64 << 20, 256 << 30)}


@dataclass
class Entry:
    """A write or a flush, and where the record stood after it."""

    kind: int
    offset: int
    content: bytes
    end: int


class RecordedDisk:
    """A disk whose writes are recorded. With `first` and `count` some of them fail."""

    def __init__(self, disk, directory, first=0, count=1, looks=LOOKS):
        self.disk, self.looks = disk, looks
        self.fuse = os.path.join(directory, "fuse")
        self.record = os.path.join(directory, "record")
        os.makedirs(self.fuse, exist_ok=True)
        if os.path.exists(self.record):
            os.remove(self.record)
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorder.py")
        words = [sys.executable, here, disk.image, self.fuse, self.record]
        self.process = subprocess.Popen(words + ([str(first), str(count)] if first else []))
        patience = self.patience()
        while not os.path.exists(os.path.join(self.fuse, "disk")):
            if self.process.poll() is not None or patience.ends():
                raise OSError("the recorder does not start")
        disk.device = disks.run("losetup", "--find", "--show", os.path.join(self.fuse, "disk")).strip()

    def position(self):
        """How long the record is: what is noted now happened before what comes behind it."""
        return os.path.getsize(self.record) if os.path.exists(self.record) else 0

    def end(self):
        """Takes everything apart. The image holds what the disk has got."""
        self.disk.unmount()
        disks.run("losetup", "--detach", self.disk.device)
        device, self.disk.device = self.disk.device, None
        patience = self.patience(requests_of(device))
        while disks.run("losetup", "--list", "--noheadings", "--output", "NAME").find(device + "\n") >= 0:
            if patience.ends():
                break
        while subprocess.run(["umount", self.fuse], capture_output=True, check=False).returncode:
            if patience.ends():
                raise disks.Busy(f"{self.fuse} stays busy")
        while self.process.poll() is None:
            if patience.ends():
                raise disks.Busy("the recorder does not end")

    def patience(self, *signs):
        """How long the recorder is waited for: while it does anything, or its record grows."""
        return Patience(work_of(self.process.pid), self.position, *signs, looks=self.looks)


def read_record(path):
    """The entries of a record."""
    entries = []
    with open(path, "rb") as file:
        while len(head := file.read(RECORD.size)) == RECORD.size:
            kind, _, offset, length = RECORD.unpack(head)
            entries.append(Entry(kind, offset, file.read(length), file.tell()))
    return entries


def states(entries, count, seed, system):
    """Chooses states: (number of entries until the cut, kind, the entries that the disk kept).

    Where nothing of what was kept can be torn, the kind is "some".
    """
    whole = WRITTEN_WHOLE.get(system, ())
    chance = random.Random(seed)
    flushes = [at for at, entry in enumerate(entries) if entry.kind == FLUSH]
    for number in range(count):
        # Every second cut is just before a flush: then most is at stake.
        cut = chance.choice(flushes) if number % 2 and flushes else chance.randrange(1, len(entries) + 1)
        kind = ("nothing", "some", "torn", "everything")[chance.choices(range(4), (3, 5, 2, 1))[0]]
        kept = max((at for at in flushes if at < cut), default=-1) + 1
        chosen = [entry for entry in entries[:kept] if entry.kind == WRITE]
        late = [entry for entry in entries[kept:cut] if entry.kind == WRITE]
        if kind == "everything":
            chosen += late
        elif kind in ("some", "torn"):
            share = chance.random()
            some = [entry for entry in late if chance.random() < share]
            tearable = [at for at, entry in enumerate(some)
                        if len(entry.content) > SECTOR and entry.offset not in whole]
            if kind == "torn" and tearable:
                at = chance.choice(tearable)
                entry = some[at]
                sectors = chance.randrange(1, len(entry.content) // SECTOR)
                some[at] = Entry(WRITE, entry.offset, entry.content[:sectors * SECTOR], entry.end)
            elif kind == "torn":
                kind = "some"
            chosen += some
        yield cut, kind, chosen


def build(template, image, chosen):
    """Writes the state of a disk."""
    disks.run("cp", "--sparse=always", template, image)
    file = os.open(image, os.O_WRONLY)
    try:
        for entry in chosen:
            os.pwrite(file, entry.content, entry.offset)
    finally:
        os.close(file)
