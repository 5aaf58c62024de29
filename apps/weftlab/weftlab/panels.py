# SPDX-License-Identifier: BSD-3-Clause
"""What the panels of a published figure show, as numbers: cells of bars and lines, values of flows, series over time.
Flows that did not end count with the time that they have taken so far, so that what is drawn is a lower bound, and an
upper bound where it is divided by."""
from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from .errors import ScenarioError
from .fields import OVER_TIME, picks
from .measures import Scope, times_so_far, value_or_least
from .published import Panel, Published
from .results import Runs
from .stats import combination_keys, groups, in_pairs, interval, ratio_interval

NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*(KiB|MiB|GiB|kB|MB|GB|B|%|ns|us|ms|s|)\Z")
FACTORS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 1e3, "MB": 1e6, "GB": 1e9, "ns": 1e-3, "ms": 1e3, "s": 1e6}
LINE_KEYS = {"ports": "port", "arrivals": "flow"}  # what one line over time is of


@dataclass(frozen=True)
class Cell:
    """One bar, or one point of a line."""

    x: str
    by: str
    value: float  # NaN: not known
    half: float  # of the 95 % confidence interval; NaN: none
    limit: str  # flows did not end: the value is "least" or "most" that it can be; empty: it is known


@dataclass(frozen=True)
class Sample:
    """Values of flows, ports or samples over time, all of one series."""

    x: str
    by: str
    values: Any  # in ascending order, those that are known
    open_values: Any  # of flows that did not end: the least that they can become


def expand(figure: Published, runs: Runs) -> list[tuple[Panel, Runs]]:
    """The panels with their runs: one for each value of `split`."""
    found: list[tuple[Panel, Runs]] = []
    for panel in figure.panels:
        chosen = chosen_runs(panel, runs)
        if panel.split is None:
            found.append((panel, chosen))
            continue
        words = column_of(chosen, panel.split)
        for word in ordered(words, figure.names):
            title = f"{panel.title}{figure.names.get(word, word)}"
            found.append((replace(panel, title=title), chosen[(words == word).to_numpy()]))
    return found


def chosen_runs(panel: Panel, runs: Runs) -> Runs:
    """The runs that `of` picks."""
    keys = combination_keys(runs)
    chosen: Runs = runs[[picks(panel.of, row) for row in runs[keys].to_dict("records")]] if keys else runs
    return chosen


def column_of(runs: Runs, column: str) -> pd.Series:
    """A column as words; of COLUMN:N the part N between colons, of a path its last part."""
    name, _, part = column.partition(":")
    words = runs[name].map(word_of)
    if not part:
        return words
    return words.map(lambda word: (word.split(":") + [""] * int(part))[int(part)])


def word_of(value: object) -> str:
    """A value as it is written, without the directories of a path."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return os.path.basename(text) if "/" in text and (":" not in text or text.startswith("/")) else text


def ordered(words: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Each word once: those with names in their order, then the others as they come."""
    there = list(dict.fromkeys(words))
    return [word for word in names if word in there] + [word for word in there if word not in names]


def number_of(word: str) -> float:
    """The number that a word says, in bytes or microseconds if it has such a unit; NaN: none."""
    found = NUMBER.match(word)
    return float(found.group(1)) * FACTORS.get(found.group(2), 1.0) if found else math.nan


def cells(figure: Published, panel: Panel, runs: Runs, whole: Runs) -> list[Cell]:
    """Measures of all combinations of x and series. `whole` has the runs to divide by, too."""
    by_measure = len(panel.measure) > 1
    found = []
    for measure in panel.measure:
        taken = _Values(panel, measure)
        for keys, group in groups(runs, combination_keys(runs) or ["label"]):
            first = group.iloc[:1]
            x = measure if by_measure and panel.x in (None, "measure") else _word(first, panel.x)
            by = measure if by_measure and panel.x not in (None, "measure") else _word(first, panel.by)
            found.append(_cell(taken, keys, group, whole, x, by))
    _check_unique(figure, panel, found)
    return found


def _word(runs: Runs, column: str | None) -> str:
    return str(column_of(runs, column).iloc[0]) if column else ""


def _check_unique(figure: Published, panel: Panel, found: Sequence[Cell]) -> None:
    seen: set[tuple[str, str]] = set()
    for cell in found:
        if (cell.x, cell.by) in seen:
            reason = f"'{cell.x} {cell.by}'".replace(" '", "'") + " stands for several combinations: pick some with of"
            raise ScenarioError(figure.path, panel.line, panel.form, reason)
        seen.add((cell.x, cell.by))


class _Values:
    """A measure of runs, each taken once."""

    def __init__(self, panel: Panel, measure: str) -> None:
        self.panel = panel
        self.measure = measure
        self.known: dict[int, tuple[float, bool]] = {}

    def of(self, runs: Runs) -> tuple[pd.Series, bool]:
        """Values by seed of the runs that have a result, and whether one is a lower bound. All are NaN if one is not
        even that: a mean of the others would be one of the seeds that went well."""
        rows = [row for row in runs.to_dict("records") if row["directory"]]
        found = [self._of_row(row) for row in rows]
        values = pd.Series([value for value, _ in found], index=[row["seed"] for row in rows], dtype=float)
        if any(is_open and math.isnan(value) for value, is_open in found):
            values[:] = math.nan
        return values, any(is_open for _, is_open in found)

    def _of_row(self, row: dict[str, Any]) -> tuple[float, bool]:
        if row["id"] not in self.known:
            self.known[row["id"]] = value_or_least(row, self.measure, self.panel.scope)
        return self.known[row["id"]]


def _cell(taken: _Values, keys: Mapping[str, Any], group: Runs, whole: Runs, x: str, by: str) -> Cell:
    panel = taken.panel
    values, is_open = taken.of(group)
    mean, limit = interval(values), "least" if is_open else ""
    if panel.over is not None:
        others, other_open = taken.of(_references(panel, keys, whole))
        both = in_pairs(values, others).dropna()
        mean = ratio_interval(both["a"], both["b"]) if not (is_open and other_open) else interval([])
        limit = "most" if other_open else limit
    return Cell(x, by, mean.mean * panel.y_factor, mean.half * panel.y_factor, limit)


def _references(panel: Panel, keys: Mapping[str, Any], whole: Runs) -> Runs:
    """The runs that differ in the keys of `over` alone."""
    changed = panel.over or {}
    fits = [picks(changed, row) and all(row[key] == value for key, value in keys.items() if key not in changed)
            for row in whole.to_dict("records")]
    chosen: Runs = whole[fits]
    return chosen


def samples(panel: Panel, runs: Runs) -> list[Sample]:
    """All values of one source, by x and series, all seeds together."""
    source = panel.values[0]
    file, _, column = source.partition(".")
    found: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    for _, run in groups(runs, ["id"]):
        row = run.iloc[0]
        table = _scoped(_table(run, file), panel.scope)
        if column == "fct_us":
            is_open = table["fct_us"].isna().to_numpy()
            values = times_so_far(table, row)
            parts = values[~is_open], values[is_open]
        else:
            parts = table[column].dropna().to_numpy(), np.zeros(0)
        found.setdefault((_word(run, panel.x), _word(run, panel.by)), []).append(parts)
    return [Sample(x, by, np.sort(np.concatenate([known for known, _ in parts])),
                   np.sort(np.concatenate([rest for _, rest in parts]))) for (x, by), parts in found.items()]


def each(panel: Panel, runs: Runs) -> Iterator[tuple[str, pd.Series, Any]]:
    """Of the first seed of each series: a value per flow or port, and which flows did not end. Rates are means over the
    scope, other samples the largest."""
    file, _, column = panel.values[0].partition(".")
    for word, run in _first_seeds(panel, runs):
        if file in OVER_TIME:
            wide = over_time(run, panel.values[0], panel.scope)
            values = wide.mean() if column == "gbps" else wide.max()
        else:
            table = _scoped(_table(run, file), panel.scope)
            values = table.set_index("flow" if file == "flows" else "port")[column]
        yield word, values.reset_index(drop=True), _open_lines(run, file, list(values.index))


def _open_lines(run: Runs, file: str, keys: Sequence[Any]) -> Any:
    """For each flow or connection, whether it did not end."""
    flows = _table(run, "flows")
    unended = flows[flows["fct_us"].isna()]
    by_number = file in ("arrivals", "flows")
    names = set(unended["flow"]) if by_number else set(_pairs(unended)) if file == "conns" else set()
    return np.array([key in names for key in keys], dtype=bool)


def _pairs(table: pd.DataFrame) -> list[str]:
    return [f"host{src} → host{dst}" for src, dst in zip(table["src"], table["dst"])]


def _first_seeds(panel: Panel, runs: Runs) -> Iterator[tuple[str, Runs]]:
    for _, group in groups(runs, combination_keys(runs) or ["label"]):
        first: Runs = group[(group["seed"] == group["seed"].iloc[0]).to_numpy()]
        yield _word(first, panel.by), first


def series(panel: Panel, source: str, runs: Runs) -> Iterator[tuple[str, pd.Series, bool]]:
    """Lines over time of the first seed: name, values by time, and whether the line is of a flow that did not end."""
    file = source.partition(".")[0]
    for word, run in _first_seeds(panel, runs):
        wide = over_time(run, source, panel.scope)
        unended = _open_lines(run, file, list(wide.columns))
        shared = os.path.commonprefix([str(name) for name in wide.columns])
        prefix = shared[:shared.rfind(":") + 1] if file == "ports" else ""
        for name, is_open in zip(wide.columns, unended):
            label = f"flow {name}" if file == "arrivals" else str(name)[len(prefix) if len(unended) > 1 else 0:]
            yield f"{word}, {label}" if word and panel.by else label, wide[name], bool(is_open)


def over_time(run: Runs, source: str, scope: Scope) -> pd.DataFrame:
    """Samples of one run: a row per time (us), a column per port, flow or connection. Intervals without a row are
    intervals in which nothing happened."""
    file, _, column = source.partition(".")
    table = _table(run, file)
    if table.empty:
        return pd.DataFrame()
    step = float(table["interval_us"].max()) if "interval_us" in table else _step_us(table["time_us"])
    if column == "gbps" and file == "ports":
        table = table.assign(gbps=table["tx_bytes"] * 8e-3 / step)
    if file in ("conns", "credits"):
        table = table.assign(conn=_pairs(table))
    key = LINE_KEYS.get(file, "conn")
    end = min(scope.to_us, float(run["virtual_us"].iloc[0]))
    grid = np.arange(max(1, math.ceil(scope.from_us / step)), math.floor(end / step + 1e-6) + 1)
    at = (table["time_us"] / step).round().astype(int)
    table = _scoped(table.assign(at=at, lasting=table[column]), replace(scope, from_us=0.0, to_us=math.inf))
    wide = table.pivot_table(index="at", columns=key, values="lasting", aggfunc="last", sort=False)
    wide = wide.reindex(sorted(wide.columns, key=_natural), axis=1)
    if file in ("conns", "credits"):
        wide = wide.sort_index().reindex(sorted({*wide.index, *grid})).ffill()
    wide = wide.reindex(grid).fillna(0.0 if file in ("ports", "arrivals") else math.nan)
    wide.index = grid * step
    return wide


def _step_us(times: pd.Series) -> float:
    """Of the samples: the commonest distance between two of them."""
    gaps = pd.Series(np.diff(np.unique(times))).round(3)
    return float(gaps.mode().iloc[0]) if len(gaps) else 1.0


def _natural(name: object) -> list[Any]:
    """Ports in the order of their numbers."""
    return [int(word) if word.isdecimal() else word for word in re.split(r"(\d+)", str(name))]


def _scoped(table: pd.DataFrame, scope: Scope) -> pd.DataFrame:
    if scope.ports and "port" in table:
        table = table[table["port"].map(lambda port: fnmatchcase(port, scope.ports or ""))]
    if "flow" in table:
        table = table[table["flow"].between(scope.first_flow, scope.last_flow)]
    if "time_us" in table:
        table = table[table["time_us"].between(scope.from_us, scope.to_us)]
    return table


def _table(run: Runs, file: str) -> pd.DataFrame:
    reader = {"flows": run.flows, "links": run.links, "ports": run.ports, "conns": run.series,
              "arrivals": run.arrivals}.get(file)
    return reader() if reader else run.read("credits.csv", optional=True)
