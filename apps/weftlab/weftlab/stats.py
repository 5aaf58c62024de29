# SPDX-License-Identifier: BSD-3-Clause
"""Statistics over the seeds of a sweep: means with their intervals, comparisons in pairs, and verdicts."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import special  # scipy.stats takes a second to import

from .errors import WeftlabError

HOLDS = "holds"
BREAKS = "breaks"
UNDECIDED = "not decided by these seeds"


@dataclass(frozen=True)
class Interval:
    """A mean and how sure of it one may be (Student's t over the values). Below two values nothing is known of that:
    `half` is NaN."""

    n: int
    mean: float
    sd: float  # of the sample, n - 1 in the denominator
    half: float  # half width of the interval
    confidence: float  # 0 to 1

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if math.isnan(self.half) else f"{self.mean:.6g} ±{self.half:.2g}"


def interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """Mean and interval of the values that are known (not NaN). Infinite values have an infinite mean, or none, and no
    interval unless all are the same."""
    x = np.asarray([value for value in values if value is not None and not math.isnan(value)], dtype=float)
    if not len(x):
        return Interval(0, math.nan, math.nan, math.nan, confidence)
    mean = float(x.mean()) if np.isfinite(x).all() else sum(x.tolist())
    if len(x) > 1 and (x == x[0]).all():
        return Interval(len(x), mean, 0.0, 0.0, confidence)
    if len(x) < 2 or not math.isfinite(mean):
        return Interval(len(x), mean, math.nan, math.nan, confidence)
    sd = float(x.std(ddof=1))
    t = float(special.stdtrit(len(x) - 1, (1 + confidence) / 2))
    return Interval(len(x), mean, sd, t * sd / math.sqrt(len(x)), confidence)


def summary(runs: pd.DataFrame, measure: str, by: Sequence[str] | None = None,
            confidence: float = 0.95) -> pd.DataFrame:
    """A row per combination (columns `by`; default: case and axes) with n, mean, sd, half, low and high of a measure
    over the seeds, in the order of the runs."""
    require(runs, measure)
    keys = list(by) if by is not None else combination_keys(runs)
    rows = []
    for combination, group in groups(runs, keys):
        found = interval(group[measure], confidence)
        rows.append([*combination.values(), found.n, found.mean, found.sd, found.half, found.low, found.high])
    return pd.DataFrame(rows, columns=[*keys, "n", "mean", "sd", "half", "low", "high"])


@dataclass(frozen=True)
class Comparison:
    """Two sets of runs against each other, in pairs with the same seed and the same values of all axes that are not
    compared: what is hard in one seed is hard for both, and does not widen the interval."""

    measure: str
    pairs: int
    mean_a: float
    mean_b: float
    difference: Interval  # a - b
    ratio: Interval  # a / b, of the pairs; its mean is the ratio of the means
    p_value: float  # of no difference (paired t test); NaN below two pairs
    effect: float  # Cohen's d of the differences: their mean over their standard deviation
    effect_size: str  # in words: negligible, small, medium, large

    @property
    def differs(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.difference.low > 0 or self.difference.high < 0


def compare(runs: pd.DataFrame, measure: str, a: Mapping[str, object], b: Mapping[str, object],
            confidence: float = 0.95) -> Comparison:
    """Runs with the values `a` (such as {"case": "reps"}) against those with the values `b`."""
    require(runs, measure)
    keys = [key for key in [*combination_keys(runs), "seed"] if key not in a and key not in b]
    left = select(runs, a).set_index(keys)[measure].astype(float)
    right = select(runs, b).set_index(keys)[measure].astype(float)
    if not left.index.is_unique or not right.index.is_unique:
        raise WeftlabError("compare: several runs of one side have the same seed; name more axes on both sides")
    both = pd.concat([left.rename("a"), right.rename("b")], axis=1, join="inner").dropna()
    if both.empty:
        raise WeftlabError(f"compare: no runs with the same seed have {dict(a)} and {dict(b)}")
    return compare_values(measure, both["a"].tolist(), both["b"].tolist(), confidence)


def compare_values(measure: str, a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Comparison:
    """Values in pairs."""
    differences = [x - y for x, y in zip(a, b)]
    difference = interval(differences, confidence)
    mean_a, mean_b = interval(a).mean, interval(b).mean
    of_pairs = interval([over(x, y) for x, y in zip(a, b)], confidence)
    ratio = Interval(of_pairs.n, over(mean_a, mean_b), of_pairs.sd, of_pairs.half, confidence)
    effect = _effect(difference)
    return Comparison(measure, len(differences), mean_a, mean_b, difference, ratio, _p_value(difference), effect,
                      effect_in_words(effect))


def over(a: float, b: float) -> float:
    """Nothing over nothing is the same; something over nothing is infinitely more."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if b != 0:
        return a / b
    return 1.0 if a == 0 else math.inf


def _effect(difference: Interval) -> float:
    if difference.n < 2:
        return math.nan
    if difference.sd == 0:
        return 0.0 if difference.mean == 0 else math.copysign(math.inf, difference.mean)
    return difference.mean / difference.sd


def _p_value(difference: Interval) -> float:
    if difference.n < 2:
        return math.nan
    if difference.sd == 0:
        return 1.0 if difference.mean == 0 else 0.0
    t = difference.mean / (difference.sd / math.sqrt(difference.n))
    return float(2 * special.stdtr(difference.n - 1, -abs(t)))


def effect_in_words(effect: float) -> str:
    """Cohen's bounds: 0.2, 0.5, 0.8."""
    if math.isnan(effect):
        return "unknown"
    for bound, word in ((0.2, "negligible"), (0.5, "small"), (0.8, "medium")):
        if abs(effect) < bound:
            return word
    return "large"


def verdict(value: Interval, at_most: float | None = None, at_least: float | None = None) -> str:
    """Whether a value keeps within its bounds: HOLDS or BREAKS when the whole interval is on one side of each bound,
    UNDECIDED when a bound lies within it and might fall either way with other seeds. Without an interval (one seed) the
    value alone decides."""
    if at_most is None and at_least is None:
        raise WeftlabError("verdict: needs at_most or at_least")
    if math.isnan(value.mean):
        return UNDECIDED
    half = 0.0 if math.isnan(value.half) else value.half
    margins = [bound - value.mean for bound in [at_most] if bound is not None]
    margins += [value.mean - bound for bound in [at_least] if bound is not None]
    if any(margin < 0 and -margin > half for margin in margins):
        return BREAKS
    if all(margin >= half for margin in margins):
        return HOLDS
    return UNDECIDED


def combination_keys(runs: pd.DataFrame) -> list[str]:
    """Columns that tell combinations apart: case and axes, as far as the runs have them."""
    axes = [name for name in runs.attrs.get("axes", []) if name in runs.columns and name != "seed"]
    with_case = "case" in runs.columns and runs["case"].astype(bool).any()
    return ["case", *axes] if with_case else axes


def groups(runs: pd.DataFrame, keys: Sequence[str]) -> list[tuple[dict[str, object], pd.DataFrame]]:
    """Runs by combination, in the order of the runs."""
    if not keys:
        return [({}, runs)]
    by = keys[0] if len(keys) == 1 else list(keys)
    found = runs.groupby(by, sort=False, dropna=False)
    return [(dict(zip(keys, name if isinstance(name, tuple) else (name,))), group) for name, group in found]


def select(runs: pd.DataFrame, values: Mapping[str, object]) -> pd.DataFrame:
    """Runs that have these values; a list stands for any of its entries."""
    for name, wanted in values.items():
        require(runs, name)
        entries = wanted if isinstance(wanted, (list, tuple, set)) else [wanted]
        runs = runs[runs[name].isin(list(entries))]
    return runs


def require(runs: pd.DataFrame, column: str) -> None:
    """WeftlabError when there is no such column."""
    if column not in runs.columns:
        known = ", ".join(str(name) for name in runs.columns)
        raise WeftlabError(f"no column '{column}'; there are {known}")
