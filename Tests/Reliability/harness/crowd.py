"""What the processes of the stress test do, and how each is held against the ledger."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter

from . import programs, removal, servers
from .ledger import GONE, THERE, UNKNOWN
from .releases import release, tree_complaint, write_release

RELEASES = 24  # versions that come and go
SERVERS = 2  # at once, over the one store
FIRST_GUESS = 0.06  # seconds that a command takes, before one was seen
SABOTAGE = {
    "object": "an object is lost in each round",
    "server": "a server crashes now and then",
    "locks": "no command has any lock",
    "early": "a command is acknowledged before it is done",
}
# The one refusal of retire that may come: nothing else is known good or pending here, and the version is not current.
PINNED = ("castree: version {} cannot be retired: a server still shows it to a page; close the page, or stop the server, "
          "and repeat the command")
WHILE_RUNNING = {"leftover", "wrongCurrentLink"}


class World:
    """The store, its ledger, and what has happened so far."""

    def __init__(self, tools, places, book, figures, sabotage=""):
        self.tools, self.places, self.book, self.figures = tools, places, book, figures
        self.sabotage = sabotage  # what is broken on purpose: one of SABOTAGE
        self.count_lock = threading.Lock()
        self.done = Counter()
        self.usual = {}  # seconds that a command takes while nobody disturbs it, by its name
        self.switching = threading.Lock()
        self.servers = servers.Row(tools, places, SERVERS, self.wrong)
        self.directories = 0

    def prepare(self):
        """Releases, and an origin that offers each in a channel of its own."""
        upstream = os.path.join(self.places.outside, "upstream-store")
        for number in range(RELEASES):
            source = self.places.source(str(number))
            write_release(source, self.files(number))
            for words in (["add", source, "--version", f"v{number}"],
                          ["publish", f"v{number}", self.places.upstream, "--channel", f"c{number}"]):
                ending = self.tools.run(words, upstream)
                if ending.status:
                    raise SystemExit(f"stress cannot prepare: {ending.errors}")
        removal.remove(upstream)
        self.tools.run(["init"], self.places.store)
        ending = self.tools.run(["add", self.places.source("0"), "--version", "v0", "--activate"], self.places.store)
        if ending.status:
            raise SystemExit(f"stress cannot prepare: {ending.errors}")
        self.book.note("v0", THERE)
        self.book.switched("v0", True)

    def files(self, number):
        return release(number, self.places.seed)

    def tell(self, chance, words):
        """Runs a command; sometimes kills it, sometimes stops it for a while. Returns None if it was killed."""
        under = []
        if self.sabotage == "locks":
            under = [self.tools.callfault, "--calls", "none", "--skip", "flock", "--under", self.places.device, "--"]
        process = subprocess.Popen([*under, self.tools.castree, *words, "--store", self.places.store],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        began = time.monotonic()
        # Anywhere in the time that such a command usually takes here.
        fate, moment = chance.random(), chance.random() * self.usual.get(words[0], FIRST_GUESS)
        if fate < 0.15:
            time.sleep(moment)
            process.kill()
        elif fate < 0.22:
            time.sleep(moment)
            process.send_signal(signal.SIGSTOP)
            time.sleep(chance.random() * 0.4)
            process.send_signal(signal.SIGCONT)
        try:
            output, errors = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.wrong(words, ["it hangs for five minutes"])
            return None
        with self.count_lock:
            if fate >= 0.22:
                mean = self.usual.get(words[0], FIRST_GUESS)
                self.usual[words[0]] = mean + (time.monotonic() - began - mean) / 8
            self.figures.count(1 if fate < 0.22 else 0)
            self.done[words[0]] += 1
            self.done["kills"] += process.returncode == -signal.SIGKILL
            self.done["stops"] += 0.15 <= fate < 0.22
        if process.returncode == -signal.SIGKILL and fate < 0.15:
            return (0, '{"findings": []}', "") if self.sabotage == "early" else None
        crash = servers.crash_of(errors.decode(errors="replace"))
        if process.returncode < 0 or process.returncode > 8 or crash:
            self.wrong(words, [f"it ends with {process.returncode}: {crash or errors.decode()[-300:]}"])
        return process.returncode, output.decode(), errors.decode()

    def wrong(self, words, complaints):
        with self.count_lock:
            self.figures.fail(" ".join(words), complaints)

    def note(self, name):
        with self.count_lock:
            self.done[name] += 1

    def new_directory(self):
        with self.count_lock:
            self.directories += 1
            return os.path.join(self.places.device, f"checkout{self.directories}")

    def break_something(self, chance):
        """Between two rounds, so that it can be seen that the checker sees it."""
        if self.sabotage != "object":
            return
        objects = os.path.join(self.places.store, "objects")
        # Not a twin: its tree has it, too, and it is made again when it is needed.
        found = sorted(os.path.join(parent, name) for parent, _, names in os.walk(objects) for name in names
                       if not name.endswith(".x"))
        os.remove(chance.choice(found))

    def counts(self):
        self.done["servers"] = len(self.servers.all)
        return [f"{name}={count}" for name, count in sorted(self.done.items())]

    def note_fault(self, name, count=1):
        """Counts what was done to a server."""
        with self.count_lock:
            self.done[name] += count
            self.figures.faults += count

    def stop(self, chance):
        kills, ends = self.servers.end_all(chance)
        self.note_fault("server-kills", kills)
        self.note_fault("server-ends", ends)

    def rest(self, chance):
        """All are at rest: everything that was acknowledged is held against the store."""
        self.stop(chance)
        wrong = []
        listed = self.tools.run(["versions", "--json"], self.places.store)
        if listed.status:
            return [f"versions fails: {listed.errors}"]
        states = {version["version"]: version["state"] for version in json.loads(listed.output)}
        for version in self.book.versions(THERE):
            if states.get(version) != "materialized":
                wrong.append(f"{version} was acknowledged and is {states.get(version, 'lost')}")
        for version in self.book.versions(GONE):
            if version in states:
                wrong.append(f"{version} was retired and is {states[version]}")
        for version, state in states.items():
            if state == "materialized":
                tree = os.path.join(self.places.store, "versions", version)
                complaint = tree_complaint(tree, self.files(int(version[1:])))
                wrong += [complaint] if complaint else []
        told = self.tools.run(["lifecycle", "--json"], self.places.store)
        if told.status:
            return [f"lifecycle fails: {told.errors}"]
        current = json.loads(told.output)["current"]
        if current not in self.book.may_be_current():
            wrong.append(f"current is {current}, not one of {self.book.may_be_current()}")
        wrong += self.findings(["fsck", "--deep", "--json"], WHILE_RUNNING)
        repaired = self.tools.run(["fsck", "--repair"], self.places.store)
        if repaired.status not in (0, 1):
            wrong.append(f"fsck --repair ends with {repaired.status}: {repaired.output} {repaired.errors}")
        wrong += self.findings(["fsck", "--deep", "--json"], set())
        return wrong

    def findings(self, words, allowed):
        checked = self.tools.run(words, self.places.store)
        if checked.status not in (0, 4):
            return [f"{' '.join(words)} ends with {checked.status}: {checked.errors}"]
        return [f"fsck finds {finding['kind']}: {finding['message']}"
                for finding in json.loads(checked.output)["findings"] if finding["kind"] not in allowed]


def work(world, chance, limit):
    """One of the processes' places: one deed after the other."""
    deeds = [add, pull, checkout, activate, retire, collect, check, browse]
    weights = [5, 4, 3, 2, 4, 2, 2, 6]
    while time.monotonic() < limit and not world.figures.failures:
        chance.choices(deeds, weights)[0](world, chance)


def _arrive(world, chance, words_for):
    version = f"v{chance.randrange(RELEASES)}"
    with world.book.changing(version) as free:
        if not free:
            return
        before = world.book.states.get(version, GONE)
        words = words_for(version)
        ending = world.tell(chance, words)
        if ending is None:
            world.book.note(version, before if before == THERE else UNKNOWN)
        elif ending[0] == 0:
            world.book.note(version, THERE)
        else:
            world.wrong(words, [f"it ends with status {ending[0]}: {ending[2]}"])


def add(world, chance):
    _arrive(world, chance, lambda version: ["add", world.places.source(version[1:]), "--version", version])


def pull(world, chance):
    _arrive(world, chance, lambda version: [
        "pull", world.places.upstream, "--channel", f"c{version[1:]}", "--keep", "--force"])


def retire(world, chance):
    with world.book.lock:
        versions = [version for version, state in world.book.states.items() if state != GONE]
    if len(versions) < 6:
        return
    version = chance.choice(sorted(versions))
    with world.book.changing(version) as free:
        if not free or version in world.book.may_be_current():
            return
        # It may have been retired since it was chosen.
        before = world.book.states[version]
        words = ["retire", version]
        began = time.monotonic()
        ending = world.tell(chance, words)
        if ending is None:
            world.book.note(version, UNKNOWN)
        elif ending[0] == 0:
            world.book.note(version, GONE)
        elif ending[0] == 3 and before != THERE:
            world.book.note(version, GONE)
        elif ending[0] == 1 and programs.refusal(ending[2]) == PINNED.format(version):
            # Right only if a server is there that was there already when the version was current.
            if not world.servers.may_show(world.book.left_at(version), began):
                world.wrong(words, [f"refused, though no server can show it: {ending[2]}"])
            world.note("refused")
        else:
            world.wrong(words, [f"it ends with status {ending[0]}, and was {before}: {ending[2]}"])


def checkout(world, chance):
    with world.book.using(chance, THERE) as version:
        if not version:
            return
        target = world.new_directory()
        words = ["checkout", version, target, "--mode", chance.choice(["link", "copy", "reflink"])]
        ending = world.tell(chance, words)
        if ending and ending[0] == 0:
            complaint = tree_complaint(target, world.files(int(version[1:])))
            if complaint:
                world.wrong(words, [complaint])
        elif ending and "reflink" not in words:
            world.wrong(words, [f"it ends with status {ending[0]}: {ending[2]}"])
        removal.remove(target)


def activate(world, chance):
    with world.switching, world.book.using(chance, THERE) as version:
        if not version:
            return
        words = ["activate", version]
        # Before: while it runs either is right.
        world.book.switched(version, False)
        ending = world.tell(chance, words)
        if ending and ending[0] == 0:
            world.book.switched(version, True)
        elif ending:
            world.wrong(words, [f"it ends with status {ending[0]}: {ending[2]}"])


def collect(world, chance):
    ending = world.tell(chance, ["gc"])
    if ending and ending[0]:
        world.wrong(["gc"], [f"it ends with status {ending[0]}: {ending[2]}"])


def check(world, chance):
    words = ["fsck", "--json"] + (["--deep"] if chance.random() < 0.5 else [])
    ending = world.tell(chance, words)
    if ending is None:
        return
    if ending[0] not in (0, 4):
        world.wrong(words, [f"it ends with status {ending[0]}: {ending[1]} {ending[2]}"])
        return
    wrong = [f"finds {finding['kind']}: {finding['message']}" for finding in json.loads(ending[1])["findings"]
             if finding["kind"] not in WHILE_RUNNING]
    if wrong:
        world.wrong(words, wrong)


def browse(world, chance):
    """Loads a page of four files; all must be of the version of the first. Now and then a server is ended or stopped."""
    server = world.servers.take(chance.randrange(SERVERS))
    if server is None:
        return  # said already
    fate = chance.random()
    if fate < 0.03:
        world.note_fault("server-kills", server.kill())
        return
    if fate < 0.05:
        world.note_fault("server-ends", server.end())
        return
    if fate < 0.12:
        world.note_fault("server-stops", server.pause(chance.random() * 0.8))
        return
    if world.sabotage == "server" and fate < 0.2:
        server.process.send_signal(signal.SIGSEGV)
    connection = http.client.HTTPConnection("localhost", server.port, timeout=120)
    try:
        connection.connect()
        connection.auto_open = False  # another connection might be another server's
        _load_page(world, server, connection)
    except (OSError, http.client.HTTPException) as error:
        moment, told = time.monotonic(), server.told_to_end()
        if told is not None and told <= moment:
            world.note("broken")
        else:
            world.wrong(["serve"], [f"a page breaks off, and nobody had ended the server: {error!r}"])
    finally:
        connection.close()


def _load_page(world, server, connection):
    connection.request("GET", "/", headers={"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"})
    answer = connection.getresponse()
    body = answer.read()
    if server.puts_off(answer.status):
        world.note("put-off")
        return
    cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
    found = re.fullmatch(rb"<h1>release (\d+)</h1>", body)
    if answer.status != 200 or not found:
        world.wrong(["GET /"], [f"status {answer.status}: {body[:200]!r}"])
        return
    files = world.files(int(found.group(1)))
    for path in ("own/one.bin", "own/two.bin", "run.sh", "lib/large.bin"):
        fields = {"Referer": f"http://localhost:{connection.port}/"}
        if cookie:
            fields["Cookie"] = cookie
        connection.request("GET", "/" + path, headers=fields)
        answer = connection.getresponse()
        body = answer.read()
        if server.puts_off(answer.status):
            world.note("put-off")
            return
        if answer.status != 200 or body != files[path][0]:
            world.wrong([f"GET /{path}"], [
                f"status {answer.status}, {len(body)} bytes: not those of release {found.group(1).decode()}"])
            return
    world.note("pages")
