# SPDX-License-Identifier: BSD-3-Clause
"""What can be claimed of a run: numbers of its result, and of its files over ports, flows and stretches of time."""
from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Callable, Mapping

import numpy as np
import pandas as pd

from .binary import Binary
from .directory import file_of, read_record
from .errors import WeftlabError
from .results import read_csv
from .stats import over

Row = Mapping[str, Any]  # of Runs

ROUNDING = 1e-6  # of times and of their ratios
TABLES_MAX = 32  # files kept in memory
SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
KINDS = {"foreground": 0, "background": 1}  # of flows, as flows.csv has them
ALL_FLOWS = 2**32 - 1  # as the last one: whichever is
PLACES = ("leaf_up", "spine_up", "core_down", "spine_down", "leaf_host")  # ports of a tier in one direction


@dataclass(frozen=True)
class Scope:
    """What of a run's files a measure looks at."""

    ports: str | None = None  # pattern of port names; None: all
    first_flow: int = 0
    last_flow: int = ALL_FLOWS  # inclusive
    from_us: float = 0.0  # of time series
    to_us: float = math.inf
    within: float = 0.25  # a rate this share of the fair one away from it counts as fair


@dataclass(frozen=True)
class Measure:
    """One measure. It is NaN where it is not known."""

    help: str  # empty: what the command says of its metric of this name
    of: Callable[[Row, Scope], float]
    of_result: bool  # a number of the result, so that a run without further files has it
    takes: frozenset[str] = frozenset()  # keys of fields.SCOPE that it heeds; others change nothing
    is_least: Callable[[Row, Scope], bool] | None = None  # whether it ends with the samples: it is at least this


def _number(row: Row, column: str) -> float:
    value = row.get(column)
    return math.nan if value is None else float(value)


def _of_result(column: str) -> Callable[[Row, Scope], float]:
    return lambda row, scope: _number(row, column)


def _of_kind(column: str) -> Callable[[Row], float]:
    """A completion time of some of the flows. 0 stands for that there are none of them: it is not known, then."""
    def value(row: Row) -> float:
        return _number(row, column) or math.nan
    return value


def _of_complete(value: Callable[[Row], float]) -> Callable[[Row, Scope], float]:
    """Of completion times: not known while a flow has none."""
    return lambda row, scope: value(row) if row["completed"] == row["flows"] else math.nan


def _at(place: str, names: tuple[str, ...]) -> Callable[[Row, Scope], float]:
    """A sum over columns of a place; 0 when the fabric has no such ports."""
    def value(row: Row, scope: Scope) -> float:
        del scope
        known = [_number(row, f"wait_{other}_mean_us") for other in PLACES]
        if all(math.isnan(number) for number in known):
            return math.nan
        return sum(0.0 if math.isnan(number) else number for number in (_number(row, name) for name in names))
    return value


def _wait_share(place: str) -> Callable[[Row, Scope], float]:
    """Of all waiting in switches, which share is in these ports."""
    def value(row: Row, scope: Scope) -> float:
        del scope
        waited = {other: _number(row, f"wait_{other}_mean_us") * _number(row, f"data_{other}") for other in PLACES}
        total = sum(us for us in waited.values() if not math.isnan(us))
        here = waited[place]
        return (0.0 if math.isnan(here) else here) / total if total > 0 else math.nan
    return value


@lru_cache(maxsize=TABLES_MAX)
def _table_of(path: str, mtime_ns: int) -> Any:
    del mtime_ns  # a key of the cache only
    return read_csv(path)


def _table(row: Row, name: str) -> Any:
    """A file of a run. Claims of one scenario read the same files again and again."""
    path = file_of(row["directory"], name)
    try:
        return _table_of(path, os.stat(path).st_mtime_ns)
    except OSError as error:
        raise WeftlabError(f"{path}: {error.strerror}") from error


def _flows_in(row: Row, scope: Scope) -> Any:
    _check_flows(row, scope, "flows.csv")
    flows = _table(row, "flows.csv")
    return flows[flows["flow"].between(scope.first_flow, scope.last_flow)]


def _rows_in(row: Row, name: str, scope: Scope) -> Any:
    """The rows of a file that are within the scope."""
    if scope.ports:
        _check_ports(row, scope.ports)
    if name == "flows.csv":
        return _flows_in(row, scope)
    table = _table(row, name)
    if scope.ports and "port" in table:
        table = table[table["port"].map(lambda port: fnmatchcase(port, scope.ports or ""))]
    if "time_us" in table:
        _check_time(row, scope)
        _check_samples(row, scope)
        table = table[table["time_us"].between(scope.from_us, scope.to_us)]
    return table


def _of_file(name: str, column: str, tally: Callable[[Any], float]) -> Callable[[Row, Scope], float]:
    """Over the rows of a file that are within the scope. Ports without a row were idle, which is 0. Of all else it is
    not known without rows, nor of flows while one of them has no number, for it has not ended."""
    def value(row: Row, scope: Scope) -> float:
        found = _rows_in(row, name, scope)[column]
        if name == "flows.csv" and found.isna().any():
            return math.nan
        values = found.dropna().to_numpy()
        if len(values):
            return float(tally(values))
        return 0.0 if name == "ports.csv" else math.nan
    return value


def _check_flows(row: Row, scope: Scope, name: str) -> None:
    """Of flows that are not there a claim would hold."""
    last = scope.first_flow if scope.last_flow == ALL_FLOWS else scope.last_flow
    if last >= row["flows"]:
        raise WeftlabError(f"{row['directory']}/{name}: there is no flow {last}")


def _check_time(row: Row, scope: Scope) -> None:
    """There are no samples behind the end of a run."""
    if scope.from_us >= _number(row, "virtual_us"):
        raise WeftlabError(f"{row['directory']}: the run ends at {row['virtual_us']:g} us, before the time looked at "
                           f"begins ({scope.from_us:g} us)")


def _check_samples(row: Row, scope: Scope) -> None:
    """Between two samples nothing is measured, and idle ports would make a 0 of it. Samples are taken each interval and
    at the end."""
    if scope.from_us <= _number(row, "virtual_us") <= scope.to_us:
        return
    path = file_of(row["directory"], "arrivals.csv")  # it has the interval; other files lack rows where nothing changed
    steps = _table(row, "arrivals.csv")["interval_us"] if os.path.exists(path) else []
    if not len(steps):
        return
    step = float(max(steps))
    if math.floor(scope.to_us / step + ROUNDING) * step < scope.from_us - ROUNDING:
        raise WeftlabError(f"{row['directory']}: there is no sample from {scope.from_us:g} us to {scope.to_us:g} us "
                           f"(one each {step:g} us)")


def _check_ports(row: Row, pattern: str) -> None:
    """A misspelt pattern would measure nothing and so hold. Idle ports have no rows in ports.csv; links.csv has all."""
    if not any(fnmatchcase(port, pattern) for port in _table(row, "links.csv")["port"]):
        raise WeftlabError(f"{row['directory']}/links.csv: no port is called '{pattern}'")


def _of_flows(kind: int | None, share: float | None) -> Callable[[Row, Scope], float]:
    """A percentile of the completion times (share), or the mean rate, of all flows (kind None), those of the foreground
    (0) or the background (1). Not known while one of them has not ended."""
    def value(row: Row, scope: Scope) -> float:
        flows = _flows_in(row, scope)
        flows = flows if kind is None else flows[flows["background"] == kind]
        if flows["fct_us"].isna().any():
            return math.nan
        if share is None:
            rates = flows["bytes"] * 8 / 1e3 / flows["fct_us"]
            return float(rates.mean())
        return nearest_rank(flows["fct_us"].to_numpy(), share)
    return value


def nearest_rank(values: Any, share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; NaN of none."""
    count = len(values)
    rank = min(count, max(1, math.ceil(share * count)))
    return float(np.sort(values)[rank - 1]) if count else math.nan


def lower_bound(row: Row, measure: str, scope: Scope) -> float:
    """The least that a measure of completion times can become, from the time that each flow has taken so far. Those of
    files are of the flows in the scope, as their values are. NaN: the measure is none of these."""
    stem, _, statistic = measure.removesuffix("_us").rpartition("_")
    flows = _table(row, "flows.csv") if MEASURES[measure].of_result else _flows_in(row, scope)
    times = times_so_far(flows, row)
    if stem in KINDS:
        times = times[(flows["background"] == KINDS[stem]).to_numpy()]
    if measure in ("makespan_us", "inflation"):
        makespan = float((flows["start_us"].to_numpy() + times).max() - flows["start_us"].min())
        return makespan if measure == "makespan_us" else over(makespan, float(row["ideal_us"]))
    if stem not in ("fct", "flow_fct", *KINDS) or not len(times):
        return math.nan
    if statistic in SHARES:
        return nearest_rank(times, SHARES[statistic])
    return float(times.mean() if statistic == "mean" else times.max() if statistic == "max" else times.min())


def value_or_least(row: Row, measure: str, scope: Scope) -> tuple[float, bool]:
    """A measure of a run, and whether it is only the least that it can be. NaN: not known, nor a least."""
    found = MEASURES[measure]
    value = found.of(row, scope)
    if math.isnan(value) and row.get("completed", 0) < row.get("flows", 0):
        return lower_bound(row, measure, scope), True
    return value, found.is_least is not None and found.is_least(row, scope)


def times_so_far(flows: pd.DataFrame, row: Row) -> Any:
    """Completion times; of flows that did not end the time since they began."""
    taken = (float(row["virtual_us"]) - flows["start_us"]).clip(lower=0)
    return flows["fct_us"].fillna(taken).to_numpy()


@dataclass(frozen=True)
class Rates:
    """Bytes of each flow (rows) in each sample (columns)."""

    bytes: Any
    interval_us: float
    within: float

    @property
    def gbps(self) -> Any:
        """Mean rate of each flow."""
        return self.bytes.mean(axis=1) * 8e-3 / self.interval_us

    def jain(self) -> float:
        """Fairness of the flows' rates."""
        means = self.bytes.mean(axis=1)
        squares = float((means**2).sum()) * len(means)
        return float(means.sum())**2 / squares if squares > 0 else math.nan

    def unsteady(self) -> float:
        """Standard deviation over mean of a flow's samples, mean over the flows."""
        means = self.bytes.mean(axis=1)
        spread = self.bytes.std(axis=1)
        return float(np.divide(spread, means, out=np.zeros_like(spread), where=means > 0).mean())

    def _fair(self) -> Any:
        """For each sample, whether all flows have their fair rate: the mean of the second half."""
        fair = float(self.bytes[:, self.bytes.shape[1] // 2:].mean())
        return (np.abs(self.bytes - fair) <= self.within * fair).all(axis=0)

    def reach_us(self) -> float:
        """The end of the first sample in which all have it; as if in the last, when there is none."""
        fair = self._fair()
        first = int(np.argmax(fair)) if fair.any() else len(fair) - 1
        return (first + 1) * self.interval_us

    def is_never_fair(self) -> bool:
        """Whether reach_us() is only the least that it can be."""
        return not bool(self._fair().any())

    def is_unsettled(self) -> bool:
        """Whether settle_us() is."""
        return not bool(self._fair()[-1])

    def settle_us(self) -> float:
        """The end of the last sample in which some flow does not have it."""
        unfair = np.flatnonzero(~self._fair())
        return (int(unfair[-1]) + 1 if len(unfair) else 0) * self.interval_us


def rates_of(arrivals: pd.DataFrame, scope: Scope, flow_count: int) -> Rates | None:
    """Whole samples between `from` and `to` or the last arrival; None: there are none."""
    end = min(scope.last_flow + 1, flow_count)
    if arrivals.empty:
        return None
    interval_us = float(arrivals["interval_us"].iloc[0])
    span_us = min(scope.to_us, float(arrivals["time_us"].iloc[-1])) - scope.from_us
    samples = int(span_us / interval_us + 1e-3) if span_us > 0 and interval_us > 0 else 0
    if not samples:
        return None
    place = (arrivals["time_us"] - scope.from_us) / interval_us - 1
    meant = arrivals["flow"].between(scope.first_flow, end - 1) & (place > -0.5) & (place < samples - 0.5)
    found = np.zeros((end - scope.first_flow, samples))
    flows = (arrivals["flow"] - scope.first_flow)[meant].to_numpy(dtype=int)
    np.add.at(found, (flows, (place[meant] + 0.5).to_numpy().astype(int)), arrivals["bytes"][meant].to_numpy())
    return Rates(found, interval_us, scope.within)


def _rates(row: Row, scope: Scope) -> Rates | None:
    _check_flows(row, scope, "arrivals.csv")
    _check_time(row, scope)
    return rates_of(_table(row, "arrivals.csv"), scope, int(row["flows"]))


def _of_rates(what: Callable[[Rates], float]) -> Callable[[Row, Scope], float]:
    def value(row: Row, scope: Scope) -> float:
        rates = _rates(row, scope)
        return float(what(rates)) if rates else math.nan
    return value


def _is_of_rates(what: Callable[[Rates], bool]) -> Callable[[Row, Scope], bool]:
    def value(row: Row, scope: Scope) -> bool:
        rates = _rates(row, scope)
        return rates is not None and what(rates)
    return value


def _spread(values: Any) -> float:
    return float(np.max(values) - np.min(values))


FILE_TAKES = {"flows.csv": ("flows",), "ports.csv": ("ports", "from", "to"), "links.csv": ("ports",),
              "conns.csv": ("from", "to"), "credits.csv": ("from", "to")}
RATE_TAKES = ("flows", "from", "to")
FILE_MEASURES: tuple[tuple[str, str, str, str, Callable[[Any], float]], ...] = (  # name, meaning, file, column, tally
    ("flow_fct_max_us", "slowest of `flows`", "flows.csv", "fct_us", np.max),
    ("flow_fct_mean_us", "mean of `flows`", "flows.csv", "fct_us", np.mean),
    ("flow_dup_acks_max", "most arrivals beyond one gap of `flows`", "flows.csv", "dup_acks", np.max),
    ("flow_reordered_mean", "mean of the packets of `flows` that came late", "flows.csv", "reordered", np.mean),
    ("port_queue_max_bytes", "deepest sampled queue of `ports`, between `from` and `to`", "ports.csv", "queue_bytes",
     np.max),
    ("port_queue_mean_bytes", "mean of the sampled queues that are not idle", "ports.csv", "queue_bytes", np.mean),
    ("port_utilisation_mean", "mean utilisation of the samples of `ports`; of a longer pause the first and the last",
     "ports.csv", "utilisation", np.mean),
    ("port_utilisation_max", "largest sample", "ports.csv", "utilisation", np.max),
    ("port_utilisation_min", "smallest sample", "ports.csv", "utilisation", np.min),
    ("port_marked", "packets marked with ECN at `ports`", "ports.csv", "marked", np.sum),
    ("port_bytes", "bytes sent by `ports`", "ports.csv", "tx_bytes", np.sum),
    ("port_dropped", "packets dropped at `ports`", "ports.csv", "dropped", np.sum),
    ("port_trimmed", "packets trimmed at `ports`", "ports.csv", "trimmed", np.sum),
    ("link_share_max", "largest share of one of `ports` in its group", "links.csv", "share", np.max),
    ("link_share_min", "smallest such share", "links.csv", "share", np.min),
    ("link_share_spread", "their difference", "links.csv", "share", _spread),
    ("link_utilisation_mean", "mean utilisation of `ports` over the run", "links.csv", "utilisation", np.mean),
    ("cwnd_mean_bytes", "mean window of all samples between `from` and `to`", "conns.csv", "cwnd_bytes", np.mean),
    ("cwnd_max_bytes", "largest sampled window", "conns.csv", "cwnd_bytes", np.max),
    ("cwnd_min_bytes", "smallest sampled window", "conns.csv", "cwnd_bytes", np.min),
    ("srtt_mean_us", "mean of the sampled smoothed RTTs", "conns.csv", "srtt_us", np.mean),
    ("path_speed_least", "least speed of a path over the fastest's, permille, at any comparison of a receiver",
     "credits.csv", "least_permille", np.min),
    ("path_speed_mean", "mean of that over the samples' last comparisons", "credits.csv", "slowest_permille", np.mean),
    ("path_looks", "comparisons of the receiver that made most", "credits.csv", "looks", np.max),
    ("paths_valid_min", "fewest paths that some receiver had left", "credits.csv", "valid", np.min),
    ("credit_rate_mean", "mean of the sampled credit rates, permille of the link", "credits.csv", "rate_permille",
     np.mean),
)


RATE_MEASURES: tuple[tuple[str, str, Callable[[Rates], float]], ...] = (  # name, meaning; of arrivals.csv
    ("flow_gbps_mean", "mean payload rate of `flows`, between `from` and `to`", lambda rates: float(rates.gbps.mean())),
    ("flow_gbps_min", "the slowest of them", lambda rates: float(rates.gbps.min())),
    ("flow_gbps_max", "the fastest of them", lambda rates: float(rates.gbps.max())),
    ("flow_jain", "fairness of their rates, 1 is equal", Rates.jain),
    ("flow_unsteadiness", "standard deviation over mean of a flow's samples, mean of `flows`", Rates.unsteady),
    ("flow_reach_us", "from `from` on, until all `flows` are `within` (0.25) of a fair rate in one sample; at least "
     "the time looked at if they never are", Rates.reach_us),
    ("flow_settle_us", "from `from` on, until all `flows` are `within` (0.25) of a fair rate and stay there; at least "
     "the time looked at if they are not in its last sample", Rates.settle_us),
)
LEAST: dict[str, Callable[[Rates], bool]] = {"flow_reach_us": Rates.is_never_fair,
                                             "flow_settle_us": Rates.is_unsettled}


def _all() -> dict[str, Measure]:
    measures: dict[str, Measure] = {}

    def of_complete(name: str, value: Callable[[Row], float] | None = None, text: str = "") -> None:
        measures[name] = Measure(text, _of_complete(value or (lambda row: _number(row, name))), True)

    def of_result(name: str, value: Callable[[Row, Scope], float] | None = None, text: str = "") -> None:
        measures[name] = Measure(text, value or _of_result(name), True)

    for statistic in ("min", "mean", "p50", "p99", "max"):
        of_complete(f"fct_{statistic}_us")
    of_complete("spread_us", lambda row: _number(row, "fct_max_us") - _number(row, "fct_min_us"),
                "slowest less fastest completion time")
    of_complete("slowest_over_fastest", lambda row: over(_number(row, "fct_max_us"), _number(row, "fct_min_us")),
                "slowest completion time over the fastest")
    for kind in ("foreground", "background"):
        for statistic in ("mean", "max"):
            of_complete(f"{kind}_{statistic}_us", _of_kind(f"{kind}_fct_{statistic}_us"))
    for name in ("makespan_us", "inflation", "goodput_gbps", "jain"):
        of_complete(name)
    for name in ("failed", "retransmitted", "trimmed", "dropped", "marked", "timeouts"):
        of_result(name)
    of_result("lost", lambda row, scope: _number(row, "dropped") + _number(row, "trimmed"),
              "packets trimmed or dropped")
    of_result("data_lost", lambda row, scope: _number(row, "dropped_data") + _number(row, "trimmed"),
              "data packets trimmed, or dropped by full queues")
    of_result("reordered_share",
              lambda row, scope: over(_number(row, "packets_reordered"), _number(row, "packets_arrived")),
              "packets that arrived after one sent later, over all")
    for name in ("reorder_extent_p99", "reorder_extent_max", "ooo_p99", "ooo_max", "dup_acks_max", "dup_ack_flows",
                 "dup_ack3_flows", "reorder_ack_flows", "reorder_ack3_flows", "queue_max_bytes", "queue_mean_bytes"):
        of_result(name)
    for place in PLACES:
        of_result(f"wait_{place}_mean_us", _at(place, (f"wait_{place}_mean_us",)))
        of_result(f"wait_{place}_max_us", _at(place, (f"wait_{place}_max_us",)))
        of_result(f"lost_{place}", _at(place, (f"dropped_{place}", f"trimmed_{place}")),
                  f"packets dropped or trimmed at the ports of `wait_{place}_mean_us`")
    for place in ("leaf_up", "leaf_host"):
        of_result(f"wait_{place}_share", _wait_share(place),
                  f"share of all waiting in switches that is at the ports of `wait_{place}_mean_us`")
    for direction in ("up", "down"):
        for statistic in ("sd", "mean", "p99", "p99999"):
            of_result(f"queue_{direction}_{statistic}")
    for name, text, file, column, tally in FILE_MEASURES:
        measures[name] = Measure(text, _of_file(file, column, tally), False, frozenset(FILE_TAKES[file]))
    for name, text, what in RATE_MEASURES:
        takes, least = (*RATE_TAKES, *(("within",) if name in LEAST else ())), LEAST.get(name)
        measures[name] = Measure(text, _of_rates(what), False, frozenset(takes), least and _is_of_rates(least))
    for prefix, whose, code in (("fct", "the completion times", None),
                                ("foreground", "flows not of the background", 0),
                                ("background", "the background flows", 1)):
        for word, percent in (("p99", 99), ("p999", 99.9), ("p9999", 99.99)):
            measures.setdefault(f"{prefix}_{word}_us", Measure(f"{percent:g}th percentile of {whose}; of few flows the "
                                                               "slowest", _of_flows(code, percent / 100), False,
                                                               frozenset(("flows",))))
    measures["foreground_gbps_mean"] = Measure("mean of the payload rates of flows not of the background",
                                               _of_flows(0, None), False, frozenset(("flows",)))
    return measures


MEASURES = _all()


def known(name: str, weft: Binary) -> bool:
    """Whether there is such a measure: one of MEASURES, or a metric that this build of the command has in run.json,
    which is then added to them."""
    metric = weft.metrics.get(name)
    if name not in MEASURES and metric and metric.json:
        MEASURES[name] = Measure("", _of_record(metric.json), True)
    return name in MEASURES


def explained(weft: Binary) -> dict[str, str]:
    """All measures and their meanings."""
    for name in weft.metrics:
        known(name, weft)
    texts = {name: metric.help for name, metric in weft.metrics.items()}
    ordered = [*(name for name in texts if name in MEASURES), *(name for name in MEASURES if name not in texts)]
    return {name: texts.get(name) or MEASURES[name].help for name in ordered}


def _of_record(place: str) -> Callable[[Row, Scope], float]:
    """A number of run.json; NaN: this run does not have it."""
    def value(row: Row, scope: Scope) -> float:
        del scope
        found: Any = read_record(row["directory"])
        for key in place.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return math.nan if found is None else float(found)
    return value
