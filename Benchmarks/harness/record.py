"""A section of the page: what one of the programs here measured, as one JSON document.

`write_section` is behind their `--json FILE`; `Benchmarks/all` reads it back with `read_section`.
"""

import json
from pathlib import Path
from statistics import median

FORMAT = 1


def write_section(path: Path, name: str, settings: dict, machine: dict, **parts) -> None:
    path.write_text(json.dumps({"format": FORMAT, "section": name, "settings": settings, "machine": machine, **parts},
                               indent=1, ensure_ascii=False) + "\n")


def read_section(path: Path) -> dict:
    section = json.loads(path.read_text())
    if section.get("format") != FORMAT:
        raise ValueError(f"{path.name} is of another time: measure again")
    return section


def engine_rows(rows: list, verdicts: list, results) -> list[dict]:
    """The rows of `Benchmarks/run`."""
    recorded = []
    for row, verdict in zip(rows, verdicts):
        ours = theirs = None
        if hasattr(row, "peer") and row.peer is not None:
            ours, theirs = results.series.get(row.ours), results.series.get(row.peer)
        by_memory = bool(row.unit)
        recorded.append({
            "id": row.id, "work": f"{row.work}, {row.content}", "unit": row.unit, "limit": row.limit,
            "against": row.peer.name if row.peer else "", "verdict": verdict.text, "value": verdict.value,
            "range": list(verdict.rounds) if verdict.rounds else None,
            "ours": None if by_memory or ours is None else ours.wall,
            "theirs": None if by_memory or theirs is None else theirs.wall,
            "measure": row.unit if by_memory else "s"})
    return recorded


def ratio_rows(rows: list) -> list[dict]:
    """The rows of `Benchmarks/serve`, `Benchmarks/pull` and `Benchmarks/delivery`."""
    recorded = []
    for row in rows:
        recorded.append({
            # Without a peer it is judged as it is, not by a ratio.
            "id": row.id, "work": row.work, "unit": "" if row.peer else row.unit, "limit": row.limit,
            "of": getattr(row, "highest_of", ""),
            "against": row.peer, "verdict": row.verdict, "value": row.value,
            "range": [min(row.ratios), max(row.ratios)] if len(row.ratios) > 1 else None,
            "ours": (median(row.ours) if row.peer else row.value) if row.ours else None,
            "theirs": median(row.theirs) if row.theirs else None, "measure": row.unit})
    return recorded


def account_record(account) -> dict:
    """What one peer did, from `lifecycle`."""
    return {
        "peer": account.peer.name, "variant": account.peer.variant, "durable": account.peer.durable,
        "about": (account.peer.__doc__ or "").split("\n")[0], "problem": account.problem,
        "steps": {step: {"wall": series.wall, "range": list(series.wall_range), "cpu": series.cpu,
                         "rss": series.rss, "commands": account.commands[step]}
                  for step, series in account.series.items()},
        "both": int(median(account.both)) if account.both else None,
        "after": int(median(account.after)) if account.after else None}
