"""Runs programs: time, CPU and peak memory of one process at a time."""

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

RAW_SOURCES = Path(__file__).resolve().parent.parent / "raw"
RAW_PROGRAMS = ("measure", "heap", "add", "checkout", "fsck", "echo", "closest", "gc", "place", "serve", "replay")
FURTHER_LIBRARIES = {"gc": ["-lsqlite3"]}
COMPILE = ["cc", "-std=c11", "-O2", "-o", "PROGRAM", "raw/PROGRAM.c", "-lcrypto", "-lxxhash", "-pthread"]


class BenchmarkError(Exception):
    """A program failed or did not do the work; the measurement is void."""


class Sample(NamedTuple):
    wall: float
    cpu: float
    rss: int | None  # bytes; None where it cannot be told

    def __add__(self, other):
        """Two processes one after the other."""
        known = self.rss is not None and other.rss is not None
        return Sample(self.wall + other.wall, self.cpu + other.cpu,
                      max(self.rss, other.rss) if known else None)


@dataclass
class Series:
    """The repetitions of one timed thing."""
    samples: list[Sample] = field(default_factory=list)

    @property
    def wall(self) -> float:
        return median(sample.wall for sample in self.samples)

    @property
    def wall_range(self) -> tuple[float, float]:
        walls = [sample.wall for sample in self.samples]
        return min(walls), max(walls)

    @property
    def cpu(self) -> float:
        return median(sample.cpu for sample in self.samples)

    @property
    def rss(self) -> int | None:
        known = [sample.rss for sample in self.samples if sample.rss is not None]
        return int(median(known)) if known else None


class Stopwatch:
    """Starts every program of a benchmark in `work`, and compiles the raw ones into it."""

    def __init__(self, work: Path):
        self.work = work
        self.log: list[str] = []  # every command that was run, as spelled in the report
        self.raw: dict[str, str] = {}  # raw program -> its path
        self.raw_missing = ""  # why not all of them are there
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(work), "TMPDIR": str(work),
            "LC_ALL": "C", "NO_COLOR": "1"}
        self._compile()

    def run(self, arguments: list, told: bool = True) -> tuple[Sample, str]:
        """Runs once and returns what it printed; failure is an error with the program's own words.

        What is not `told` is left out of the log: a step between those that are timed."""
        sample, _, printed = self._run(arguments, told, "measure")
        return sample, printed

    def watch(self, arguments: list) -> tuple[Sample, int, str]:
        """The same, and between the sample and what it printed the peak of its anonymous memory in bytes."""
        if "heap" not in self.raw:
            raise BenchmarkError(self.raw_missing)
        sample, anonymous, printed = self._run(arguments, True, "heap")
        return sample, anonymous[0] * 1024, printed

    def _run(self, arguments: list, told: bool, starter: str) -> tuple[Sample, list[int], str]:
        command = [str(argument) for argument in arguments]
        spelled = self._spell(" ".join([self._name(command[0]), *command[1:]]))
        if told:
            self.log.append(spelled)
        output, errors = self.work / ".output", self.work / ".errors"
        with open(output, "wb") as out, open(errors, "wb") as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            status, sample, more = (self._time(starter, command, streams) if "measure" in self.raw
                                    else self._time_roughly(command, streams))
        if status != 0:
            raise BenchmarkError(f"`{spelled}` ended with {status}: {self._spell(_last_lines(errors))}")
        return sample, more, output.read_text(errors="replace")

    def _time(self, starter: str, command: list[str], streams: dict) -> tuple[int, Sample, list[int]]:
        result = self.work / ".result"
        done = subprocess.run([self.raw[starter], result, *command], cwd=self.work, env=self.environment, **streams)
        if done.returncode != 0:
            return done.returncode, Sample(0, 0, None), []
        status, wall, user, system, rss, *more = map(int, result.read_text().split())
        return status, Sample(wall / 1e9, (user + system) / 1e6, rss * 1024), more

    def _time_roughly(self, command: list[str], streams: dict) -> tuple[int, Sample, list[int]]:
        """Without a C compiler: no memory, because Linux would count Python's own."""
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=self.work, env=self.environment, **streams)
        _, code, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(code)
        return process.returncode, Sample(wall, usage.ru_utime + usage.ru_stime, None), []

    def _name(self, program: str) -> str:
        path = Path(program)
        return f"raw/{path.name}" if path.parent == self.work / "raw" else path.name

    def _spell(self, text: str) -> str:
        """Without the paths of this machine."""
        return text.replace(str(self.work / "now"), "WORK")

    def _compile(self) -> None:
        if not shutil.which("cc"):
            self.raw_missing = "no C compiler (cc)"
            return
        build = self.work / "raw"
        build.mkdir()
        for name in RAW_PROGRAMS:
            words = {"PROGRAM": str(build / name), "raw/PROGRAM.c": str(RAW_SOURCES / f"{name}.c")}
            command = [words.get(word, word) for word in COMPILE] + FURTHER_LIBRARIES.get(name, [])
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                self.raw[name] = str(build / name)
            else:
                self.raw_missing = f"raw/{name}.c does not compile: {done.stderr.strip().splitlines()[0]}"


def _last_lines(errors: Path) -> str:
    lines = errors.read_text(errors="replace").strip().splitlines()
    return " / ".join(lines[-3:]) or "no message"
