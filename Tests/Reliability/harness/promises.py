"""What was acknowledged, kept outside of the store, and whether the store still keeps it."""

import hashlib
import json
import os
from dataclasses import dataclass, field, replace

from . import removal
from .releases import release, tree_complaint

# The file whose object is damaged: no other version has it.
DAMAGED = "own/one.bin"
# What a check may find after an interruption. Everything else would be a loss or a wrong byte.
LEFT_BY_THE_DEAD = {"leftover", "copiedInTree"}
# What it may find when all is done: where a link was refused once the tree has a copy, which shows the same.
LEFT_FOR_GOOD = {"copiedInTree"}


@dataclass(frozen=True)
class Promised:
    """The state that a series of acknowledged verbs has promised."""

    store: bool = False
    versions: frozenset = frozenset()
    current: str | None = None
    known_good: frozenset = frozenset()
    published: str | None = None
    trusted: frozenset = frozenset()  # the ids of the keys whose signatures count
    bad: frozenset = frozenset()  # banned
    forgiven: frozenset = frozenset()  # not banned any more
    damaged: str | None = None  # the test itself has damaged the object of its DAMAGED
    incomplete: str | None = None  # that object was taken away
    unbuilt: str | None = None  # whole, and nobody needs its tree: that may be built only when it is shown
    copied: str | None = None  # checked out
    pruned: bool = False  # the origin is to hold only what is published, once it is pruned again

    def with_version(self, name):
        return replace(self, store=True, versions=self.versions | {name})

    def without_version(self, name):
        return replace(self, versions=self.versions - {name})


@dataclass
class Places:
    """Where a world of this test is."""

    device: str  # what fails: the store and the origin are here
    outside: str  # what does not: releases, the origin that is pulled from, stores to compare with
    seed: int = 0
    token: str = ""
    store: str = field(init=False)
    origin: str = field(init=False)
    upstream: str = field(init=False)
    copy: str = field(init=False)

    def __post_init__(self):
        self.store = os.path.join(self.device, "store")
        self.origin = os.path.join(self.device, "origin")
        self.upstream = os.path.join(self.outside, "upstream")
        self.copy = os.path.join(self.device, "copy")

    def source(self, name):
        return os.path.join(self.outside, "release-" + name)

    def key(self, name):
        return os.path.join(self.outside, name + ".pub")

    def files(self, name):
        return release(int(name), self.seed)

    def damaged_address(self, name):
        return hashlib.sha256(self.files(name)[DAMAGED][0]).hexdigest()


def complaints(programs, places, before, after, partial=None):
    """All that contradicts the promise, as sentences.

    Every aspect must be as in `before`, which is acknowledged, or as in `after`, where a verb was on its way.
    `partial` names a version that a verb may have left incomplete.
    """
    listed = programs.run(["versions", "--json"], places.store)
    if listed.status == 3 and not before.store:
        return []
    if listed.status != 0:
        return [f"versions fails with status {listed.status}: {listed.errors.strip()}"]
    wrong = []
    wrong += _wrong_versions(json.loads(listed.output), places, before, after, partial)
    wrong += _wrong_lifecycle(programs, places, before, after)
    wrong += _wrong_trust(programs, places, before, after)
    # The link follows lifecycle.json: between the two it may be one behind.
    moving = {"wrongCurrentLink"} if before.current != after.current else set()
    damaged = {name for name in (before.damaged, after.damaged) if name}
    wrong += _wrong_findings(programs, places, LEFT_BY_THE_DEAD | moving, damaged)
    if before.published or after.published:
        names = {name for name in (before.published, after.published) if name}
        wrong += _wrong_origin(programs, places, names, may_be_empty=not before.published)
    return wrong + _wrong_copy(places, before, after)


def final_complaints(programs, places, promised):
    """All that contradicts the promise once everything was repeated and collected: nothing may be left."""
    collected = programs.run(["gc"], places.store)
    if collected.status != 0:
        return [f"gc fails: {collected.errors.strip()}"]
    wrong = []
    if promised.pruned:
        # As gc: what was deleted may come back with a power cut, and then goes with the next prune.
        pruned = programs.run(["prune", places.origin, "--keep", "1", "--grace", "0s"])
        wrong += [f"prune fails: {pruned.errors.strip()}"] if pruned.status else _left_in_origin(places, promised.published)
    wrong += complaints(programs, places, promised, promised)
    return wrong + _wrong_findings(programs, places, LEFT_FOR_GOOD) + _left_behind(places)


def _wrong_versions(listed, places, before, after, partial):
    states = {version["version"]: version["state"] for version in listed}
    wrong = []
    damaged = {before.damaged, after.damaged}
    # On its way from damaged to mended it may be in any state, and is never lost.
    mended = damaged | {before.incomplete, after.incomplete}
    for name in sorted(before.versions & after.versions):
        whole = ("materialized", "complete") if name in (before.unbuilt, after.unbuilt) else ("materialized",)
        if states.get(name) not in whole and not (name in states and name in mended):
            wrong.append(f"version {name} was acknowledged and is {states.get(name, 'lost')}")
    for name, state in states.items():
        if name not in before.versions | after.versions:
            wrong.append(f"version {name} is {state}, and nobody made it")
        elif state == "incomplete" and name not in mended | {partial}:
            wrong.append(f"version {name} is incomplete")
    trees = os.path.join(places.store, "versions")
    for name in os.listdir(trees) if os.path.isdir(trees) else []:
        if not name.startswith("."):
            complaint = tree_complaint(
                os.path.join(trees, name), places.files(name), {DAMAGED} if name in damaged else set())
            if complaint and name not in before.versions - after.versions:
                wrong.append(complaint)
    return wrong


def _wrong_lifecycle(programs, places, before, after):
    told = programs.run(["lifecycle", "--json"], places.store)
    if told.status != 0:
        return [f"lifecycle fails: {told.errors.strip()}"]
    state = json.loads(told.output)
    wrong = []
    if state["current"] not in (before.current, after.current):
        wrong.append(f"current is {state['current']}, not {before.current} (or {after.current})")
    for name in before.known_good & after.known_good:
        if name not in state["knownGood"]:
            wrong.append(f"{name} was confirmed and is not known good")
    banned = {ban["version"] for ban in state["bad"]}
    wrong += [f"{name} was rolled back and is not banned" for name in sorted((before.bad & after.bad) - banned)]
    wrong += [f"{name} was forgiven and is banned" for name in sorted(before.forgiven & after.forgiven & banned)]
    link = os.path.join(places.store, "current")
    shown = os.path.basename(os.readlink(link)) if os.path.islink(link) else None
    if shown not in (before.current, after.current):
        wrong.append(f"the link shows {shown}, not {before.current} (or {after.current})")
    return wrong


def _wrong_trust(programs, places, before, after):
    """The old trust or the new one: never none, and never half of one."""
    told = programs.run(["trust", "list", "--json"], places.store)
    if told.status != 0:
        return [f"trust list fails: {told.errors.strip()}"]
    keys = {key for origin in json.loads(told.output)["origins"] for key in origin["keys"]}
    if keys in (before.trusted, after.trusted):
        return []
    return [f"trusted are {sorted(keys)}, not {sorted(before.trusted)} (or {sorted(after.trusted)})"]


def _wrong_findings(programs, places, allowed, damaged=()):
    checked = programs.run(["fsck", "--deep", "--json"], places.store)
    if checked.status not in (0, 4):
        return [f"fsck fails with status {checked.status}: {checked.errors.strip()}"]
    addresses = {places.damaged_address(name) for name in damaged}
    return [
        f"fsck finds {finding['kind']}: {finding['message']}"
        for finding in json.loads(checked.output)["findings"]
        if finding["kind"] not in allowed and finding["object"] not in addresses and finding["version"] not in damaged
    ]


def _left_behind(places):
    """What no check speaks of and nobody needs: files of writers that are gone."""
    left = []
    for directory in ("staging", "manifests", "versions", "quarantine"):
        for name in os.listdir(os.path.join(places.store, directory)):
            if name.startswith(".") or directory in ("staging", "quarantine"):
                left.append(f"{directory}/{name} is left for ever")
    # A checkout grows beside its target.
    return left + [f"{name} is left beside the store" for name in os.listdir(places.device) if name.startswith(".")]


def _wrong_copy(places, before, after):
    """What was checked out is whole, or not there at all."""
    if os.path.lexists(places.copy):
        name = after.copied or before.copied
        if not name:
            return [f"{places.copy} is there, and nobody made it"]
        complaint = tree_complaint(places.copy, places.files(name))
        return [complaint] if complaint else []
    return [f"{before.copied} was checked out, and the copy is lost"] if before.copied and after.copied else []


def _left_in_origin(places, name):
    """A pruned origin holds what it offers and nothing else."""
    contents = {hashlib.sha256(content).hexdigest() for content, _ in places.files(name).values()}
    kept = {os.path.basename(parent) + file
            for parent, _, files in os.walk(os.path.join(places.origin, "objects")) for file in files}
    return [f"the origin keeps {left} after it was pruned" for left in sorted(kept - contents)]


def _wrong_origin(programs, places, names, may_be_empty):
    """Whoever pulls must get one of the versions that were published, whole; or nothing, before the first one was."""
    copy = os.path.join(places.outside, "comparison")
    removal.remove(copy)
    pulled = programs.run(["pull", places.origin, "--keep", "--json"], copy)
    if pulled.status == 3 and may_be_empty:
        return []
    if pulled.status != 0:
        return [f"the origin cannot be pulled from: {pulled.errors.strip()}"]
    name = json.loads(pulled.output)["version"]
    if name not in names:
        return [f"the origin offers {name}, not {names}"]
    complaint = tree_complaint(os.path.join(copy, "versions", name), places.files(name))
    return [f"pulled from the origin: {complaint}"] if complaint else []
