"""Rows of `pull` and `delivery`: what ours needs against what another needs, or against a figure."""

from dataclasses import dataclass, field
from statistics import median

from .stopwatch import Sample


@dataclass
class Comparison:
    """With a `peer`: a sample of each side in every round; the median of the rounds' ratios counts.

    Without: values of ours alone, in `unit`, of which the highest counts."""
    id: str
    work: str
    peer: str
    limit: float | None  # None: told, not judged
    unit: str = "s"
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peer_cpu: list[float] = field(default_factory=list)
    problem: str = ""
    highest_of: str = ""  # whose value the highest is

    def raise_to(self, value: float, of: str) -> None:
        """One more value of ours alone."""
        if not self.ours or value > max(self.ours):
            self.highest_of = of
        self.ours.append(value)

    def add(self, ours: Sample, theirs: Sample) -> None:
        self.ours.append(ours.wall)
        self.theirs.append(theirs.wall)
        self.cpu.append(ours.cpu)
        self.peer_cpu.append(theirs.cpu)

    @property
    def absolute(self) -> bool:
        return not self.peer

    @property
    def ratios(self) -> list[float]:
        return [] if self.absolute else [a / b for a, b in zip(self.ours, self.theirs)]

    @property
    def value(self) -> float | None:
        if self.absolute:
            return max(self.ours) if self.ours else None
        return median(self.ratios) if self.ratios else None

    @property
    def verdict(self) -> str:
        if self.problem:
            return self.problem
        if self.value is None:
            return "ERROR: no run"
        if self.limit is None:
            return "told"
        return "PASS" if self.value <= self.limit else "FAIL"
