# SPDX-License-Identifier: BSD-3-Clause
"""Claims of a scenario: a measure of some of its runs, alone or beside that of others, and a bound.
doc/guide/reproduce.md has the format."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Iterator, Mapping, Sequence

import pandas as pd

from .directory import beside, read_record, real_directory
from .errors import ScenarioError
from .fields import Pick, picks
from .measures import MEASURES, Scope, value_or_least
from .results import Runs, measures_of
from .scenario import Item
from .stats import (BREAKS, HOLDS, UNDECIDED, Comparison, Interval, combination_keys, compare_values, effect_in_words,
                    groups, in_pairs, interval, over, verdict)

UNKNOWN = "not known"  # a run it needs has no result, or flows without an end
REPORTED = "reported"  # the claim has no bound
VERDICTS = (HOLDS, BREAKS, UNDECIDED, UNKNOWN, REPORTED)
WORST_FIRST = (BREAKS, UNKNOWN, UNDECIDED, HOLDS, REPORTED)


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
    published: bool = False  # the bound is the publication's own

    @property
    def bound(self) -> str:
        """The bound in words; empty: the claim has none."""
        words = [f"at least {self.at_least:g}" if self.at_least is not None else "",
                 f"at most {self.at_most:g}" if self.at_most is not None else ""]
        return " and ".join(word for word in words if word)

    def margin(self, value: float) -> float:
        """How far inside the bounds; negative: outside."""
        below = math.inf if self.at_most is None else self.at_most - value
        above = math.inf if self.at_least is None else value - self.at_least
        return min(below, above)

    def verdict(self, value: Interval, least: bool = False, most: bool = False) -> str:
        """What a value with its interval says of the claim; `least`: the true one is not below, `most`: not above."""
        if math.isnan(value.mean) or (least and most):
            return UNKNOWN
        if not self.bound:
            return REPORTED
        found = verdict(value, self.at_most, self.at_least)
        if not least and not most:
            return found
        beyond = (self.at_most, None) if least else (None, self.at_least)  # the bound on the side of the true value
        if beyond == (None, None):
            return HOLDS if found == HOLDS else UNKNOWN
        return BREAKS if verdict(value, *beyond) == BREAKS else UNKNOWN


@dataclass(frozen=True)
class Bench:
    """Which runs of a scenario are repeated in real time."""

    items: tuple[Item, ...]  # options of `weft bench`, over those of the runs
    picks: tuple[Pick, ...]  # the runs; empty: none


@dataclass(frozen=True)
class Judgement:
    """How a claim fares: by the combination that speaks most against it. That is one that breaks the bound, if there is
    one, else one that is not known, else one whose interval contains the bound; among several the one farthest beyond
    the bound or nearest to it."""

    claim: Claim
    verdict: str  # one of VERDICTS
    interval: Interval  # of 95 % confidence over the seeds
    runs: str  # where the value comes from
    pairs: int = 0  # runs with the same seed that were compared; 0: the value is no comparison
    p_value: float = math.nan  # of no difference between the two sides (paired t test)
    effect: float = math.nan  # Cohen's d of the paired differences
    least: bool = False  # flows did not end: the value is at least this
    most: bool = False  # flows of what it is set against did not: at most this
    combinations: int = 1  # of which this is the one that speaks most against the claim

    @property
    def value(self) -> float:
        """NaN: not known."""
        return self.interval.mean

    @property
    def is_comparison(self) -> bool:
        """Whether there is something to say of pairs."""
        return self.pairs > 1 and self.verdict != UNKNOWN

    @property
    def ours(self) -> str:
        """The value, its interval, and the runs."""
        return f"{self.shown} ({self.runs})" if self.verdict != UNKNOWN else self.shown

    @property
    def shown(self) -> str:
        """The value and its interval."""
        if self.verdict == UNKNOWN:
            return "a run it needs has no result, or flows without an end"
        limit = "at least " if self.least else "at most " if self.most else ""
        return limit + self._number

    @property
    def _number(self) -> str:
        shown = f"{self.value:.3g}" if self.claim.over is not None or self.claim.real else f"{self.value:.6g}"
        half = self.interval.half
        if math.isnan(half) or math.isinf(self.value):
            return shown
        if self.interval.ends:
            return f"{shown} [{self.interval.low:.3g}, {self.interval.high:.3g}]"
        return shown + (f" ±{half:.2g}" if half < 99.5 else f" ±{half:.0f}")


def judge(claim: Claim, runs: Runs) -> Judgement:
    """Holds a claim against the results of its scenario. ScenarioError when it is about no run, WeftlabError when files
    it needs are not there."""
    found = list(_Trial(claim, runs).judgements())
    if not found:
        raise ScenarioError(claim.path, claim.line, "of", "no run is meant")
    worst = min(found, key=lambda each: (WORST_FIRST.index(each.verdict), claim.margin(each.value)))
    return replace(worst, combinations=len(found))


@dataclass
class _Trial:
    """A claim before the results: measures are taken once per run."""

    claim: Claim
    runs: Runs
    known: dict[int, tuple[float, bool]] = field(default_factory=dict)

    def judgements(self) -> Iterator[Judgement]:
        """Of every combination that the claim is of, and all it is set against."""
        combinations = list(groups(self.runs, combination_keys(self.runs) or ["label"]))
        for values, group in combinations:
            if not picks(self.claim.of, values):
                continue
            mine, unended = self._seeds(group)
            label = str(group["label"].iloc[0])
            if self.claim.real:
                yield self._beside_lab(group, (mine, unended), label)
            elif self.claim.over is None:
                yield self._judgement(_interval(mine), label, (unended, False))
            else:
                yield from self._against(values, group, (mine, unended), combinations)

    def _judgement(self, value: Interval, where: str, limits: tuple[bool, bool] = (False, False),
                   pairs: Comparison | None = None) -> Judgement:
        compared = (pairs.pairs, pairs.p_value, pairs.effect) if pairs else (0, math.nan, math.nan)
        return Judgement(self.claim, self.claim.verdict(value, *limits), value, where, *compared, *limits)

    def _against(self, values: Mapping[str, Any], group: Runs, seeds: tuple[pd.Series, bool],
                 combinations: Sequence[tuple[dict[str, Any], Runs]]) -> Iterator[Judgement]:
        changed = self.claim.over or {}
        mine, unended = seeds
        found = False
        for other_values, other in combinations:
            same = all(other_values[key] == value for key, value in values.items() if key not in changed)
            if other is group or not same or not picks(changed, other_values):
                continue
            found = True
            theirs, other_unended = self._seeds(other)
            labels = [str(table["label"].iloc[0]) for table in (group, other)]
            where = f"{labels[0]}: {_mean(mine):.6g}; {labels[1]}: {_mean(theirs):.6g}"
            both = in_pairs(mine, theirs)
            pairs = compare_values(self.claim.measure, both["a"].tolist(), both["b"].tolist())
            yield self._judgement(self._of_pairs(pairs, len(both)), where, (unended, other_unended), pairs)
        if not found:
            raise ScenarioError(self.claim.path, self.claim.line, "over",
                                f"nothing stands beside {group['label'].iloc[0]}")

    def _of_pairs(self, pairs: Comparison, seeds: int) -> Interval:
        """Not known unless each pair is."""
        found = pairs.difference if self.claim.difference else pairs.ratio
        return found if found.n == seeds else _interval([math.nan])

    def _beside_lab(self, group: Runs, seeds: tuple[pd.Series, bool], label: str) -> Judgement:
        """The first seed's run in real time over the mean of the lab's. Not known if it repeats another run."""
        first = group.iloc[0]
        lab, unended = _mean(seeds[0]), seeds[1]
        directory = real_directory(str(self.runs.attrs["directory"]), int(first["id"]))
        same = read_record(first["directory"]).get("identity") in beside(directory)
        record = read_record(directory) if same else {}
        row = {**measures_of(record), "directory": directory}
        real = MEASURES[self.claim.measure].of(row, self.claim.scope) if record else math.nan
        where = f"{label}: in real time {real:.6g}, in the lab {lab:.6g}"
        return self._judgement(_interval([over(real, lab)]), where, (False, unended))

    def _seeds(self, group: Runs) -> tuple[pd.Series, bool]:
        """Values by seed, and whether one of them is only the least that it can be, for flows did not end."""
        found = [self._measure(row) for row in group.to_dict("records")]
        values = pd.Series([value for value, _ in found], index=list(group["seed"]), dtype=float)
        return values, any(unended for _, unended in found)

    def _measure(self, row: dict[str, Any]) -> tuple[float, bool]:
        if row["id"] not in self.known:
            self.known[row["id"]] = value_or_least(row, self.claim.measure, self.claim.scope) if row["directory"] \
                else (math.nan, False)
        return self.known[row["id"]]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _interval(values: Sequence[float]) -> Interval:
    """Not known unless each value is."""
    return Interval(len(values), math.nan, math.nan, math.nan, 0.95) if math.isnan(_mean(values)) else interval(values)


def in_words(judgements: Sequence[Judgement]) -> str:
    """All verdicts as text, and how many hold."""
    lines = []
    for found in judgements:
        claim = found.claim
        lines.append(f"  {found.verdict}: {claim.text}")
        lines.append(f"          ours {found.ours}" + (f", must be {claim.bound}" if claim.bound else "") +
                     (f"; paper: {claim.paper}" if claim.paper else ""))
        if found.is_comparison:
            lines.append(f"          {paired(found)}")
        if claim.note and found.verdict != HOLDS:
            lines.append(f"          note: {claim.note}")
    return "\n".join([*lines, counted(judgements)]) + "\n"


def paired(found: Judgement) -> str:
    """What the comparison of the pairs says apart from the bound."""
    if found.effect == 0:
        return f"{found.pairs} pairs, no difference"
    size = f"{abs(found.effect):.2g}" if math.isfinite(found.effect) else "infinite"
    return f"{found.pairs} pairs, p {probability(found.p_value)}, effect size {size} " \
        f"({effect_in_words(found.effect)})"


def probability(value: float) -> str:
    """Two digits are enough, and of small ones that they are small."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def counted(judgements: Sequence[Judgement]) -> str:
    """How many claims there are, by verdict."""
    if not judgements:
        return "no claims"
    counts = [(word, sum(found.verdict == word for found in judgements)) for word in VERDICTS]
    return f"{len(judgements)} claims: " + ", ".join(f"{count} {word}" for word, count in counts if count)
