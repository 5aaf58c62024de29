#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""results.py WEFT - runs the lab commands of the README's results table, prints it and writes
it there."""
from __future__ import annotations

import json
import subprocess
import sys

LS16 = "--topology configs/topologies/ls16_50g.topo --matrix configs/matrices/"
FT128 = "--topology configs/topologies/ft128_800g_tor1os.topo --matrix configs/matrices/"
FT1024 = "--topology configs/topologies/ft1024_800g_tor1os.topo --matrix configs/matrices/"
RUNS = (
    LS16 + "perm_16n_1M.cm",
    LS16 + "perm_16n_1M.cm --lb ops",
    LS16 + "perm_16n_1M.cm --lb ecmp",
    LS16 + "perm_16n_16M.cm",
    LS16 + "perm_16n_16M.cm --set ack_every=4",
    LS16 + "perm_16n_16M.cm --set ack_every=4 --cc smartt --lb reps",
    LS16 + "incast_16n_15to1_1M.cm",
    LS16 + "incast_16n_15to1_1M.cm --no-trim",
    LS16 + "a2a_16n_p4_1M.cm",
    LS16 + "sa2a_16n_1M.cm",
    LS16 + "sa2a_16n_1M.cm --cc smartt --lb reps",
    FT128 + "perm_128n_2M.cm",
    FT128 + "xperm_128n_2M.cm",
    FT128 + "incast_128n_32to1_1M.cm",
    FT1024 + "perm_1024n_2M.cm",
)
BEGIN, END = "<!-- results: scripts/results.py build/weft -->\n", "<!-- end of results -->\n"


def row(weft: str, args: str) -> str:
    out = subprocess.run([weft, "sim", *args.split(), "--json", "-"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True).stdout
    run = json.loads(out)
    flows, fct, packets = run["flows"], run["fct_us"], run["packets"]
    assert flows["verified"] == flows["count"], args
    return (f"| `{args}` | {fct['mean']:.1f} | {fct['max']:.1f} | {run['inflation']:.3f} | {packets['retransmitted']} "
            f"| {packets['trimmed']} | {packets['timeouts']} |\n")


def main(weft: str) -> None:
    with open("README.md", encoding="utf-8") as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    table = "| `build/weft sim` ... | mean us | tail us | inflation | sent again | trimmed | timeouts |\n"
    table += "|---|--:|--:|--:|--:|--:|--:|\n"
    table += "".join(row(weft, args) for args in RUNS)
    print(table, end="")
    with open("README.md", "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + table + "\n" + END + after)


main(sys.argv[1])
