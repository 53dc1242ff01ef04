"""What was acknowledged while many processes run: for each version whether it must be there, may be, or must not."""

import threading
import time
from contextlib import contextmanager

THERE, GONE, UNKNOWN = "there", "gone", "unknown"


class Ledger:
    """The acknowledged state. Whoever changes a version has it to itself; reading is shared."""

    def __init__(self, places):
        self.places = places
        self.lock = threading.Condition()
        self.states = {}  # version to THERE, GONE or UNKNOWN; what is not here was never there
        self.taken = {}  # version to the number of those who use it; -1: somebody changes it
        self.current = set()  # what `current` may be: one, or several after an interrupted switch
        self.left = {}  # version to the moment when it ceased to be one of them

    @contextmanager
    def changing(self, version):
        """Nobody else uses the version meanwhile; yields whether it could be had."""
        with self.lock:
            free = self.taken.get(version, 0) == 0
            if free:
                self.taken[version] = -1
        try:
            yield free
        finally:
            if free:
                with self.lock:
                    self.taken[version] = 0

    @contextmanager
    def using(self, chance, *states):
        """Yields a version in one of the states that nobody changes meanwhile, or None."""
        with self.lock:
            versions = sorted(version for version, state in self.states.items()
                              if state in states and self.taken.get(version, 0) >= 0)
            version = chance.choice(versions) if versions else None
            if version:
                self.taken[version] = self.taken.get(version, 0) + 1
        try:
            yield version
        finally:
            if version:
                with self.lock:
                    self.taken[version] -= 1

    def note(self, version, state):
        with self.lock:
            self.states[version] = state

    def versions(self, *states):
        with self.lock:
            return sorted(version for version, state in self.states.items() if state in states)

    def switched(self, version, acknowledged):
        """Somebody made a version current, or died over it."""
        with self.lock:
            if acknowledged:
                self.left.update((other, time.monotonic()) for other in self.current - {version})
                self.current = {version}
            else:
                self.current.add(version)

    def may_be_current(self):
        with self.lock:
            return set(self.current)

    def left_at(self, version):
        """When the version was last what `current` may be, or long ago."""
        with self.lock:
            return self.left.get(version, float("-inf"))
