# SPDX-License-Identifier: BSD-3-Clause
"""One HTML page with everything in it: tables to sort and filter, plots to hover over, zoom and take apart. It needs no
network, works on a phone, in the dark and on paper, and stays below PAGE_BYTES_MAX."""
from __future__ import annotations

import base64
import json
import math
import os
import sys
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

import jinja2
import numpy as np
import pandas as pd

from .claims import Judgement
from .directory import DONE, WAITING
from .errors import UnwritableError, WeftlabError
from .drawing import named
from .figures import OF_COMPLETION, ideals, rates_over_time, times_alone
from .results import LEADING, Runs
from .stats import combination_keys, groups, interval

PAGE_BYTES_MAX = 2 << 20
SERIES_BYTES_MAX = 1 << 20  # of the curves over time; combinations beyond it are left out and named
CURVES_BYTES_MAX = 500 << 10  # of all distributions: of many combinations they have fewer points
CURVE_POINTS = 160, 12  # of a distribution: most, least
POINT_BYTES = 14
CELLS_MAX = 50000  # combinations times measures: beyond it the page has only the measures of the tables
REST_BYTES = 100 << 10  # of the page, apart from its data and picture
STRETCHES = 200  # of a curve over time
LINES_OF_ONE = 6  # ports, connections or flows of a combination
RUNS_IN_TABLE = 2000
DIGITS = 5  # of every number
PICTURE_BYTES_MAX = 500 << 10  # of the published form; of a larger one the page says so
HERE = os.path.dirname(__file__)
SHOWN = ("fct_max_us", "fct_mean_us", "fct_p99_us", "inflation", "goodput_gbps", "jain", "retransmitted", "trimmed",
         "dropped", "timeouts", "failed")  # in the tables
NOT_MEASURES = {*LEADING, "digest", "cc", "lb", "route"}


@dataclass(frozen=True)
class Picture:
    """A published figure, redrawn."""

    shows: str  # "Figure 7"
    note: str  # what differs from the paper's form; may be empty
    svg: str  # empty: it could not be drawn
    trouble: str = ""  # why

    @property
    def source(self) -> str:
        """The SVG as an image's address, so that its names do not clash with those of the page."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode()


def write_page(runs: Runs, path: str | os.PathLike[str], judgements: Sequence[Judgement] = (),
               published: Picture | None = None) -> None:
    """Writes the page of these runs, with what became of claims about them, and the published figure redrawn. Path
    "-" is standard output."""
    text = page(runs, judgements, published)
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UnwritableError(f"{os.fspath(path)}: {error.strerror}") from error


def page(runs: Runs, judgements: Sequence[Judgement] = (), published: Picture | None = None) -> str:
    """The page's text. WeftlabError when there is nothing to show or too much."""
    complete: Runs = runs[(runs["status"] != WAITING) & (runs["directory"] != "")]
    if complete.empty:
        raise WeftlabError("no run has a result")
    drawn = len(published.source) if published else 0
    data = as_json(data_of(runs, complete, PAGE_BYTES_MAX - REST_BYTES - drawn))
    failed = runs[(runs["status"] != DONE) & (runs["error"] != "")]
    text = rendered(
        "page.html.j2", title=runs.attrs.get("title") or "Runs", about=runs.attrs.get("about") or "", data=data,
        without_files=[os.path.basename(place) for place in complete["directory"] if os.path.isfile(place)],
        total=len(runs), done=int((runs["status"] == DONE).sum()), script=_read("page.js"),
        failures=[(row.label, row.seed, row.error) for row in failed.head(20).itertuples()], failed=len(failed),
        judgements=judgements, published=published)
    if len(text.encode()) > PAGE_BYTES_MAX:
        raise WeftlabError(f"{len(runs)} runs make a page of more than 2 MB; select some of them")
    return text


def data_of(runs: Runs, complete: Runs, room: int = PAGE_BYTES_MAX - REST_BYTES) -> dict[str, Any]:
    """What the page's script draws from, in about `room` bytes if that can be done by leaving out curves over time."""
    keys = [key for key in combination_keys(complete) if complete[key].nunique(dropna=False) > 1]
    combinations = list(groups(complete, keys))
    measures = [str(name) for name in complete.columns if _is_measure(complete, str(name))]
    if len(combinations) * len(measures) > CELLS_MAX:
        measures = [name for name in SHOWN if name in measures]
    data = {"keys": keys, "measures": [{"name": name, "title": named(name)} for name in measures],
            "combinations": [_combination(values, group, measures) for values, group in combinations],
            "shown": [name for name in SHOWN if name in measures], "runs": _table(runs, keys, measures),
            **_of_flows(combinations)}
    data["time"], data["left_out"] = _all_over_time(combinations, min(SERIES_BYTES_MAX, room - len(as_json(data))))
    return data


def as_json(data: Any) -> str:
    """In few bytes, and fit to stand within a page."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _of_flows(combinations: Sequence[tuple[dict[str, object], Runs]]) -> dict[str, Any]:
    """Distributions of the combinations, and those of their ideals. Flows may be many: one combination at a time."""
    most, least = CURVE_POINTS
    points = max(least, min(most, CURVES_BYTES_MAX // (2 * POINT_BYTES * len(combinations))))
    curves: dict[str, list[Any]] = {"fct_us": [], "slowdown": []}
    alone = []
    for values, group in combinations:
        flows = group.with_files().flows()
        for column, found in curves.items():
            found.append(_distribution(flows[column] if column in flows else pd.Series(dtype=float), points))
        alone += [(values, times_alone(flows))] if len(flows) else []
    return {"curves": curves, "ideals": [{"name": name, **_distribution(pd.Series(times), most)}
                                         for name, times in ideals(alone)]}


def _is_measure(runs: Runs, name: str) -> bool:
    return name not in NOT_MEASURES and name not in combination_keys(runs) and \
        pd.api.types.is_numeric_dtype(runs[name]) and bool(runs[name].notna().any())


def _combination(values: dict[str, object], group: Runs, measures: Sequence[str]) -> dict[str, Any]:
    """Values of the keys, and of each measure mean, half of the interval (null: none) and whether flows did not end."""
    open_runs = bool((group["completed"] < group["flows"]).any())
    cells = []
    for measure in measures:
        found = interval(group[measure])
        cells.append([rounded(found.mean), rounded(found.half), int(open_runs and measure.startswith(OF_COMPLETION))])
    return {"values": [plain(value) for value in values.values()], "n": len(group), "cells": cells}


def _distribution(values: pd.Series, points: int) -> dict[str, Any]:
    """Quantiles of the values that are known, and the share of those that are not."""
    known = np.sort(values.dropna().to_numpy())
    if not len(known):
        return {"x": [], "y": [], "open": 1.0 if len(values) else 0.0}
    ranks = np.unique(np.linspace(0, len(known) - 1, min(points, len(known))).astype(int))
    return {"x": [rounded(known[rank]) for rank in ranks], "y": [rounded((rank + 1) / len(values)) for rank in ranks],
            "open": rounded(1 - len(known) / len(values))}


def _all_over_time(combinations: Sequence[tuple[dict[str, object], Runs]],
                   room: int) -> tuple[list[dict[str, Any]], int]:
    """Curves of the first seed of each combination, as many as there is room for, and how many combinations were left
    out."""
    curves: list[dict[str, Any]] = []
    left_out = 0
    for at, (_, group) in enumerate(combinations):
        first: Runs = group[group["seed"] == group["seed"].iloc[0]].with_files()
        if first.empty:
            continue
        if room <= 0:
            left_out += os.path.exists(os.path.join(first["directory"].iloc[0], "ports.csv"))
            continue
        found = [{"of": at, **curve} for curve in _over_time(first)]
        room -= len(as_json(found))
        if room > 0:
            curves += found
        else:
            left_out += 1
    return curves, left_out


def _over_time(run: Runs) -> Iterator[dict[str, Any]]:
    """Queues of the deepest ports, windows of the first connections, rates of the first flows and of all."""
    ports = run.ports()
    if not ports.empty:
        deepest = ports.groupby("port")["queue_bytes"].max().sort_values(ascending=False)
        for port in deepest[deepest > 0].index[:LINES_OF_ONE]:
            samples = ports[ports["port"] == port]
            yield {"kind": "queue", "name": port, **_binned(samples["time_us"], samples["queue_bytes"] / 1e3)}
    series = run.series()
    if not series.empty:
        for (src, dst), samples in list(series.groupby(["src", "dst"], sort=False))[:LINES_OF_ONE]:
            yield {"kind": "cwnd", "name": f"host{src} → host{dst}",
                   **_binned(samples["time_us"], samples["cwnd_bytes"] / 1e3)}
    arrivals = run.arrivals()
    if not arrivals.empty:
        rates = rates_over_time(arrivals)
        lines = [("all flows", rates.sum(axis=1)), *((f"flow {flow}", rates[flow]) for flow in rates.columns)]
        for name, values in lines[:LINES_OF_ONE + 1]:
            yield {"kind": "goodput", "name": name, **_binned(rates.index, values)}


def _binned(times: Any, values: Any) -> dict[str, Any]:
    """x and y; of a long series the means of stretches, with their least (lo) and largest values (hi)."""
    x, y = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if len(x) <= STRETCHES:
        return {"x": [rounded(value) for value in x], "y": [rounded(value) for value in y]}
    bounds = np.linspace(x.min(), x.max(), STRETCHES + 1)
    stretches = pd.Series(y).groupby(np.digitize(x, bounds[1:-1])).agg(["mean", "min", "max"])
    middles = (bounds[:-1] + bounds[1:])[stretches.index] / 2
    columns = (middles, stretches["mean"], stretches["min"], stretches["max"])
    return {name: [rounded(value) for value in column] for name, column in zip(("x", "y", "lo", "hi"), columns)}


def _table(runs: Runs, keys: Sequence[str], measures: Sequence[str]) -> dict[str, Any]:
    """Single runs."""
    shown = [name for name in SHOWN if name in measures]
    columns = [*keys, "seed", "status", *shown]
    rows = [[plain(value) for value in row] for row in runs.head(RUNS_IN_TABLE)[columns].itertuples(index=False)]
    return {"columns": [named(name) if name in shown else name for name in columns], "rows": rows,
            "left_out": max(0, len(runs) - RUNS_IN_TABLE)}


def rounded(value: Any) -> float | None:
    """To DIGITS figures; None: not known, or infinite."""
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None


def plain(value: Any) -> Any:
    """A value as JSON has it; of a path the last part."""
    if isinstance(value, str):
        return os.path.basename(value) if "/" in value and ":" not in value else value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    return rounded(value) if value is not None else None


def rendered(template: str, **values: Any) -> str:
    """A template of ours, with the style sheet of all pages."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")), autoescape=True,
                                     trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(template).render(sheet=_read("page.css"), **values)


def _read(name: str) -> str:
    with open(os.path.join(HERE, "templates", name), encoding="utf-8") as file:
        return file.read()
