"""docs/performance.md: the sections that were measured, as one page for readers."""

import re
from pathlib import Path

from .chart import Bar, Panel, draw
from .delivered import at_most, delivery_tables, described, is_cost
from .fixed import fixed_tables
from .lifecycle import CHECK, FORGET, NEXT, STEPS, STORE, TREE
from .report import table

MIB = 1 << 20
TITLES = {
    "peers": "The life of two releases, by six programs",
    "engine": "The engine against plain C and OSTree",
    "serve": "The server against nginx",
    "clients": "The clients of other systems",
    "pull": "Pulling against curl and OSTree",
    "bucket": "Origins in buckets against aws s3 sync, rclone and curl",
    "delivery": "What releases cost over the air",
    "fixed": "What small commands are made of",
    "scale": "How costs grow",
}
ABOUT = {
    "engine": "Seconds of a whole process, and their ratio.",
    "serve": "CPU seconds of the server for 100,000 requests, both servers in turn under the same load.",
    "pull": "Seconds of a whole process over a local nginx, and their ratio.",
    "bucket": "On one Ceph RGW. nginx in front of it counts requests and bytes in untimed runs; timed processes ask the "
              "server itself.",
    "clients": "CPU seconds of `castree origin serve` for 100,000 answers, their 99th percentile, and memory; a composed "
               "archive against nginx, which sends the same bytes from a file.",
}
USUAL = ("seed", "20")  # that of every program here unless another is chosen
QUESTIONS = {
    STORE: "Store a release", NEXT: "Store the next release", TREE: "Make the tree of a version",
    CHECK: "Verify everything", FORGET: "Forget one version and free its space",
}


def write_page(sections: dict[str, dict], scale: str, misses: str, command: str, day: str,
               pictures: dict[str, str]) -> str:
    """`scale` is a page of its own, in Markdown; `misses` explains rows, see `explanations`; a section's picture is a
    file beside the page."""
    lines = ["# Performance", "",
             f"Measured by `{command}` on {day}, everything in one run on one machine. "
             "[Benchmarks/README.md](../Benchmarks/README.md) defines the rows. "
             "Compare ratios of one run, not seconds of different machines. "
             "Figures behind a peer's name have castree's unit.", ""]
    lines += _machine(sections)
    lines += _limits([row for section in sections.values() for row in section.get("rows", [])] + _judged(scale),
                     explanations(misses))
    for name, section in sections.items():
        lines += ["", f"## {TITLES[name]}", ""]
        if name == "fixed":
            lines += [f"`add`, `checkout` and `fsck` of 1,000 files. {_settings(section)}", "",
                      *fixed_tables(section, table)]
            continue
        lines += _peers(section, pictures[name]) if name == "peers" else _rows(name, section)
        if name == "delivery":
            lines += ["", f"![Bars: bytes of an update, for each app and way]({pictures[name]})", "",
                      *delivery_tables(section)]
    if scale:
        known = {*lines, f"- {USUAL[0]}: {USUAL[1]}"}  # the machine is described already; the rows say what the index takes
        lines += ["", f"## {TITLES['scale']}", "",
                  *(line for line in _demoted(scale.split("\n## The index", 1)[0])
                    if not line.startswith("- load averages") and not (line.startswith("- ") and line in known))]
    return "\n".join(lines).rstrip() + "\n"


def explanations(text: str) -> dict[str, str]:
    """Row to sentence, from paragraphs that begin with the rows' names in back quotes and a colon."""
    found = {}
    for paragraph in re.split(r"\n\s*\n", text):
        match = re.fullmatch(r"((?:`[a-z0-9-]+`(?:, )?)+): (.+)", " ".join(paragraph.split()))
        if match:
            for row in re.findall(r"`([a-z0-9-]+)`", match.group(1)):
                found[row] = match.group(2)
    return found


def _machine(sections: dict[str, dict]) -> list[str]:
    lines, seen = [], set()
    others: dict[str, None] = {}  # programs, each once
    for name, section in sections.items():
        for key, text in section["machine"].items():
            if key == "load averages at the end":
                continue
            if key.endswith(("peers", "clients", "carriers")):
                others |= dict.fromkeys(text.split("; "))
            elif (key, text) not in seen:
                seen.add((key, text))
                lines.append(f"- {key}: {text}")
    lines += [f"- peers: {'; '.join(others)}"] if others else []
    loads = [f"{name} {section['machine']['load averages at the end']}" for name, section in sections.items()
             if "load averages at the end" in section["machine"]]
    return lines + [f"- load averages behind each section: {'; '.join(loads)}"] if loads else lines


# MARK: Limits

def _limits(rows: list[dict], why: dict[str, str]) -> list[str]:
    judged = [row for row in rows if row["limit"] is not None]
    if not judged:
        return []
    met = [row for row in judged if row["verdict"] == "PASS"]
    beyond = [row for row in judged if row["verdict"] == "FAIL"]
    others = [row for row in judged if row["verdict"] not in ("PASS", "FAIL")]
    lines = ["", "## Limits", "", f"{len(met)} of {len(judged)} rows are within their limits."]
    named = dict.fromkeys(row["id"] for row in beyond)
    if named:
        lines += ["", "Beyond them, for the reasons in [misses.md](../Benchmarks/misses.md): "
                  + ", ".join(f"`{name}`" + ("" if name in why else " (not explained yet)") for name in named) + "."]
    if others:
        lines += ["", "Not measured:", "", *(f"- {row['id']}, {row['work']}: {row['verdict']}" for row in others)]
    return lines


def _judged(scale: str) -> list[dict]:
    """The rows of the scale section that were measured: | row | work | value unit | limit unit (missed) |."""
    pattern = r"\| (scale-[a-z-]+) \| (.+?) \| ([0-9.e+]+) ?(\S*) \| ([0-9.]+)(?: [^(|]\S*)?( \(missed\))? \|"
    return [{"id": row, "work": work, "value": float(value), "unit": unit, "limit": float(limit), "range": None,
             "verdict": "FAIL" if missed else "PASS"} for row, work, value, unit, limit, missed in
            re.findall(pattern, scale)]


def _rows(name: str, section: dict) -> list[str]:
    rows = section["rows"]
    lines = [*([ABOUT[name], ""] if name in ABOUT else []), _settings(section), ""]
    if name == "clients":
        answers, rows = _answers(rows)
        lines += [*answers, ""]
    if name == "delivery":
        rows = [row for row in rows if not is_cost(row)]
    body = [[row["id"], described(row), _figure(row["ours"], row["measure"]), _against(row), _value(row), at_most(row)]
            for row in rows if row["theirs"] is not None]
    lines += table(["row", "work", "castree", "against", "value (lowest–highest)", "at most"], body) if body else []
    alone = [row for row in rows if row["theirs"] is None]
    return [*lines, *([""] if body and alone else []), *(_alone(row) for row in alone)]


def _alone(row: dict) -> str:
    """A line for a figure of castree's with nothing beside it."""
    figure = _figure(row["ours"], row["measure"]) or _value(row)
    limit = at_most({**row, "unit": ""})  # the figure has it
    return f"- {row['id']}, {described(row)}" + (f": {figure}" if figure else "") + (f", at most {limit}" if limit else "")


def _against(row: dict) -> str:
    """The other's name and figure, in the unit of castree's."""
    figure = _figure(row["theirs"], row["measure"])
    if figure == row["against"]:
        return figure
    return f"{row['against']}: {figure.removesuffix(' ' + row['measure'])}"


def _answers(rows: list[dict]) -> tuple[list[str], list[dict]]:
    """A line for each system's answers, and the other rows."""
    systems = [row["id"].removeprefix("p99-") for row in rows if row["id"].startswith("p99-")]
    by_id = {row["id"]: row for row in rows}
    told = {f"{kind}-{system}" for kind in ("clients", "p99") for system in systems}
    body = [[system, *(_absolute(by_id.get(f"{kind}-{system}")) for kind in ("clients", "p99"))] for system in systems]
    return (["At most 100 CPU s/100k, which is 1,000 answers a second, and 5 ms on 8 connections:", "",
             *table(["an answer to", "CPU s/100k", "99th percentile, ms"], body)],
            [row for row in rows if row["id"] not in told])


def _absolute(row: dict | None) -> str:
    """Our figure, with what the lowest and highest ratio make of the limit."""
    if not row or row["ours"] is None:
        return ""
    spread = " ({:.3g}–{:.3g})".format(*(ratio * row["theirs"] for ratio in row["range"])) if row["range"] else ""
    return f"{row['ours']:.3g}{spread}" + (" (missed)" if row["verdict"] == "FAIL" else "")


def _value(row: dict) -> str:
    if row["value"] is None:
        return ""
    if row["unit"]:
        return f"{row['value']:.{1 if row['value'] >= 10 else 2}f} {row['unit']}"
    low, high = (f"{ratio:.2f}" for ratio in row["range"] or (0, 0))
    return f"{row['value']:.3g}" + (f" ({low}–{high})" if low != high else "")


def _figure(value: float | None, measure: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} {measure}" if measure == "B" or value >= 1000 else f"{value:.3g} {measure}".rstrip()


def _settings(section: dict) -> str:
    return "; ".join(f"{name}: {text}" for name, text in section["settings"].items() if (name, text) != USUAL) + "."


# MARK: Peers

def _peers(section: dict, picture: str) -> list[str]:
    lines = [f"![Bars: seconds of each program for each step]({picture})", "", _settings(section), ""]
    for content in section["contents"]:
        if content is section["contents"][0]:
            lines += [f"The picture shows medians with {content['label']}.", "", *_left(content), *_other_checks(content)]
            continue
        steps = [step for step in STEPS if any(step in peer["steps"] for peer in content["peers"])]
        body = []
        for peer in content["peers"]:
            cells = [_seconds(peer["steps"].get(step)) for step in steps]
            body.append([_name(peer), *(cells if not peer["problem"] else [peer["problem"], *[""] * (len(steps) - 1)]),
                         _mebibytes(peer["both"]), _mebibytes(peer["after"])])
        lines += [f"### {content['label']}", "",
                  "Median seconds; the last columns are disk usage with both releases and after one is forgotten.", "",
                  *table(["", *steps, "both, MiB", "one, MiB"], body), "", *_other_checks(content)]
    lines += [section["missing"], ""] if section["missing"] else []
    lines += ["Does what is stored survive a power cut?", ""]
    durable: dict[str, list[str]] = {}
    for peer in section["contents"][0]["peers"]:
        durable.setdefault(peer["durable"], []).append(_name(peer))
    lines += [f"- {'; '.join(names)}: {text}" for text, names in durable.items()]
    return lines + ["", *READING]


READING = [
    "- castree, ostree and rsync make trees of hard links, castree and rsync while they store; the others write files.",
    "- Each check found a byte that was changed on purpose. castree verifies by SHA-256 here (`fsck --deep`), casync "
    "computes a digest of both indexes, rsync keeps no sums.",
    "- git, restic and casync compress; the generated files are random bytes. castree's disk usage includes its reserve. "
    "git frees space only by packing the whole repository again.",
]


def _left(content: dict) -> list[str]:
    """What the picture does not show: disk usage after one release is forgotten, and who failed."""
    left = [f"{_name(peer)} {_mebibytes(peer['after'])}" for peer in content["peers"] if peer["after"]]
    failed = [f"{_name(peer)}: {peer['problem']}" for peer in content["peers"] if peer["problem"]]
    return ([f"MiB on disk after one is forgotten: {', '.join(left)}.", ""] if left else []) + [
        line for problem in failed for line in (problem, "")]


def _other_checks(content: dict) -> list[str]:
    """Of each check by other means the lowest and highest time."""
    lines = []
    for peer in content["peers"]:
        for step, measured in peer["steps"].items():
            if step not in STEPS and step.startswith(CHECK):
                low, high = measured["range"]
                lines += [f"{_name(peer)}{step.removeprefix(CHECK)}: {low:.3f}–{high:.3f} s to verify all.", ""]
    return lines


def draw_chart(section: dict) -> str:
    content = section["contents"][0]
    panels = []
    for step in STEPS:
        bars = [Bar(_name(peer), peer["steps"][step]["wall"], _with_unit(peer["steps"][step]["wall"]),
                    peer["peer"] == "castree",
                    step in (STORE, NEXT) and peer["durable"].startswith("no"))
                for peer in content["peers"] if step in peer["steps"] and not peer["problem"]]
        panels.append(Panel(QUESTIONS[step], bars))
    disk = [Bar(_name(peer), peer["both"], f"{peer['both'] / MIB:.1f} MiB", peer["peer"] == "castree")
            for peer in content["peers"] if peer["both"] and not peer["variant"]]
    panels.append(Panel("Disk with both releases", disk))
    spoken = "; ".join(f"{panel.title}: " + ", ".join(f"{bar.name} {bar.figure}" for bar in panel.bars)
                       for panel in panels)
    return draw(f"Two releases, {content['label']}", spoken, panels,
                f"{content['label']}; medians of {section['settings']['rounds']}. Paler: may be lost in a power cut.")


def _name(peer: dict) -> str:
    return f"{peer['peer']}, {peer['variant']}" if peer["variant"] else peer["peer"]


def _seconds(measured: dict | None) -> str:
    return f"{measured['wall']:.3f}" if measured else ""


def _with_unit(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _mebibytes(count: int | None) -> str:
    return f"{count / MIB:.1f}" if count else ""


def _demoted(text: str) -> list[str]:
    """A page as a part of another: without its title, its headings one level lower."""
    lines = text.strip().splitlines()
    if lines and lines[0].startswith("# "):
        lines = lines[1:]
    while lines and not lines[0]:
        lines = lines[1:]
    return ["#" + line if line.startswith("#") else line for line in lines]


def read_text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
