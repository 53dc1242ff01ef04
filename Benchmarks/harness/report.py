"""The report: one Markdown page."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from statistics import median

from .rows import MIB, HighestMemoryRow, Key, Results, Row, Verdict
from .scratch import file_system
from .stopwatch import COMPILE, Series


def write_report(rows: list, verdicts: list[Verdict], results: Results, settings: dict[str, str],
                 machine: dict[str, str]) -> str:
    lines = ["# Benchmarks", ""]
    lines += [f"- {name}: {text}" for name, text in {**settings, **machine}.items()]
    lines += ["", "Medians, in brackets the lowest and highest. Wall time and CPU (user and system) in seconds; "
              "memory is peak RSS in MiB. Ratios of one run compare; seconds of different runs do not.", ""]
    lines += table(["row", "content", "work", "castree s", "against", "peer s", "value", "limit", "verdict",
                     "CPU s", "peer CPU s", "RSS", "peer RSS"],
                    [_row(row, verdict, results) for row, verdict in zip(rows, verdicts)])
    if results.highest:
        lines += ["", f"Highest peak RSS: {results.highest[0] / MIB:.1f} MiB in `{results.highest[1]}`."]
    lines += ["", "## What was run", "", "Timed, in the first round; WORK is the working directory:", ""]
    for name, commands in results.commands.items():
        lines.append(f"- {name}: " + ", then ".join(f"`{command}`" for command in commands))
    lines += ["", "Not timed:", "",
              "- `castree --store STORE init`, `ostree --repo=REPOSITORY init --mode=bare-user-only`",
              "- `sync` before every timed run", f"- raw programs: `{' '.join(COMPILE)}`", ""]
    return "\n".join(lines)


def serving_report(rows: list, settings: dict[str, str], machine: dict[str, str]) -> str:
    """The report of `Benchmarks/serve`."""
    lines = ["# Benchmarks of the server", ""]
    lines += [f"- {name}: {text}" for name, text in {**settings, **machine}.items()]
    lines += ["", "Medians over the rounds, in brackets the lowest and highest; the value is the median of the "
              "rounds' ratios. CPU is that of all threads and processes of the server, in seconds for 100,000 "
              "requests.", ""]
    lines += table(["row", "work", "unit", "castree", "against", "peer", "value", "limit", "verdict"],
                    [[row.id, row.work, row.unit, _spread(row.ours), row.peer, _spread(row.theirs),
                      f"**{row.value:.3f}** ({min(row.ratios):.3f}–{max(row.ratios):.3f})" if row.ratios else "",
                      _limit(row), row.verdict] for row in rows])
    return "\n".join([*lines, ""])


def pulling_report(rows: list, settings: dict[str, str], machine: dict[str, str], of: str = "pull") -> str:
    """The report of `Benchmarks/pull` and `Benchmarks/bucket`."""
    lines = [f"# Benchmarks of {of}", ""]
    lines += [f"- {name}: {text}" for name, text in {**settings, **machine}.items()]
    lines += ["", "Medians over the rounds, in brackets the lowest and highest; the value is the median of the "
              "rounds' ratios. CPU is that of the client, user and system, in seconds.", ""]
    lines += table(["row", "work", "unit", "castree", "against", "peer", "value", "limit", "verdict", "CPU s",
                     "peer CPU s"],
                    [[row.id, row.work, row.unit, _spread(row.ours), row.peer, _spread(row.theirs),
                      f"**{row.value:.3f}**" + (f" ({min(row.ratios):.3f}–{max(row.ratios):.3f})" if row.ratios
                                                else "") if row.value is not None else "",
                      _limit(row), row.verdict, _spread(row.cpu), _spread(row.peer_cpu)] for row in rows])
    return "\n".join([*lines, ""])


def scale_report(bench, rows: list, settings: dict[str, str], machine: dict[str, str]) -> str:
    """The report of `Benchmarks/scale`."""
    lines = ["# Scale", ""]
    lines += [f"- {name}: {text}" for name, text in {**settings, **machine}.items()]
    lines += ["", *table(["row", "work", "value", "at most"], [
        [row.id, row.work, "" if row.value is None else f"{row.value:.3g} {row.unit}".rstrip(),
         f"{row.limit:g} {row.unit}".rstrip() + {"PASS": "", "FAIL": " (missed)"}.get(row.text, f" ({row.text})")]
        for row in rows])]
    sizes = sorted(bench.sizes)
    lines += ["", "## How each cost grows", "",
              "Median wall milliseconds. The exponent b of cost = a·nᵇ is that of CPU time between the two largest sizes.", ""]
    body = []
    for operation in bench.operations.values():
        cells = []
        for size in sizes:
            series = operation.series.get(size)
            cells.append(f"{series.wall * 1e3:.1f}" if series else "")
        exponent = operation.exponent(lambda series: series.cpu)
        body.append([operation.work, *cells, "" if exponent is None else f"{exponent:.2f}"])
    lines += table(["work", *(f"{size:,}" for size in sizes), "exponent"], body)
    lines += ["", "## The index, bytes for each object", ""]
    lines += [f"- {title}: {size / objects:.1f}, {references / objects:.1f} references for each object"
              + (f", {cached:,} files in the stat cache" if cached else "") for objects, references, size, cached, title
              in bench.indexes]
    lines += [f"- {'added files' if size < 0 else 'objects'}, {abs(size):,}: {text}"
              for size, text in bench.tables.items() if text]
    return "\n".join([*lines, ""])


def describe_clients() -> dict[str, str]:
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()
    return {"server and clients": "; ".join([nginx.removeprefix("nginx version: "), _version(["curl", "--version"])])}


def describe_carriers() -> dict[str, str]:
    """nginx, and those that `delivery` lets fetch releases, besides what `describe_machine` names."""
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()
    return {"server and carriers": "; ".join(filter(None, (
        nginx.removeprefix("nginx version: "), _version(["casync", "--version"]), _version(["zsync", "-V"]))))}


def describe_peers() -> dict[str, str]:
    """The versions of those that `peers` compares, besides what `describe_machine` names."""
    return {"further peers": "; ".join(filter(None, (_version([name, word]) for name, word in (
        ("restic", "version"), ("casync", "--version"), ("rsync", "--version")))))}


def _spread(values: list[float]) -> str:
    return f"{median(values):.3f} ({min(values):.3f}–{max(values):.3f})" if values else ""


def describe_servers() -> dict[str, str]:
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()
    wrk = subprocess.run(["wrk", "-v"], capture_output=True, text=True).stdout.split(" [")[:1]
    return {"server peers": "; ".join([nginx.removeprefix("nginx version: "), *wrk])}


def table(head: list[str], body: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in (head, *body)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def _row(row, verdict: Verdict, results: Results) -> list[str]:
    if isinstance(row, HighestMemoryRow):  # about all runs: it has no series of its own
        ours = peer = None
    else:
        ours, peer = results.series.get(row.ours), results.series.get(row.peer)
    times = [_wall(ours), _wall(peer), _cpu(ours), _cpu(peer)] if type(row) is Row else [""] * 4
    return [row.id, row.content, row.work, times[0], _against(row), times[1], _value(verdict, row.unit),
            f"{_limit(row)} {row.unit}".rstrip(), verdict.text, *times[2:], _rss(ours), _rss(peer)]


def _limit(row) -> str:
    return "" if row.limit is None else f"{row.limit:g}"


def _against(row) -> str:
    if row.peer is None:
        return ""
    peer: Key = row.peer
    return peer.name if peer.content == row.ours.content else f"{peer.name}, {peer.content}"


def _value(verdict: Verdict, unit: str) -> str:
    if verdict.value is None:
        return ""
    if unit:
        return f"{verdict.value:.1f} {unit}"
    rounds = f" ({verdict.rounds[0]:.3g}–{verdict.rounds[1]:.3g})" if verdict.rounds else ""
    return f"**{verdict.value:.3g}**{rounds}"


def _wall(series: Series | None) -> str:
    if series is None:
        return ""
    low, high = series.wall_range
    return f"{series.wall:.4f} ({low:.4f}–{high:.4f})"


def _cpu(series: Series | None) -> str:
    return f"{series.cpu:.4f}" if series else ""


def _rss(series: Series | None) -> str:
    return f"{series.rss / MIB:.1f}" if series and series.rss is not None else ""


def describe_machine(work: Path, castree: Path | None) -> dict[str, str]:
    """The machine and the versions of what was run; no paths and no names of hosts."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return {
        "processor": f"{_first_field('/proc/cpuinfo', 'model name')}, {len(os.sched_getaffinity(0))} cores, "
                     + ("with" if _has_sha_instructions() else "without") + " SHA instructions",
        "memory": f"{int(_first_field('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system": file_system(work),
        "load averages at the end": load,
        "castree": _version([str(castree), "--version"]) if castree else "left out",
        "peers": "; ".join(filter(None, (_ostree_version(), _version(["git", "--version"]),
                                         _version(["cc", "--version"]), _version(["openssl", "version"])))),
    }


def _first_field(file: str, name: str) -> str:
    for line in Path(file).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def _has_sha_instructions() -> bool:
    x86, arm = (_first_field("/proc/cpuinfo", name).split() for name in ("flags", "Features"))
    return "sha_ni" in x86 or "sha2" in arm


def _version(command: list[str]) -> str:
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True)
    # The name and the version, without what else it was built of.
    lines = [" ".join(re.split(r" (?:\(x86|\(Library|compiled with| protocol|\[epoll)", line)[0].split())
             for line in done.stdout.strip().splitlines()]
    return lines[0] if done.returncode == 0 and lines else "version not told"


def _ostree_version() -> str:
    if not shutil.which("ostree"):
        return ""
    done = subprocess.run(["ostree", "--version"], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.strip().startswith("Version:"):
            return "ostree " + line.split(":", 1)[1].strip().strip("'")
    return "ostree of unknown version"
