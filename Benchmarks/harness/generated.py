"""Stores of any size, laid out file by file: seeded, every object distinct, content of some bytes.

objects/ and manifests/ are the truth of a store; castree makes the index from them when it opens it. So a store
of a million objects takes a minute here, where importing it would need as many source files and links again.
"""

import hashlib
import os
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PROBE_FILES, PROBE_OWN = 400, 100  # what a version that is retired for the measurement shows, and has alone
KEPT = 4  # a version shows this many times the files that it brings
CREATED_AT = 1_760_000_000


@dataclass(frozen=True)
class Plan:
    """What a store holds. Version v keeps three quarters of the files of v - 1 and brings the rest."""
    objects: int
    versions: int
    probes: int
    seed: int = 20

    @property
    def brought(self) -> int:
        """Objects that each version brings; the first brings all that it shows."""
        return max(1, (self.objects - self.probes * PROBE_OWN) // (self.versions + KEPT - 1))

    @property
    def shown(self) -> int:
        return self.brought * KEPT

    @property
    def distinct(self) -> int:
        return self.shown + (self.versions - 1) * self.brought + self.probes * PROBE_OWN

    @property
    def references(self) -> int:
        return self.versions * self.shown + self.probes * PROBE_FILES


def content(seed: int, number: int) -> bytes:
    """The bytes of an object: 20 to 147, by its number; the number stands in them."""
    head = b"%d/%d\n" % (seed, number)
    return head + b"." * (20 + number * 7919 % 128 - len(head))


def lay_out(store: Path, plan: Plan) -> None:
    """Fills the directories of an empty store. Its index is then no longer that of the store."""
    addresses = [hashlib.sha256(content(plan.seed, number)).digest() for number in range(plan.distinct)]
    by_shard: list[list[int]] = [[] for _ in range(256)]
    for number, address in enumerate(addresses):
        by_shard[address[0]].append(number)
    with ProcessPoolExecutor(min(4, len(os.sched_getaffinity(0)))) as pool:
        work = [pool.submit(_write_shard, str(store), plan.seed, shard, sorted(numbers, key=addresses.__getitem__))
                for shard, numbers in enumerate(by_shard) if numbers]
        _write_manifests(store / "manifests", plan, addresses)
        for part in work:
            part.result()


def _write_shard(store: str, seed: int, shard: int, numbers: list[int]) -> None:
    path = f"{store}/objects/{shard:02x}"
    os.makedirs(path, exist_ok=True)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for number in numbers:
        data = content(seed, number)
        name = hashlib.sha256(data).hexdigest()[2:]
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444, dir_fd=directory)
        os.write(file, data)
        os.fchmod(file, 0o444)
        os.close(file)
    os.close(directory)


def _write_manifests(directory: Path, plan: Plan, addresses: list[bytes]) -> None:
    choice = random.Random(f"{plan.seed}/versions")
    slots = list(range(plan.shown))
    following = plan.shown
    for version in range(1, plan.versions + 1):
        if version > 1:
            for slot in choice.sample(range(plan.shown), plan.brought):
                slots[slot] = following
                following += 1
        _write_manifest(directory, f"v{version:04}", version, slots, plan, addresses)
    before = following
    for probe in range(1, plan.probes + 1):
        own = list(range(following, following + PROBE_OWN))
        following += PROBE_OWN
        shared = choice.sample(range(before), PROBE_FILES - PROBE_OWN)
        _write_manifest(directory, f"probe-{probe}", plan.versions + probe, own + shared, plan, addresses)


def _write_manifest(directory: Path, name: str, order: int, slots: list[int], plan: Plan,
                    addresses: list[bytes]) -> None:
    """Canonical bytes: keys and entries sorted, no white space (DESIGN.md, Manifest, byte by byte)."""
    entries = ",".join(
        '{"address":"%s","bytes":%d,"path":"part%03d/asset-%06d.js"}'
        % (addresses[number].hex(), len(content(plan.seed, number)), slot // 1000, slot)
        for slot, number in enumerate(slots))
    (directory / f"{name}.json").write_text(
        f'{{"castree":1,"createdAt":{CREATED_AT + order},"entries":[{entries}],"order":{order},"version":"{name}"}}')
