"""The verbs that are interrupted, in the order of a life: each with what its acknowledgement promises."""

import json
import os
from dataclasses import dataclass, replace
from typing import Callable

from . import removal
from .promises import Places, Promised
from .releases import release, write_release


@dataclass(frozen=True)
class Verb:
    """One command of the story."""

    name: str
    words: Callable[[Places], list]
    promise: Callable[[Promised], Promised]
    partial: str | None = None  # a version that it may leave incomplete
    repeated: tuple = (0,)  # how it may end when it is said again
    instead: tuple = ()  # what is said then, where it is refused because it is half done


def _add(version):
    return Verb(f"add-{version}", lambda places: ["add", places.source(version), "--version", version],
                lambda promised: promised.with_version(version))


def _activate(version):
    return Verb(f"activate-{version}", lambda places: ["activate", version],
                lambda promised: replace(promised, current=version))


def _publish(version):
    return Verb(f"publish-{version}", lambda places: ["publish", version, places.origin],
                lambda promised: replace(promised, published=version))


STORY = [
    Verb("init", lambda places: ["init"], lambda promised: replace(promised, store=True)),
    _add("1"),
    _add("2"),
    _activate("1"),
    Verb("boot", lambda places: ["boot", "--json"], lambda promised: promised),
    Verb("confirm", lambda places: ["confirm", "1", "--token", places.token],
         lambda promised: replace(promised, known_good=frozenset({"1"}))),
    _publish("2"),
    Verb("pull", lambda places: ["pull", places.upstream, "--keep", "--retries", "0"],
         lambda promised: promised.with_version("3"), partial="3"),
    _activate("3"),
    Verb("retire", lambda places: ["retire", "2"], lambda promised: promised.without_version("2"),
         repeated=(0, 3)),
    Verb("gc", lambda places: ["gc"], lambda promised: promised),
    _publish("3"),
    Verb("rollback", lambda places: ["rollback"], lambda promised: replace(promised, current="1"),
         repeated=(0, 1), instead=("activate", "1")),
]


def positions(names):
    """The places of verbs in the story, by name or by the part before the hyphen; all of them for none."""
    return [at for at, verb in enumerate(STORY)
            if not names or verb.name in names or verb.name.split("-")[0] in names]


def prepare_outside(programs, places):
    """Writes the releases and the origin that is pulled from. Nothing of it fails."""
    os.makedirs(places.outside, exist_ok=True)
    for name in ("1", "2", "3"):
        write_release(places.source(name), release(int(name), places.seed))
    store = os.path.join(places.outside, "upstream-store")
    for words in (["add", places.source("3"), "--version", "3"], ["publish", "3", places.upstream]):
        ending = programs.run(words, store)
        if ending.status != 0:
            raise SystemExit(f"cannot prepare the origin: {ending.errors}")
    removal.remove(store)


def tell(programs, places, verb, promised, fault=None):
    """Says one verb; returns how it ended and what is promised from then on."""
    ending = programs.run(verb.words(places), places.store, fault)
    if ending.status == 0 and not ending.late:
        if verb.name == "boot":
            places.token = json.loads(ending.output)["token"]
        promised = verb.promise(promised)
    return ending, promised


def tell_again(programs, places, verb, promised):
    """Says an interrupted verb again; returns what is wrong, or None, and what is promised from then on."""
    ending, _ = tell(programs, places, verb, promised)
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
        if ending.status != 0:
            raise Unsaid(f"{verb.name} fails with status {ending.status}: {ending.errors.strip()}")
    return promised


class Unsaid(Exception):
    """A verb failed where nothing was in its way."""
