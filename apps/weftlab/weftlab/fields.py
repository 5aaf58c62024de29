# SPDX-License-Identifier: BSD-3-Clause
"""What claims and figures have in common in a scenario file: which runs are meant, and what of their files."""
from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Mapping, Sequence

import yaml

from .binary import Binary, find
from .document import Document, Node
from .errors import ScenarioError
from .measures import FILE_MEASURES, MEASURES, RATE_MEASURES, Scope, known
from .plan import value_of
from .scenario import Scenario

UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}  # in microseconds
SCOPE = ("ports", "flows", "from", "to", "within")  # keys of a measures.Scope
MEASURE_SOURCES = {name: f"{file.removesuffix('.csv')}.{column}" for name, _, file, column, _ in FILE_MEASURES} | {
    name: "arrivals.bytes" for name, _, _ in RATE_MEASURES}
FLOW_DIGITS = 10  # of the largest number of a flow
OVER_TIME = ("ports", "conns", "arrivals", "credits")  # files with samples

Pick = Mapping[str, Sequence[str]]  # runs where a column has one of these values; of a path the end is enough


def picks(pick: Pick, values: Mapping[str, Any]) -> bool:
    """Whether a combination has one of the values for each key."""
    return all(key in values and any(value_is(values[key], wanted) for wanted in wanteds)
               for key, wanteds in pick.items())


def value_is(have: object, wanted: str) -> bool:
    """The same value, or a path that ends with it."""
    return have == wanted or have == value_of(wanted) or (isinstance(have, str) and have.endswith("/" + wanted))


def _is_flow(text: str) -> bool:
    """Whether it is a number that a flow can have."""
    return text.isdecimal() and len(text) <= FLOW_DIGITS


@dataclass
class Fields:
    """Reads such keys. ScenarioError says file, line and key."""

    doc: Document
    scenario: Scenario

    def scope_field(self, name: str, node: Node) -> dict[str, Any]:
        """Fields of measures.Scope for one key of SCOPE."""
        text = self.doc.scalar(node, name)
        if name == "ports":
            return {name: text}
        if name == "within":
            return {name: self.number(name, node)}
        if name == "flows":
            first, _, last = text.partition("-")
            if not _is_flow(first) or not _is_flow(last or first) or int(last or first) < int(first):
                self.doc.refuse(node, name, f"'{text}' is neither a flow's number nor FIRST-LAST")
            return {"first_flow": int(first), "last_flow": int(last or first)}
        return {f"{name}_us": self.time_us(name, node, text)}

    def checked(self, scope: Scope, said: Mapping[str, Node]) -> Scope:
        """The scope of a node's keys, refused if it has no time in it."""
        if scope.from_us >= scope.to_us:
            name = "from" if "from" in said else "to"
            self.doc.refuse(said[name], name, f"{scope.from_us:g} us to {scope.to_us:g} us is no time")
        return scope

    def check_samples(self, line: int, key: str, sources: Sequence[str], ports: str | None) -> None:
        """Refuses samples that the runs do not write: a panel of them is blank, and a claim holds of nothing. `ports`
        None: those that there are."""
        sampled = [source for source in sources if source.partition(".")[0] in OVER_TIME]
        if sampled and not self._said("series"):
            reason = f"needs samples over time: give outputs: {{series: TIME}} (for {sampled[0]})"
            raise ScenarioError(self.doc.path, line, key, reason)
        patterns = self._said("series-ports")
        of_ports = ports and any(source.startswith("ports.") for source in sampled)
        if of_ports and patterns and not any(fnmatchcase(ports or "", pattern) for pattern in patterns):
            reason = f"'{ports}' are not among the sampled ports, series-ports: {patterns[0]}"
            raise ScenarioError(self.doc.path, line, "ports", reason)

    def _said(self, option: str) -> list[str]:
        """The values that the scenario gives an option anywhere."""
        cases = [item for case in self.scenario.cases for item in case.items]
        found = [item.value for item in (*self.scenario.base, *cases) if item.name == option]
        return found + [value for axis in self.scenario.axes if axis.name == option for value in axis.values]

    def time_us(self, name: str, node: Node, text: str) -> float:
        """A time with its unit."""
        for unit, factor in UNITS.items():
            number = text.removesuffix(unit)
            if number != text and number.replace(".", "", 1).isdecimal():
                return float(number) * factor
        self.doc.refuse(node, name, f"'{text}' is not a time such as 500us, 20ms or 1s")

    def number(self, name: str, node: Node) -> float:
        """A finite number."""
        text = self.doc.scalar(node, name)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.doc.refuse(node, name, f"'{text}' is not a number")
        return number

    def measure(self, name: str, node: Node) -> str:
        """A measure that this build has."""
        text = self.doc.scalar(node, name)
        if text not in MEASURES and not known(text, self.weft):
            self.doc.refuse(node, name, f"unknown '{text}' (weft reproduce --measures)")
        return text

    @property
    def weft(self) -> Binary:
        """The executable that the scenario is for."""
        return self.scenario.weft or find()

    def pick(self, name: str, node: Node) -> Pick:
        """Values of case and axes that some run has."""
        found: dict[str, list[str]] = {}
        for key, value in self.doc.pairs(node, name):
            if key == "seed" and name != "runs":
                self.doc.refuse(value, key, f"{name} is of all seeds")
            entries = self.doc.items(value, key) if isinstance(value, yaml.SequenceNode) else [value]
            found[key] = [self._pick_value(key, entry) for entry in entries]
        return found

    def _pick_value(self, key: str, node: Node) -> str:
        text = self.doc.scalar(node, key)
        there = [case.name for case in self.scenario.cases] if key == "case" else []
        there += [value for axis in self.scenario.axes if axis.name == key for value in axis.values]
        if not any(value == text or value.endswith("/" + text) for value in there):
            self.doc.refuse(node, key, f"no run has '{text}'")
        return text
