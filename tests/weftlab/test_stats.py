# SPDX-License-Identifier: BSD-3-Clause
"""Intervals, comparisons and verdicts."""
from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from weftlab import BREAKS, HOLDS, UNDECIDED, Interval, Runs, WeftlabError, compare, interval, summary, verdict
from weftlab.stats import compare_values, effect_in_words, over, ratio_interval


def made_up() -> Runs:
    rows = [{"case": case, "load": load, "seed": seed, "fct": value + 100 * seed}
            for case, offset in (("a", 0), ("b", 10)) for load in (1, 2)
            for seed, value in enumerate([offset + load, offset + load + 1, offset + load + 3])]
    runs = Runs(rows)
    runs.attrs.update(axes=["load"], cases=["a", "b"], title="made up")
    return runs


def test_an_interval_is_students() -> None:
    found = interval([1, 2, 3, 4])
    assert found.mean == 2.5
    assert found.sd == pytest.approx(1.2909944)
    assert found.half == pytest.approx(3.1824463 * 1.2909944 / 2)
    assert (found.low, found.high) == (found.mean - found.half, found.mean + found.half)
    assert interval([1, 2, 3, 4], 0.99).half == pytest.approx(5.8409093 * 1.2909944 / 2)


def test_what_is_unknown_does_not_count() -> None:
    assert interval([1, math.nan, 3]).n == 2
    assert interval([]).n == 0
    assert math.isnan(interval([]).mean)
    assert math.isnan(interval([7]).half)
    assert interval([7, 7, 7]) == Interval(3, 7.0, 0.0, 0.0, 0.95)


@pytest.mark.filterwarnings("error")
def test_nothing_is_known_around_an_infinite_mean() -> None:
    found = interval([1, math.inf, 3])
    assert (found.n, found.mean) == (3, math.inf)
    assert math.isnan(found.sd) and math.isnan(found.half)
    assert interval([math.inf, math.inf]) == Interval(2, math.inf, 0.0, 0.0, 0.95)
    assert math.isnan(interval([math.inf, -math.inf]).mean)


def test_the_interval_of_a_ratio_is_that_of_its_logarithm() -> None:
    a, b = np.array([12.0, 9, 15, 11]), np.array([4.0, 5, 6, 4])
    found = ratio_interval(a.tolist(), b.tolist())
    ma, mb, cov = a.mean(), b.mean(), np.cov(a, b)
    variance = (cov[0, 0] / ma**2 + cov[1, 1] / mb**2 - 2 * cov[0, 1] / (ma * mb)) / 4  # Taylor's, of log(ma / mb)
    width = 3.1824463 * math.sqrt(variance)
    assert found.mean == pytest.approx(ma / mb)
    assert (found.low, found.high) == pytest.approx((ma / mb * math.exp(-width), ma / mb * math.exp(width)))
    assert found.half == pytest.approx((found.high - found.low) / 2)
    assert str(found) == f"{found.mean:.6g} [{found.low:.6g}, {found.high:.6g}]"
    turned = ratio_interval(b.tolist(), a.tolist())
    assert (turned.low, turned.high) == pytest.approx((1 / found.high, 1 / found.low))


def test_the_interval_of_a_ratio_contains_the_true_one_as_often_as_it_says() -> None:
    """Of skewed values that pairs have in common, as completion times of the same traffic."""
    random = np.random.default_rng(1)
    within = 0
    for _ in range(4000):
        common = random.lognormal(0, 0.5, 10)
        a, b = common * random.lognormal(0, 0.3, 10), 2 * common * random.lognormal(0, 0.3, 10)
        found = ratio_interval(a.tolist(), b.tolist())
        within += found.low <= 0.5 <= found.high
    assert within / 4000 == pytest.approx(0.95, abs=0.025)


def test_a_pair_that_divides_by_little_does_not_decide_the_interval() -> None:
    found = ratio_interval([900, 1000, 1100, 1000, 950], [10, 12, 0.01, 9, 11])
    assert found.mean == pytest.approx(4950 / 42.01)
    assert 0 < found.low < found.mean < found.high < 300  # the ratios of the pairs are 83 to 110,000


@pytest.mark.filterwarnings("error")
def test_a_pair_may_be_something_over_nothing() -> None:
    found = compare_values("drops", [3, 4, 5], [0, 2, 2])
    assert (found.ratio.n, found.ratio.mean) == (3, 3)
    assert 0 < found.ratio.low < 3 < found.ratio.high
    for a, b, mean in (([1.0, 2.0], [0.0, 0.0], math.inf), ([1.0, math.inf], [1.0, 1.0], math.inf),
                       ([1.0, 2.0], [1.0, math.inf], 0.0)):
        assert ratio_interval(a, b).mean == mean and math.isnan(ratio_interval(a, b).half)
    assert (ratio_interval([0, 0], [1, 2]).mean, ratio_interval([0, 0], [1, 2]).half) == (0, 0)
    assert (ratio_interval([0, 0], [0, 0]).mean, ratio_interval([0, 0], [0, 0]).half) == (1, 0)
    assert ratio_interval([math.nan, 2, 2], [1, 1, 1]) == Interval(2, 2.0, 0.0, 0.0, 0.95, (2.0, 2.0))
    assert math.isnan(ratio_interval([2], [1]).half) and ratio_interval([2], [1]).mean == 2
    assert ratio_interval([1e-9, 1], [1, 1e-9]).high > 1e9
    assert (ratio_interval([-2, -3], [1, 1]).low < -2.5 < ratio_interval([-2, -3], [1, 1]).high < 0)
    endless = compare_values("fct", [math.inf, 2], [1, 1])
    assert (endless.mean_a, endless.difference.mean) == (math.inf, math.inf)
    assert math.isnan(endless.p_value) and endless.effect_size == "unknown"


def test_an_interval_is_shown_with_two_figures() -> None:
    assert str(Interval(3, 1234.5678, 1, 0.123, 0.95)) == "1234.57 ±0.12"
    assert str(interval([7])) == "7"


def test_a_summary_has_a_row_per_combination() -> None:
    table = summary(made_up(), "fct")
    assert list(table.columns) == ["case", "load", "n", "mean", "sd", "half", "low", "high"]
    assert list(table["case"]) == ["a", "a", "b", "b"]
    assert list(table["n"]) == [3] * 4
    assert table["mean"][0] == pytest.approx(100 + (1 + 2 + 4) / 3)
    assert list(summary(made_up(), "fct", by=["case"])["n"]) == [6, 6]
    with pytest.raises(WeftlabError, match="no column 'colour'; there are case, load"):
        summary(made_up(), "colour")


def test_pairs_with_the_same_seed_take_out_what_seeds_have_in_common() -> None:
    found = compare(made_up(), "fct", {"case": "b"}, {"case": "a"})
    assert found.pairs == 6
    assert found.difference.mean == pytest.approx(10)
    assert found.difference.half == pytest.approx(0)
    assert found.differs
    assert summary(made_up(), "fct", by=["case"])["half"][0] > 50
    assert found.ratio.mean == pytest.approx(found.mean_a / found.mean_b)


def test_compared_runs_need_partners() -> None:
    with pytest.raises(WeftlabError, match="no runs with the same seed"):
        compare(made_up(), "fct", {"case": "c"}, {"case": "a"})
    runs = Runs(pd.concat([made_up(), made_up()]))
    runs.attrs.update(axes=["load"])
    with pytest.raises(WeftlabError, match="several runs of one side"):
        compare(runs, "fct", {"case": "b"}, {"case": "a"})


def test_p_value_and_effect_are_those_of_the_paired_t_test() -> None:
    from scipy import stats
    a, b = [10.0, 12, 9, 14], [9.0, 10, 9.5, 11]
    found = compare_values("fct", a, b)
    assert found.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert found.effect == pytest.approx(1.375 / pd.Series(a).sub(b).std())
    assert found.effect_size == "large"
    assert math.isnan(compare_values("fct", [1], [2]).p_value)
    assert compare_values("fct", [1, 2], [1, 2]).p_value == 1
    assert compare_values("fct", [2, 3], [1, 2]).p_value == 0.5  # of two pairs both have this sign as often by chance
    assert compare_values("fct", [0.3, 0.4, 0.5], [0.1, 0.2, 0.3]).p_value == 0.25


@pytest.mark.parametrize("effect, words", [(0.1, "negligible"), (-0.3, "small"), (0.6, "medium"), (-9, "large"),
                                           (math.nan, "unknown")])
def test_effects_in_words(effect: float, words: str) -> None:
    assert effect_in_words(effect) == words


@pytest.mark.parametrize("mean, half, at_most, at_least, expected", [
    (1.0, 0.1, 1.2, None, HOLDS), (1.0, 0.1, 1.05, None, UNDECIDED), (1.0, 0.1, 0.95, None, UNDECIDED),
    (1.0, 0.1, 0.8, None, BREAKS), (1.0, 0.1, None, 0.8, HOLDS), (1.0, 0.1, None, 1.05, UNDECIDED),
    (1.0, 0.1, None, 1.2, BREAKS), (1.0, 0.1, 1.2, 0.8, HOLDS), (1.0, 0.1, 1.2, 0.95, UNDECIDED),
    (1.0, 0.1, 0.8, 0.5, BREAKS), (math.nan, math.nan, 1, None, UNDECIDED), (math.inf, math.nan, None, 2, UNDECIDED),
    (math.inf, 0.0, None, 2, HOLDS), (math.inf, 0.0, 2, None, BREAKS)])
def test_a_bound_within_the_interval_decides_nothing(mean: float, half: float, at_most: float | None,
                                                     at_least: float | None, expected: str) -> None:
    assert verdict(Interval(3, mean, 1.0, half, 0.95), at_most, at_least) == expected


def test_one_seed_decides_alone() -> None:
    assert [verdict(interval([1.0]), bound) for bound in (1.0, 0.9)] == [HOLDS, BREAKS]


def test_something_over_nothing_is_as_sure_as_it_is_something() -> None:
    assert verdict(ratio_interval([0, 0, 0, 0, 1], [0] * 5), at_least=1.5) == UNDECIDED
    assert verdict(ratio_interval([4, 5, 6, 5, 5], [0] * 5), at_least=1.5) == HOLDS
    assert verdict(ratio_interval([4, 5, 6, 5, 5], [0] * 5), at_most=1.5) == BREAKS
    assert verdict(ratio_interval([1], [0]), at_least=1.5) == HOLDS


def test_the_ends_of_a_ratio_decide() -> None:
    found = Interval(3, 1.0, 0.1, 0.75, 0.95, (0.5, 2.0))
    assert [verdict(found, at_most=bound) for bound in (0.4, 0.6, 1.9, 2)] == [BREAKS, UNDECIDED, UNDECIDED, HOLDS]
    assert [verdict(found, at_least=bound) for bound in (2.1, 1.9, 0.6, 0.5)] == [BREAKS, UNDECIDED, UNDECIDED, HOLDS]


def test_a_verdict_needs_a_bound() -> None:
    with pytest.raises(WeftlabError):
        verdict(interval([1, 2]))


def test_nothing_over_nothing_is_the_same() -> None:
    assert (over(0, 0), over(3, 0), over(1, 2)) == (1, math.inf, 0.5)
    assert math.isnan(over(math.nan, 1))
