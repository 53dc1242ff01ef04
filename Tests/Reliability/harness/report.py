"""Counts, says what failed and how to see it again, and ends with one line of figures."""

import argparse
import shutil
import sys
import time


class Report:
    """The figures of one suite."""

    def __init__(self, suite):
        self.suite, self.cycles, self.faults, self.failures = suite, 0, 0, 0
        self.start = self.told = time.monotonic()

    def count(self, faults=1):
        self.cycles += 1
        self.faults += faults
        # Long suites say once a minute that they go on.
        if time.monotonic() - self.told > 60:
            self.told = time.monotonic()
            print(f"{self.suite}: {self.cycles} cycles, {self.failures} failures", file=sys.stderr, flush=True)

    def fail(self, where, complaints):
        self.failures += 1
        for complaint in complaints:
            # One line each: what a program said may have several, and the last often tells why.
            print(f"FAIL {self.suite} {where}: {' | '.join(complaint.strip().splitlines())}", flush=True)

    def end(self, *extra, may_be_nothing=False):
        """Prints the line of figures; returns the exit status. To have done nothing at all is a failure."""
        if not self.cycles and not may_be_nothing:
            self.fail("as it was asked for", ["nothing at all was done"])
        seconds = time.monotonic() - self.start
        words = [f"suite={self.suite}", f"cycles={self.cycles}", f"faults={self.faults}",
                 f"failures={self.failures}", f"seconds={seconds:.0f}", *extra]
        print(" ".join(words), flush=True)
        return 1 if self.failures else 0


# The exit status of a suite that could not run, or not wholly: neither success nor a fault of castree's.
NOT_RUN = 77


def skip(suite, why):
    """Ends a suite that cannot run here, saying so."""
    print(f"suite={suite} skipped: {why}")
    print(f"NOTHING WAS RUN: this says nothing about castree (status {NOT_RUN}).", flush=True)
    sys.exit(NOT_RUN)


def need(suite, *programs):
    """Ends with a message if one of the programs is not installed."""
    path = "/usr/sbin:/sbin:/usr/local/sbin"
    for program in programs:
        if not shutil.which(program) and not shutil.which(program, path=path):
            skip(suite, f"{program} is not installed; scripts/setup reliability installs it")


def arguments(description):
    """The options that all suites have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--programs", help="the directory with castree and callfault (.build/release)")
    parser.add_argument("--seed", type=int, default=1, help="where chance begins (1)")
    return parser
