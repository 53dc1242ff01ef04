"""What every peer does in turn: store a release and the next, make a tree, verify, forget one.

Within a round each step is done by all peers, in an order drawn anew, before the next step begins. File systems
are synced before every timed run; what is made is looked at behind it. Once, a byte of what each
peer keeps is changed, and its check must find it: a check that finds nothing would be quick.
"""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from .peers import Peer
from .programs import demand
from .scratch import spread_directories
from .stopwatch import BenchmarkError, Sample, Series, Stopwatch

STORE, NEXT, TREE, CHECK, FORGET = "store a release", "store the next", "make a tree", "verify all", "forget one"
STEPS = (STORE, NEXT, TREE, CHECK, FORGET)
FIRST, SECOND = "r1", "r2"
BLOCK = 512


@dataclass
class Account:
    """What one peer did with one pair of releases."""
    peer: type[Peer]
    series: dict[str, Series] = field(default_factory=dict)  # step, or step and variant of a check
    commands: dict[str, list[str]] = field(default_factory=dict)
    both: list[int] = field(default_factory=list)  # bytes on disk with both releases
    after: list[int] = field(default_factory=list)  # … and after one is forgotten
    problem: str = ""


@dataclass
class Lifecycle:
    work: Path
    stopwatch: Stopwatch
    kinds: list[type[Peer]]
    rounds: int
    seed: int
    say: Callable[[str], None]

    def run(self, pair) -> list[Account]:
        accounts = {kind: Account(kind) for kind in self.kinds}
        for number in range(self.rounds):
            self.say(f"round {number + 1} of {self.rounds}")
            place = self.work / "now" / f"round-{number}"
            spread_directories(place)
            peers = []
            for kind, account in accounts.items():
                peer = kind(self.stopwatch, place / kind.__name__.lower())
                account.problem = account.problem or self._wanting(peer)
                if not account.problem:
                    self._guarded(account, peer.prepare)
                    peers.append(peer)
            self._round(pair, peers, accounts, place, number)
        return list(accounts.values())

    @staticmethod
    def _wanting(peer: Peer) -> str:
        return f"not measured: {peer.missing()}" if peer.missing() else ""

    def _round(self, pair, peers: list[Peer], accounts: dict, place: Path, number: int) -> None:
        draw = random.Random(f"{self.seed}/{number}")

        def in_turn(step: str, verb, whole: bool = False) -> None:
            order = [peer for peer in peers if not (whole and peer.variant)]
            draw.shuffle(order)
            for peer in order:
                account = accounts[type(peer)]
                if not account.problem:
                    self._guarded(account, lambda: verb(step, peer, account))

        pair.first()
        in_turn(STORE, lambda step, peer, account:
                self._time(account, step, lambda: peer.store(pair.root, FIRST, None)))
        pair.second()
        in_turn(NEXT, lambda step, peer, account: self._store_next(pair, step, peer, account))
        in_turn(TREE, lambda step, peer, account: self._make_tree(pair, step, peer, account, place), whole=True)
        in_turn(CHECK, lambda step, peer, account: [
            self._time(account, f"{step}, {variant}" if variant else step, verb)
            for variant, verb in peer.checks().items()], whole=True)
        in_turn(FORGET, self._forget, whole=True)
        if number == 0:
            in_turn("", lambda _, peer, account: _demand_damage_found(peer), whole=True)

    def _time(self, account: Account, step: str, run: Callable[[], Sample]) -> None:
        os.sync()
        begin = len(self.stopwatch.log)
        sample = run()
        account.series.setdefault(step, Series()).samples.append(sample)
        account.commands.setdefault(step, self.stopwatch.log[begin:])

    def _store_next(self, pair, step: str, peer: Peer, account: Account) -> None:
        self._time(account, step, lambda: peer.store(pair.root, SECOND, FIRST))
        account.both.append(disk_used(peer.root))

    def _make_tree(self, pair, step: str, peer: Peer, account: Account, place: Path) -> None:
        target = place / f"tree-{type(peer).__name__.lower()}"
        self._time(account, step, lambda: peer.tree(SECOND, target))
        difference = pair.differs_from(peer.standing(target, pair.root))
        demand(difference is None, f"{peer.label} made another tree: {difference}")

    def _forget(self, step: str, peer: Peer, account: Account) -> None:
        self._time(account, step, lambda: peer.forget(FIRST, SECOND))
        account.after.append(disk_used(peer.root))

    def _guarded(self, account: Account, run: Callable[[], object]) -> None:
        """A peer that fails is out; the others go on."""
        try:
            run()
        except (BenchmarkError, OSError, ValueError) as error:
            account.problem = f"ERROR: {error}"
            self.say(f"{account.peer.name} {account.peer.variant}".strip() + f" failed: {error}")


def _demand_damage_found(peer: Peer) -> None:
    checks = peer.checks()
    for check in checks.values():
        check()
    held = sorted((path.stat().st_size, path) for path in peer.kept_bytes().rglob("*")
                  if path.is_file() and not path.is_symlink())
    if not checks:
        return
    _, largest = held[-1]
    largest.chmod(0o644)
    with open(largest, "r+b", buffering=0) as file:
        middle = largest.stat().st_size // 2
        file.seek(middle)
        [byte] = file.read(1)
        file.seek(middle)
        file.write(bytes([byte ^ 1]))
    for variant, check in checks.items():
        try:
            check()
        except BenchmarkError:
            continue
        raise BenchmarkError(f"{peer.label} {variant} does not find a changed byte in {largest.name}")


def disk_used(root: Path) -> int:
    """Bytes of the blocks below `root`; an inode with many names counts once."""
    seen, total = set(), 0
    for directory, _, files in os.walk(root):
        for path in (directory, *(os.path.join(directory, name) for name in files)):
            status = os.lstat(path)
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * BLOCK
    return total
