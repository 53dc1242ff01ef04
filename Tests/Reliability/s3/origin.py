#!/usr/bin/python3
"""An independent reader of an origin: replays the log and holds everything on offer against it.

usage: . DIR/s3.env; origin.py BUCKET/PREFIX, or origin.py /DIRECTORY        (exit status 1 if anything is wrong)
Written from docs/buckets.md and docs/origin-format.md alone; shares no line with castree.

What it holds: the log has no gaps, and its entries follow each other by the rules; entries that were read before are
still the same bytes (I4); every file of every release that the entries from `kept` on offer is there, with the size and
the SHA-256 that its name and the manifest say (I1); the pointers are the log's (I5)."""
import hashlib
import json
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from s3sig import S3


def digest(body):
    return hashlib.sha256(body).hexdigest()


def path_of(kind, address, epoch):
    """Where a file stands, as docs/origin-format.md has it."""
    root = "" if epoch == 0 else "e/%d/" % epoch
    if kind in ("objects", "packs"):
        return "%s%s/%s/%s" % (root, kind, address[:2], address[2:])
    return "%s%s/%s.json" % (root, kind, address)


class Origin:
    """An origin, as anybody with the right to read it sees it."""

    def __init__(self, s3, bucket, prefix):
        self.s3, self.bucket, self.prefix = s3, bucket, prefix
        self.wrong = []
        self.bodies = {}  # log entry → bytes, as they were first read

    def complain(self, text, *words):
        self.wrong.append(text % words if words else text)

    def get(self, path):
        status, _, body = self.s3.get(self.bucket, "%s/%s" % (self.prefix, path))
        if status not in (200, 403, 404):
            raise OSError("GET %s: %d" % (path, status))
        return body if status == 200 else None

    def keys(self):
        """Everything under the prefix: path and size."""
        found, token = {}, None
        while True:
            query = {"list-type": "2", "prefix": self.prefix + "/", "encoding-type": "url"}
            if token:
                query["continuation-token"] = token
            status, _, body = self.s3.req("GET", "/" + self.bucket, query=query)
            if status != 200:
                raise OSError("LIST: %d" % status)
            page = ET.fromstring(body)
            name = lambda node, tag: node.findtext("{*}" + tag)
            for file in page.iterfind("{*}Contents"):
                key = urllib.parse.unquote(name(file, "Key"))
                found[key[len(self.prefix) + 1:]] = int(name(file, "Size"))
            token = name(page, "NextContinuationToken")
            if not token:
                return found

    # The log

    def read_log(self):
        """All entries, from the first; notes their bytes, and sees whether any has changed since."""
        entries, number = [], 1
        while True:
            body = self.get("log/%010d.json" % number)
            if body is None:
                break
            if self.bodies.setdefault(number, body) != body:
                self.complain("I4: entry %d has changed", number)
            entries.append(json.loads(body))
            number += 1
        for gone in [n for n in self.bodies if n >= number]:
            self.complain("I4: entry %d is gone", gone)
        return entries

    def check_log(self, entries, keys):
        there = sorted(int(m.group(1)) for m in (re.fullmatch(r"log/(\d{10})\.json", k) for k in keys) if m)
        if there != list(range(1, len(entries) + 1)):
            self.complain("the log has gaps: %d entries can be read, %d are listed, the last %s",
                          len(entries), len(there), there[-1:])
        authors = [entry["by"] for entry in entries]
        if len(set(authors)) != len(authors):
            self.complain("I3: two entries are by the same commit")
        state, before = {}, None
        for number, entry in enumerate(entries, 1):
            self.check_entry(number, entry, before)
            self.check_pointers(number, entry, state)
            before = entry
        return state

    def check_entry(self, number, entry, before):
        body = self.bodies[number]
        if json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" != body:
            self.complain("entry %d is not canonical", number)
        if entry["castreeLog"] != (2 if entry.get("clients") else 1) or not re.fullmatch("[0-9a-f]{32}", entry["by"]):
            self.complain("entry %d: castreeLog or by", number)
        if before is None:
            return
        if entry["epoch"] - before["epoch"] not in ((0, 1) if entry["kind"] == "prune" else (0,)):
            self.complain("entry %d (%s) goes from epoch %d to %d", number, entry["kind"], before["epoch"],
                          entry["epoch"])
        advances = entry["kept"] > before["kept"]
        if not before["kept"] <= entry["kept"] <= number or (advances and entry["kind"] != "prune"):
            self.complain("entry %d keeps from %d, the one before from %d", number, entry["kept"], before["kept"])
        if entry["prune"] != (number if entry["kind"] == "prune" else before["prune"]):
            self.complain("entry %d: prune is %d", number, entry["prune"])

    def check_pointers(self, number, entry, state):
        """Takes the pointers of an entry over into the state, and sees that they follow from it."""
        for channel, pointer in entry["pointers"].items():
            old = state.get(channel)
            if old and pointer["sequence"] <= old["sequence"]:
                self.complain("I4: entry %d: the sequence of %s goes from %d to %d", number, channel, old["sequence"],
                              pointer["sequence"])
            if number > 1 and pointer.get("log") != number:
                self.complain("entry %d: the pointer of %s says log %s", number, channel, pointer.get("log"))
            for release in pointer["releases"]:
                if release.get("epoch", 0) > entry["epoch"]:
                    self.complain("entry %d: a release of %s is of epoch %d", number, channel, release["epoch"])
            state[channel] = pointer
        placed = {channel: pointer.get("log", 1) for channel, pointer in state.items()}
        if entry["channels"] != placed:
            self.complain("entry %d places channels in %s, they stand in %s", number, entry["channels"], placed)

    # What is on offer

    def live_releases(self, entries):
        """The releases that the entries from `kept` of the last on offer, each place once."""
        state, live, kept = {}, {}, entries[-1]["kept"] if entries else 1
        for number, entry in enumerate(entries, 1):
            state.update(entry["pointers"])
            if number < kept:
                continue
            for pointer in state.values():
                for release in pointer["releases"]:
                    if "manifest" in release:
                        live[(release["manifest"], release.get("epoch", 0), release.get("places"),
                              release.get("delivery"))] = release
        return list(live.values())

    def fetch(self, kind, address, epoch, keys, size=None):
        """A file by its name; None, with a complaint, if it is not there or not what its name says."""
        path = path_of(kind, address, epoch)
        body = self.get(path)
        if body is None:
            self.complain("I1: LOST: %s", path)
        elif digest(body) != address or (size is not None and len(body) != size):
            self.complain("I1: %s is not what it should be: %d bytes", path, len(body))
        else:
            if keys.get(path) != len(body):
                self.complain("%s is listed with %s bytes", path, keys.get(path))
            return body
        return None

    def check_release(self, release, keys, seen):
        """Every file of a release; returns their paths."""
        epoch = release.get("epoch", 0)
        body = self.fetch("manifests", release["manifest"], epoch, keys, release["manifestBytes"])
        paths = {path_of("manifests", release["manifest"], epoch)}
        if body is None:
            return paths
        sizes = {entry["address"]: entry["bytes"] for entry in json.loads(body)["entries"]}
        runs = [[epoch, len(sizes)]]
        if "places" in release:
            paths.add(path_of("places", release["places"], epoch))
            places = self.fetch("places", release["places"], epoch, keys)
            runs = json.loads(places)["runs"] if places else []
        epochs = [at for at, count in runs for _ in range(count)]
        if len(epochs) != len(sizes):
            self.complain("the places of %s are of %d objects, not %d", release["version"], len(epochs), len(sizes))
        for address, at in zip(sorted(sizes), epochs):
            path = path_of("objects", address, at)
            paths.add(path)
            if path not in seen:
                seen.add(path)
                self.fetch("objects", address, at, keys, sizes[address])
        return paths | self.check_delivery(release, keys, seen)

    def check_delivery(self, release, keys, seen):
        if "delivery" not in release:
            return set()
        epoch = release.get("deliveryEpoch", 0)
        paths = {path_of("deliveries", release["delivery"], epoch)}
        body = self.fetch("deliveries", release["delivery"], epoch, keys, release["deliveryBytes"])
        for pack in json.loads(body)["packs"] if body else []:
            path = path_of("packs", pack["address"], epoch)
            paths.add(path)
            if path not in seen:
                seen.add(path)
                self.fetch("packs", pack["address"], epoch, keys, pack["bytes"])
        return paths

    def check(self, pointers=True):
        """Everything. Returns the entries and what is there that no release on offer has (path → size)."""
        entries = self.read_log()
        keys = self.keys()
        state = self.check_log(entries, keys)
        live, seen = set(), set()
        for release in self.live_releases(entries):
            live |= self.check_release(release, keys, seen)
        for channel in sorted(state) if pointers else []:
            body = self.get("channels/%s.json" % channel)
            if body is None or json.loads(body) != state[channel]:
                self.complain("I5: the pointer of %s is not the log's: log %s, there %s", channel,
                              state[channel].get("log", 1), body and json.loads(body).get("log", 1))
        garbage = {path: size for path, size in keys.items() if path not in live
                   and re.match(r"(e/\d+/)?(objects|manifests|places|packs|deliveries)/|probe/", path)}
        self.state, self.live = state, live
        return entries, garbage


class DirectoryOrigin(Origin):
    """The same of an origin in a directory, but what is only its publishers' (.publish)."""

    def __init__(self, path):
        super().__init__(None, "", path)

    def get(self, path):
        try:
            with open(os.path.join(self.prefix, path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def keys(self):
        found = {}
        for parent, directories, names in os.walk(self.prefix):
            if parent == self.prefix:
                directories[:] = [name for name in directories if name != ".publish"]
            for name in names:
                path = os.path.join(parent, name)
                found[os.path.relpath(path, self.prefix)] = os.stat(path).st_size
        return found


def offered(entries, channel, version):
    """In how many entries a version comes to the head of a channel anew."""
    count, head = 0, None
    for entry in entries:
        pointer = entry["pointers"].get(channel)
        if pointer is None:
            continue
        first = (pointer["releases"] or [{}])[0]
        if entry["kind"] == "publish" and first.get("version") == version and first.get("sequence") != head:
            count += 1
        head = first.get("sequence")
    return count


def main():
    e = os.environ
    bucket, _, prefix = sys.argv[1].partition("/")
    origin = Origin(S3(e["S3_ENDPOINT"], e["S3_ACCESS_KEY"], e["S3_SECRET_KEY"]), bucket, prefix) if bucket else (
        DirectoryOrigin(sys.argv[1]))
    entries, garbage = origin.check()
    for text in origin.wrong:
        print("FAIL", text)
    print("%d entries, %d releases on offer, %d files of them, %d that no release has" % (
        len(entries), len(origin.live_releases(entries)), len(origin.live), len(garbage)))
    return 1 if origin.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
