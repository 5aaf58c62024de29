# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that texts quote from results: measured while the results are there, kept, and looked up afterwards."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Mapping, Sequence

import jinja2
import pandas as pd

from .claims import Judgement
from .errors import WeftlabError
from .fields import value_is
from .measures import MEASURES, Scope
from .results import Runs
from .stats import Interval, combination_keys, groups, in_pairs, interval, over, ratio_interval

WRONG = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError)  # what a wrong template may raise
QUOTE = re.compile(r"{{.*?}}", re.S)
Where = Mapping[str, Any]  # column -> value; of text a pattern, of a path its end is enough


@dataclass(frozen=True)
class Number:
    """A measure of one combination over its seeds, or of two combinations in pairs."""

    mean: float
    half: float  # of the 95 % confidence interval; NaN: none
    low: float  # of the seeds
    high: float
    count: int  # seeds

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        return significant(self)


@dataclass
class Quotes:
    """Quoted numbers by what is quoted. Those of figures with `runs` are measured, the others must be known."""

    known: dict[str, list[float | None]] = field(default_factory=dict)
    runs: Mapping[str, Runs] | None = None  # of each figure
    used: set[str] = field(default_factory=set)

    def value(self, measure: str, where: Where | None = None, figure: str = "", scope: Where | None = None,
              **more: Any) -> Number:
        """A measure of the one combination that has these values; `scope`: fields of measures.Scope."""
        wanted = {**(where or {}), **more}
        key = key_of(figure, measure, {**wanted, **(scope or {})})
        if self._is_measured(figure, key):
            values = self._seeds(figure, measure, wanted, Scope(**(scope or {})))
            self._keep(key, interval(values), values.tolist())
        return self._look_up(key)

    def ratio(self, measure: str, of: Where, to: Where, figure: str = "", **common: Any) -> Number:
        """A measure of one combination over that of another; the interval is from pairs with the same seed."""
        sides = {**common, **of}, {**common, **to}
        key = f"{key_of(figure, measure, sides[0])} over {key_of('', '', sides[1]).strip()}"
        if self._is_measured(figure, key):
            both = in_pairs(*(self._seeds(figure, measure, side) for side in sides))
            a, b = both["a"].tolist(), both["b"].tolist()
            self._keep(key, ratio_interval(a, b), [over(x, y) for x, y in zip(a, b)])
        return self._look_up(key)

    def _is_measured(self, figure: str, key: str) -> bool:
        return self.runs is not None and (figure in self.runs or key not in self.known)

    def unknown(self) -> list[str]:
        """What texts quote that is not known."""
        return sorted(key for key in self.used if self.known[key][0] is None)

    def _keep(self, key: str, found: Interval, values: Sequence[float]) -> None:
        """A mean of the seeds that are known would be one of those that went well."""
        if any(map(math.isnan, values)):
            self.known[key] = [None, None, None, None, len(values)]
            return
        half = found.half if all(math.isfinite(value) for value in values) else math.nan
        self.known[key] = [rounded(found.mean), rounded(half), rounded(min(values)), rounded(max(values)), len(values)]

    def _look_up(self, key: str) -> Number:
        self.used.add(key)
        if key not in self.known:
            raise WeftlabError(f"'{key}' is quoted and not in the results that are kept (run make reproduce)")
        mean, half, low, high = (math.nan if value is None else float(value) for value in self.known[key][:4])
        return Number(mean, half, low, high, int(self.known[key][4] or 0))

    def _seeds(self, figure: str, measure: str, where: Where, scope: Scope = Scope()) -> pd.Series:
        """Values by seed."""
        assert self.runs is not None
        if figure not in self.runs:
            raise WeftlabError(f"a text quotes {measure} of figure '{figure}', which has no results")
        runs = self.runs[figure]
        found = [group for values, group in groups(runs, combination_keys(runs) or ["label"]) if fits(where, values)]
        if len(found) != 1:
            raise WeftlabError(f"'{key_of(figure, measure, where)}' means {len(found)} combinations, not one")
        values = [measured(row, measure, scope) for row in found[0].to_dict("records")]
        return pd.Series(values, index=list(found[0]["seed"]), dtype=float)


def fits(where: Where, values: Mapping[str, Any]) -> bool:
    """Whether a combination has the wanted values."""
    return all(name in values and (value_is(values[name], str(wanted)) or fnmatchcase(str(values[name]), str(wanted)))
               for name, wanted in where.items())


def measured(row: dict[str, Any], measure: str, scope: Scope) -> float:
    """A measure, or any other number of a run."""
    if measure in MEASURES:
        return MEASURES[measure].of(row, scope) if row["directory"] else math.nan
    if measure not in row:
        raise WeftlabError(f"'{measure}' is quoted and no number of a run")
    return math.nan if row[measure] is None else float(row[measure])


def key_of(figure: str, measure: str, where: Where) -> str:
    """What is quoted, as text."""
    return " ".join([figure, measure, *(f"{name}={wanted}" for name, wanted in where.items())])


def rounded(value: float) -> float | None:
    """With the digits that a text can want; None: not known."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def plain(value: Any, digits: int = 0) -> str:
    """A number with this many decimals, and commas between thousands."""
    return f"{float(value):,.{digits}f}"


def significant(value: Any, digits: int = 3) -> str:
    """A number with at least this many significant digits, none of them lost before the point."""
    number = float(value)
    if math.isnan(number):
        return "not known"
    before = len(str(int(abs(number)))) if abs(number) >= 1 else 0
    return f"{number:,.0f}" if before >= digits else f"{number:.{digits}g}"


def with_interval(value: Number, digits: int = 3) -> str:
    """The mean with half of its confidence interval."""
    return significant(value, digits) + ("" if math.isnan(value.half) else f" ±{significant(value.half, 2)}")


def environment(quotes: Quotes, figure: str = "") -> jinja2.Environment:
    """For texts that quote: q(measure, ...) and ratio(measure, of, to, ...), with the filters n (significant digits),
    d (decimals), pm (with the interval) and percent. `figure` is the one meant when a text names none."""
    found = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                               keep_trailing_newline=True)
    found.globals["q"] = lambda measure, where=None, figure=figure, scope=None, **more: quotes.value(
        measure, where, figure, scope, **more)
    found.globals["ratio"] = lambda measure, of, to, figure=figure, **common: quotes.ratio(
        measure, of, to, figure, **common)
    found.filters.update(n=significant, d=plain, pm=with_interval,
                         percent=lambda value, digits=0: plain(100 * float(value), digits))
    return found


def with_notes(judgements: Sequence[Judgement], quotes: Quotes, figure: str) -> list[Judgement]:
    """The same with the quotes of their notes in place; ? stands for all of a note whose quotes are not known here."""
    def note(text: str) -> str:
        try:
            return filled(text, quotes, figure)
        except WeftlabError:
            return QUOTE.sub("?", text)

    return [replace(found, claim=replace(found.claim, note=note(found.claim.note))) for found in judgements]


def filled(text: str, quotes: Quotes, figure: str) -> str:
    """A text with its quotes in place."""
    if "{{" not in text:
        return text
    try:
        return environment(quotes, figure).from_string(text).render()
    except WRONG as error:
        raise WeftlabError(f"{figure}: note '{text}': {error}") from error
