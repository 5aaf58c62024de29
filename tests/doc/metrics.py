#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""metrics.py WEFT - doc/reference/metrics.md describes every key of the JSON result, each where its object is described, and
every column of the files that a run writes."""
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
    "--topology fattree:4 --matrix permutation:16:16KiB",
)
STATISTICS = {"min", "mean", "p50", "p99", "max"}  # of any object; the page says so once
FREE = {"options"}  # the objects whose keys are the user's
LEAST_LEAVES = 100


def words(text):
    """What stands in backticks."""
    return set(re.findall(r"`(\w+)`", text))


def leaves(value, path=()):
    """The paths of all that is no object."""
    if isinstance(value, dict) and path[:1] not in {(key,) for key in FREE}:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path


def section(page, title):
    """What stands below a heading, with what is below lesser ones."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.S | re.M).group(1)


class Described:
    """The keys of the JSON result on the page."""

    def __init__(self, page):
        text, *parts = section(page, "The JSON result").split("\n### ")
        cells = [row.split(" | ", 1) for row in re.findall(r"^\| (.*)$", text, re.M)]
        self.rows = [(words(key), meaning) for key, meaning in (cell for cell in cells if len(cell) == 2)]
        self.parts = [(next((found for line in part.splitlines() if (found := words(line))), set()), part) for part in parts]
        said = next((line for line in text.splitlines() if words(line) == STATISTICS), None)
        assert said, f"no line says what {sorted(STATISTICS)} are"

    def of(self, key):
        """The words of the rows of a key, and of the sections that name it in their first line with a name."""
        about = [meaning for keys, meaning in self.rows if key in keys]
        return words(" ".join(about + [part for names, part in self.parts if key in names])) if about else None

    def missing(self, path):
        found = self.of(path[0])
        if found is None:
            return f"no row of `{path[0]}`"
        unknown = [key for key in path[1:] if key not in found and not (key == path[-1] and key in STATISTICS)]
        return f"no `{unknown[0]}` where `{path[0]}` is described" if unknown else None


def of_run(weft, options, out):
    """The paths of the JSON result, and (file, column) of the other files of a run."""
    subprocess.run([weft, "sim", *options.split(), "--out", out], check=True, capture_output=True)
    with open(os.path.join(out, "run.json"), encoding="utf-8") as f:
        paths, found = set(leaves(json.load(f))), set()
    for name in os.listdir(out):
        if name.endswith(".csv"):
            with open(os.path.join(out, name), encoding="utf-8") as f:
                found |= {(name, column) for column in next(csv.reader(f))}
    return paths, found


def main(weft):
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as f:
        page = f.read()
    described, paths, columns = Described(page), set(), set()
    with tempfile.TemporaryDirectory() as work:
        for i, options in enumerate(RUNS):
            more = of_run(weft, options, os.path.join(work, str(i)))
            paths |= more[0]
            columns |= more[1]
    missing = [f"run.json: {'.'.join(path)}: {why}" for path in sorted(paths) if (why := described.missing(path))]
    page_words = set(re.findall(r"\w+", page))
    missing += [f"{file}: {name} is missing" for file, name in sorted(columns) if name not in page_words]
    print("\n".join(f"{PAGE}: {what}" for what in missing) or f"{len(paths)} keys and {len(columns)} columns are described")
    return 1 if missing or len(paths) < LEAST_LEAVES or len(columns) < 40 else 0


sys.exit(main(sys.argv[1]))
