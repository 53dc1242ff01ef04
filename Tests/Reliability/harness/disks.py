"""Small disks of this machine's own: an image, a loop device, a file system that can be stopped as a power cut would."""

import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
import time

from . import memory
from .patience import Patience, requests_of

MEGABYTES = {"ext4": 64, "xfs": 300, "btrfs": 128}
MAKERS = {
    # 4 KiB blocks, as on real disks: the default for small images is 1 KiB.
    "ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}
# Two copies of one image may never be mounted at once; one after the other they may.
OPTIONS = {"xfs": "nouuid"}
# fs/ext4/ext4.h and fs/xfs/libxfs/xfs_fs.h: _IOR('X', 125, __u32)
SHUT_DOWN = 0x8004587D
PATH = "/usr/sbin:/sbin:" + os.environ.get("PATH", "")


class Busy(Exception):
    """A mount that does not end. Nothing may go on after it: the next mount would be the same file system."""


def run(*words):
    """Runs a program of the system; its message is the error's."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH})
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def can_mount():
    """Why no loop device can be mounted here, or None."""
    if os.geteuid():
        return "mounting loop devices needs root"
    if not os.path.exists("/dev/loop-control"):
        return "there are no loop devices here"
    with tempfile.TemporaryDirectory() as directory:
        try:
            disk = Disk(directory, "ext4", 8)
            disk.fresh()
            disk.mount()
            disk.unmount()
        except OSError as error:
            return f"loop devices cannot be mounted here ({error})"
    return None


class Disk:
    """One image, and the directory that it is mounted at."""

    def __init__(self, directory, system, megabytes=None, make=(), options=""):
        self.system = system
        self.mount_point = os.path.join(directory, "mnt")
        self.template = os.path.join(directory, "empty.img")
        self.options = ",".join(filter(None, [OPTIONS.get(system, ""), options]))
        self.image, self.number, self.directory, self.device = "", 0, directory, None
        os.makedirs(self.mount_point, exist_ok=True)
        with open(self.template, "wb") as file:
            file.truncate((megabytes or MEGABYTES[system]) << 20)
        run(*MAKERS[system], *make, self.template)

    def fresh(self):
        """A new image with an empty file system. A name is never used twice: a loop device may still have it."""
        if self.image and os.path.exists(self.image):
            os.remove(self.image)
        self.number += 1
        self.image = os.path.join(self.directory, f"disk{self.number}.img")
        run("cp", "--sparse=always", self.template, self.image)

    def mount(self, options=""):
        """Mounts the image."""
        words = ["mount", "-t", self.system, "-o",
                 ",".join(filter(None, ["loop" if not self.device else "", self.options, options])) or "defaults"]
        run(*words, self.device or self.image, self.mount_point)

    def unmount(self):
        """Unmounts; waits for whoever was killed and has not let go yet."""
        patience = Patience(*([requests_of(self.device)] if self.device else []))
        while self.is_mounted():
            try:
                run("umount", self.mount_point)
            except OSError as error:
                if patience.ends():
                    raise Busy(f"{self.mount_point} stays busy") from error

    def is_mounted(self):
        with open("/proc/mounts", encoding="utf-8") as mounts:
            return any(line.split()[1] == self.mount_point for line in mounts)

    def cut(self, flush=2):
        """Stops the file system at once. 0 flushes everything first, 1 the journal, 2 nothing."""
        root = os.open(self.mount_point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(root, SHUT_DOWN, struct.pack("I", flush))
        finally:
            os.close(root)

    def keep(self, directory):
        """Keeps the image of a failure."""
        os.makedirs(directory, exist_ok=True)
        run("cp", "--sparse=always", self.image, directory)


class Directory:
    """A directory in memory for images, removed in the end."""

    def __init__(self, name):
        self.path = tempfile.mkdtemp(prefix=f"castree-{name}-", dir=memory.place())

    def __enter__(self):
        return self.path

    def __exit__(self, kind, error, trace):
        for part in os.listdir(self.path):
            mount_point = os.path.join(self.path, part, "mnt")
            for _ in range(600):
                if not os.path.ismount(mount_point) or not subprocess.run(["umount", mount_point], check=False).returncode:
                    break
                time.sleep(0.1)
            else:
                error = error or True
                print(f"{mount_point} cannot be unmounted")
        if not os.path.exists(os.path.join(self.path, "failures")) and error is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            print(f"kept: {self.path}")
