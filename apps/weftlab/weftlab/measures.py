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

from .errors import WeftlabError
from .results import read_csv
from .stats import over

Row = Mapping[str, Any]  # of Runs

TABLES_MAX = 32  # files kept in memory
PLACES = ("leaf_up", "spine_up", "core_down", "spine_down", "leaf_host")  # ports of a tier in one direction


@dataclass(frozen=True)
class Scope:
    """What of a run's files a measure looks at."""

    ports: str | None = None  # pattern of port names; None: all
    first_flow: int = 0
    last_flow: int = 2**32 - 1  # inclusive
    from_us: float = 0.0  # of time series
    to_us: float = math.inf
    within: float = 0.25  # a rate this share of the fair one away from it counts as fair


@dataclass(frozen=True)
class Measure:
    """One measure. It is NaN where it is not known."""

    help: str
    of: Callable[[Row, Scope], float]
    of_result: bool  # a number of the result, so that a run without further files has it


def _number(row: Row, column: str) -> float:
    value = row.get(column)
    return math.nan if value is None else float(value)


def _of_result(column: str) -> Callable[[Row, Scope], float]:
    return lambda row, scope: _number(row, column)


def _or_nothing(column: str) -> Callable[[Row], float]:
    """0 where the result does not have the number."""
    def value(row: Row) -> float:
        number = _number(row, column)
        return 0.0 if math.isnan(number) else number
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
    path = os.path.join(row["directory"], name)
    try:
        return _table_of(path, os.stat(path).st_mtime_ns)
    except OSError as error:
        raise WeftlabError(f"{path}: {error.strerror}") from error


def _of_file(name: str, column: str, tally: Callable[[Any], float]) -> Callable[[Row, Scope], float]:
    """Over the rows of a file that are within the scope; 0 without any."""
    def value(row: Row, scope: Scope) -> float:
        if scope.ports:
            _check_ports(row, scope.ports)
        table = _table(row, name)
        if scope.ports:
            if "port" in table:
                table = table[table["port"].map(lambda port: fnmatchcase(port, scope.ports or ""))]
        if name == "flows.csv":
            table = table[table["flow"].between(scope.first_flow, scope.last_flow)]
        if "time_us" in table:
            table = table[table["time_us"].between(scope.from_us, scope.to_us)]
        values = table[column].dropna().to_numpy()
        return float(tally(values)) if len(values) else 0.0
    return value


def _check_ports(row: Row, pattern: str) -> None:
    """A misspelt pattern would measure nothing and so hold. Idle ports have no rows in ports.csv; links.csv has all."""
    if not any(fnmatchcase(port, pattern) for port in _table(row, "links.csv")["port"]):
        raise WeftlabError(f"{row['directory']}/links.csv: no port is called '{pattern}'")


def _of_flows(kind: int | None, share: float | None) -> Callable[[Row, Scope], float]:
    """A percentile of the completion times (share), or the mean rate, of all flows (kind None), those of the foreground
    (0) or the background (1). Not known while one of them has not ended."""
    def value(row: Row, scope: Scope) -> float:
        flows = _table(row, "flows.csv")
        flows = flows[flows["flow"].between(scope.first_flow, scope.last_flow)]
        flows = flows if kind is None else flows[flows["background"] == kind]
        if flows["fct_us"].isna().any():
            return math.nan
        if share is None:
            rates = flows["bytes"] * 8 / 1e3 / flows["fct_us"]
            return float(rates.mean()) if len(rates) else 0.0
        return nearest_rank(flows["fct_us"].to_numpy(), share)
    return value


def nearest_rank(values: Any, share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; 0 of none."""
    count = len(values)
    rank = min(count, max(1, math.ceil(share * count)))
    return float(np.sort(values)[rank - 1]) if count else 0.0


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


def _of_rates(what: Callable[[Rates], float]) -> Callable[[Row, Scope], float]:
    def value(row: Row, scope: Scope) -> float:
        if scope.first_flow >= row["flows"]:
            raise WeftlabError(f"{row['directory']}/arrivals.csv: there is no flow {scope.first_flow}")
        rates = rates_of(_table(row, "arrivals.csv"), scope, int(row["flows"]))
        return float(what(rates)) if rates else math.nan
    return value


def _spread(values: Any) -> float:
    return float(np.max(values) - np.min(values))


def _all() -> dict[str, Measure]:
    measures: dict[str, Measure] = {}

    def of_complete(name: str, text: str, value: Callable[[Row], float] | None = None) -> None:
        measures[name] = Measure(text, _of_complete(value or (lambda row: _number(row, name))), True)

    def of_result(name: str, text: str, value: Callable[[Row, Scope], float] | None = None) -> None:
        measures[name] = Measure(text, value or _of_result(name), True)

    def of_file(name: str, text: str, file: str, column: str, tally: Any) -> None:
        measures[name] = Measure(text, _of_file(file, column, tally), False)

    of_complete("fct_min_us", "fastest flow's completion time")
    of_complete("fct_mean_us", "mean completion time")
    of_complete("fct_p50_us", "median completion time")
    of_complete("fct_p99_us", "99th percentile of the completion times")
    of_complete("fct_max_us", "slowest flow's completion time (tail)")
    of_complete("spread_us", "slowest less fastest completion time",
                lambda row: _number(row, "fct_max_us") - _number(row, "fct_min_us"))
    of_complete("slowest_over_fastest", "slowest completion time over the fastest",
                lambda row: over(_number(row, "fct_max_us"), _number(row, "fct_min_us")))
    for kind, text in (("foreground", "of flows not of the background"), ("background", "of the background flows")):
        for statistic in ("mean", "max"):
            of_complete(f"{kind}_{statistic}_us", f"{statistic} completion time {text}",
                        _or_nothing(f"{kind}_fct_{statistic}_us"))
    of_complete("makespan_us", "first submission to last acknowledgement")
    of_complete("inflation", "makespan over the ideal")
    of_complete("goodput_gbps", "payload over the makespan, all hosts together")
    of_complete("jain", "fairness of the flows' rates, 1 is equal")
    of_result("failed", "flows that did not arrive whole")
    of_result("retransmitted", "packets sent again")
    of_result("trimmed", "packets trimmed by switches")
    of_result("dropped", "packets dropped by switches and links")
    of_result("lost", "packets trimmed or dropped",
              lambda row, scope: _number(row, "dropped") + _number(row, "trimmed"))
    of_result("data_lost", "data packets trimmed, or dropped by full queues",
              lambda row, scope: _number(row, "dropped_data") + _number(row, "trimmed"))
    of_result("marked", "packets marked with ECN")
    of_result("timeouts", "retransmission timeouts")
    of_result("reordered_share", "packets that arrived after one sent later, over all",
              lambda row, scope: over(_number(row, "packets_reordered"), _number(row, "packets_arrived")))
    for name in ("reorder_extent_p99", "reorder_extent_max", "ooo_p99", "ooo_max", "dup_acks_max", "dup_ack_flows",
                 "dup_ack3_flows", "reorder_ack_flows", "reorder_ack3_flows"):
        of_result(name, "order of arrival, see doc/guide/lab.md")
    of_result("queue_max_bytes", "deepest queue of the run")
    of_result("queue_mean_bytes", "mean depth of all queues over the run")
    for place in PLACES:
        text = place.replace("_", " ")
        of_result(f"wait_{place}_mean_us", f"mean time that data waits at {text} ports",
                  _at(place, (f"wait_{place}_mean_us",)))
        of_result(f"wait_{place}_max_us", "the longest there", _at(place, (f"wait_{place}_max_us",)))
        of_result(f"lost_{place}", "packets dropped or trimmed there",
                  _at(place, (f"dropped_{place}", f"trimmed_{place}")))
    of_result("wait_leaf_up_share", "share of all waiting in switches at leaf up ports", _wait_share("leaf_up"))
    of_result("wait_leaf_host_share", "the same at leaf host ports", _wait_share("leaf_host"))
    for direction, text in (("up", "a leaf's uplinks"), ("down", "the links from the spines to a leaf")):
        for name in ("sd", "mean", "p99", "p99999"):
            of_result(f"queue_{direction}_{name}", f"with queue_sample_ns: queue lengths of {text}, packets")
    of_file("flow_fct_max_us", "slowest of `flows`", "flows.csv", "fct_us", np.max)
    of_file("flow_fct_mean_us", "mean of `flows`", "flows.csv", "fct_us", np.mean)
    of_file("flow_dup_acks_max", "most arrivals beyond one gap of `flows`", "flows.csv", "dup_acks", np.max)
    of_file("flow_reordered_mean", "mean of the packets of `flows` that came late", "flows.csv", "reordered", np.mean)
    of_file("port_queue_max_bytes", "deepest sampled queue of `ports`", "ports.csv", "queue_bytes", np.max)
    of_file("port_queue_mean_bytes", "mean of the sampled queues that are not idle", "ports.csv", "queue_bytes",
            np.mean)
    for word, tally in (("mean", np.mean), ("max", np.max), ("min", np.min)):
        of_file(f"port_utilisation_{word}", f"{word} of the samples of `ports`", "ports.csv", "utilisation", tally)
        of_file(f"cwnd_{word}_bytes", f"{word} of the sampled windows", "conns.csv", "cwnd_bytes", tally)
    for name, column in (("marked", "marked"), ("bytes", "tx_bytes"), ("dropped", "dropped"), ("trimmed", "trimmed")):
        of_file(f"port_{name}", f"{name} at `ports`, between `from` and `to`", "ports.csv", column, np.sum)
    for word, tally in (("max", np.max), ("min", np.min), ("spread", _spread)):
        of_file(f"link_share_{word}", f"{word} of the shares of `ports` in their groups", "links.csv", "share", tally)
    of_file("link_utilisation_mean", "mean utilisation of `ports` over the run", "links.csv", "utilisation", np.mean)
    of_file("srtt_mean_us", "mean of the sampled smoothed RTTs", "conns.csv", "srtt_us", np.mean)
    for name, column, tally in (("path_speed_least", "least_permille", np.min), ("path_looks", "looks", np.max),
                                ("path_speed_mean", "slowest_permille", np.mean), ("paths_valid_min", "valid", np.min),
                                ("credit_rate_mean", "rate_permille", np.mean)):
        of_file(name, "of credits.csv, see doc/guide/lab.md", "credits.csv", column, tally)
    for name, text, what in (
            ("flow_gbps_mean", "mean payload rate of `flows`", lambda rates: rates.gbps.mean()),
            ("flow_gbps_min", "the slowest of them", lambda rates: rates.gbps.min()),
            ("flow_gbps_max", "the fastest of them", lambda rates: rates.gbps.max()),
            ("flow_jain", "fairness of their rates, 1 is equal", Rates.jain),
            ("flow_unsteadiness", "deviation over mean of a flow's samples, mean of `flows`", Rates.unsteady),
            ("flow_reach_us", "until all `flows` are `within` of a fair rate in one sample", Rates.reach_us),
            ("flow_settle_us", "until all `flows` are `within` of a fair rate and stay there", Rates.settle_us)):
        measures[name] = Measure(text, _of_rates(what), False)
    for prefix, code in (("fct", None), ("foreground", 0), ("background", 1)):
        for word, share in (("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)):
            measures.setdefault(f"{prefix}_{word}_us", Measure("percentile of the completion times",
                                                               _of_flows(code, share), False))
    measures["foreground_gbps_mean"] = Measure("mean of the payload rates of flows not of the background",
                                               _of_flows(0, None), False)
    return measures


MEASURES = _all()
