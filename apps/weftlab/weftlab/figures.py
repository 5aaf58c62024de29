# SPDX-License-Identifier: BSD-3-Clause
"""Figures in the form papers have: distributions of completion times, bars and lines with intervals over an axis, and
series over time. Each is a matplotlib Figure that the caller may change before saving it."""
from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Callable, Iterator, Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .directory import WAITING
from .drawing import draw_line, label_axes, legend_above, look, named, scale, short, style_path, tilt
from .errors import WeftlabError
from .measures import MEASURES, Scope, lower_bound
from .results import Runs
from .stats import Interval, combination_keys, groups, interval, require

WORTH_DRAWING = 0.1  # of the deepest queue: ports with less are left out
LINES_MAX = 8  # ports, connections or flows in one figure
IDEALS_MAX = 4  # different ones in one figure
RATE_POINTS = 120  # of a rate over time
OF_COMPLETION = ("fct_", "slowdown_", "makespan_us", "inflation", "goodput_gbps", "jain", "foreground_", "background_")


@dataclass(frozen=True)
class Options:
    """What a figure can be told. Each figure uses what applies to it."""

    measure: str = "fct_max_us"  # of bars and lines
    x: str | None = None  # column along the horizontal axis; default: the last axis with several values
    by: str | None = None  # column that tells bars of a group or lines apart; default: the case, else the other axes
    log: bool | None = None  # logarithmic scale; default: when values span a wide range
    title: str | None = None  # default: none in style paper, that of the scenario otherwise
    ports: str | None = None  # shell pattern of the ports in "queue"; default: those with the deepest queues


def figure(runs: Runs, kind: str, style: str = "screen", **options: Any) -> Figure:
    """A figure of these runs. kind: one of FIGURES. style: "paper", "screen" or the path of a matplotlib style sheet.
    options: fields of Options."""
    if kind not in FIGURES:
        raise WeftlabError(f"no figure '{kind}'; there are {', '.join(FIGURES)}")
    unknown = set(options) - set(Options.__dataclass_fields__)
    if unknown:
        raise WeftlabError(f"no option '{unknown.pop()}'; there are {', '.join(Options.__dataclass_fields__)}")
    chosen = Options(**options)
    complete = runs[(runs["status"] != WAITING) & (runs["directory"] != "")]
    if complete.empty:
        raise WeftlabError("no run has a result")
    with matplotlib.rc_context(fname=style_path(style)):
        drawn = Figure()
        FIGURES[kind](drawn, drawn.subplots(), complete, chosen)
        title = chosen.title if chosen.title is not None else runs.attrs.get("title") if style != "paper" else None
        if title:
            drawn.suptitle(title)
    drawn.weft_style = style
    return drawn


def fct_cdf(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """Share of flows that have ended within a time, all seeds together. A flow that did not end counts, so that its
    curve does not reach 1. Dashed: what each flow would need alone in the fabric."""
    _cdf(axes, runs, options, "fct_us")
    label_axes(axes, "flow completion time (µs)", "share of flows")
    legend_above(drawn, axes)


def slowdown_cdf(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """The same of each flow's time over its ideal."""
    _cdf(axes, runs, options, "slowdown")
    axes.axvline(1, color="0.5", linestyle="--", linewidth=0.8)
    label_axes(axes, "FCT over the flow's ideal", "share of flows")
    legend_above(drawn, axes)


def _cdf(axes: Any, runs: Runs, options: Options, column: str) -> None:
    least, most = math.inf, 0.0
    alone = []
    for at, (name, group) in enumerate(_combinations(runs)):
        flows = group.flows()
        alone.append(({key: group[key].iloc[0] for key in combination_keys(runs)}, times_alone(flows)))
        values = np.sort(flows[column].dropna().to_numpy())
        if not len(values):
            axes.plot([], [], label=f"{name} (no flow ended)")
            continue
        shares = np.arange(1, len(values) + 1) / len(flows)
        open_flows = len(flows) - len(values)
        label = f"{name} ({100 * open_flows / len(flows):.2g} % did not end)" if open_flows else name
        line, = axes.step(np.append(values[0], values), np.append(0, shares), where="post", label=label, **look(at))
        if open_flows:
            axes.plot(values[-1], shares[-1], marker="x", color=line.get_color(), markersize=6)
        least, most = min(least, values[0]), max(most, values[-1])
    for at, (name, ideal) in enumerate(ideals(alone) if column == "fct_us" else []):
        axes.step(ideal, np.arange(1, len(ideal) + 1) / len(ideal), where="post", color="0.5", linewidth=0.8,
                  linestyle=(0, (4, 1 + 2 * at)), label=name)
        least = min(least, ideal[0])
    axes.set_ylim(0, 1.02)
    scale(axes.set_xscale, options.log, least, most)


def ideals(alone: Sequence[tuple[Mapping[str, object], Any]]) -> list[tuple[str, Any]]:
    """What flows would need alone, once for all combinations of which it is the same, with what tells these from the
    others. None at all if there would be more than IDEALS_MAX. alone: values of a combination and its sorted times."""
    found: dict[bytes, list[int]] = {}
    for at, (_, times) in enumerate(alone):
        if len(times):
            found.setdefault(times.tobytes(), []).append(at)
    if len(found) > IDEALS_MAX:
        return []
    named_by = [(", ".join(["ideal, alone", *_shared([alone[at][0] for at in alike], alone)]), alike[0])
                for alike in found.values()]
    return [(name, alone[first][1]) for name, first in named_by]


def _shared(alike: Sequence[Mapping[str, object]], alone: Sequence[tuple[Mapping[str, object], Any]]) -> Iterator[str]:
    """Values that these combinations have in common, and not with all others."""
    for key in alike[0]:
        if len({values[key] for values in alike}) == 1 < len({values[key] for values, _ in alone}):
            yield short(alike[0][key]) if key == "case" else f"{key} {short(alike[0][key])}"


def times_alone(flows: pd.DataFrame) -> Any:
    """In ascending order."""
    return np.sort(flows["ideal_us"].dropna().to_numpy())


def bars(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """A measure over an axis: means over the seeds with their 95 % confidence intervals, a group of bars per value."""
    x, by = _columns(runs, options)
    values = list(dict.fromkeys(runs[x])) if x else [""]
    names = list(dict.fromkeys(runs[by])) if by else [""]
    width = 0.8 / len(names)
    hatched, heights = False, []
    for at, name in enumerate(names):
        cells = [_cell(runs, options.measure, {x: value, by: name}) for value in values]
        places = np.arange(len(values)) - 0.4 + width * (at + 0.5)
        means = [0.0 if math.isnan(cell.mean) else cell.mean for cell, _ in cells]
        sure = [i for i, (cell, _) in enumerate(cells) if cell.half > 0]  # not for NaN
        drawn_bars = axes.bar(places, means, width * 0.92, label=short(name), linewidth=0.5, edgecolor="white")
        axes.errorbar(places[sure], [means[i] for i in sure], [cells[i][0].half for i in sure], fmt="none",
                      ecolor="0.15", elinewidth=0.8)
        for bar, (cell, is_open) in zip(drawn_bars, cells):
            if is_open and not math.isnan(cell.mean):
                bar.set_hatch("////")
                hatched = True
            if math.isnan(cell.mean):
                axes.annotate("no value", (bar.get_x() + bar.get_width() / 2, 0), rotation=90, ha="center",
                              va="bottom", xytext=(0, 2), textcoords="offset points", fontsize="x-small", color="0.4")
        heights += [mean for mean in means if mean > 0]
    axes.set_xticks(np.arange(len(values)), [short(value) for value in values])
    axes.grid(axis="x", visible=False)
    if options.log and heights:
        axes.set_yscale("log")
    tilt(axes, [short(value) for value in values])
    label_axes(axes, named(x) if x else "", named(options.measure))
    note = "hatched: flows did not end, at least so much" if hatched else None
    legend_above(drawn, axes, note, titled=len(names) > 1)


def lines(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """A measure over a numeric axis: means over the seeds with their 95 % confidence intervals as bands. Open marks:
    flows did not end in some run."""
    x, by = _columns(runs, options)
    if not x or not pd.api.types.is_numeric_dtype(runs[x]):
        raise WeftlabError("lines: needs an axis whose values are numbers (x=...); bars takes any axis")
    for at, (name, group) in enumerate(groups(runs, [by] if by else [])):
        values = sorted(set(group[x]))
        cells = [_cell(group, options.measure, {x: value}) for value in values]
        means = np.array([cell.mean for cell, _ in cells])
        halves = np.array([0.0 if math.isnan(cell.half) else cell.half for cell, _ in cells])
        line, = axes.plot(values, means, marker="o", label=short(name[by]) if by else None, **look(at))
        axes.fill_between(values, means - halves, means + halves, alpha=0.2, color=line.get_color(), linewidth=0)
        open_at = [i for i, (_, is_open) in enumerate(cells) if is_open]
        axes.plot([values[i] for i in open_at], means[open_at], "o", color=line.get_color(), markerfacecolor="white")
    numbers = [value for value in runs[x] if value > 0]
    scale(axes.set_xscale, None, min(numbers, default=0), max(numbers, default=0))
    if options.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    label_axes(axes, named(x), named(options.measure))
    legend_above(drawn, axes)


def queue(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """Queues over time, of the first seed: the deepest ports of one combination, or the deepest of each."""
    chosen = list(_first_seeds(runs))
    for at, (name, group) in enumerate(chosen):
        ports = _needed(group.ports(), "ports.csv")
        if options.ports:
            ports = ports[ports["port"].map(lambda port: _matches(port, options.ports or ""))]
        deepest = ports.groupby("port")["queue_bytes"].max().sort_values(ascending=False)
        worth_it = deepest[deepest >= deepest.max() * WORTH_DRAWING].index
        for place, port in enumerate(worth_it[:1 if len(chosen) > 1 else LINES_MAX]):
            samples = ports[ports["port"] == port]
            label = f"{name}: {port}" if len(chosen) > 1 else port
            draw_line(axes, samples["time_us"], samples["queue_bytes"] / 1e3, label, at + place)
    if not axes.lines:
        raise WeftlabError(f"no port is called '{options.ports}'")
    _over_time(drawn, axes, "queue (kB)")


def cwnd(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """Congestion windows over time, of the first seed: the first connections of one combination, or the mean window of
    each combination."""
    del options
    chosen = list(_first_seeds(runs))
    for at, (name, group) in enumerate(chosen):
        series = _needed(group.series(), "conns.csv")
        table = series.assign(conn="host" + series["src"].astype(str) + " → host" + series["dst"].astype(str))
        wide = table.pivot_table(index="time_us", columns="conn", values="cwnd_bytes", aggfunc="last", sort=False)
        wide = wide.ffill().sort_index() / 1e3
        if len(chosen) > 1:
            draw_line(axes, wide.index, wide.mean(axis=1), name, at)
        else:
            for place, conn in enumerate(wide.columns[:LINES_MAX]):
                draw_line(axes, wide.index, wide[conn], conn, place)
    _over_time(drawn, axes, "cwnd (kB)" if len(chosen) == 1 else "mean cwnd (kB)")


def goodput(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """Payload that arrived over time, of the first seed: of the first flows of one combination, or of all flows of each
    combination together. Means of stretches of at least the sampling interval."""
    del options
    chosen = list(_first_seeds(runs))
    for at, (name, group) in enumerate(chosen):
        arrivals = _needed(group.arrivals(), "arrivals.csv")
        if len(chosen) > 1:
            arrivals = arrivals.assign(flow=name)
        rates = rates_over_time(arrivals)
        for place, flow in enumerate(rates.columns[:LINES_MAX]):
            label = flow if len(chosen) > 1 else f"flow {flow}"
            axes.plot(rates.index, rates[flow], label=label, **look(at + place))
    _over_time(drawn, axes, "goodput (Gb/s)" if len(chosen) == 1 else "goodput of all flows (Gb/s)")


def rates_over_time(arrivals: pd.DataFrame) -> pd.DataFrame:
    """Gb/s of each flow (columns) in stretches of equal length (the index: their middles, us). No row in arrivals.csv
    means that nothing arrived."""
    interval_us = float(arrivals["interval_us"].max())
    stretch_us = interval_us * max(1, math.ceil(arrivals["time_us"].max() / interval_us / RATE_POINTS))
    at = ((arrivals["time_us"] - arrivals["interval_us"] / 2) // stretch_us).astype(int).rename("stretch")
    rates = arrivals.groupby([at, "flow"], sort=False)["bytes"].sum().unstack(fill_value=0) * 8e-3 / stretch_us
    rates = rates.reindex(range(int(at.max()) + 2), fill_value=0.0)
    rates.index = (rates.index + 0.5) * stretch_us
    return rates


FIGURES: dict[str, Callable[[Figure, Any, Runs, Options], None]] = {
    "fct-cdf": fct_cdf, "slowdown-cdf": slowdown_cdf, "bars": bars, "lines": lines, "queue": queue, "cwnd": cwnd,
    "goodput": goodput}


def _combinations(runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Combinations with what tells them apart as a name."""
    keys = [key for key in combination_keys(runs) if runs[key].nunique(dropna=False) > 1]
    for values, group in groups(runs, keys):
        words = [short(value) if key == "case" else f"{key} {short(value)}" for key, value in values.items()]
        yield ", ".join(words) or str(group["label"].iloc[0]), group


def _first_seeds(runs: Runs) -> Iterator[tuple[str, Runs]]:
    found = list(_combinations(runs))
    if len(found) > LINES_MAX:
        raise WeftlabError(f"{len(found)} combinations are too many for one figure over time; select some of the runs")
    for name, group in found:
        yield name, group[group["seed"] == group["seed"].iloc[0]]


def _columns(runs: Runs, options: Options) -> tuple[str | None, str | None]:
    """What is along the horizontal axis, and what tells bars or lines apart."""
    require(runs, options.measure)
    if not all(value is None or isinstance(value, Real) for value in runs[options.measure]):
        raise WeftlabError(f"{options.measure} is no number of a run")
    varied = [key for key in combination_keys(runs) if runs[key].nunique(dropna=False) > 1]
    for column in (options.x, options.by):
        if column:
            require(runs, column)
    axes = [key for key in varied if key not in ("case", options.by)]
    x = options.x or (axes[-1] if axes else "case" if "case" in varied and options.by != "case" else None)
    left = [key for key in varied if key != x]
    by = options.by or ("case" if "case" in left else left[-1] if left else None)
    mixed = [key for key in varied if key not in (x, by)]
    if mixed:
        value = short(runs[mixed[0]].iloc[0])
        raise WeftlabError(f"the runs differ in {mixed[0]}, too: select one of its values (weft report: --where "
                           f"{mixed[0]}={value}), or draw a figure for each")
    return x, by


def _cell(runs: Runs, measure: str, values: dict[str | None, object]) -> tuple[Interval, bool]:
    """A measure of the runs with these values, and whether flows of them did not end that it is about: then it is the
    least that it can be."""
    for column, value in values.items():
        if column:
            runs = runs[runs[column] == value]
    is_open = measure.startswith(OF_COMPLETION) and bool((runs["completed"] < runs["flows"]).any())
    found = [_least(row, measure) for row in runs.to_dict("records")]
    if is_open and any(map(math.isnan, found)):  # a mean of the others would be one of the seeds that went well
        found = []
    return interval(found), is_open


def _least(row: dict[str, Any], measure: str) -> float:
    """A number of a run, or the least that it can be; NaN: not known."""
    value = math.nan if row[measure] is None else float(row[measure])
    if math.isnan(value) and measure in MEASURES and row["directory"] and row["completed"] < row["flows"]:
        return lower_bound(row, measure, Scope())
    return value


def _over_time(drawn: Figure, axes: Any, name: str) -> None:
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    label_axes(axes, "time (µs)", name)
    legend_above(drawn, axes)


def _needed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    if table.empty:
        raise WeftlabError(f"no run has {name}: sample it with outputs: {{series: TIME}} in the scenario")
    return table


def _matches(name: str, patterns: str) -> bool:
    from fnmatch import fnmatchcase
    return any(fnmatchcase(name, pattern) for pattern in patterns.split(","))
