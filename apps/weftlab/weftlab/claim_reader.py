# SPDX-License-Identifier: BSD-3-Clause
"""From the entries `claims` and `bench` of a scenario file to what they say. doc/guide/reproduce.md has the format."""
from __future__ import annotations

from typing import Any, Mapping

from .claims import Bench, Claim
from .document import Document, Node, line_of
from .fields import MEASURE_SOURCES, SCOPE, Fields, Pick
from .measures import MEASURES, Scope
from .scenario import Item, Scenario

TEXTS = ("text", "paper", "note")


def load_claims(scenario: Scenario) -> list[Claim]:
    """The claims of a scenario file. ScenarioError says file, line and key."""
    document = Document(scenario.path)
    return [_Reader(document, scenario).read(entry) for entry in scenario.claims]


def load_bench(scenario: Scenario) -> Bench:
    """Which runs of a scenario are repeated in real time, and how. ScenarioError says file, line and key."""
    document = Document(scenario.path)
    return _Reader(document, scenario).bench(scenario.bench) if scenario.bench is not None else Bench((), ())


class _Reader(Fields):
    """Reads the entries of `claims` and the key `bench`."""

    def read(self, entry: Node) -> Claim:
        fields: dict[str, Any] = dict(text="", paper="", note="", measure="", of={}, over=None, difference=False,
                                      real=False, at_most=None, at_least=None)
        scope: dict[str, Any] = {}
        said = dict(self.doc.pairs(entry, "claims"))
        for name, node in said.items():
            if name in SCOPE:
                scope.update(self.scope_field(name, node))
            else:
                fields.update(self._field(name, node, fields))
        self._check(entry, fields)
        self._check_scope(fields["measure"], said)
        found = Claim(path=self.doc.path, line=line_of(entry), scope=self.checked(Scope(**scope), said), **fields)
        self.check_samples(found.line, "measure", [MEASURE_SOURCES.get(found.measure, "")], found.scope.ports)
        return found

    def bench(self, node: Node) -> Bench:
        """The runs to repeat in real time; `runs` is a list of picks, all else options of `weft bench`."""
        items: list[Item] = []
        picks: list[Pick] = []
        for name, value in self.doc.pairs(node, "bench"):
            if name == "runs":
                picks = [self.pick(name, entry) for entry in self.doc.items(value, name)]
            elif name == "set":
                items += [Item("set", f"{key}={self.doc.scalar(text, key)}", line_of(text))
                          for key, text in self.doc.pairs(value, name)]
            elif name not in self.weft.bench_options:
                self.doc.refuse(value, name, "unknown key; bench has runs, set and options of weft bench")
            else:
                items.append(Item(name, self.doc.scalar(value, name), line_of(value)))
        if not picks:
            self.doc.refuse(node, "bench", "names no runs")
        return Bench(tuple(self.scenario.located(item) for item in items), tuple(picks))

    def _field(self, name: str, node: Node, fields: dict[str, Any]) -> dict[str, Any]:
        if name in TEXTS:
            return {name: self.doc.scalar(node, name)}
        if name in ("at_most", "at_least"):
            return {name: self.number(name, node)}
        if name == "of":
            return {name: self.pick(name, node)}
        if name == "measure":
            return {name: self.measure(name, node)}
        if name == "real":
            if self.doc.scalar(node, name) != "lab":
                self.doc.refuse(node, name, f"'{node.value}' is not lab: real time stands beside the lab")
            return {name: True}
        if name == "bound":
            if self.doc.scalar(node, name) != "published":
                self.doc.refuse(node, name, f"'{node.value}' is not published: whose bound it is, if not ours")
            return {"published": True}
        if name not in ("over", "less"):
            self.doc.refuse(node, name, "unknown key of a claim")
        if fields["over"] is not None:
            self.doc.refuse(node, name, "a claim has one of over and less")
        return {"over": self.pick(name, node), "difference": name == "less"}

    def _check_scope(self, measure: str, said: Mapping[str, Node]) -> None:
        """Refuses what would change nothing: a claim about some flows or ports must not be judged by the whole run."""
        takes = MEASURES[measure].takes
        for name in (name for name in SCOPE if name in said and name not in takes):
            of = f"is of {', '.join(key for key in SCOPE if key in takes)}" if takes else "is of the whole run"
            self.doc.refuse(said[name], name, f"changes nothing: {measure} {of}")

    def _check(self, entry: Node, fields: dict[str, Any]) -> None:
        if not fields["text"]:
            self.doc.refuse(entry, "text", "a claim says something")
        if not fields["measure"]:
            self.doc.refuse(entry, "measure", "is missing (weft reproduce --measures lists them)")
        if fields["real"] and (fields["over"] is not None or not MEASURES[fields["measure"]].of_result):
            self.doc.refuse(entry, "real", "takes a number of the result, and neither over nor less")
        if fields["real"] and self.scenario.bench is None:
            self.doc.refuse(entry, "real", "the scenario has no bench")
        if not fields["real"] and fields["at_most"] is None and fields["at_least"] is None:
            self.doc.refuse(entry, "at_most", "a claim needs at_most or at_least")
        if fields["over"] is not None and not fields["over"]:
            self.doc.refuse(entry, "less" if fields["difference"] else "over", "names nothing to compare with")
