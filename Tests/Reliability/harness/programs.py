"""Runs the programs under test as a user runs them, and the tool that makes their system calls fail."""

import copy
import os
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request
from dataclasses import dataclass, field

# What programs that were built with a sanitizer must be told.
FOR_SANITIZERS = ("LD_PRELOAD", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


@dataclass
class Fault:
    """What goes wrong while a program runs; `callfault --help` explains each."""

    do: str = ""  # kill, torn, short, skip, cut or the name of an errno; "": nothing, the calls are counted
    at: int = 0
    persists: bool = False  # the call at `at` and all after it
    after: int = 0  # microseconds
    under: tuple = ()
    calls: str = "changes"
    mount: str = ""
    flush: int = 2
    skip: str = ""
    seconds: int = 60

    def words(self, report, log):
        words = ["--report", report, "--log", log, "--calls", self.calls, "--seconds", str(self.seconds)]
        for directory in self.under:
            words += ["--under", directory]
        if self.at:
            words += ["--from" if self.persists else "--at", str(self.at)]
        if self.after:
            words += ["--after", str(self.after)]
        if self.do:
            words += ["--do", self.do]
        if self.mount:
            words += ["--mount", self.mount, "--flush", str(self.flush)]
        if self.skip:
            words += ["--skip", self.skip]
        return words


@dataclass
class Ending:
    """How a program ended."""

    status: int
    output: str
    errors: str
    calls: int = 0
    acted: bool = False
    late: bool = False
    log: list = field(default_factory=list)

    def complaint(self):
        """Why no program may end so, or None: it must say what failed, and must not crash."""
        if self.late:
            return "it hangs"
        if self.status not in (0, 1, 3, 4, 8):
            return f"it ends with status {self.status}: {self.errors.strip()[-300:]}"
        if self.status == 0:
            return None
        if not self.errors.startswith("castree") and self.status not in (1, 4):
            return f"it fails with status {self.status} and says nothing that a user understands: {self.errors!r}"
        if self.status == 1 and ": " not in self.errors:
            return "it fails without a sentence"
        for word in ("Fatal error", "Unexpectedly found nil", "SQLITE_", "terminated by"):
            if word in self.errors:
                return f"it says {word!r}: {self.errors.strip()[-300:]}"
        return None


class Programs:
    """The directory with castree and callfault."""

    prefix = ()  # what every program is started by: a sandbox, another user
    forks = False  # whether that stays in front of the program, which then is its child

    def __init__(self, directory=None, reports=None):
        self.directory = os.path.abspath(directory or os.path.join(ROOT, ".build", "release"))
        self.castree = os.path.join(self.directory, "castree")
        self.callfault = os.path.join(self.directory, "callfault")
        for program in (self.castree, self.callfault, self.castree + "-fsck"):
            if not os.access(program, os.X_OK):
                raise SystemExit(f"there is no {program}; make build first, or say --programs DIRECTORY")
        # Whoever starts a suite may have signals blocked (a test's thread has), and programs inherit that: a server
        # would never hear that it is to end.
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        # Gone when this ends.
        self.reports = tempfile.TemporaryDirectory(
            prefix="castree-reports-", dir=reports, ignore_cleanup_errors=True)

    def behind(self, *prefix, forks=False):
        """The same programs, started by another."""
        other = copy.copy(self)
        other.prefix, other.forks = prefix, forks
        return other

    def cannot_inject(self):
        """Why no system call can be made to fail here, or None."""
        tried = subprocess.run([self.callfault, "--", "/bin/true"], capture_output=True, text=True, check=False)
        return (tried.stderr.strip() or "callfault does not work here") if tried.returncode else None

    def run(self, words, store=None, fault=None, seconds=120, user=None):
        """Runs castree to its end, or castree-fsck if that is the first word; serves until a page has come."""
        if words[0] == "serve":
            return self._serve([self.castree] + list(words) + ["--store", store], seconds, user)
        if words[0] == "castree-fsck":
            return self._run([self.castree + "-fsck"] + list(words[1:]) + [store], seconds, user)
        command = [self.castree] + list(words)
        if store:
            command += ["--store", store]
        if fault is None:
            return self._run(command, seconds, user)
        report = os.path.join(self.reports.name, str(os.getpid()))
        log = report + ".log"
        fault_words = fault.words(report, log)
        ending = self._run([self.callfault] + fault_words + ["--"] + command, seconds + fault.seconds, user)
        if ending.status == 125:
            raise SystemExit(f"callfault: {ending.errors}")
        with open(report, encoding="utf-8") as lines:
            figures = dict(word.split("=") for word in lines.read().split())
        os.remove(report)
        ending.calls = int(figures["calls"])
        ending.acted = figures["acted"] == "1"
        ending.late = figures["late"] == "1"
        with open(log, encoding="utf-8", errors="replace") as lines:
            ending.log = [line.rstrip("\n").split(" ", 3) for line in lines]
        return ending

    @staticmethod
    def _environment():
        environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "HOME": "/nonexistent",
                       "SWIFT_BACKTRACE": "enable=no"}
        return environment | {name: os.environ[name] for name in FOR_SANITIZERS if name in os.environ}

    def _serve(self, command, seconds, user):
        """Starts a server, asks it for the first page, and tells it to end. It may end before, and say why."""
        server = subprocess.Popen([*self.prefix, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=self._environment(), user=user)
        limit = threading.Timer(seconds, server.kill)
        limit.start()
        try:
            ready, page = server.stdout.readline(), b""
            address = re.search(rb"http://[^\s/]+/", ready)
            if address:
                with urllib.request.urlopen(address.group().decode(), timeout=seconds) as answer:
                    page = answer.read()
            os.kill((children(server.pid) if self.forks else [server.pid])[0], signal.SIGTERM)
            output, errors = server.communicate(timeout=seconds)
        except (OSError, subprocess.TimeoutExpired) as error:
            server.kill()
            return Ending(-1, "", f"{error}; {_text(server.communicate()[1])}", late=True)
        finally:
            limit.cancel()
        status = server.returncode if server.returncode >= 0 else 128 - server.returncode
        return Ending(status, _text(page or ready + output), _text(errors))

    def _run(self, command, seconds, user):
        try:
            done = subprocess.run([*self.prefix, *command], capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL,
                                  env=self._environment(), user=user, check=False)
        except subprocess.TimeoutExpired as late:
            return Ending(-1, _text(late.stdout), _text(late.stderr), late=True)
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Ending(status, _text(done.stdout), _text(done.stderr))


def refusal(errors):
    """Why a command does nothing, without its warnings: it may also have found the index of one that was killed."""
    return "\n".join(line for line in errors.splitlines() if not line.startswith(("castree: warning: ", "castree: note: ")))


def children(pid):
    """The processes that a program of one thread has started and that have not ended."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as numbers:
        return [int(number) for number in numbers.read().split()]


def _text(octets):
    return (octets or b"").decode("utf-8", "replace")
