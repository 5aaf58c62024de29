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
STEADY = 1e-12  # a standard deviation this share of the mean is rounding


@dataclass(frozen=True)
class Interval:
    """A mean and how sure of it one may be (Student's t over the values). Below two values nothing is known of that:
    `half` is NaN. The mean is the middle, except in the interval of a ratio, which has its `ends`."""

    n: int
    mean: float
    sd: float  # of the sample, n - 1 in the denominator
    half: float  # half width of the interval
    confidence: float  # 0 to 1
    ends: tuple[float, float] | None = None  # of a ratio; None: half a width below and above the mean

    @property
    def low(self) -> float:
        """Lower end."""
        return self.ends[0] if self.ends else self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.ends[1] if self.ends else self.mean + self.half

    def __str__(self) -> str:
        if math.isnan(self.half):
            return f"{self.mean:.6g}"
        around = f"[{self.low:.6g}, {self.high:.6g}]" if self.ends else f"±{self.half:.2g}"
        return f"{self.mean:.6g} {around}"


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
    ratio: Interval  # of the means, mean_a / mean_b
    p_value: float  # of no difference (paired t test, or sign test without spread); NaN below two pairs
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
    both = in_pairs(left, right).dropna()
    if both.empty:
        raise WeftlabError(f"compare: no runs with the same seed have {dict(a)} and {dict(b)}")
    return compare_values(measure, both["a"].tolist(), both["b"].tolist(), confidence)


def in_pairs(a: pd.Series, b: pd.Series) -> pd.DataFrame:
    """Values by seed (index), maybe with more, side by side in the columns a and b: NaN where one side has none."""
    if not a.index.is_unique or not b.index.is_unique:
        raise WeftlabError("several runs of one side have the same seed; name more axes on both sides")
    return pd.concat([a.rename("a"), b.rename("b")], axis=1)


def compare_values(measure: str, a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Comparison:
    """Values in pairs."""
    differences = [x - y for x, y in zip(a, b)]
    difference = interval(differences, confidence)
    effect = _effect(difference)
    return Comparison(measure, len(differences), interval(a).mean, interval(b).mean, difference,
                      ratio_interval(a, b, confidence), _p_value(difference), effect, effect_in_words(effect))


def ratio_interval(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval:
    """The ratio of the means of values in pairs; pairs with one that is not known (NaN) do not count. Its interval is
    that of its logarithm by the delta method: from what each pair adds to the relative error of a's mean, less what it
    adds to that of b's. So it describes the value it stands beside, its ends have the sign of the ratio, and a pair
    whose denominator is near nothing counts no more than it adds to the means. `sd` is of the logarithm. Where all are
    divided by nothing, the ratio is surely infinite if a is surely more than nothing, and has no interval otherwise."""
    pairs = [(x, y) for x, y in zip(a, b) if not (math.isnan(x) or math.isnan(y))]
    mean_a, mean_b = (interval(side).mean for side in ([x for x, _ in pairs], [y for _, y in pairs]))
    mean = over(mean_a, mean_b)
    if len(pairs) > 1 and all(x == 0 for x, _ in pairs) and not math.isnan(mean):
        return Interval(len(pairs), mean, 0.0, 0.0, confidence)
    if all(y == 0 for _, y in pairs) and interval([x for x, _ in pairs], confidence).low > 0:
        return Interval(len(pairs), mean, 0.0, 0.0, confidence)
    if mean == 0 or not all(map(math.isfinite, (mean_a, mean_b, mean))):
        return Interval(len(pairs), mean, math.nan, math.nan, confidence)
    log = interval([x / mean_a - y / mean_b for x, y in pairs], confidence)
    low, high = sorted((mean * _exp(-log.half), mean * _exp(log.half)))
    return Interval(log.n, mean, log.sd, (high - low) / 2, confidence, None if math.isnan(log.half) else (low, high))


def _exp(value: float) -> float:
    """Infinite where it is too large."""
    return math.exp(value) if value < 700 else value if math.isnan(value) else math.inf


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
    if _is_steady(difference):
        return 0.0 if difference.mean == 0 else math.copysign(math.inf, difference.mean)
    return difference.mean / difference.sd


def _is_steady(difference: Interval) -> bool:
    """Whether all values are the same, apart from rounding."""
    return difference.sd <= STEADY * abs(difference.mean)


def _p_value(difference: Interval) -> float:
    """Of the t test; without spread, from which that would conclude that chance has no part however few values there
    are, of the sign test."""
    if difference.n < 2:
        return math.nan
    if _is_steady(difference):
        return 1.0 if difference.mean == 0 else 2.0**(1 - difference.n)
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
    UNDECIDED when a bound lies within it and might fall either way with other seeds, or when nothing is known of where
    several seeds would lie. The value of one seed decides alone."""
    if at_most is None and at_least is None:
        raise WeftlabError("verdict: needs at_most or at_least")
    if math.isnan(value.mean) or (value.n > 1 and math.isnan(value.half)):
        return UNDECIDED
    low, high = (value.mean, value.mean) if math.isnan(value.half) else (value.low, value.high)
    if (at_most is not None and low > at_most) or (at_least is not None and high < at_least):
        return BREAKS
    if (at_most is None or high <= at_most) and (at_least is None or low >= at_least):
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
