# SPDX-License-Identifier: BSD-3-Clause
"""What all drawings share: style sheets, colours and dashes, long lines, labels, legends, and files."""
from __future__ import annotations

import math
import os
import re
from typing import Any, Callable, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .errors import WeftlabError

STYLES = os.path.join(os.path.dirname(__file__), "styles")
POINTS_MAX = 600  # of a line over time; longer ones are binned
COLOURS = 10  # of the style sheets
DASHES = ("-", "--", ":", "-.")
LOG_RATIO = 30  # an axis whose largest value is so many times its smallest is logarithmic
UNITS = {"us": "µs", "s": "s", "gbps": "Gb/s", "bytes": "bytes", "kib": "KiB"}
STATISTIC = re.compile(r"min|mean|max|sd|p\d+")
WRITTEN = {"fct": "FCT", "rtt": "RTT", "srtt": "SRTT", "jain": "Jain's fairness"}  # otherwise than in a column's name


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


def look(at: int) -> dict[str, str]:
    """Colour and dashes of the line with this number: no two of the first 32 are alike."""
    return {"color": f"C{at % COLOURS}", "linestyle": DASHES[at // COLOURS % len(DASHES)]}


def draw_line(axes: Any, times: Any, values: Any, label: str, at: int) -> None:
    """A line over time. A long one is drawn as means of stretches, in a band from their least to their largest
    value."""
    if len(values) <= POINTS_MAX:
        axes.plot(np.asarray(times), np.asarray(values), label=label, **look(at))
        return
    series = pd.Series(np.asarray(values), index=np.asarray(times))
    bins = np.linspace(series.index.min(), series.index.max(), POINTS_MAX // 2 + 1)
    stretches = series.groupby(np.digitize(series.index, bins[1:-1])).agg(["mean", "min", "max"])
    middles = (bins[:-1] + bins[1:])[stretches.index] / 2
    line, = axes.plot(middles, stretches["mean"], label=label, **look(at))
    axes.fill_between(middles, stretches["min"], stretches["max"], alpha=0.15, color=line.get_color(), linewidth=0)


def scale(set_scale: Callable[[str], None], wanted: bool | None, least: float, most: float) -> None:
    if wanted or (wanted is None and 0 < least < math.inf and most > LOG_RATIO * least):
        set_scale("log")


def label_axes(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def legend_above(drawn: Figure, axes: Any, note: str | None = None, titled: bool = True) -> None:
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


def tilt(axes: Any, labels: Sequence[str], letters: int = 60) -> None:
    """Turns names below an axis when they have more letters than stand side by side."""
    if sum(len(label) for label in labels) > letters:
        for tick in axes.get_xticklabels():
            tick.set(rotation=25, ha="right")


def fold(names: Sequence[str], letters: float) -> list[str]:
    """Names in lines of about so many letters, broken after + and - and at spaces; all get the same number of lines."""
    folded = []
    for name in names:
        lines = [""]
        for part in re.findall(r"[^-+ ]+[-+ ]?|[-+ ]", name):
            if lines[-1] and len(lines[-1]) + len(part.rstrip()) > letters:
                lines.append("")
            lines[-1] += part
        folded.append([line.rstrip() for line in lines])
    most = max(map(len, folded), default=1)
    return ["\n".join(lines + [""] * (most - len(lines))) for lines in folded]


def short(value: object) -> str:
    """A value without the directories of a path."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return os.path.basename(text) if "/" in text and ":" not in text else text


def named(column: str) -> str:
    """A column's name in words, statistic first and unit in brackets: fct_p99_us is p99 FCT (µs)."""
    first, *others = column.split("_")
    unit = "".join(f" ({UNITS[word]})" for word in others if word in UNITS)
    words = [first, *(word for word in others if word not in UNITS)]
    words.sort(key=lambda word: not STATISTIC.fullmatch(word))
    return " ".join(WRITTEN.get(word, word) for word in words) + unit
