# SPDX-License-Identifier: BSD-3-Clause
"""The table of a sweep for people: a row per combination, means over its seeds with half of their 95 % interval."""
from __future__ import annotations

import math

from .results import Runs
from .stats import combination_keys, groups, interval

COLUMNS = (  # title, measure, decimals
    ("tail FCT us", "fct_max_us", 1), ("mean FCT us", "fct_mean_us", 1), ("inflation", "inflation", 3),
    ("goodput Gb/s", "goodput_gbps", 1), ("retx", "retransmitted", 0), ("trimmed", "trimmed", 0),
    ("dropped", "dropped", 0), ("timeouts", "timeouts", 0), ("failed", "failed", 0))


def text_table(runs: Runs) -> str:
    """Title, header and rows, each ending with a newline."""
    rows, notes = [], []
    seeds = 1
    for _, group in groups(runs, _keys(runs) or ["label"]):
        seeds = max(seeds, len(group))
        cells = [_cell(group, measure, decimals) for _, measure, decimals in COLUMNS]
        missing = int((group["directory"] == "").sum())
        rows.append([_name(group), *cells])
        notes.append(f"  ({missing} of {len(group)} without result)" if missing else "")
    header = ["", *(title for title, _, _ in COLUMNS)]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    explained = " (mean over seeds ± half of the 95 % confidence interval)" if seeds > 1 else ""
    lines = [f"{runs.attrs['title']}{explained}"]
    for row, note in zip([header, *rows], ["", *notes]):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        lines.append("  ".join(cells) + note)
    return "\n".join(lines) + "\n"


def _keys(runs: Runs) -> list[str]:
    """What tells rows apart. Labels do not: those of two experiments may be the same, and long ones are cut."""
    return combination_keys(runs) + (["seed"] if "seed" in runs.attrs.get("axes", []) else [])


def _name(group: Runs) -> str:
    """The label, behind the name of the results if there are several. A run that has no label is called like them."""
    label = str(group["label"].iloc[0])
    source = str(group["source"].iloc[0]) if "source" in group else ""
    return source if source.rpartition("/")[2] == label else f"{source} {label}".lstrip()


def _cell(group: Runs, measure: str, decimals: int) -> str:
    """The mean over the runs that have the number, and how many they are if some have a result without it."""
    found = interval(group[measure]) if measure in group.columns else interval([])
    if not found.n:
        return "-"
    value = f"{found.mean:.{decimals}f}"
    if not math.isnan(found.half):
        value += f" ±{found.half:.{decimals}f}"
    ended = int((group["directory"] != "").sum())
    return value if found.n == ended else f"{value} ({found.n} of {ended})"
