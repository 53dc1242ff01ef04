"""Those who use an origin in a bucket: the programs under test, what they publish, and what they were told."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from service import HERE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# What no command may say, whatever the network and the server do.
NEVER = re.compile(r"Fatal|runtime error|Sanitizer|terminate called|damagedOrigin|damagedObject|badManifest|refused: ")
SECONDS = 180  # a command that lasts longer hangs


@dataclass
class Ending:
    """How a command ended: status (negative: by that signal), its JSON, what it said otherwise."""

    status: int
    output: dict
    errors: str
    seconds: float

    @property
    def code(self):
        return (self.output.get("error") or {}).get("code", "")

    def complaint(self):
        """Why no command may end so, or None. Failing is allowed where the server fails."""
        if self.status == -1000:
            return "it hangs"
        if self.status in (0, -signal.SIGKILL):
            return None
        said = "%s %s" % (json.dumps(self.output), self.errors.strip()[-400:])
        if self.status < 0 or NEVER.search(said):
            return "it ends with %d: %s" % (self.status, said)
        return None if self.code else "it fails with %d and names no reason: %s" % (self.status, said)


class Castree:
    """The programs, run as a user runs them, at one service."""

    def __init__(self, directory, service, endpoint=None):
        directory = os.path.abspath(directory or os.path.join(ROOT, ".build", "release"))
        self.program = os.path.join(directory, "castree")
        if not os.access(self.program, os.X_OK):
            raise SystemExit("there is no %s; make build first, or say --programs DIRECTORY" % self.program)
        self.service, self.endpoint = service, endpoint or service.endpoint
        self.directory = directory

    def through(self, proxy):
        """The same programs, whose requests go through a proxy."""
        return Castree(self.directory, self.service, proxy.endpoint)

    def environment(self, signed=True):
        words = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "LANG": "C.UTF-8",
                 "SWIFT_BACKTRACE": "enable=no", "no_proxy": "127.0.0.1", "AWS_ENDPOINT_URL": self.endpoint,
                 "AWS_EC2_METADATA_DISABLED": "true"}
        if signed:
            words["AWS_ACCESS_KEY_ID"], words["AWS_SECRET_ACCESS_KEY"] = self.service.keys
        return words

    def run(self, store, *words, killed_after=None, stopped_after=None, signed=True):
        """Runs a command to its end, or kills it after so many seconds, or stops it then for two."""
        began = time.monotonic()
        process = subprocess.Popen(
            [self.program, "--store", store, "--json", *map(str, words)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(signed))
        if stopped_after:
            time.sleep(stopped_after)
            process.send_signal(signal.SIGSTOP)
            time.sleep(2)
            process.send_signal(signal.SIGCONT)
        try:
            output, errors = process.communicate(timeout=killed_after or SECONDS)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            status = -signal.SIGKILL if killed_after else -1000
        try:
            document = json.loads(output) if output.strip() else {}
        except ValueError:
            document = {}
        for line in errors.splitlines():
            if not document and line.startswith("{"):
                document = json.loads(line)
        return Ending(status, document if isinstance(document, dict) else {"list": document}, errors,
                      time.monotonic() - began)


def audit(castree, store, origin, ledger):
    """The programs' own look at an origin agrees; an older castree has none."""
    ending = castree.run(store, "fsck", origin, "--deep")
    if ending.code == "usage":
        ledger.count("audits passed over")
    elif ending.status:
        ledger.fail("fsck --deep " + origin, "%s %s" % (ending.output, ending.errors))
    else:
        ledger.count("audits")


class Contents:
    """A few contents that share most of their files: what a prune deletes is soon published again."""

    def __init__(self, directory, count=6, files=9, seed=1):
        self.directory, self.count, self.files, self.seed = directory, count, files, seed
        for number in range(count):
            for path, body in self.of(number).items():
                place = os.path.join(directory, str(number), path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "wb") as file:
                    file.write(body)

    def of(self, number):
        """Path → bytes of a content."""
        made = {}
        for file in range(self.files):
            variant = (0, number // 2, number)[file % 3]
            chance = random.Random("%d/%d/%d" % (self.seed, file, variant))
            made["d%d/f%d.js" % (file % 4, file)] = chance.randbytes(chance.randint(1, 4000))
        made["index.html"] = b"<!doctype html><title>%d</title>" % number
        return made

    def place(self, number):
        return os.path.join(self.directory, str(number))

    def complaint(self, tree, number):
        """How a tree differs from a content, or None."""
        there = {}
        for parent, _, names in os.walk(tree):
            for name in names:
                path = os.path.join(parent, name)
                with open(path, "rb") as file:
                    there[os.path.relpath(path, tree)] = file.read()
        wanted = self.of(number)
        if there == wanted:
            return None
        lost, more = sorted(set(wanted) - set(there)), sorted(set(there) - set(wanted))
        return "a tree is not its content: lacks %s, has %s besides, others differ" % (lost[:3], more[:3])


class Ledger:
    """What commands were told, and what went wrong; for many threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.wrong, self.offers, self.tries = [], [], {}
        self.counts = {}

    def fail(self, where, what):
        with self.lock:
            self.wrong.append("%s: %s" % (where, " | ".join(str(what).strip().splitlines())))
            print("FAIL", self.wrong[-1], flush=True)

    def count(self, what, more=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + more

    def note_offer(self, channel, version, ending):
        """A publish has ended: what may and what must stand in the log."""
        with self.lock:
            tried = self.tries.setdefault((channel, version), [0, 0])
            if ending.status == 0 and not ending.output.get("changed", True):
                return
            tried[ending.status != 0] += 1
            if ending.status == 0:
                self.offers.append((channel, version, ending.output["entry"]))

    def hold_against(self, origin, entries, offered):
        """I3: what was acknowledged stands in the log exactly once, where it was said to be.

        `entry` is the newest when the command ended, so its own is that or an earlier one. A command that nobody
        saw end may have committed once, not more."""
        for channel, version, number in self.offers:
            if number > len(entries):
                self.fail("I3", "entry %d was acknowledged, there are %d" % (number, len(entries)))
        for (channel, version), (told, silent) in self.tries.items():
            found = offered(entries, channel, version)
            if not told <= found <= told + silent:
                self.fail("I3", "version %s was offered in %s %d times, and %d times without an answer: %d entries" % (
                    version, channel, told, silent, found))
        for text in origin.wrong:
            self.fail("origin", text)


def scratch(prefix):
    """A directory for stores and contents; memory, if there is room: every sync waits for the server's disk else."""
    base = "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 2 << 30 else None
    import tempfile
    return tempfile.mkdtemp(prefix=prefix, dir=base)
