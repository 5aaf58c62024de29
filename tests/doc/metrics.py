#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""metrics.py WEFT - doc/reference/metrics.md names every key of the JSON result and every column of the files that a run
writes, and every measure that claims can use."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = "doc/reference/metrics.md"
RUNS = (
    "--topology leafspine:2:2:4 --matrix permutation:8:64KiB --background 25% --set queue_sample_ns=1000",
    "--topology leafspine:2:2:4 --matrix incast:4:64KiB --cc spraypass --series 1us --set credit_queue=0",
    "--topology leafspine:2:2:4 --matrix incast:4:256KiB --cc spraypass --series 1us",
)
NO_METRICS = {"schema", "mode", "cc", "lb", "route", "seed", "background"}  # what the run was, not what it found


def of_run(weft, options, out):
    """(file, name) of all keys and columns of a run."""
    subprocess.run([weft, "sim", *options.split(), "--out", out], check=True, capture_output=True)
    with open(os.path.join(out, "run.json"), encoding="utf-8") as f:
        found = {("run.json", key) for key in json.load(f)}
    for name in os.listdir(out):
        if name.endswith(".csv"):
            with open(os.path.join(out, name), encoding="utf-8") as f:
                found |= {(name, column) for column in next(csv.reader(f))}
    return found


def main(weft):
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as f:
        page = f.read()
    words = set(re.findall(r"\w+", page))
    found = set()
    with tempfile.TemporaryDirectory() as work:
        for i, options in enumerate(RUNS):
            found |= of_run(weft, options, os.path.join(work, str(i)))
    missing = sorted(f"{PAGE}: {file}: {name} is missing" for file, name in found
                     if name not in words and name not in NO_METRICS)
    print("\n".join(missing) or f"{len(found)} keys and columns are described")
    return 1 if missing or len(found) < 50 else 0


sys.exit(main(sys.argv[1]))
