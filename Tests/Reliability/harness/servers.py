"""The servers of the stress test: who ended each of them and when, so that any other end is seen."""

import os
import re
import signal
import subprocess
import threading
import time

# What a program prints that has crashed, or that a sanitizer has something to say about.
CRASHED = re.compile("Fatal|Sanitizer|Crash|runtime error|terminate called")
START_LIMIT = 120
END_LIMIT = 120
REFUSING_LIMIT = 60


def crash_of(errors):
    """The first line that speaks of a crash, or None."""
    return next((line for line in errors.splitlines() if CRASHED.search(line)), None)


class Server:
    """One process that serves. `killed` and `ended` are the moments before this test ended it, or None."""

    def __init__(self, command, errors, row):
        self.errors = errors
        self.lock = threading.Lock()  # held by whoever stops it for a while, or ends it
        self.killed = self.ended = self.gone = None
        self.port = self.refuses_since = None
        self.began = time.monotonic()
        # Known before it says where it serves: it has pinned what was current by then.
        row.append(self)
        with open(errors, "wb") as file:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, stdin=subprocess.DEVNULL)

    def wait_until_ready(self):
        """Waits for the line that says where it serves; the port stays None if there is none."""
        limit = threading.Timer(START_LIMIT, self.process.kill)
        limit.start()
        line = self.process.stdout.readline().decode()
        limit.cancel()
        found = re.search(r"localhost:(\d+)", line)
        self.port = int(found.group(1)) if found else None

    def puts_off(self, status):
        """Whether an answer only asks for patience, which it may for a while: a lock that others keep, a slow client."""
        if status not in (408, 503):
            self.refuses_since = None
            return False
        self.refuses_since = self.refuses_since or time.monotonic()
        return time.monotonic() - self.refuses_since < REFUSING_LIMIT

    def told_to_end(self):
        """When this test ended it, whichever way, or None."""
        return self.killed or self.ended

    def serves(self):
        return self.port is not None and self.told_to_end() is None and self.process.poll() is None

    def served_between(self, begin, end):
        """Whether it may have been there at any moment of a span."""
        return self.began <= end and (self.gone is None or self.gone >= begin)

    def pause(self, seconds):
        """Stops it for a while. Returns whether it could be."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            if not self.serves():
                return False
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            self.process.send_signal(signal.SIGCONT)
            return True
        finally:
            self.lock.release()

    def kill(self):
        """Kills it if nobody has ended it yet. Returns whether it was so."""
        with self.lock:
            if self.told_to_end() is not None:
                return False
            # First the moment, then the deed: what breaks from now on is this test's doing, nothing before.
            self.killed = time.monotonic()
            self.process.kill()
            self.process.wait()
            self.gone = time.monotonic()
            return True

    def end(self):
        """Tells it to end, as a user does, if nobody has ended it yet. Returns whether it was so."""
        with self.lock:
            if self.told_to_end() is not None:
                return False
            self.ended = time.monotonic()
            self.process.terminate()
            try:
                self.process.wait(END_LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.gone = time.monotonic()
            return True

    def complaints(self):
        """What is wrong with how it ended, or with what it said."""
        status = self.process.wait()
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            said = file.read()
        wrong = []
        crash = crash_of(said)
        if crash:
            wrong.append(f"it says: {crash}")
        strange = next((line for line in said.splitlines() if not line.startswith("castree: ")), None)
        if strange and not crash:
            wrong.append(f"it says what no user understands: {strange}")
        if self.killed is not None:
            # A fault may have ended it in the moment before.
            if status != -signal.SIGKILL:
                wrong.append(f"it ended with {status} before it was killed: {said[-300:]}")
        elif self.port is None:
            wrong.append(f"it does not say where it serves, and ends with {status}: {said[-300:]}")
        elif self.ended is not None:
            if status != 0:
                wrong.append(f"told to end, it ends with {status}: {said[-300:]}")
        else:
            wrong.append(f"it ended with {status}, and nobody had told it to: {said[-300:]}")
        return wrong


class Row:
    """Places for servers over one store; where one is gone, the next who asks starts another."""

    def __init__(self, tools, places, count, wrong):
        self.tools, self.places, self.wrong = tools, places, wrong
        self.directory = os.path.join(places.outside, "servers")
        os.makedirs(self.directory)
        self.here = [None] * count
        self.locks = [threading.Lock() for _ in range(count)]
        self.all = []

    def take(self, at):
        """The server of a place; started if there is none. None if it could not be."""
        with self.locks[at]:
            server = self.here[at]
            if server and server.serves():
                return server
            if server:
                self.close(at)
            errors = os.path.join(self.directory, str(len(self.all)) + f"-{at}")
            words = ["serve", "--store", self.places.store, "--app-id", "stress", "--next-port"]
            server = Server([self.tools.castree, *words], errors, self.all)
            self.here[at] = server
            server.wait_until_ready()
            if server.port is None:
                self.close(at)
                return None
            return server

    def close(self, at):
        """Holds the server of a place, which has ended or is about to, against how it may end."""
        server, self.here[at] = self.here[at], None
        with server.lock:  # whoever ends it has done so
            pass
        if server.port is None:
            server.process.kill()
        server.process.wait()
        server.gone = server.gone or time.monotonic()
        server.process.stdout.close()
        wrong = server.complaints()
        if wrong:
            self.wrong(["serve"], wrong)

    def end_all(self, chance):
        """All are at rest: some are killed, the others told to end. Returns how many of each."""
        kills = ends = 0
        for at, server in enumerate(self.here):
            if not server:
                continue
            if chance.random() < 0.5:
                kills += server.kill()
            elif server.end():
                ends += 1
            self.close(at)
        return kills, ends

    def may_show(self, since, began):
        """Whether a server may still show what was current until `since`, at any moment since `began`."""
        return any(server.served_between(began, time.monotonic()) and server.began <= since for server in self.all)
