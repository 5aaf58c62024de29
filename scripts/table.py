#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""table.py FILE.json... - one line per run (schema weft.run/1); non-zero if a flow was not verified."""
from __future__ import annotations

import json
import os
import sys

HEAD = ("workload", "where", "cc + lb", "verified", "mean us", "tail us", "inflation", "Gb/s", "retx", "trims", "timeouts")


def number(value: float | None, decimals: int) -> str:
    """null in the JSON: not known."""
    return "-" if value is None else f"{value:.{decimals}f}"


def row(path: str) -> tuple[tuple[str, ...], bool]:
    with open(path, encoding="utf-8") as f:
        run = json.load(f)
    flows, packets = run["flows"], run["packets"]
    return (
        os.path.basename(path).split("-")[1].removesuffix(".json"),
        {"sim": "lab, 50 Gb/s", "bench": "real time"}[run["mode"]],
        run["cc"] + " + " + run["lb"],
        "%d/%d" % (flows["verified"], flows["count"]),
        number(run["fct_us"]["mean"], 1),
        number(run["fct_us"]["max"], 1),
        number(run["inflation"], 2),
        number(run["goodput_gbps"], 1),
        str(packets["retransmitted"]),
        str(packets["trimmed"]),
        str(packets["timeouts"]),
    ), flows["verified"] == flows["count"]


def main(paths: list[str]) -> int:
    rows, good = zip(*map(row, paths))
    widths = [max(map(len, column)) for column in zip(HEAD, *rows)]
    for line in (HEAD, *rows):
        cells = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        print("  ".join(cells))
    return 0 if all(good) else 1


sys.exit(main(sys.argv[1:]))
