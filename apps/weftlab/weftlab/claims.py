# SPDX-License-Identifier: BSD-3-Clause
"""Claims of a scenario: a measure of some of its runs, alone or beside that of others, and a bound.
doc/guide/reproduce.md has the format."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Sequence

import yaml

from .document import Document, Node, line_of
from .errors import ScenarioError
from .measures import MEASURES, Scope
from .plan import value_of
from .results import Runs
from .scenario import Scenario
from .stats import BREAKS, HOLDS, UNDECIDED, Interval, combination_keys, groups, interval, over, verdict

UNKNOWN = "not known"  # a run it needs has no result, or flows without an end
TEXTS = ("text", "paper", "note")
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}  # in microseconds

Pick = Mapping[str, Sequence[str]]  # runs where a column has one of these values; of a path the end is enough


@dataclass(frozen=True)
class Claim:
    """What a published figure says, as something that can be checked."""

    path: str  # of the scenario
    line: int
    text: str  # one line
    paper: str  # what the publication says, in its words
    note: str  # what to know when it does not hold
    measure: str
    scope: Scope
    of: Pick  # every combination it picks must meet the bound
    over: Pick | None  # keys to change for the combinations to divide by, or to subtract
    difference: bool  # `over` is subtracted
    real: bool  # of runs in real time beside the same ones in the lab
    at_most: float | None
    at_least: float | None

    @property
    def bound(self) -> str:
        """The bound in words."""
        words = [f"at least {self.at_least:g}" if self.at_least is not None else "",
                 f"at most {self.at_most:g}" if self.at_most is not None else ""]
        return " and ".join(word for word in words if word) or "nothing"

    def margin(self, value: float) -> float:
        """How far inside the bounds; negative: outside."""
        below = math.inf if self.at_most is None else self.at_most - value
        above = math.inf if self.at_least is None else value - self.at_least
        return min(below, above)


@dataclass(frozen=True)
class Judgement:
    """How a claim fares: by the combination nearest to breaking its bound, or furthest beyond it."""

    claim: Claim
    verdict: str  # HOLDS, BREAKS, UNDECIDED or UNKNOWN
    value: float  # NaN: not known
    half: float  # of its 95 % confidence interval over the seeds; NaN: none
    runs: str  # where the value comes from

    @property
    def ours(self) -> str:
        """The value, its interval, and the runs."""
        if self.verdict == UNKNOWN:
            return "a run it needs has no result, or flows without an end"
        shown = f"{self.value:.3g}" if self.claim.over is not None else f"{self.value:.6g}"
        if not math.isnan(self.half):
            shown += f" ±{self.half:.2g}" if self.half < 99.5 else f" ±{self.half:.0f}"
        return f"{shown} ({self.runs})"


def load_claims(scenario: Scenario) -> list[Claim]:
    """The claims of a scenario file. ScenarioError says file, line and key."""
    document = Document(scenario.path)
    return [_Reader(document, scenario).read(entry) for entry in scenario.claims]


def judge(claim: Claim, runs: Runs) -> Judgement:
    """Holds a claim against the results of its scenario. ScenarioError when it is about no run, WeftlabError when files
    it needs are not there."""
    if claim.real:
        return Judgement(claim, UNKNOWN, math.nan, math.nan, "")
    worst = Judgement(claim, UNKNOWN, math.inf, math.nan, "")
    for value, half, where in _Trial(claim, runs).values():
        if math.isnan(value):
            return Judgement(claim, UNKNOWN, math.nan, math.nan, "")
        if worst.verdict == UNKNOWN or claim.margin(value) < claim.margin(worst.value):
            worst = Judgement(claim, _verdict(claim, value, half), value, half, where)
    if worst.verdict == UNKNOWN:
        raise ScenarioError(claim.path, claim.line, "of", "no run is meant")
    return worst


def _verdict(claim: Claim, value: float, half: float) -> str:
    return verdict(Interval(0, value, math.nan, half, 0.95), claim.at_most, claim.at_least)


@dataclass
class _Trial:
    """A claim before the results: measures are taken once per run."""

    claim: Claim
    runs: Runs
    known: dict[int, float] = field(default_factory=dict)

    def values(self) -> Iterator[tuple[float, float, str]]:
        """Of every combination that the claim is of, and all it is set against: value, half interval, which runs."""
        combinations = list(groups(self.runs, combination_keys(self.runs) or ["label"]))
        for values, group in combinations:
            if not picks(self.claim.of, values):
                continue
            mine = self._seeds(group)
            if self.claim.over is None:
                yield _mean(mine), _half(mine), str(group["label"].iloc[0])
                continue
            yield from self._against(values, group, mine, combinations)

    def _against(self, values: Mapping[str, Any], group: Runs, mine: Sequence[float],
                 combinations: Sequence[tuple[dict[str, Any], Runs]]) -> Iterator[tuple[float, float, str]]:
        changed = self.claim.over or {}
        found = False
        for other_values, other in combinations:
            same = all(other_values[key] == value for key, value in values.items() if key not in changed)
            if other is group or not same or not picks(changed, other_values):
                continue
            found = True
            theirs = self._seeds(other)
            pairs = [self._set_against(a, b) for a, b in zip(mine, theirs)]
            labels = [str(table["label"].iloc[0]) for table in (group, other)]
            yield (self._set_against(_mean(mine), _mean(theirs)), _half(pairs),
                   f"{labels[0]}: {_mean(mine):.6g}; {labels[1]}: {_mean(theirs):.6g}")
        if not found:
            raise ScenarioError(self.claim.path, self.claim.line, "over",
                                f"nothing stands beside {group['label'].iloc[0]}")

    def _set_against(self, value: float, other: float) -> float:
        return value - other if self.claim.difference else over(value, other)

    def _seeds(self, group: Runs) -> list[float]:
        """A value per seed."""
        return [self._measure(row) for row in group.to_dict("records")]

    def _measure(self, row: dict[str, Any]) -> float:
        if row["id"] not in self.known:
            of = MEASURES[self.claim.measure].of
            self.known[row["id"]] = of(row, self.claim.scope) if row["directory"] else math.nan
        return self.known[row["id"]]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _half(values: Sequence[float]) -> float:
    """NaN: there is none, for there is one seed, or one of the values is infinite or not known."""
    return interval(values).half if all(math.isfinite(value) for value in values) else math.nan


def picks(pick: Pick, values: Mapping[str, Any]) -> bool:
    """Whether a combination has one of the values for each key."""
    return all(key in values and any(value_is(values[key], wanted) for wanted in wanteds)
               for key, wanteds in pick.items())


def value_is(have: object, wanted: str) -> bool:
    """The same value, or a path that ends with it."""
    return have == wanted or have == value_of(wanted) or (isinstance(have, str) and have.endswith("/" + wanted))


def in_words(judgements: Sequence[Judgement]) -> str:
    """All verdicts as text, and how many hold."""
    lines = []
    for found in judgements:
        claim = found.claim
        lines.append(f"  {found.verdict}: {claim.text}")
        lines.append(f"          ours {found.ours}, must be {claim.bound}" +
                     (f"; paper: {claim.paper}" if claim.paper else ""))
        if claim.note and found.verdict != HOLDS:
            lines.append(f"          note: {claim.note}")
    counts = ", ".join(f"{sum(found.verdict == word for found in judgements)} {word}"
                       for word in (HOLDS, BREAKS, UNDECIDED, UNKNOWN) if any(f.verdict == word for f in judgements))
    return "\n".join([*lines, f"{len(judgements)} claims: {counts}" if lines else "no claims"]) + "\n"


@dataclass
class _Reader:
    """Reads the entries of `claims`."""

    doc: Document
    scenario: Scenario

    def read(self, entry: Node) -> Claim:
        fields: dict[str, Any] = dict(text="", paper="", note="", measure="", of={}, over=None, difference=False,
                                      real=False, at_most=None, at_least=None)
        scope: dict[str, Any] = {}
        for name, node in self.doc.pairs(entry, "claims"):
            if name in ("ports", "flows", "from", "to", "within"):
                scope.update(self._scope(name, node))
            else:
                fields.update(self._field(name, node, fields))
        self._check(entry, fields)
        return Claim(path=self.doc.path, line=line_of(entry), scope=Scope(**scope), **fields)

    def _field(self, name: str, node: Node, fields: dict[str, Any]) -> dict[str, Any]:
        if name in TEXTS:
            return {name: self.doc.scalar(node, name)}
        if name in ("at_most", "at_least"):
            return {name: self._number(name, node)}
        if name == "of":
            return {name: self._pick(name, node)}
        if name == "measure":
            text = self.doc.scalar(node, name)
            if text not in MEASURES:
                self.doc.refuse(node, name, f"unknown '{text}' (weft reproduce --measures)")
            return {name: text}
        if name == "real":
            if self.doc.scalar(node, name) != "lab":
                self.doc.refuse(node, name, f"'{node.value}' is not lab: real time stands beside the lab")
            return {name: True}
        if name not in ("over", "less"):
            self.doc.refuse(node, name, "unknown key of a claim")
        if fields["over"] is not None:
            self.doc.refuse(node, name, "a claim has one of over and less")
        return {"over": self._pick(name, node), "difference": name == "less"}

    def _scope(self, name: str, node: Node) -> dict[str, Any]:
        text = self.doc.scalar(node, name)
        if name == "ports":
            return {name: text}
        if name == "within":
            return {name: self._number(name, node)}
        if name == "flows":
            first, _, last = text.partition("-")
            if not first.isdigit() or not (last or first).isdigit() or int(last or first) < int(first):
                self.doc.refuse(node, name, f"'{text}' is neither a flow's number nor FIRST-LAST")
            return {"first_flow": int(first), "last_flow": int(last or first)}
        return {f"{name}_us": self._time(name, node, text)}

    def _time(self, name: str, node: Node, text: str) -> float:
        for unit, factor in UNITS.items():
            number = text.removesuffix(unit)
            if number != text and number.replace(".", "", 1).isdigit():
                return float(number) * factor
        self.doc.refuse(node, name, f"'{text}' is not a time such as 500us, 20ms or 1s")

    def _number(self, name: str, node: Node) -> float:
        text = self.doc.scalar(node, name)
        number = value_of(text)
        if isinstance(number, str) or not math.isfinite(number):
            self.doc.refuse(node, name, f"'{text}' is not a number")
        return float(number)

    def _pick(self, name: str, node: Node) -> Pick:
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

    def _check(self, entry: Node, fields: dict[str, Any]) -> None:
        if not fields["text"]:
            self.doc.refuse(entry, "text", "a claim says something")
        if not fields["measure"]:
            self.doc.refuse(entry, "measure", "is missing (weft reproduce --measures lists them)")
        if fields["real"] and (fields["over"] is not None or not MEASURES[fields["measure"]].of_result):
            self.doc.refuse(entry, "real", "takes a number of the result, and neither over nor less")
        if not fields["real"] and fields["at_most"] is None and fields["at_least"] is None:
            self.doc.refuse(entry, "at_most", "a claim needs at_most or at_least")
        if fields["over"] is not None and not fields["over"]:
            self.doc.refuse(entry, "less" if fields["difference"] else "over", "names nothing to compare with")
