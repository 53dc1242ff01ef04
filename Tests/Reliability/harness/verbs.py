"""The ten main verbs, said to one store after another, and what each has to show for it."""

import hashlib
import json
import os

from . import removal
from .programs import refusal
from .releases import release, tree_complaint, write_release

# An object of one version alone, which the test damages.
DAMAGED = "own/one.bin"


class Said:
    """Collects what is wrong, and the sentence that goes with it."""

    def __init__(self, tools, store):
        self.tools, self.store, self.wrong = tools, store, []

    def __call__(self, *words, statuses=(0,), store=None):
        ending = self.tools.run(list(words), store or self.store)
        if ending.late:
            self.wrong.append(f"{' '.join(words)}: {ending.complaint()}")
        elif ending.status not in statuses:
            self.wrong.append(f"{' '.join(words)} ends with status {ending.status}: {refusal(ending.errors).strip()}")
        return ending

    def expect(self, condition, sentence):
        if not condition:
            self.wrong.append(sentence)


def content_of(number, seed):
    """The files of a release, by path."""
    return release(number, seed)


def write_sources(directory, seed, numbers=(1, 2, 3)):
    """Writes the releases; returns their directories, by number."""
    places = {}
    for number in numbers:
        places[number] = os.path.join(directory, f"release-{number}")
        write_release(places[number], release(number, seed))
    return places


def prepare(tools, store, sources, numbers):
    """Adds releases to a store, the first of them current."""
    said = Said(tools, store)
    for number in numbers:
        said("add", sources[number], "--version", str(number))
    said("activate", str(numbers[0]))
    if said.wrong:
        raise SystemExit(f"ground: cannot prepare: {'; '.join(said.wrong)}")


def ten(tools, store, sources, work, seed, prepared=(), serves=True):
    """Says the ten main verbs to a store; `work` is a directory for what they write beside it.

    `prepared` are releases that the store holds already. In the end it holds 2 and 3, and 2 is current. Where `serves`
    is false, `serve` is left out.
    """
    said = Said(tools, store)
    if not prepared:
        said("init")
    for number in (1, 2, 3):
        if number not in prepared:
            said("add", sources[number], "--version", str(number))
    said("activate", "1")
    listed = said("versions", "--json")
    if listed.status == 0:
        states = {version["version"]: version["state"] for version in json.loads(listed.output)}
        said.expect(set(states) == {"1", "2", "3"} and set(states.values()) == {"materialized"},
                    f"versions lists {states}")
    shown = said("show", "2", "--json")
    if shown.status == 0:
        addresses = {entry["path"]: entry["address"] for entry in json.loads(shown.output)["entries"]}
        wanted = {path: hashlib.sha256(content).hexdigest() for path, (content, _) in release(2, seed).items()}
        said.expect(addresses == wanted, "show names other content than was added")
    page = said("cat", "1:index.html")
    said.expect(page.output == "<h1>release 1</h1>", f"cat prints {page.output!r}")
    said("diff", "1", "2")
    copy = os.path.join(work, "copy")
    removal.remove(copy)
    said("checkout", "2", copy, "--mode", "copy")
    said.wrong += filter(None, [tree_complaint(copy, release(2, seed))])
    _publish_and_pull(said, work, seed)
    if serves:
        served = said("serve", "--next-port")
        said.expect("release 1<" in served.output, f"serve shows {served.output!r}")
    said("activate", "2")
    said("retire", "1")
    said("gc")
    said.wrong += _repair(said, os.path.join(work, "origin"), seed)
    return said.wrong + state(tools, store, {2, 3}, seed, current="2")


def _publish_and_pull(said, work, seed):
    origin, other = os.path.join(work, "origin"), os.path.join(work, "puller")
    removal.remove(origin)
    removal.remove(other)
    said("publish", "2", origin)
    said("publish", "3", origin, "--channel", "next")
    said("pull", origin, "--keep", "--retries", "0", store=other)
    said.wrong += filter(None, [tree_complaint(os.path.join(other, "versions", "2"), release(2, seed))])


def _repair(said, origin, seed):
    """Damages an object as a disk does, and lets it be mended from the origin."""
    content = release(3, seed)[DAMAGED][0]
    address = hashlib.sha256(content).hexdigest()
    path = os.path.join(said.store, "objects", address[:2], address[2:])
    if not os.path.exists(path):
        return [f"gc or retire took {DAMAGED} of version 3"]
    with open(path, "r+b") as file:
        file.write(bytes(255 - byte for byte in content))
    found = said("fsck", "--deep", "--json", statuses=(4,))
    said.expect(address in found.output, "a damaged object is not found")
    # 0 and 1: all is mended.
    said("fsck", "--repair", "--from", origin, statuses=(0, 1))
    said("checkout", "3", os.path.join(os.path.dirname(origin), "mended"), "--mode", "copy")
    wrong = tree_complaint(os.path.join(os.path.dirname(origin), "mended"), release(3, seed))
    removal.remove(os.path.join(os.path.dirname(origin), "mended"))
    # The tree of a version that nothing needs is built when it is shown, or now.
    said("add", os.path.join(os.path.dirname(origin), "release-3"), "--version", "3")
    return [wrong] if wrong else []


def state(tools, store, numbers, seed, current=None, allowed=(), collected=True):
    """What contradicts that a store holds exactly these releases, whole, and nothing is wrong with it."""
    said = Said(tools, store)
    if collected:
        said("gc")
    listed = said("versions", "--json")
    names = {version["version"] for version in json.loads(listed.output)} if listed.status == 0 else set()
    said.expect(names == {str(number) for number in numbers}, f"the versions are {sorted(names)}, not {sorted(numbers)}")
    for number in numbers:
        said.wrong += filter(None, [tree_complaint(os.path.join(store, "versions", str(number)), release(number, seed))])
    if current:
        link = os.path.join(store, "current")
        shown = os.path.basename(os.readlink(link)) if os.path.islink(link) else None
        said.expect(shown == current, f"the link shows {shown}, not {current}")
    return said.wrong + findings(tools, store, allowed)


def findings(tools, store, allowed=()):
    """What a deep check finds, but for the kinds that may be."""
    checked = tools.run(["fsck", "--deep", "--json"], store)
    # 1: the index was made again, which is how one that was copied is mended.
    if checked.status not in (0, 1, 4) or not checked.output:
        return [f"fsck ends with status {checked.status}: {refusal(checked.errors).strip()}"]
    return [f"fsck finds {finding['kind']}: {finding['message']}" for finding in json.loads(checked.output)["findings"]
            if finding["kind"] not in allowed]
