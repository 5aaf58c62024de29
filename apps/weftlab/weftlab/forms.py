# SPDX-License-Identifier: BSD-3-Clause
"""Draws a published figure in the form its paper has, with the values that the paper gives as diamonds."""
from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from .directory import WAITING
from .drawing import COLOURS, DASHES, draw_line, fold, named, style_path, tilt
from .errors import WeftlabError
from .panels import Cell, cells, each, expand, number_of, ordered, samples, series
from .published import SOURCES, Panel, Published
from .results import Runs

COLUMN_INCHES = 3.4  # one column of a two-column page
PAGE_INCHES = 7.0  # both
ROW_INCHES = 1.75  # of a panel
LEGEND_INCHES = 0.17  # of a row of the legend
LINES_NAMED = 12  # more lines than these are thin, without names
LONG = 200  # points of a line, which is thin then
LETTERS = 40  # of all names below a panel, of one or two beside each other, that stand side by side
GROUPS_MAX = 9  # of bars in one column of a page
HATCH = "/////"
DIAMOND = {"marker": "D", "linestyle": "", "markersize": 4, "color": "black", "markerfacecolor": "white", "zorder": 5}
ARROW = {"linestyle": "", "markersize": 5, "markerfacecolor": "white", "clip_on": False, "zorder": 4}
ARROWS = {"least": "^", "most": "v"}  # by what a value is
MARKERS = "os^vDPX*"


@dataclass
class Looks:
    """Colours of the series, the same in all panels, and what the legend explains."""

    names: Any  # value -> words
    labels: dict[str, int] = field(default_factory=dict)
    handles: dict[str, Any] = field(default_factory=dict)  # words -> what the legend shows

    def word(self, value: str) -> str:
        """What a value is called."""
        return str(self.names.get(value, value))

    def at(self, value: str) -> int:
        """The number of a series; two that have the same name are one."""
        return self.labels.setdefault(self.word(value), len(self.labels))

    def line(self, value: str) -> dict[str, Any]:
        """Colour and dashes of a series."""
        at = self.at(value)
        return {"color": f"C{at % COLOURS}", "linestyle": DASHES[at // COLOURS % len(DASHES)]}

    def explain(self, words: str, **line: Any) -> None:
        """An entry of the legend for a kind of mark."""
        self.handles.setdefault(words, Line2D([], [], **line))


@dataclass
class Place:
    """Where a panel is drawn."""

    axes: Any
    figure: Published
    panel: Panel
    looks: Looks
    whole: Runs  # all runs with a result


def draw_published(figure: Published, runs: Runs, style: str = "paper") -> Figure:
    """The figure of these runs. WeftlabError when none has a result."""
    complete: Runs = runs[((runs["status"] != WAITING) & (runs["directory"] != "")).to_numpy()]
    if complete.empty:
        raise WeftlabError("no run has a result")
    with matplotlib.rc_context(fname=style_path(style)):
        panels = [(panel, group) for panel, group in expand(figure, complete) if not group.empty]
        columns = min(figure.columns or (3 if len(panels) > 4 else 2 if len(panels) in (2, 4) else 3), len(panels))
        rows = math.ceil(len(panels) / columns)
        drawn = Figure(figsize=(COLUMN_INCHES if columns == 1 else PAGE_INCHES, ROW_INCHES))  # _legend sets the height
        grid = drawn.subplots(rows, columns, squeeze=False)
        looks, blank = Looks(figure.names), []  # blank: titles of panels without data of runs
        for place, (panel, group) in zip(grid.flat, panels):
            FORMS[panel.form](Place(place, figure, panel, looks, complete), group)
            blank += [] if place.has_data() else [panel.title]
            _finish(place, panel)
        for place in grid.flat[len(panels):]:
            place.set_axis_off()
        _share(grid, [panel for panel, _ in panels])
        _legend(drawn, looks, rows, columns)
    drawn.weft_style, drawn.weft_blank = style, blank
    return drawn


def svg_of(drawn: Figure) -> str:
    """A figure as SVG text; the same results give the same text."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(fname=style_path(drawn.weft_style)):
        drawn.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
    return buffer.getvalue().decode()


def _finish(axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize="medium")
    if not axes.has_data():
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color="0.4")
    if panel.x_log and panel.form not in ("bars", "violin") and axes.get_xscale() != "log":
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    if panel.x_range:
        axes.set_xlim(*panel.x_range)
    if panel.y_range:
        axes.set_ylim(*panel.y_range)
    for mark in panel.marks:
        _mark(axes, mark.text, mark.x, mark.y)


def _mark(axes: Any, text: str, x: float | None, y: float | None) -> None:
    look: dict[str, Any] = {"color": "0.45", "linestyle": (0, (4, 2)), "linewidth": 0.8, "zorder": 1}
    if y is not None:
        axes.axhline(y, **look)
        axes.annotate(text, (1, y), xycoords=("axes fraction", "data"), xytext=(-1, 1), textcoords="offset points",
                      ha="right", va="bottom", fontsize="x-small", color="0.3")
    else:
        axes.axvline(x, **look)
        axes.annotate(text, (x, 1), xycoords=("data", "axes fraction"), xytext=(1, -1), textcoords="offset points",
                      ha="left", va="top", fontsize="x-small", color="0.3", rotation=90)


def _share(grid: Any, panels: Sequence[Panel]) -> None:
    """Panels of one split get the same axes; the horizontal one, too, if it is of time."""
    same: dict[tuple[int, str], list[Any]] = {}
    for axes, panel in zip(grid.flat, panels):
        if panel.split and panel.shared:
            same.setdefault((panel.line, panel.split), []).append(axes)
    for group in same.values():
        limits = [axes.get_ylim() for axes in group]
        for axes in group:
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    for (line, split), group in same.items():
        if any(panel.form == "time" for panel in panels if (panel.line, panel.split) == (line, split)):
            ends = [axes.get_xlim() for axes in group]
            for axes in group:
                axes.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))


def _legend(drawn: Figure, looks: Looks, rows: int, columns: int) -> None:
    """Above all panels, in as many columns as there is room for; the figure grows by its rows. Bars of many groups get
    the width of a page."""
    crowded = any(len(axes.get_xticklabels()) > GROUPS_MAX for axes in drawn.axes if axes.patches)
    width = COLUMN_INCHES if columns == 1 and not crowded else PAGE_INCHES
    named_first = {looks.word(value): at for at, value in enumerate(looks.names)}
    entries = sorted(looks.handles.items(), key=lambda entry: named_first.get(entry[0], len(named_first)))
    beside = _columns_of([len(words) for words, _ in entries], width)
    high = LEGEND_INCHES * math.ceil(len(entries) / beside)
    whole = rows * ROW_INCHES * (1.15 if columns == 1 else 1) + high + 0.1
    drawn.set_size_inches(width, whole)
    drawn.get_layout_engine().set(rect=(0, 0, 1, 1 - high / whole))
    if entries:
        drawn.legend([handle for _, handle in entries], [words for words, _ in entries], loc="upper center",
                     ncol=beside, bbox_to_anchor=(0.5, 1), borderaxespad=0.2)


def _columns_of(lengths: Sequence[int], width: float) -> int:
    """Columns of a legend with entries of so many characters that fit into a width in inches. Entries fill one column
    after the other."""
    room = width * 72 / (matplotlib.rcParams["legend.fontsize"] * 0.56)  # characters
    for beside in range(len(lengths), 1, -1):
        rows, more = divmod(len(lengths), beside)
        ends = np.cumsum([rows + (at < more) for at in range(beside)])
        parts = np.split(np.array(lengths), ends[:-1])
        if sum(int(part.max()) + 6.5 for part in parts if len(part)) <= room:
            return beside
    return 1


def _bars(place: Place, runs: Runs) -> None:
    """A group of bars for each x, a bar for each series."""
    panel, looks = place.panel, place.looks
    found = {(cell.x, cell.by): cell for cell in cells(place.figure, panel, runs, place.whole)}
    xs, series_words = _words(place, [x for x, _ in found]), _words(place, [by for _, by in found])
    width = 0.8 / len(series_words)
    for by in series_words:
        looks.at(by)
    for (x, by), cell in found.items():
        left = xs.index(x) - 0.4 + width * (series_words.index(by) + 0.5)
        _bar(place, cell, left, width * 0.92, looks.line(by)["color"])
    _places(place, xs)
    if panel.ideal:
        _ideal(place, runs, {x: float(at) for at, x in enumerate(xs)}, 0.42)
    for point in panel.paper:
        for at in [at for at, x in enumerate(xs) if point.x in (None, x)]:
            if point.by is None:
                _published(place, float(at), point.value, 0.4 if len(series_words) > 1 else 0.0)
            elif point.by in series_words:
                _published(place, at - 0.4 + width * (series_words.index(point.by) + 0.5), point.value, 0.0)
    _label(place, _x_label(panel), _measure_label(panel))


def _words(place: Place, words: Sequence[str]) -> list[str]:
    return ordered(words, place.figure.names)


def _bar(place: Place, cell: Cell, left: float, width: float, colour: str) -> None:
    """A bar with its interval. Hatched, with an arrow: it is longer than that, or shorter."""
    if not math.isfinite(cell.value):
        words = "no value" if math.isnan(cell.value) else "∞"
        place.axes.annotate(words, (left, 0), xycoords=("data", "axes fraction"), rotation=90, ha="center",
                            va="bottom", xytext=(0, 2), textcoords="offset points", fontsize="xx-small", color="0.4")
        return
    place.axes.bar(left, cell.value, width, color="white" if cell.limit else colour, edgecolor=colour, linewidth=0.6,
                   hatch=HATCH if cell.limit else None)
    if cell.value == 0:
        place.axes.annotate("0", (left, 0), xytext=(0, 1), textcoords="offset points", ha="center", va="bottom",
                            fontsize="xx-small", color="0.3")
    if cell.limit:
        _limit(place, [left], [cell.value], cell.limit, colour)
    if cell.half > 0:
        below = min(cell.half, cell.value * 0.999)  # no time is negative, and a logarithmic axis has no 0
        place.axes.errorbar(left, cell.value, [[below], [cell.half]], fmt="none", ecolor="0.15", elinewidth=0.7,
                            capsize=1.5)
    if cell.by:
        words = place.looks.word(cell.by)
        place.looks.handles.setdefault(words, Patch(facecolor=colour, edgecolor=colour))


def _limit(place: Place, x: Sequence[float], y: Sequence[float], limit: str, colour: str) -> None:
    """Arrows at values of flows that did not end, towards where the true ones are."""
    marker = ARROWS[limit]
    place.axes.plot(x, y, marker=marker, markeredgecolor=colour, **ARROW)
    place.looks.explain(f"flows did not end: at {limit} so much", marker=marker, markeredgecolor="0.3", **ARROW)


def _published(place: Place, x: float, value: float, half: float) -> None:
    """A value that the paper gives: a diamond, or a line across a group of bars."""
    if half:
        place.axes.plot([x - half, x + half], [value, value], color="black", linestyle=":", linewidth=1, zorder=5)
    place.axes.plot(x, value, **DIAMOND)
    place.looks.explain("published", **DIAMOND)


def _ideal(place: Place, runs: Runs, places: dict[str, float], half: float) -> None:
    """The ideal of each place, or 1 of what is a ratio."""
    panel = place.panel
    look: dict[str, Any] = {"color": "0.4", "linestyle": "--", "linewidth": 0.9, "zorder": 3}
    if panel.over is not None or "inflation" in panel.measure:
        place.axes.axhline(1.0, **look)
    else:
        from .panels import column_of

        words = column_of(runs, panel.x) if panel.x and panel.x != "measure" else runs["status"].map(lambda _: "")
        for word, at in places.items():
            ideals = runs[(words == word).to_numpy()]["ideal_us"] if word in set(words) else runs["ideal_us"]
            value = float(ideals.mean()) * panel.y_factor
            place.axes.plot([at - half, at + half] if half else [at], [value, value] if half else [value], **look)
    place.looks.explain("ideal", **look)


def _places(place: Place, xs: Sequence[str]) -> None:
    """Names below groups of bars."""
    labels = [_nice(place.looks.word(x)) for x in xs]
    place.axes.set_xticks(np.arange(len(xs)), labels)
    place.axes.set_xlim(-0.6, len(xs) - 0.4)
    place.axes.grid(axis="x", visible=False)
    tilt(place.axes, labels, LETTERS if place.axes.get_gridspec().ncols < 3 else LETTERS * 2 // 3)


def _nice(word: str) -> str:
    """A size with a blank before its unit."""
    found = number_of(word)
    digits = len(word.rstrip("KMGiBkmnus%"))
    return f"{word[:digits]} {word[digits:]}" if not math.isnan(found) and digits < len(word) else word


def _lines(place: Place, runs: Runs) -> None:
    """A line for each series over an axis of numbers, or of words when there is one that is none."""
    panel = place.panel
    found = cells(place.figure, panel, runs, place.whole)
    xs = _words(place, [cell.x for cell in found])
    numbers = {x: number_of(x) * panel.x_factor for x in xs}
    if any(math.isnan(number) for number in numbers.values()):
        numbers = {x: float(at) for at, x in enumerate(xs)}
    for by in _words(place, [cell.by for cell in found]):
        points = sorted((cell for cell in found if cell.by == by), key=lambda cell: numbers[cell.x])
        _sweep_line(place, by, points, numbers)
    if panel.ideal:
        _ideal(place, runs, numbers, 0.0)
    for point in panel.paper:
        for x in [x for x in xs if point.x in (None, x)]:
            _published(place, numbers[x], point.value, 0.0)
    if panel.x_log:
        place.axes.set_xscale("log")
    _number_ticks(place, numbers)
    if not panel.y_log:
        place.axes.set_ylim(bottom=0)
    _label(place, _x_label(panel), _measure_label(panel))


def _number_ticks(place: Place, numbers: dict[str, float]) -> None:
    """A tick for each value, with its words where there is room for them."""
    ticks = sorted(numbers.items(), key=lambda entry: entry[1])
    where = [math.log(number) if place.panel.x_log and number > 0 else number for _, number in ticks]
    room = max((where[-1] - where[0]) * 0.11, 1e-12)
    labels: list[str] = []
    last = -math.inf
    for (x, _), at in zip(ticks, where):
        labels.append(_nice(place.looks.word(x)) if at - last >= room else "")
        last = at if labels[-1] else last
    place.axes.xaxis.set_minor_locator(NullLocator())
    place.axes.set_xticks([number for _, number in ticks], labels)


def _sweep_line(place: Place, by: str, points: Sequence[Cell], numbers: dict[str, float]) -> None:
    """Means with their intervals as a band; open marks where flows did not end."""
    look = place.looks.line(by)
    marker = MARKERS[place.looks.at(by) % len(MARKERS)]
    x, y = [numbers[cell.x] for cell in points], [cell.value for cell in points]
    place.axes.plot(x, y, marker=marker, **look)
    halves = [0.0 if math.isnan(cell.half) else cell.half for cell in points]
    place.axes.fill_between(x, np.subtract(y, halves), np.add(y, halves), alpha=0.2, color=look["color"], linewidth=0)
    for cell in points:
        if cell.limit and not math.isnan(cell.value):
            _limit(place, [numbers[cell.x]], [cell.value], cell.limit, look["color"])
    if by:
        place.looks.explain(place.looks.word(by), marker=marker, **look)


def _cdf(place: Place, runs: Runs) -> None:
    """Shares of flows or samples up to a value. What did not end counts, so that its curve stays below 1."""
    panel = place.panel
    found = {sample.by: sample for sample in samples(panel, runs)}
    for by in _words(place, list(found)):
        sample, look = found[by], place.looks.line(by)
        count = len(sample.values) + len(sample.open_values)
        values = sample.values * panel.x_factor
        shares = np.arange(1, len(values) + 1) / max(count, 1)
        if len(sample.open_values):
            end = float(sample.open_values[-1]) * panel.x_factor
            values, shares = np.append(values, end), np.append(shares, len(sample.values) / count)
            place.axes.plot(end, shares[-1], marker=">", markeredgecolor=look["color"], markerfacecolor="white",
                            linestyle="", zorder=4, clip_on=False)
            place.looks.explain("flows did not end", marker=">", markeredgecolor="0.3", markerfacecolor="white",
                                linestyle="")
        if len(values):
            place.axes.step(np.append(values[0], values), np.append(0, shares), where="post", **look)
        if by:
            place.looks.explain(place.looks.word(by), **look)
    for point in panel.paper:
        place.axes.plot(point.value, number_of(point.x or "1"), **DIAMOND)
        place.looks.explain("published", **DIAMOND)
    if panel.ideal:
        ideal = np.sort(runs.flows()["ideal_us"].dropna().to_numpy()) * panel.x_factor
        place.axes.step(ideal, np.arange(1, len(ideal) + 1) / max(len(ideal), 1), where="post", color="0.4",
                        linestyle="--", linewidth=0.9)
        place.looks.explain("ideal, alone", color="0.4", linestyle="--", linewidth=0.9)
    place.axes.set_ylim(0, 1.02)
    _label(place, panel.x_label or SOURCES[panel.values[0]], panel.y_label or "CDF")


def _violin(place: Place, runs: Runs) -> None:
    """The distribution for each x. Under each name its largest value, and how far the smallest is below it."""
    panel = place.panel
    found = {sample.x: sample for sample in samples(panel, runs)}
    xs = _words(place, list(found))
    across = place.axes.figure.get_size_inches()[0] / place.axes.get_subplotspec().get_gridspec().ncols
    letters = across * 72 * 0.85 / (matplotlib.rcParams["xtick.labelsize"] * 0.68) / max(len(xs), 1)
    labels = []
    for at, (x, name) in enumerate(zip(xs, fold([place.looks.word(x) for x in xs], letters))):
        known, late = found[x].values * panel.y_factor, found[x].open_values * panel.y_factor
        look = place.looks.line(x)
        if len(known) > 1 and known[-1] > known[0]:
            parts = place.axes.violinplot([known], [at], widths=0.8, showextrema=True, showmedians=True)
            for part in [*parts["bodies"], *(parts[name] for name in ("cmins", "cmaxes", "cbars", "cmedians"))]:
                part.set_color(look["color"])
                part.set_linewidth(0.8)
        elif len(known):
            place.axes.plot([at - 0.3, at + 0.3], [known[0], known[0]], color=look["color"])
        if len(late):
            _limit(place, [float(at)] * len(late), late, "least", look["color"])
        everything = np.concatenate([known, late])
        labels.append(f"{name}\n{'> ' if len(late) else ''}{everything.max():.4g}\n"
                      f"{everything.max() - everything.min():.3g}")
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    smaller = max(0.7, min(1.0, letters / max(longest, 1)))
    place.axes.set_xticks(np.arange(len(xs)), labels, fontsize=matplotlib.rcParams["xtick.labelsize"] * smaller)
    place.axes.grid(axis="x", visible=False)
    place.axes.set_ylim(bottom=0)
    if panel.ideal:
        _ideal(place, runs, {x: float(at) for at, x in enumerate(xs)}, 0.42)
    for point in panel.paper:
        for at in [at for at, x in enumerate(xs) if point.x in (None, x)]:
            _published(place, float(at), point.value, 0.0)
    _label(place, panel.x_label, panel.y_label or SOURCES[panel.values[0]])


def _each(place: Place, runs: Runs) -> None:
    """A mark for every flow or port, by its number. Open ones are of flows that did not end."""
    panel = place.panel
    for by, values, unended in each(panel, runs):
        look, at = place.looks.line(by), place.looks.at(by)
        drawn = values.to_numpy(dtype=float) * panel.y_factor
        if not len(drawn):
            continue
        mark: dict[str, Any] = {"marker": MARKERS[at % len(MARKERS)], "linestyle": "", "color": look["color"],
                                "markersize": 2.5 if len(drawn) > 40 else 4}
        numbers = np.arange(len(drawn))
        place.axes.plot(numbers[~unended], drawn[~unended], **mark)
        place.axes.plot(numbers[unended], drawn[unended], markerfacecolor="none", **mark)
        if by:
            place.looks.explain(place.looks.word(by), **mark)
        if unended.any():
            place.looks.explain("open: did not end", marker="o", linestyle="", color="0.3", markerfacecolor="none")
    for point in panel.paper if place.axes.has_data() else ():
        place.axes.axhline(point.value, color="black", linestyle=":", linewidth=1)
        place.looks.explain("published", color="black", linestyle=":", linewidth=1)
    place.axes.set_ylim(bottom=0)
    _label(place, panel.x_label or "number", panel.y_label or SOURCES[panel.values[0]])


def _time(place: Place, runs: Runs) -> None:
    """Lines over time of the first seed, with an axis of its own for `right`, and stars for `events`."""
    panel = place.panel
    for source in panel.values:
        _time_lines(place, place.axes, list(series(panel, source, runs)), panel.y_factor, False)
    if panel.right:
        right = place.axes.twinx()
        right.grid(False)
        right.spines["right"].set_visible(True)
        _time_lines(place, right, list(series(panel, panel.right, runs)), panel.right_factor, True)
        right.set_ylim(*(panel.right_range or (0, right.get_ylim()[1])))
        right.set_ylabel(panel.right_label or SOURCES[panel.right])
    if panel.events and place.axes.has_data():
        for _, values, _ in series(panel, panel.events, runs):
            times = values.index[(values > 0).to_numpy()]
            star: dict[str, Any] = {"marker": "*", "linestyle": "", "color": "#C00000", "markersize": 5}
            place.axes.plot(times * panel.x_factor, np.full(len(times), 0.96), zorder=5,
                            transform=place.axes.get_xaxis_transform(), **star)
            place.looks.explain(SOURCES[panel.events], **star)
    place.axes.set_ylim(bottom=0)
    place.axes.set_xlim(left=panel.scope.from_us * panel.x_factor)
    _label(place, panel.x_label or "time (µs)", panel.y_label or SOURCES[panel.values[0]])


def _time_lines(place: Place, axes: Any, found: Sequence[tuple[str, Any, bool]], factor: float, right: bool) -> None:
    panel, looks = place.panel, place.looks
    many = len(found) > LINES_NAMED
    for at, (name, values, unended) in enumerate(found):
        known = values.dropna()
        if known.empty:
            continue
        number = at if many else looks.at(name)
        look = {"color": "black" if right and len(found) == 1 else f"C{number % COLOURS}",
                "linestyle": ":" if right else DASHES[0 if many else number // COLOURS % len(DASHES)],
                "linewidth": 0.6 if many or right or len(known) > LONG else 1.0,
                "alpha": 0.75 if many or right else 1.0}
        before = len(axes.lines)
        draw_line(axes, known.index * panel.x_factor, known * factor, name, number)
        for line in axes.lines[before:]:
            line.set(**look)
        if unended and not right:
            tip: dict[str, Any] = {"marker": ">", "markerfacecolor": "white", "linestyle": "", "markersize": 4}
            axes.plot(known.index[-1] * panel.x_factor, known.iloc[-1] * factor, markeredgecolor=look["color"],
                      clip_on=False, **tip)
            looks.explain("did not end", markeredgecolor="0.3", **tip)
        if not many and not right:
            looks.explain(looks.word(name), **look)
    if right:
        words = panel.right_label or SOURCES[panel.right or ""]
        looks.explain(f"{words}, right", color="black", linestyle=":", linewidth=0.8)


def _x_label(panel: Panel) -> str:
    column = (panel.x or "").partition(":")[0]
    return panel.x_label or ("" if column in ("case", "measure", "matrix") else column)


def _measure_label(panel: Panel) -> str:
    return panel.y_label or named(panel.measure[0])


def _label(place: Place, x: str, y: str) -> None:
    place.axes.set_xlabel(x)
    place.axes.set_ylabel(y)


FORMS: dict[str, Callable[[Place, Runs], None]] = {
    "bars": _bars, "lines": _lines, "cdf": _cdf, "violin": _violin, "each": _each, "time": _time}
