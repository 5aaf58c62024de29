# SPDX-License-Identifier: BSD-3-Clause
"""What claims and figures have in common in a scenario file: which runs are meant, and what of their files."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import yaml

from .document import Document, Node
from .plan import value_of
from .scenario import Scenario

UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}  # in microseconds
SCOPE = ("ports", "flows", "from", "to", "within")  # keys of a measures.Scope

Pick = Mapping[str, Sequence[str]]  # runs where a column has one of these values; of a path the end is enough


def picks(pick: Pick, values: Mapping[str, Any]) -> bool:
    """Whether a combination has one of the values for each key."""
    return all(key in values and any(value_is(values[key], wanted) for wanted in wanteds)
               for key, wanteds in pick.items())


def value_is(have: object, wanted: str) -> bool:
    """The same value, or a path that ends with it."""
    return have == wanted or have == value_of(wanted) or (isinstance(have, str) and have.endswith("/" + wanted))


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
            if not first.isdigit() or not (last or first).isdigit() or int(last or first) < int(first):
                self.doc.refuse(node, name, f"'{text}' is neither a flow's number nor FIRST-LAST")
            return {"first_flow": int(first), "last_flow": int(last or first)}
        return {f"{name}_us": self.time_us(name, node, text)}

    def time_us(self, name: str, node: Node, text: str) -> float:
        """A time with its unit."""
        for unit, factor in UNITS.items():
            number = text.removesuffix(unit)
            if number != text and number.replace(".", "", 1).isdigit():
                return float(number) * factor
        self.doc.refuse(node, name, f"'{text}' is not a time such as 500us, 20ms or 1s")

    def number(self, name: str, node: Node) -> float:
        """A finite number."""
        text = self.doc.scalar(node, name)
        number = value_of(text)
        if isinstance(number, str) or not math.isfinite(number):
            self.doc.refuse(node, name, f"'{text}' is not a number")
        return float(number)

    def pick(self, name: str, node: Node) -> Pick:
        """Values of case and axes that some run has."""
        found: dict[str, list[str]] = {}
        for key, value in self.doc.pairs(node, name):
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
