"""The verbs that are interrupted, in the order of a life: each with what its acknowledgement promises."""

import json
import os
from dataclasses import dataclass, replace
from typing import Callable

from . import removal, web
from .programs import Ending
from .promises import DAMAGED, Places, Promised
from .releases import release, write_release


@dataclass(frozen=True)
class Verb:
    """One command of the story, or a deed of the test's own between two commands, in which nothing is made to fail."""

    name: str
    words: Callable[[Places], list] | None
    promise: Callable[[Promised], Promised]
    partial: str | None = None  # a version that it may leave incomplete
    repeated: tuple = (0,)  # how it may end when it is said again
    instead: tuple = ()  # what is said then, where it is refused because it is half done
    finish: tuple = ()  # what is said after it was said again, where that does not build the tree of `incomplete`
    done: tuple = (0,)  # how it ends when it has done what it promises
    deed: Callable[[Places], None] | None = None

    def acknowledges(self, ending):
        return ending.status in self.done and not ending.late

    def complaint(self, ending):
        """Why it may not end so, or None."""
        return None if self.acknowledges(ending) else ending.complaint()


def _add(version):
    return Verb(f"add-{version}", lambda places: ["add", places.source(version), "--version", version],
                lambda promised: promised.with_version(version))


def _activate(version):
    return Verb(f"activate-{version}", lambda places: ["activate", version],
                lambda promised: replace(promised, current=version))


def _publish(version):
    return Verb(f"publish-{version}", lambda places: ["publish", version, places.origin],
                lambda promised: replace(promised, published=version))


# The public keys of RFC 8032, section 7.1, tests 1 and 2, and how castree names them.
KEYS = {
    "06e3fd8fda29bb60": "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    "deb2ded39dc26fce": "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
}
NOBODY = "https://nobody.invalid/app"


def _trust(name, key):
    return Verb(name, lambda places: ["trust", "add", places.key(key), "--origin", NOBODY],
                lambda promised: replace(promised, trusted=promised.trusted | {key}))


def _damage(places):
    """Other bytes in an object of version 3, as a disk does it: of the same length, and durable."""
    address = places.damaged_address("3")
    path = os.path.join(places.store, "objects", address[:2], address[2:])
    content = places.files("3")[DAMAGED][0]
    os.chmod(path, 0o644)
    file = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(file, bytes(255 - byte for byte in content), 0)
        os.fchmod(file, 0o444)
        os.fsync(file)
    finally:
        os.close(file)


def _lose_index(places):
    for name in os.listdir(places.store):
        if name.startswith("index.sqlite"):
            os.remove(os.path.join(places.store, name))
    directory = os.open(places.store, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


STORY = [
    Verb("init", lambda places: ["init"], lambda promised: replace(promised, store=True)),
    *(_trust(name, key) for name, key in zip(("trust", "trust-more"), KEYS)),
    Verb("untrust", lambda places: ["trust", "remove", NOBODY, min(KEYS)],
         lambda promised: replace(promised, trusted=promised.trusted - {min(KEYS)}), repeated=(0, 3)),
    _add("1"),
    _add("2"),
    _activate("1"),
    Verb("boot", lambda places: ["boot", "--json"], lambda promised: promised),
    Verb("confirm", lambda places: ["confirm", "1", "--token", places.token or "none"],
         lambda promised: replace(promised, known_good=frozenset({"1"}))),
    _publish("2"),
    Verb("pull", lambda places: ["pull", places.upstream, "--keep", "--retries", "0"],
         lambda promised: promised.with_version("3"), partial="3"),
    _activate("3"),
    Verb("retire", lambda places: ["retire", "2"], lambda promised: promised.without_version("2"),
         repeated=(0, 3)),
    Verb("gc", lambda places: ["gc"], lambda promised: promised),
    _publish("3"),
    Verb("rollback", lambda places: ["rollback"],
         lambda promised: replace(promised, current="1", bad=frozenset({"3"})),
         repeated=(0, 1), instead=("activate", "1")),
    Verb("forgive", lambda places: ["forgive", "3"],
         lambda promised: replace(promised, bad=frozenset(), forgiven=frozenset({"3"})), repeated=(0, 3)),
    Verb("checkout", lambda places: ["checkout", "3", places.copy, "--mode", "copy"],
         lambda promised: replace(promised, copied="3"), repeated=(0, 1)),
    Verb("damage", None, lambda promised: replace(promised, damaged="3"), deed=_damage),
    # Exit status 1 of fsck: problems were found, and all were repaired.
    Verb("repair", lambda places: ["fsck", "--repair"],
         lambda promised: replace(promised, damaged=None, incomplete="3"), done=(0, 1)),
    Verb("mend", lambda places: ["fsck", "--repair", "--from", places.origin],
         lambda promised: replace(promised, incomplete=None, unbuilt="3"), done=(0, 1),
         # What is fetched before it is interrupted lacks nothing the second time, and nobody needs its tree yet.
         finish=("add", "--version", "3")),
    Verb("withdraw", lambda places: ["withdraw", "3", places.origin],
         # Nothing was in the way of the repair before it.
         lambda promised: replace(promised, published="2", unbuilt=None), repeated=(0, 3)),
    Verb("prune", lambda places: ["prune", places.origin, "--keep", "1", "--grace", "0s"],
         lambda promised: replace(promised, pruned=True)),
    Verb("lose-index", None, lambda promised: promised, deed=_lose_index),
    Verb("rebuild", lambda places: ["gc"], lambda promised: promised),
    # One after the other, so that the calls have the same numbers each time.
    Verb("web-pull", lambda places: ["pull", web.address(places.upstream), "--channel", "web", "--keep", "--retries", "0",
                                     "--jobs", "1"],
         lambda promised: promised.with_version("4"), partial="4"),
]


def positions(names):
    """The places of verbs in the story, by name or by the part before the hyphen; all of them for none. Deeds are none."""
    return [at for at, verb in enumerate(STORY) if not verb.deed
            if not names or verb.name in names or verb.name.split("-")[0] in names]


def prepare_outside(programs, places):
    """Writes the releases and the origin that is pulled from. Nothing of it fails."""
    os.makedirs(places.outside, exist_ok=True)
    for key, body in KEYS.items():
        with open(places.key(key), "w") as file:
            file.write(f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    for name in ("1", "2", "3", "4"):
        write_release(places.source(name), release(int(name), places.seed))
    store = os.path.join(places.outside, "upstream-store")
    for words in (["add", places.source("3"), "--version", "3"], ["publish", "3", places.upstream],
                  ["add", places.source("4"), "--version", "4"], ["publish", "4", places.upstream, "--channel", "web"]):
        ending = programs.run(words, store)
        if ending.status != 0:
            raise SystemExit(f"cannot prepare the origin: {ending.errors}")
    removal.remove(store)


def tell(programs, places, verb, promised, fault=None):
    """Says one verb; returns how it ended and what is promised from then on."""
    if verb.deed:
        try:
            verb.deed(places)
        except OSError as error:  # of a disk that fails on purpose
            return Ending(1, "", f"castree's test: {error}"), promised
        return Ending(0, "", ""), verb.promise(promised)
    ending = programs.run(verb.words(places), places.store, fault)
    if verb.acknowledges(ending):
        if verb.name == "boot":
            places.token = json.loads(ending.output)["token"]
        promised = verb.promise(promised)
    return ending, promised


def tell_again(programs, places, verb, promised):
    """Says an interrupted verb again; returns what is wrong, or None, and what is promised from then on."""
    ending, _ = tell(programs, places, verb, promised)
    if verb.acknowledges(ending) and verb.finish and not os.path.isdir(os.path.join(places.store, "versions", "3")):
        ending = programs.run(verb.finish + (places.source("3"),), places.store)
    if verb.acknowledges(ending):
        return None, replace(verb.promise(promised), unbuilt=None)
    if ending.status and ending.status in verb.repeated and verb.instead:
        ending = programs.run(verb.instead, places.store)
    elif ending.status in verb.repeated:
        return None, verb.promise(promised)
    if ending.status:
        return f"said again it ends with status {ending.status}: {ending.errors.strip()}", promised
    return None, verb.promise(promised)


def tell_until(programs, places, end, promised=Promised(), begin=0):
    """Says the verbs from `begin` up to `end`, which must all succeed."""
    for verb in STORY[begin:end]:
        ending, promised = tell(programs, places, verb, promised)
        if not verb.acknowledges(ending):
            raise Unsaid(f"{verb.name} fails with status {ending.status}: {ending.errors.strip()}")
    return promised


class Unsaid(Exception):
    """A verb failed where nothing was in its way."""
