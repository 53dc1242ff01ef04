"""Grounds that are file systems: under the store, or under what is added."""

import mmap
import os
import subprocess
import time

from . import disks, verbs
from .ground import CannotDo, difference, need, works

# Every image has the same.
TIME = "1600000000"


def overlay(lab):
    """A store whose versions lie in the lower layer of an overlay."""
    lower, upper, work, merged = (lab.place(name) for name in ("lower", "upper", "layers", "merged"))
    verbs.prepare(lab.tools, os.path.join(lower, "store"), lab.sources, (1, 2, 3))
    lab.mount("overlay", merged, "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}")
    store = os.path.join(merged, "store")
    # Whoever looks first makes the index again: it is a copy here, by its inode.
    yield "a store in the lower layer is whole", verbs.findings(lab.tools, store, allowed=("damagedIndex",))
    yield "ten verbs, the versions in the lower layer", verbs.ten(
        lab.tools, store, lab.sources, lab.work("beside"), lab.seed, prepared=(1, 2, 3))


def overlay_new(lab):
    """A store made in an overlay, as in a container."""
    lower, upper, work, merged = (lab.place(name) for name in ("lower", "upper", "layers", "merged"))
    lab.mount("overlay", merged, "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}")
    yield "ten verbs", verbs.ten(
        lab.tools, os.path.join(merged, "store"), lab.sources, lab.work("beside"), lab.seed)


def squashfs(lab):
    """Two images with the same times, sizes and inode numbers, one after the other at one place."""
    need("mksquashfs")
    place, store = lab.place("image"), os.path.join(lab.directory, "store")
    said = verbs.Said(lab.tools, store)
    for number, letter in (("1", b"a"), ("2", b"b")):
        content = lab.place("content-" + number)
        for name in ("index.html", "app.js"):
            with open(os.path.join(content, name), "wb") as file:
                file.write(letter * 500)
        image = os.path.join(lab.directory, number + ".squashfs")
        works("mksquashfs", content, image, "-quiet", "-no-progress", "-all-root", "-all-time", TIME, "-mkfs-time", TIME)
        lab.mount(image, place, "-t", "squashfs", "-o", "loop,ro")
        said("add", place, "--version", number)
        said.wrong += filter(None, [difference(content, os.path.join(store, "versions", number))])
        lab.unmount(place)
    changed = said("diff", "1", "2", "--json")
    said.expect("index.html" in changed.output, "diff finds no difference between the two images")
    yield "two images in turn at one place", said.wrong + verbs.findings(lab.tools, store)
    image = os.path.join(lab.directory, "releases.squashfs")
    releases = lab.place("releases")
    verbs.write_sources(releases, lab.seed)
    works("mksquashfs", releases, image, "-quiet", "-no-progress")
    lab.mount(image, place, "-t", "squashfs", "-o", "loop,ro")
    sources = {number: os.path.join(place, f"release-{number}") for number in (1, 2, 3)}
    yield "ten verbs from a read-only image", verbs.ten(
        lab.tools, os.path.join(lab.directory, "second"), sources, lab.work("beside"), lab.seed)


def images(lab):
    """Two ext4 images with the same name and times, mounted writable, one after the other at one place."""
    need("mkfs.ext4", "debugfs")
    place, store = lab.place("image"), os.path.join(lab.directory, "store")
    said = verbs.Said(lab.tools, store)
    for number, letter in (("1", b"a"), ("2", b"b")):
        content = lab.place("content-" + number)
        path = os.path.join(content, "index.html")
        with open(path, "wb") as file:
            file.write(letter * 500)
        image = os.path.join(lab.directory, number + ".ext4")
        with open(image, "wb") as file:
            file.truncate(8 << 20)
        works("mkfs.ext4", "-q", "-F", "-U", "11111111-2222-3333-4444-555555555555", "-d", content, image)
        for field in ("mtime", "ctime", "atime", "mtime_extra", "ctime_extra"):
            value = "0" if field.endswith("extra") else "@" + TIME
            works("debugfs", "-w", "-R", f"set_inode_field /index.html {field} {value}", image)
        lab.mount(image, place, "-t", "ext4", "-o", "loop")
        subprocess.run(["rmdir", os.path.join(place, "lost+found")], check=True)
        said("add", place, "--version", number)
        said.wrong += filter(None, [difference(content, os.path.join(store, "versions", number))])
        lab.unmount(place)
    yield "two writable images in turn at one place", said.wrong + verbs.findings(lab.tools, store)


def tmpfs(lab):
    """A file in memory that is changed through a mapping, which leaves its times as they are."""
    place = lab.place("memory")
    lab.mount("tmpfs", place, "-t", "tmpfs")
    source, store = os.path.join(place, "source"), os.path.join(place, "store")
    os.makedirs(source)
    path = os.path.join(source, "index.html")
    with open(path, "wb") as file:
        file.write(b"a" * 5000)
    os.utime(path, (int(TIME), int(TIME)))
    said = verbs.Said(lab.tools, store)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[0:5000] = b"a" * 5000  # faults the pages in for writing, which changes the times once
        # Refused as being written; then old enough that an add does not ask whether somebody may write it, nor would a cache that believes in times.
        refused = said("add", source, "--version", "0", statuses=(1,))
        said.expect("another process is writing it" in refused.errors, "a file that is mapped for writing is added")
        before = os.stat(path)
        while os.stat(path).st_ctime_ns + 10_500_000_000 > _now():
            time.sleep(0.05)
        for number in range(1, 4):
            mapping[0:5000] = b"abc"[number - 1:number] * 5000
            said("add", source, "--version", str(number))
            said.wrong += filter(None, [difference(source, os.path.join(store, "versions", str(number)))])
        if os.stat(path).st_ctime_ns != before.st_ctime_ns:
            raise CannotDo("a write through a mapping changes the times of a file in memory here")
    yield "a file changed through a mapping", said.wrong + verbs.findings(lab.tools, store)
    yield "ten verbs in memory", verbs.ten(
        lab.tools, os.path.join(place, "second"), lab.sources, lab.work("beside"), lab.seed)


def _now():
    return time.time_ns()


def _fat(lab, system, maker, drivers):
    """Mounts an empty disk of this kind, by the kernel or by FUSE; returns who did it."""
    need(maker)
    image, place = os.path.join(lab.directory, system + ".img"), lab.place(system)
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    works(maker, image)
    try:
        lab.mount(image, place, "-t", system, "-o", "loop,fmask=0133")
        return place, "the kernel"
    except CannotDo as error:
        why = error
    device = ""
    for driver in drivers:
        try:
            need(driver[0])
            if "{device}" in driver:
                device = device or disks.run("losetup", "--find", "--show", image).strip()
                lab.devices.append(device)
            words = [word.format(image=image, device=device, place=place) for word in driver]
            works(*words)
        except CannotDo as error:
            why = CannotDo(f"{why}; {error}")
            continue
        lab.mounted.append(place)
        return place, words[0]
    raise why


def _from_fat(lab, system, maker, drivers):
    place, driver = _fat(lab, system, maker, drivers)
    source, store = os.path.join(place, "source"), os.path.join(lab.directory, "store")
    said = verbs.Said(lab.tools, store)
    os.makedirs(os.path.join(source, "own"))
    for path, (content, _) in verbs.content_of(1, lab.seed).items():
        if "/" not in path or path.startswith("own/"):
            # Without a mode, which such a disk does not keep.
            with open(os.path.join(source, path), "wb") as file:
                file.write(content)
    # Two seconds are one moment here: what is written twice in it has one time.
    for number in ("1", "2", "3"):
        with open(os.path.join(source, "index.html"), "wb") as file:
            file.write(b"release " + number.encode())
        said("add", source, "--version", number)
        said.wrong += filter(None, [difference(source, os.path.join(store, "versions", number))])
    said("add", source, "--version", "4")
    said.wrong += filter(None, [difference(source, os.path.join(store, "versions", "4"))])
    yield f"a source on {system} ({driver})", said.wrong + verbs.findings(lab.tools, store)


def vfat(lab):
    """What is added lies on a FAT disk, whose times have two seconds."""
    yield from _from_fat(lab, "vfat", "mkfs.vfat", [["fusefat", "-o", "rw+", "{image}", "{place}"]])


def exfat(lab):
    """What is added lies on an exFAT disk."""
    yield from _from_fat(lab, "exfat", "mkfs.exfat", [["mount.exfat-fuse", "-o", "fmask=0133", "{device}", "{place}"]])


def _folding(lab):
    """A directory that folds case: of ext4 where the kernel can, else of an NTFS disk under FUSE; and what it is."""
    need("mkfs.ext4", "chattr")
    image, place = os.path.join(lab.directory, "folding.img"), lab.place("folding")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    works("mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8", image)
    try:
        lab.mount(image, place, "-t", "ext4", "-o", "loop")
    except CannotDo as error:  # a kernel without CONFIG_UNICODE
        try:
            need("mkntfs", "lowntfs-3g")
            works("mkntfs", "-Q", "-F", "-q", image)
            works("lowntfs-3g", "-o", "ignore_case,permissions", image, place)
        except CannotDo as other:
            raise CannotDo(f"{error}; {other}") from other
        lab.mounted.append(place)
        return place, "NTFS (lowntfs-3g, which shows names in small letters)"
    folding = os.path.join(place, "folding")
    os.makedirs(folding)
    works("chattr", "+F", folding)
    return folding, "ext4"


def casefold(lab):
    """A store and a source in directories that fold case."""
    folding, system = _folding(lab)
    yield f"ten verbs where case is folded: {system}", verbs.ten(
        lab.tools, os.path.join(folding, "store"), lab.sources, lab.work("beside"), lab.seed)
    twins = lab.place("twins")
    for name in ("a.txt", "A.txt"):
        with open(os.path.join(twins, name), "w", encoding="ascii") as file:
            file.write(name)
    said = verbs.Said(lab.tools, os.path.join(folding, "store"))
    refused = said("add", twins, "--version", "twins", statuses=(1,))
    said.expect("a.txt" in refused.errors.lower(), f"the refusal names no path: {refused.errors}")
    yield "two names that are one there", said.wrong + verbs.findings(lab.tools, os.path.join(folding, "store"))


GROUNDS = {function.__name__.replace("_", "-"): function
           for function in (overlay, overlay_new, squashfs, images, tmpfs, vfat, exfat, casefold)}


TRUST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/statfs.h>
int fstatfs(int file, struct statfs *about) {
    int (*next)(int, struct statfs *) = dlsym(RTLD_NEXT, "fstatfs");
    int result = next(file, about);
    about->f_type = 0xEF53;
    about->f_flags &= ~1;
    return result;
}
"""


def trusting(tools):
    """The programs, which take every file system for a writable ext4: to test the suite."""
    need("cc")
    source = os.path.join(tools.reports.name, "trust.c")
    library = os.path.join(tools.reports.name, "trust.so")
    with open(source, "w", encoding="ascii") as file:
        file.write(TRUST)
    works("cc", "-shared", "-fPIC", "-o", library, source, "-ldl")
    return tools.behind("env", f"LD_PRELOAD={library}")
