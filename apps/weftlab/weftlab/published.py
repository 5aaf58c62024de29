# SPDX-License-Identifier: BSD-3-Clause
"""The key `figure` of a scenario: the form that a published figure has. doc/guide/reproduce.md has the format."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Mapping, Sequence

import yaml

from .document import Document, Node, line_of
from .errors import ScenarioError
from .fields import MEASURE_SOURCES, OVER_TIME, SCOPE, Fields, Pick
from .measures import MEASURES, Scope
from .scenario import Scenario

# Form -> keys it cannot do without.
FORMS: dict[str, tuple[str, ...]] = {
    "bars": ("measure",), "lines": ("measure", "x"), "cdf": ("values",), "violin": ("values", "x"),
    "each": ("values",), "time": ("values",)}

# What a run's files have to draw: FILE.COLUMN -> words for an axis.
SOURCES = {
    "flows.fct_us": "flow completion time (µs)", "flows.slowdown": "FCT over the flow's ideal",
    "flows.gbps": "goodput of a flow (Gb/s)", "flows.ooo_max": "out-of-order degree (packets)",
    "flows.dup_acks": "duplicate ACKs of a flow", "flows.reorder_dup_acks": "duplicate ACKs by reordering",
    "ports.queue_bytes": "queue (bytes)", "ports.gbps": "port's rate (Gb/s)",
    "ports.utilisation": "utilisation", "ports.trimmed": "trimmed packets", "ports.dropped": "dropped packets",
    "links.share": "share of the packets", "links.utilisation": "utilisation",
    "conns.cwnd_bytes": "window (bytes)", "conns.srtt_us": "smoothed RTT (µs)",
    "arrivals.gbps": "throughput (Gb/s)", "credits.least_permille": "least v_min / v_max (‰)",
    "credits.slowest_permille": "v_min / v_max (‰)", "credits.looks": "updates of the board"}
PARTS = ("panels", "names", "shows", "note", "columns")  # keys of the figure, not of a panel
FLAGS = ("x_log", "y_log", "ideal", "shared")
TEXTS = ("title", "x_label", "y_label", "right_label")
COLUMNS = ("split", "x", "by")
FACTORS = ("x_factor", "y_factor", "right_factor")
PART_DIGITS = 3  # of the N of COLUMN:N
RANGES = ("x_range", "y_range", "right_range")


@dataclass(frozen=True)
class Point:
    """A value that the paper gives, in the unit of the drawn axis."""

    value: float
    x: str | None  # the place along the horizontal axis; None: everywhere
    by: str | None  # the series; None: all of them
    line: int


@dataclass(frozen=True)
class Mark:
    """A line across a panel with words beside it: a capacity, an ideal window, a moment."""

    text: str
    x: float | None
    y: float | None


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Ranges are None where the data decide."""

    line: int = 0
    form: str = ""
    title: str = ""
    of: Pick = field(default_factory=dict)  # the runs it shows
    over: Pick | None = None  # keys to change for the runs to divide by
    split: str | None = None  # a panel for each value of this column
    x: str | None = None  # column, or COLUMN:N: part N of its values between colons
    by: str | None = None  # likewise; what tells series apart
    measure: tuple[str, ...] = ()
    values: tuple[str, ...] = ()  # of SOURCES
    right: str | None = None  # of SOURCES: on an axis of its own, at the right
    events: str | None = None  # of SOURCES: a star where it is not 0
    scope: Scope = Scope()
    x_label: str = ""
    y_label: str = ""
    right_label: str = ""
    x_factor: float = 1.0  # what is drawn is the value times this
    y_factor: float = 1.0
    right_factor: float = 1.0
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    right_range: tuple[float, float] | None = None
    x_log: bool = False
    y_log: bool = False
    ideal: bool = False  # a line at the ideal
    shared: bool = True  # panels of one split have the same axes
    paper: tuple[Point, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Published:
    """How a published figure is drawn."""

    path: str  # of the scenario
    line: int
    title: str  # of the scenario
    shows: str  # "Figure 7"
    note: str  # what differs from the paper's form
    names: Mapping[str, str]  # value -> what the legend calls it, in the paper's order
    columns: int  # panels side by side; 0: as many as fit
    panels: tuple[Panel, ...]


def load_published(scenario: Scenario) -> Published | None:
    """The form of a scenario's figure; None: it has none. ScenarioError says file, line and key."""
    if scenario.figure is None:
        return None
    return _Reader(Document(scenario.path), scenario).read(scenario.figure)


@dataclass
class _Reader(Fields):
    """Reads the key `figure`."""

    def read(self, node: Node) -> Published:
        said = dict(self.doc.pairs(node, "figure"))
        common = self._panel(Panel(), {name: value for name, value in said.items() if name not in PARTS})
        panels = [common]
        if "panels" in said:
            entries = self.doc.items(said["panels"], "panels")
            own = [dict(self.doc.pairs(entry, "panels")) for entry in entries]
            panels = [self._panel(common, keys, entry) for keys, entry in zip(own, entries)]
            for keys, panel in zip(own, panels):
                self._check_scope(keys, [panel])
        if not panels:
            self.doc.refuse(said["panels"], "panels", "there must be at least one, or leave the key out")
        self._check_scope(said, panels)
        for panel in panels:
            self._check(panel)
        if "shows" not in said:
            self.doc.refuse(node, "shows", "is missing: what the paper calls this figure")
        return Published(path=self.doc.path, line=line_of(node), title=self.scenario.title,
                         shows=self.doc.scalar(said["shows"], "shows"), note=self._text(said, "note"),
                         names=self._names(said), columns=self._columns(said), panels=tuple(panels))

    def _text(self, said: Mapping[str, Node], name: str) -> str:
        return self.doc.scalar(said[name], name) if name in said else ""

    def _names(self, said: Mapping[str, Node]) -> dict[str, str]:
        if "names" not in said:
            return {}
        return {name: self.doc.scalar(value, name) for name, value in self.doc.pairs(said["names"], "names")}

    def _columns(self, said: Mapping[str, Node]) -> int:
        if "columns" not in said:
            return 0
        count = self.number("columns", said["columns"])
        if count not in (1, 2, 3, 4):
            self.doc.refuse(said["columns"], "columns", "1 to 4 panels side by side")
        return int(count)

    def _panel(self, base: Panel, said: Mapping[str, Node], at: Node | None = None) -> Panel:
        """A panel with the keys said of it; those of the whole figure where it says nothing."""
        scope: dict[str, Any] = {}
        fields: dict[str, Any] = {"line": line_of(at) if at else base.line}
        for name, node in said.items():
            fields["line"] = fields["line"] or line_of(node)
            if name in SCOPE:
                scope.update(self.scope_field(name, node))
            else:
                fields[name] = self._value(name, node)
        if scope:
            fields["scope"] = self.checked(replace(base.scope, **scope), said)
        return replace(base, **fields)

    def _value(self, name: str, node: Node) -> Any:
        if name in TEXTS:
            return self.doc.scalar(node, name)
        if name in FLAGS:
            return self._flag(name, node)
        if name in FACTORS:
            return self.number(name, node)
        if name in RANGES:
            return self._range(name, node)
        if name in COLUMNS:
            return self._column(name, node)
        if name in ("of", "over"):
            return self.pick(name, node)
        if name in ("right", "events"):
            return self._source(name, node)
        if name == "form":
            return self._one_of(name, node, FORMS)
        several = {"measure": self.measure, "values": self._source, "paper": self._point, "marks": self._mark}
        if name not in several:
            self.doc.refuse(node, name, "unknown key of a figure")
        entries = self.doc.items(node, name) if isinstance(node, yaml.SequenceNode) else [node]
        return tuple(several[name](name, entry) for entry in entries)

    def _flag(self, name: str, node: Node) -> bool:
        text = self.doc.scalar(node, name)
        if text not in ("true", "false"):
            self.doc.refuse(node, name, f"'{text}' is neither true nor false")
        return text == "true"

    def _range(self, name: str, node: Node) -> tuple[float, float]:
        ends = [self.number(name, entry) for entry in self.doc.items(node, name)]
        if len(ends) != 2 or ends[0] >= ends[1]:
            self.doc.refuse(node, name, "is a list of the lower and the upper end")
        return ends[0], ends[1]

    def _column(self, name: str, node: Node) -> str:
        """A column, or one part of its values."""
        text = self.doc.scalar(node, name)
        column, colon, part = text.partition(":")
        there = ["measure", "seed"] + [axis.name for axis in self.scenario.axes]
        there += ["case"] if any(case.name for case in self.scenario.cases) else []
        if column not in there or (colon and (not part.isdecimal() or len(part) > PART_DIGITS)):
            self.doc.refuse(node, name, f"no column '{text}'; there are {', '.join(there)} (COLUMN:N: a part)")
        return text

    def _one_of(self, name: str, node: Node, known: Mapping[str, Any]) -> str:
        text = self.doc.scalar(node, name)
        if text not in known:
            self.doc.refuse(node, name, f"unknown '{text}'; there are {', '.join(known)}")
        return text

    def _source(self, name: str, node: Node) -> str:
        return self._one_of(name, node, SOURCES)

    def _point(self, name: str, node: Node) -> Point:
        """A number, or one with x and by."""
        if isinstance(node, yaml.ScalarNode):
            return Point(self.number(name, node), None, None, line_of(node))
        found: dict[str, Any] = {"value": math.nan, "x": None, "by": None}
        for key, value in self.doc.pairs(node, name):
            if key not in found:
                self.doc.refuse(value, key, "unknown key of a published value; there are value, x and by")
            found[key] = self.number(key, value) if key == "value" else self.doc.scalar(value, key)
        if math.isnan(found["value"]):
            self.doc.refuse(node, "value", "is missing")
        return Point(line=line_of(node), **found)

    def _mark(self, name: str, node: Node) -> Mark:
        found: dict[str, Any] = {"text": "", "x": None, "y": None}
        for key, value in self.doc.pairs(node, name):
            if key not in found:
                self.doc.refuse(value, key, "unknown key of a mark; there are text, x and y")
            found[key] = self.doc.scalar(value, key) if key == "text" else self.number(key, value)
        if (found["x"] is None) == (found["y"] is None):
            self.doc.refuse(node, name, "a mark has one of x and y")
        return Mark(**found)

    def _check_scope(self, said: Mapping[str, Node], panels: Sequence[Panel]) -> None:
        """Refuses flows, ports and times that no measure of these panels goes by. A panel that draws values may."""
        measures = [name for panel in panels for name in panel.measure]
        if any(panel.values for panel in panels):
            return
        for name in (name for name in SCOPE if name in said):
            if not any(name in MEASURES[measure].takes for measure in measures):
                self.doc.refuse(said[name], name, f"changes nothing for {' and '.join(measures)}")

    def _check(self, panel: Panel) -> None:
        """What keys demand of each other."""
        if not panel.form:
            raise ScenarioError(self.doc.path, panel.line or None, "form", f"is missing; there are {', '.join(FORMS)}")
        for key in FORMS[panel.form]:
            if not getattr(panel, key) and not (key == "x" and len(panel.measure) > 1):
                raise ScenarioError(self.doc.path, panel.line, key, f"is missing; {panel.form} need it")
        for key in (key for key in COLUMNS if (getattr(panel, key) or "").startswith("measure")):
            alone = len(panel.measure) < 2 or key == "split" or (key == "by" and panel.x in (None, "measure"))
            if alone or getattr(panel, key) != "measure":
                reason = "measure tells several measures apart, along x or, where x is another column, by series"
                raise ScenarioError(self.doc.path, panel.line, key, reason)
        if panel.form in ("cdf", "violin", "each") and len(panel.values) != 1:
            raise ScenarioError(self.doc.path, panel.line, "values", f"{panel.form} has one")
        for source in [*panel.values, panel.right, panel.events] if panel.form == "time" else []:
            if source and source.partition(".")[0] not in OVER_TIME:
                raise ScenarioError(self.doc.path, panel.line, "values", f"{source} has no samples over time")
        sources = [*panel.values, panel.right, panel.events, *map(MEASURE_SOURCES.get, panel.measure)]
        self.check_samples(panel.line, "figure", [source for source in sources if source], panel.scope.ports or "*")
