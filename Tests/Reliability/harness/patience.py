"""How long a suite waits for what the system does: as long as it goes on, and then a number of looks."""

import time

# A look is a moment of sleep and whatever the caller asks then; on a busy machine both take longer, and so does all.
# What moves begins the count anew.
LOOKS = 6000
MOMENT = 0.01


class Patience:
    """Waits until something is done. `signs` are functions: what they return changes while there is progress."""

    def __init__(self, *signs, looks=LOOKS):
        self.signs, self.looks = signs, looks
        self.left, self.seen = looks, None

    def ends(self):
        """Sleeps for a moment; true when nothing has moved for too many of them."""
        time.sleep(MOMENT)
        seen = [sign() for sign in self.signs]
        self.left = self.left - 1 if seen == self.seen else self.looks
        self.seen = seen
        return self.left <= 0


def work_of(process):
    """A sign of progress: the time a process has run and has waited for a processor, while it is there."""

    def sign():
        try:
            with open(f"/proc/{process}/schedstat", encoding="ascii") as file:
                return file.read()
        except OSError:  # gone, or a kernel that does not count
            return None

    return sign


def requests_of(device):
    """A sign of progress: how often a block device has read, written, discarded and flushed."""

    def sign():
        try:
            with open(f"/sys/class/block/{device.rsplit('/', 1)[-1]}/stat", encoding="ascii") as file:
                counts = file.read().split()
                return [counts[at] for at in (0, 4, 11, 15)]  # others tell the time, which passes without progress
        except OSError:  # detached
            return None

    return sign
