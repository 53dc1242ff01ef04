"""Tables and picture of what `delivery` measured: in its own report, and on docs/performance.md."""

from .chart import Bar, Panel, draw
from .delivery import (BY_CONTENT, BY_NAME, CASYNC, KILOBYTE, OSTREE, OSTREE_DELTA, OURS, RAW, ZSYNC)
from .publishing import FIRST, MEGABYTE, MIB, UPDATE
from .report import table
from .shrinking import BROTLI, BSDIFF, HDIFFPATCH, ZIP, ZSTD_PATCH

# Column to the ways it shows; two ways in one column are written one behind the other.
COLUMNS = {
    FIRST: {"castree": [OURS], "castree, raw objects": [RAW], "zip -9": [ZIP],
            "each file, brotli 11": [BROTLI], "casync": [CASYNC], "OSTree": [OSTREE]},
    UPDATE: {"castree": [OURS], "castree, raw objects": [RAW], "zip -9": [ZIP],
             "casync": [CASYNC], "zsync": [ZSYNC], "OSTree pull": [OSTREE],
             f"{ZSTD_PATCH}, base by name / by content": [f"{ZSTD_PATCH}, {BY_NAME}", f"{ZSTD_PATCH}, {BY_CONTENT}"],
             f"{BSDIFF}, {HDIFFPATCH}, by content": [f"{BSDIFF}, {BY_CONTENT}", f"{HDIFFPATCH}, {BY_CONTENT}"]},
}
TITLES = {FIRST: "First install", UPDATE: "Update from the release before"}
BARS = {
    "zip -9, everything": ZIP, "brotli 11, changed files": BROTLI, "casync": CASYNC, "zsync": ZSYNC,
    "OSTree static delta": OSTREE_DELTA, "bsdiff, base by name": f"{BSDIFF}, {BY_NAME}",
    "bsdiff, base by content": f"{BSDIFF}, {BY_CONTENT}", "HDiffPatch, by content": f"{HDIFFPATCH}, {BY_CONTENT}",
    "castree": OURS}
TICKS = ((1, "1 KB"), (10, "10 KB"), (100, "100 KB"), (1000, "1 MB"), (10_000, "10 MB"), (30_000, ""))
NOTES = [
    "- KB are 1,000 bytes of bodies; requests in square brackets. nginx's log counts castree, casync, zsync and OSTree with "
    "everything they ask for. The other columns, and brotli in the picture, are sizes of files "
    "without the list of files.",
    "- *Base by name*: the old file of the same path, else of the same name without its hash, nearest in size. "
    "*By content*: the best of that one and the three with most content in common. A patch larger than the file by zstd 19 "
    "counts as that file.",
    "- zsync: `zsyncmake -z` of a tar; the device has the old tar. casync: the device has the old tree (`--seed`). OSTree: an "
    "archive repository; its pull also fetches objects that the static delta brings (2022.7, issue 2680).",
]


def delivery_tables(section: dict) -> list[str]:
    contents = [content for content in section["contents"] if not content["problem"]]
    lines = []
    for step, columns in COLUMNS.items():
        shown = [content for content in contents if content[step]]
        body = [[content["app"], *(_cell(content[step], ways) for ways in columns.values())] for content in shown]
        if body:
            lines += [f"### {TITLES[step]}", "", *_limits(step, section["rows"]),
                      *table(["KB [requests]", *columns], body), ""]
    lines += [f"- {content['label']}" for content in contents]
    lines += [f"- {content['app']}: {content['problem']}" for content in section["contents"] if content["problem"]]
    lines += ["", *NOTES, *_problems(contents)]
    if section["publishing"]:
        lines += ["", "### Publishing", "", *_publishes(section["publishing"])]
    return lines


def delivery_report(section: dict) -> str:
    """The report of `Benchmarks/delivery`."""
    lines = ["# Benchmarks of delivery", ""]
    lines += [f"- {name}: {text}" for name, text in {**section["settings"], **section["machine"]}.items()]
    lines += ["", *table(["row", "work", "unit", "castree", "against", "it", "value", "limit", "verdict"], [
        [row["id"], described(row), row["measure"], _number(row["ours"]), row["against"], _number(row["theirs"]),
         "" if row["value"] is None else f"**{_number(row['value'])}**"
         + (f" ({row['range'][0]:.3g}–{row['range'][1]:.3g})" if row["range"] else ""),
         "" if row["limit"] is None else f"{row['limit']:g}", row["verdict"]] for row in section["rows"]]), ""]
    lines += [line.removeprefix("#") if line.startswith("###") else line for line in delivery_tables(section)]
    return "\n".join([*lines, ""])


def draw_delivery(section: dict) -> str:
    panels = []
    for content in section["contents"]:
        bars = [Bar(name, content[UPDATE][way]["bytes"] / KILOBYTE,
                    f"{_kilobytes(content[UPDATE][way])} KB", way == OURS)
                for name, way in BARS.items() if "bytes" in content[UPDATE].get(way, {})]
        panels.append(Panel(content["label"], bars, TICKS))
    spoken = "; ".join(f"{panel.title}: " + ", ".join(f"{bar.name} {bar.figure}" for bar in panel.bars)
                       for panel in panels if panel.bars)
    return draw("What an update costs over the air", spoken, panels,
                "Bytes of an update from the release before, by method, on a logarithmic axis: each line is ten times the one "
                "before.")


def described(row: dict) -> str:
    """The work of a row, and whose value the highest is."""
    return f"{row['work']} ({row['of']})" if row.get("of") else row["work"]


def _limits(step: str, rows: list[dict]) -> list[str]:
    """What an app may cost, in a line."""
    rows = [row for row in rows if is_cost(row) and row["id"].startswith(f"{step}-")]
    peers = dict.fromkeys(row["against"] for row in rows if row["against"])
    limits = [f"what {peer} takes" for peer in peers] + [
        f"{row['id'].removeprefix(f'{step}-')} {row['limit']:g}" for row in rows
        if not row["against"] and row["limit"] is not None]
    missed = [row["id"].removeprefix(f"{step}-") for row in rows if row["verdict"] == "FAIL"]
    return [f"castree's KB may be at most: {', '.join(limits)}." + (f" Missed: {', '.join(missed)}." if missed else ""),
            ""] if limits else []


def is_cost(row: dict) -> bool:
    """Whether a row is about the bytes of one app, which the tables of ways show."""
    return row["id"].startswith((f"{FIRST}-", f"{UPDATE}-"))


def at_most(row: dict) -> str:
    """The limit of a row, and whether it was missed or not measured."""
    verdict = {"PASS": "", "told": "", "FAIL": " (missed)"}.get(row["verdict"], f" ({row['verdict']})")
    if row["limit"] is None:
        return verdict.strip()
    return f"{row['limit']:g} {row['unit']}".rstrip() + verdict


def _cell(costs: dict, ways: list[str]) -> str:
    found = [costs.get(way, {}) for way in ways]
    requests = {cost["requests"] for cost in found if "requests" in cost}
    texts = [_kilobytes(cost) if "bytes" in cost else "error" if cost.get("problem", "").startswith("ERROR") else "–"
             for cost in found]
    return " / ".join(texts) + (f" [{requests.pop():,}]" if len(requests) == len(ways) == 1 else "")


def _kilobytes(cost: dict) -> str:
    kilobytes = cost["bytes"] / KILOBYTE
    return f"{kilobytes:,.0f}" if kilobytes >= 1000 else f"{kilobytes:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _problems(contents: list[dict]) -> list[str]:
    """Each reason once, with those it stopped."""
    stopped: dict[str, list[str]] = {}
    for content in contents:
        for step in COLUMNS:
            for way, cost in content[step].items():
                if cost.get("problem"):
                    stopped.setdefault(cost["problem"], []).append(f"{content['app']}, {step}, {way}")
    return [f"- {problem}: {'; '.join(ways)}" for problem, ways in stopped.items()]


def _publishes(publishing: list[dict]) -> list[str]:
    """What publishes took, without a base and with one; the rows tell those at other levels."""
    lines = []
    for name, based in (("without a base", False), ("from one base", True)):
        some = [publish for publish in publishing
                if bool(publish["bases"]) == based and not publish["options"] and publish["new"]]
        if some:
            costs = [publish["cpu"] / (publish["new"] / MEGABYTE) for publish in some]
            lines.append(f"- {name}: {min(costs):.2f} to {max(costs):.2f} CPU s/MB, up to "
                         f"{max(publish['rss'] for publish in some) / MIB:.0f} MiB")
    return lines
