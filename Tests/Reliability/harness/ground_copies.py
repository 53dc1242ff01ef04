"""Grounds that move: stores that are copied while commands run, and sources that are written while they are added."""

import hashlib
import itertools
import json
import os
import shutil
import subprocess
import threading

from . import removal, verbs
from .ground import CannotDo, difference
from .programs import refusal
from .releases import release

COPIERS = {
    "cp -a": ["cp", "-a", "{store}", "{copy}"],
    "cp -r": ["cp", "-r", "{store}", "{copy}"],
    "rsync -a": ["rsync", "-a", "{store}/", "{copy}/"],
    "tar": ["sh", "-c", 'mkdir "$1" && tar -C "$0" -cf - . | tar -C "$1" -xf -', "{store}", "{copy}"],
}


def copies(lab):
    """A store that is copied while commands run; the copy opens, and a repair mends it without losing content."""
    store = os.path.join(lab.place("live"), "store")
    verbs.prepare(lab.tools, store, lab.sources, (1, 2))
    lab.missing = [words[0] for words in COPIERS.values() if not shutil.which(words[0])]
    if lab.missing == list(COPIERS):
        raise CannotDo("nothing here copies directories")
    for name, words in COPIERS.items():
        if not shutil.which(words[0]):
            print(f"ground: copies: {name}: NOT RUN: {words[0]} is not installed", flush=True)
            continue
        copy = os.path.join(lab.directory, "still")
        wrong = _copy(words, store, copy, must_work=True) + _mended(lab, copy, {1, 2})
        removal.remove(copy)
        yield f"{name} of a store at rest", wrong
        wrong = []
        with Busy(lab, store) as busy:
            for turn in range(1 if lab.options.slice else 8):
                copy = os.path.join(lab.directory, f"copy-{turn}")
                wrong += _copy(words, store, copy, must_work=False)
                wrong += [f"copy {turn}: {complaint}" for complaint in _mended(lab, copy, {1, 2})]
                removal.remove(copy)
        yield f"{name} while commands run", wrong + busy.wrong
    yield "the store itself, in the end", verbs.state(lab.tools, store, (1, 2), lab.seed, "1")


class Busy:
    """Commands that go on until it ends: a version comes, is current for a while, and goes."""

    def __init__(self, lab, store):
        self.lab, self.store, self.wrong = lab, store, []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()
        said = verbs.Said(self.lab.tools, self.store)
        said("activate", "1")
        if any(version["version"] == "3" for version in _listed(self.lab.tools, self.store)):
            said("retire", "3")
        self.wrong += said.wrong

    def _run(self):
        said = verbs.Said(self.lab.tools, self.store)
        for words in itertools.cycle((["add", self.lab.sources[3], "--version", "3"], ["activate", "3"],
                                      ["activate", "1"], ["retire", "3"], ["gc"])):
            said(*words)
            if self.ended.is_set() or said.wrong:
                break
        self.wrong += said.wrong


def _listed(tools, store):
    ending = tools.run(["versions", "--json"], store)
    return json.loads(ending.output) if ending.status == 0 else []


def _copy(words, store, copy, must_work):
    done = subprocess.run([word.format(store=store, copy=copy) for word in words],
                          capture_output=True, text=True, check=False)
    # Of a store that changes, what vanishes is reported (tar and cp 1, rsync 24), and the rest is copied.
    if must_work and done.returncode or not os.path.isdir(copy):
        return [f"{words[0]}: {done.stderr.strip()[-300:]}"]
    return []


def _contents(directory):
    """The addresses of whatever can be read below a directory."""
    found = set()
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found.add(hashlib.sha256(file.read()).hexdigest())
    return found


def _mended(lab, copy, numbers):
    """What is wrong with a copy: it opens, a check names what is wrong, a repair mends it and loses nothing."""
    said = verbs.Said(lab.tools, copy)
    needed = {hashlib.sha256(content).hexdigest() for number in numbers
              for content, _ in release(number, lab.seed).values()} & _contents(copy)
    said("versions")
    checked = said("fsck", "--json", statuses=(0, 4))
    if checked.status == 4:
        kinds = {finding["kind"] for finding in json.loads(checked.output)["findings"]}
        said.expect(kinds, "fsck ends with 4 and names nothing")
    # 0 and 1: all is mended; 4: something waits for its content.
    repaired = said("fsck", "--repair", statuses=(0, 1, 4))
    lost = needed - _contents(copy)
    said.expect(os.path.isdir(os.path.join(copy, "current")), "nothing is current after a repair")
    said.expect(not lost, f"the repair lost {len(lost)} contents of versions: {refusal(repaired.errors).strip()}")
    said.wrong += filter(None, (
        verbs.tree_complaint(os.path.join(copy, "versions", str(number)), release(number, lab.seed))
        for number in numbers))
    # A version that was on its way may stay incomplete, or be there in full.
    if any(version["version"] == "3" for version in _listed(lab.tools, copy)):
        said("add", lab.sources[3], "--version", "3")
    said("gc")
    said.wrong += verbs.findings(lab.tools, copy)
    said.wrong += _apart(copy)
    return said.wrong


def _apart(copy):
    """Files of trees that are not the objects' own inodes any more: they would take their space twice."""
    own = set()
    for parent, _, names in os.walk(os.path.join(copy, "objects")):
        own |= {os.lstat(os.path.join(parent, name)).st_ino for name in names}
    apart = 0
    for parent, _, names in os.walk(os.path.join(copy, "versions")):
        for name in names:
            status = os.lstat(os.path.join(parent, name))
            apart += status.st_size > 0 and status.st_ino not in own
    return [f"{apart} files of trees are copies of their own after a repair"] if apart else []


def rewritten(lab):
    """A source that is rewritten, in place and by renaming, while it is added."""
    source, store = lab.place("changing"), os.path.join(lab.directory, "store")
    paths = [os.path.join(source, f"file-{number}.bin") for number in range(20)]
    letters = [bytes([letter]) * 60_000 for letter in b"abcdefgh"]
    for path in paths:
        _write(path, letters[0])
    ended = threading.Event()

    def rewrite():
        for turn in itertools.count():
            path = paths[turn % len(paths)]
            content = letters[turn // len(paths) % len(letters)]
            if turn % 2:
                _write(path, content)
            else:
                _write(path + ".new", content)
                os.rename(path + ".new", path)
            if ended.wait(0.0005):
                break

    wrong, refused = [], 0
    writer = threading.Thread(target=rewrite)
    writer.start()
    count = 3 if lab.options.slice else 30
    try:
        for number in range(count):
            ending = lab.tools.run(["add", source, "--version", str(number)], store)
            refused += ending.status == 1
            complaint = ending.complaint()
            if complaint:
                wrong.append(f"add {number}: {complaint}")
    finally:
        ended.set()
        writer.join()
    said = verbs.Said(lab.tools, store)
    for name in os.listdir(source):
        if name.endswith(".new"):
            os.remove(os.path.join(source, name))
    # What was read while it changed must not be believed now.
    said("add", source, "--version", "last")
    said.wrong += filter(None, [difference(source, os.path.join(store, "versions", "last"))])
    for version in _listed(lab.tools, store):
        said.wrong += _odd(os.path.join(store, "versions", version["version"]))
    yield (f"{count} adds of a source that is rewritten, {refused} refused",
           wrong + said.wrong + verbs.findings(lab.tools, store))


def _write(path, content):
    """Writes in place, by one call."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, content, 0)
    finally:
        os.close(file)


def _odd(tree):
    """Files that never stood in the source as they stand in the tree."""
    wrong = []
    for name in os.listdir(tree):
        with open(os.path.join(tree, name), "rb") as file:
            content = file.read()
        if len(set(content)) > 1:
            wrong.append(f"{os.path.join(tree, name)} is a mixture of two states")
    return wrong


GROUNDS = {"copies": copies, "rewritten": rewritten}
