# SPDX-License-Identifier: BSD-3-Clause
"""Figures in the form papers have: distributions of completion times, bars and lines with intervals over an axis, and
series over time. Each is a matplotlib Figure that the caller may change before saving it."""
from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .directory import WAITING
from .errors import WeftlabError
from .results import Runs
from .stats import Interval, combination_keys, groups, interval, require

STYLES = os.path.join(os.path.dirname(__file__), "styles")
WORTH_DRAWING = 0.1  # of the deepest queue: ports with less are left out
LINES_MAX = 8  # ports, connections or flows in one figure
RATE_POINTS = 120  # of a rate over time
POINTS_MAX = 600  # of a line over time; longer ones are binned
COLOURS = 8  # of the style sheets
DASHES = ("-", "--", ":", "-.")
LOG_RATIO = 30  # an axis whose largest value is so many times its smallest is logarithmic
OF_COMPLETION = ("fct_", "slowdown_", "makespan_us", "inflation", "goodput_gbps", "jain", "foreground_", "background_")
UNITS = {"us": "µs", "gbps": "Gb/s", "bytes": "bytes"}
NAMES = {"fct_max_us": "tail FCT (µs)", "fct_mean_us": "mean FCT (µs)", "fct_p99_us": "p99 FCT (µs)",
         "goodput_gbps": "goodput (Gb/s)", "inflation": "makespan over ideal", "jain": "Jain's fairness",
         "queue_max_bytes": "deepest queue (bytes)", "retransmitted": "packets retransmitted", "seed": "seed"}


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


def save(drawn: Figure, *paths: str | os.PathLike[str]) -> None:
    """Writes a figure as PDF, SVG or PNG, by the ending of each path. The same results give the same file."""
    with matplotlib.rc_context(fname=style_path(getattr(drawn, "weft_style", "screen"))):
        for path in [os.fspath(path) for path in paths]:
            ending = os.path.splitext(path)[1].lower()
            undated: dict[str, dict[str, None]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
            if ending not in (".pdf", ".svg", ".png"):
                raise WeftlabError(f"{path}: figures are saved as .pdf, .svg or .png")
            try:
                drawn.savefig(path, metadata=undated.get(ending))
            except OSError as error:
                raise WeftlabError(f"{path}: {error.strerror}") from error


def style_path(style: str) -> str:
    """The style sheet of a name, or the path itself."""
    ours = os.path.join(STYLES, f"{style}.mplstyle")
    path = ours if os.path.exists(ours) else style
    if not os.path.isfile(path):
        raise WeftlabError(f"no style '{style}'; there are paper, screen, and paths of style sheets")
    return path


def fct_cdf(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """Share of flows that have ended within a time, all seeds together. A flow that did not end counts, so that its
    curve does not reach 1. Dashed: what each flow would need alone in the fabric."""
    _cdf(axes, runs, options, "fct_us")
    _label(axes, "flow completion time (µs)", "share of flows")
    _legend(drawn, axes)


def slowdown_cdf(drawn: Figure, axes: Any, runs: Runs, options: Options) -> None:
    """The same of each flow's time over its ideal."""
    _cdf(axes, runs, options, "slowdown")
    axes.axvline(1, color="0.5", linestyle="--", linewidth=0.8)
    _label(axes, "FCT over the flow's ideal", "share of flows")
    _legend(drawn, axes)


def _cdf(axes: Any, runs: Runs, options: Options, column: str) -> None:
    least, most = math.inf, 0.0
    for at, (name, group) in enumerate(_combinations(runs)):
        flows = group.flows()
        values = np.sort(flows[column].dropna().to_numpy())
        if not len(values):
            axes.plot([], [], label=f"{name} (no flow ended)")
            continue
        shares = np.arange(1, len(values) + 1) / len(flows)
        open_flows = len(flows) - len(values)
        label = f"{name} ({100 * open_flows / len(flows):.2g} % did not end)" if open_flows else name
        line, = axes.step(np.append(values[0], values), np.append(0, shares), where="post", label=label, **_look(at))
        if open_flows:
            axes.plot(values[-1], shares[-1], marker="x", color=line.get_color(), markersize=6)
        least, most = min(least, values[0]), max(most, values[-1])
    if column == "fct_us":
        ideal = np.sort(runs.flows()["ideal_us"].dropna().to_numpy())
        if len(ideal):
            axes.step(ideal, np.arange(1, len(ideal) + 1) / len(ideal), where="post", color="0.5", linestyle="--",
                      linewidth=0.8, label="ideal, alone")
            least = min(least, ideal[0])
    axes.set_ylim(0, 1.02)
    _scale(axes.set_xscale, options.log, least, most)


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
        drawn_bars = axes.bar(places, means, width * 0.92, label=_short(name), linewidth=0.5, edgecolor="white")
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
    axes.set_xticks(np.arange(len(values)), [_short(value) for value in values])
    axes.grid(axis="x", visible=False)
    if options.log and heights:
        axes.set_yscale("log")
    _tilt(axes, [_short(value) for value in values])
    _label(axes, _named(x) if x else "", _named(options.measure))
    note = "hatched: of runs in which flows did not end" if hatched else None
    _legend(drawn, axes, note, titled=len(names) > 1)


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
        line, = axes.plot(values, means, marker="o", label=_short(name[by]) if by else None, **_look(at))
        axes.fill_between(values, means - halves, means + halves, alpha=0.2, color=line.get_color(), linewidth=0)
        open_at = [i for i, (_, is_open) in enumerate(cells) if is_open]
        axes.plot([values[i] for i in open_at], means[open_at], "o", color=line.get_color(), markerfacecolor="white")
    numbers = [value for value in runs[x] if value > 0]
    _scale(axes.set_xscale, None, min(numbers, default=0), max(numbers, default=0))
    if options.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    _label(axes, _named(x), _named(options.measure))
    _legend(drawn, axes)


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
            _line(axes, samples["time_us"], samples["queue_bytes"] / 1e3, label, at + place)
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
            _line(axes, wide.index, wide.mean(axis=1), name, at)
        else:
            for place, conn in enumerate(wide.columns[:LINES_MAX]):
                _line(axes, wide.index, wide[conn], conn, place)
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
            axes.plot(rates.index, rates[flow], label=label, **_look(at + place))
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
        words = [_short(value) if key == "case" else f"{key} {_short(value)}" for key, value in values.items()]
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
        raise WeftlabError(f"the runs differ in {mixed[0]}, too: select one of its values, or draw a figure for each")
    return x, by


def _cell(runs: Runs, measure: str, values: dict[str | None, object]) -> tuple[Interval, bool]:
    """A measure of the runs with these values, and whether flows of them did not end that it is about."""
    for column, value in values.items():
        if column:
            runs = runs[runs[column] == value]
    is_open = measure.startswith(OF_COMPLETION) and bool((runs["completed"] < runs["flows"]).any())
    return interval(pd.to_numeric(runs[measure])), is_open


def _look(at: int) -> dict[str, str]:
    """Colour and dashes of the line with this number: no two of the first 32 are alike."""
    return {"color": f"C{at % COLOURS}", "linestyle": DASHES[at // COLOURS % len(DASHES)]}


def _line(axes: Any, times: Any, values: Any, label: str, at: int) -> None:
    """A line over time. A long one is drawn as means of stretches, in a band from their least to their largest
    value."""
    if len(values) <= POINTS_MAX:
        axes.plot(np.asarray(times), np.asarray(values), label=label, **_look(at))
        return
    series = pd.Series(np.asarray(values), index=np.asarray(times))
    bins = np.linspace(series.index.min(), series.index.max(), POINTS_MAX // 2 + 1)
    stretches = series.groupby(np.digitize(series.index, bins[1:-1])).agg(["mean", "min", "max"])
    middles = (bins[:-1] + bins[1:])[stretches.index] / 2
    line, = axes.plot(middles, stretches["mean"], label=label, **_look(at))
    axes.fill_between(middles, stretches["min"], stretches["max"], alpha=0.15, color=line.get_color(), linewidth=0)


def _over_time(drawn: Figure, axes: Any, name: str) -> None:
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    _label(axes, "time (µs)", name)
    _legend(drawn, axes)


def _needed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    if table.empty:
        raise WeftlabError(f"no run has {name}: sample it with outputs: {{series: TIME}} in the scenario")
    return table


def _scale(set_scale: Callable[[str], None], wanted: bool | None, least: float, most: float) -> None:
    if wanted or (wanted is None and 0 < least < math.inf and most > LOG_RATIO * least):
        set_scale("log")


def _label(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _legend(drawn: Figure, axes: Any, note: str | None = None, titled: bool = True) -> None:
    """Above the plot, in as many columns as there is room for, so that it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if not titled or (len(labels) < 2 and not any("did not end" in label for label in labels)):
        handles, labels = [], []
    if not labels and not note:
        return
    room = drawn.get_size_inches()[0] * 72 * 0.85 / (matplotlib.rcParams["legend.fontsize"] * 0.55)  # characters
    longest = max((len(label) for label in labels), default=0) + 6
    axes.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), title=note, borderaxespad=0.3,
                ncol=max(1, min(len(labels), int(room / longest))))


def _tilt(axes: Any, labels: Sequence[str]) -> None:
    if sum(len(label) for label in labels) > 60:
        for tick in axes.get_xticklabels():
            tick.set(rotation=25, ha="right")


def _short(value: object) -> str:
    """A value without the directories of a path."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return os.path.basename(text) if "/" in text and ":" not in text else text


def _named(column: str) -> str:
    """A column's name for an axis, with its unit in brackets."""
    if column in NAMES:
        return NAMES[column]
    stem, _, unit = column.rpartition("_")
    return f"{stem.replace('_', ' ')} ({UNITS[unit]})" if unit in UNITS and stem else column.replace("_", " ")


def _matches(name: str, patterns: str) -> bool:
    from fnmatch import fnmatchcase
    return any(fnmatchcase(name, pattern) for pattern in patterns.split(","))
