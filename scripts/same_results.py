#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""same_results.py OLD NEW... - whether sweeps gave the same numbers: every run and column of the directories NEW beside the one
that has the same name in the directory OLD, as weftlab reads them. What depends on the machine is left out."""

from __future__ import annotations

import importlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps", "weftlab"))
load = importlib.import_module("weftlab.results").load
WeftlabError = importlib.import_module("weftlab.errors").WeftlabError

OF_THE_MACHINE = ["directory", "wall_s", "max_rss_kib"]


def differences(old: str, new: str) -> tuple[list[str], int, int]:
    """What differs, and how many runs and columns were compared."""
    a, b = (load(path).drop(columns=OF_THE_MACHINE, errors="ignore") for path in (old, new))
    if len(a) != len(b):
        return [f"{len(a)} and {len(b)} runs"], 0, 0
    found = [f"column {name}: only in one" for name in sorted(set(a.columns) ^ set(b.columns))]
    for name in a.columns.intersection(b.columns):
        same = (a[name] == b[name]) | (a[name].isna() & b[name].isna())
        for at in same[~same].index[:3]:
            found.append(f"{a['label'][at]}, seed {a['seed'][at]}: {name}: {a[name][at]} and {b[name][at]}")
    return found, len(a), len(a.columns.intersection(b.columns))


def main(old: str, *news: str) -> int:
    """Prints a line per directory and what differs in it."""
    failed = 0
    runs = columns = 0
    for new in news:
        name = os.path.basename(os.path.normpath(new))
        try:
            found, rows, width = differences(os.path.join(old, name), new)
        except WeftlabError as error:
            found, rows, width = [str(error)], 0, 0
        runs, columns = runs + rows, max(columns, width)
        print(f"{name}: {rows} runs, {width} columns: {'the same' if not found else 'they differ'}")
        print("".join(f"  {line}\n" for line in found), end="")
        failed += bool(found)
    print(f"{len(news) - failed} of {len(news)} sweeps are the same; {runs} runs, up to {columns} columns each")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
