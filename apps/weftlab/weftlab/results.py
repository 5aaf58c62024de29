# SPDX-License-Identifier: BSD-3-Clause
"""Results as pandas tables: a row per run, and the files that runs leave."""
from __future__ import annotations

import json
import os
from typing import Any, Iterable, Iterator, Sequence

import pandas as pd

from .directory import FAILED, WAITING, file_of, read_record
from .errors import WeftlabError

LEADING = ["id", "label", "case", "seed", "status", "error", "directory"]  # columns before the axes and the measures
ORIGIN = ("label", "case", "values", "seed")  # what sweep.json and run.json both say of a run
FLOW_COLUMNS = {"count": "flows", "completed": "completed", "verified": "verified"}
REORDERING = {"packets": "packets_arrived", "reordered": "packets_reordered", "beyond_gap": "packets_beyond_gap",
              "ooo_p50": "ooo_p50", "ooo_p99": "ooo_p99", "ooo_max": "ooo_max", "dup_acks_max": "dup_acks_max"}
OF_ALL_FLOWS = ("fct_", "foreground_fct_", "background_fct_", "slowdown_", "goodput_gbps", "jain")
SUMMARY = ("ideal_us", "inflation", "goodput_gbps", "jain")


class Runs(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """A DataFrame with a row per run. Rows may be selected as in any DataFrame; flows(), ports(), ... then read the
    files of the runs that are left. `directory` is where these are. Of a result of `--json` alone it is that file, and
    there is a WeftlabError when others of its run are asked for. `attrs` has `title`, `about`, `axes` (names), `cases`
    and `directory`."""

    @property
    def _constructor(self) -> Any:
        return Runs

    def keys_of_runs(self) -> list[str]:
        """Columns that tell runs apart: case, axes and seed, as far as this sweep has them."""
        keys = [name for name in ["case", *self.attrs.get("axes", [])] if name in self.columns]
        return [name for name in keys if name != "case" or self["case"].astype(bool).any()] + ["seed"]

    def flows(self) -> pd.DataFrame:
        """flows.csv of all runs: a row per flow. `fct_us` is NaN for a flow that did not end. `gbps` and `slowdown` are
        computed."""
        flows = self.read("flows.csv")
        if flows.empty:
            return flows
        flows["gbps"] = flows["bytes"] * 8e-3 / flows["fct_us"]
        flows["slowdown"] = flows["fct_us"] / flows["ideal_us"]
        return flows

    def links(self) -> pd.DataFrame:
        """links.csv of all runs: a row per port, of the whole run."""
        return self.read("links.csv")

    def ports(self) -> pd.DataFrame:
        """ports.csv of all runs: samples of the ports over time. Empty without `series` in the scenario."""
        return self.read("ports.csv", optional=True)

    def series(self) -> pd.DataFrame:
        """conns.csv of all runs: samples of the connections over time. Empty without `series` in the scenario."""
        return self.read("conns.csv", optional=True)

    def arrivals(self) -> pd.DataFrame:
        """arrivals.csv of all runs: payload that arrived per flow and interval; `gbps` is computed. Empty without
        `series` in the scenario."""
        arrivals = self.read("arrivals.csv", optional=True)
        if "bytes" in arrivals:
            arrivals["gbps"] = arrivals["bytes"] * 8e-3 / arrivals["interval_us"]
        return arrivals

    def pcap(self) -> pd.DataFrame:
        """Packet captures of all runs, as weftlab.pcap() reads them. Empty without `pcap` in the scenario."""
        from .capture import pcap

        parts = []
        for row in self._with_results():
            place = os.path.dirname(file_of(row["directory"], "captures"))
            for name in sorted(os.listdir(place)):
                if name.endswith((".pcap", ".pcapng")):
                    parts.append(self._keyed(pcap(os.path.join(place, name)), row))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def with_files(self) -> "Runs":
        """Those that have more than a file of `--json`."""
        runs: Runs = self[[os.path.isdir(place) for place in self["directory"]]]
        return runs

    def read(self, name: str, optional: bool = False) -> pd.DataFrame:
        """One CSV file of every run that has a result, below each other, behind the columns that tell runs apart. With
        `optional` runs without the file are left out."""
        parts = []
        for row in self._with_results():
            path = file_of(row["directory"], name)
            if optional and not os.path.exists(path):
                continue
            parts.append(self._keyed(read_csv(path), row))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _with_results(self) -> Iterator[dict[str, Any]]:
        for _, row in pd.DataFrame(self).iterrows():
            if row["status"] != WAITING and isinstance(row["directory"], str) and row["directory"]:
                yield dict(row)

    def _keyed(self, table: pd.DataFrame, row: dict[str, Any]) -> pd.DataFrame:
        keys = ["id", "label", *self.keys_of_runs()]
        table = table.rename(columns={name: f"file_{name}" for name in table.columns if name in keys})
        return pd.concat([pd.DataFrame({name: row[name] for name in keys}, index=table.index), table], axis=1)


def read_csv(path: str) -> pd.DataFrame:
    """A CSV file of a run."""
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise WeftlabError(f"{path}: {error}") from error


def load(*directories: str | os.PathLike[str]) -> Runs:
    """Results of sweeps (directories with sweep.json) or of single runs (`weft sim --out`, or a file of `--json`). Of
    several, the rows have `source` in addition."""
    if not directories:
        raise WeftlabError("names no directory with results")
    parts = [_load_one(os.fspath(directory)) for directory in directories]
    if len(parts) == 1:
        return parts[0]
    for part, name in zip(parts, _names_of([os.fspath(directory) for directory in directories])):
        part.insert(1, "source", name)
    both = Runs(pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True))
    axes = list(dict.fromkeys(["source", *(axis for part in parts for axis in part.attrs["axes"])]))
    cases = list(dict.fromkeys(case for part in parts for case in part.attrs["cases"]))
    both["id"] = range(len(both))
    both.attrs.update(title=", ".join(part.attrs["title"] for part in parts), about="", axes=axes, cases=cases,
                      directory="")
    return both


def _load_one(path: str) -> Runs:
    summary_path = os.path.join(path, "sweep.json")
    if not os.path.exists(summary_path):
        return _load_run(path)
    try:
        with open(summary_path, encoding="utf-8") as file:
            summary = json.load(file)
        entries = [(entry, os.path.join(path, entry["dir"])) for entry in summary["runs"]]
        return runs_of(summary, entries, path, (_record_of(entry, where) for entry, where in entries))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise WeftlabError(f"{summary_path}: not the results of a sweep: {error}") from error


def _record_of(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """run.json of one of sweep.json's entries; empty if the run waits, or if the directory has another run's result:
    a sweep that goes on with other settings moves directories first."""
    record = read_record(where) if entry["status"] != WAITING else {}
    return record if all(record.get(key) == entry[key] for key in ORIGIN) else {}


def name_of(path: str) -> str:
    """What results are called: by their file, and those of a directory by that."""
    directory, name = os.path.split(os.path.abspath(path))
    return os.path.basename(directory) if name == "run.json" else name


def _names_of(paths: Sequence[str]) -> list[str]:
    """What several results are called: by name, or by as many last parts of their paths as tell them apart."""
    whole = [os.path.abspath(path).removesuffix("/run.json").split(os.sep) for path in paths]
    for number, parts in enumerate(whole):
        if parts in whole[:number]:
            raise WeftlabError(f"{paths[number]}: given twice")
    count = 1
    while len({tuple(parts[-count:]) for parts in whole}) < len(whole):
        count += 1
    return ["/".join(parts[-count:]) for parts in whole]


def place_of(path: str, record: dict[str, Any]) -> str:
    """Where the files of a run are: the directory of its run.json, also when the run wrote the same as `path`; else
    `path` itself, for what lies beside a file of `--json` may be another run's."""
    directory, name = os.path.split(path)
    if name == "run.json" or read_record(directory) == record:
        return directory or os.curdir
    return path


def _load_run(path: str) -> Runs:
    summary_path = os.path.join(path, "run.json") if os.path.isdir(path) else path
    try:
        with open(summary_path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise WeftlabError(f"{summary_path}: no results: {reason}") from error
    if not isinstance(record, dict) or record.get("schema") != "weft.run/1":
        raise WeftlabError(f"{path}: not a run's result (schema weft.run/1)")
    title, directory = name_of(path), place_of(summary_path, record)
    summary = {"title": title, "about": "", "axes": [], "cases": []}
    try:
        entry = {"id": 0, "label": record.get("label", title), "case": record.get("case", ""), "values": {},
                 "seed": record["seed"], "status": FAILED if record.get("error") else "done",
                 "error": record.get("error", "")}
        return runs_of(summary, [(entry, directory)], directory, [record])
    except (LookupError, TypeError, AttributeError) as error:
        raise WeftlabError(f"{summary_path}: not a run's result: {error}") from error


def runs_of(summary: dict[str, Any], entries: Sequence[tuple[dict[str, Any], str]], directory: str,
            records: Iterable[dict[str, Any]]) -> Runs:
    """The table of sweep.json's `entries`, each with its directory and its run.json (empty: it has no result)."""
    rows = []
    for (entry, where), record in zip(entries, records):
        row = {name: entry.get(name) for name in LEADING if name != "directory"}
        row["directory"] = where if record else ""
        row.update(entry["values"])
        row.update((name, value) for name, value in measures_of(record).items() if name not in row)
        rows.append(row)
    runs = Runs(rows)
    runs.attrs.update(title=summary["title"], about=summary.get("about", ""), cases=list(summary.get("cases", [])),
                      axes=[axis["name"] for axis in summary.get("axes", [])], directory=directory)
    return runs


def measures_of(record: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a run.json under one name each, with the unit at its end. None: not known, as completion times are
    while a flow has none."""
    if not record:
        return {}
    measures: dict[str, Any] = {name: record.get(name) for name in ("cc", "lb", "route")}
    flows = record["flows"]
    measures.update((column, flows[name]) for name, column in FLOW_COLUMNS.items())
    measures["failed"] = flows["count"] - flows["verified"]
    for name in ("fct", "delivered", "foreground_fct", "background_fct"):
        times = record.get(f"{name}_us", {})
        measures.update((f"{name}_{statistic}_us", value) for statistic, value in times.items())
    measures.update((f"slowdown_{name}", value) for name, value in record.get("slowdown", {}).items())
    measures.update((name, record.get(name)) for name in SUMMARY)
    if flows["completed"] < flows["count"]:  # the numbers are those of the flows that ended: the more fail, the better
        measures.update((name, None) for name in measures if name.startswith(OF_ALL_FLOWS))
    if not measures["inflation"]:  # 0 when a flow did not end
        measures["inflation"] = None
    inflation, ideal = measures["inflation"], measures["ideal_us"]
    measures["makespan_us"] = inflation * ideal if inflation else None
    measures.update(record.get("packets", {}))
    measures.update((f"dropped_{name}", value) for name, value in record.get("drops", {}).items())
    measures.update((f"credits_{name}", value) for name, value in record.get("credit_queues", {}).items())
    measures.update(_queues_of(record))
    measures.update(_order_of(record.get("reordering", {})))
    measures.update(record.get("run", {}))
    return measures


def _queues_of(record: dict[str, Any]) -> dict[str, Any]:
    queues = record.get("queues", {})
    measures = {"queue_max_bytes": queues.get("max_bytes"), "queue_mean_bytes": queues.get("mean_bytes"),
                "pauses": queues.get("pauses"), "paused_us": queues.get("paused_us")}
    for place, hop in record.get("hops", {}).items():
        for name in ("mean", "max"):
            measures[f"wait_{place}_{name}_us"] = hop.get(f"wait_{name}_us")
        for name in ("data", "dropped", "trimmed"):
            measures[f"{name}_{place}"] = hop.get(name)
    for direction, spread in record.get("queue_spread", {}).items():
        if isinstance(spread, dict):
            measures.update((f"queue_{direction}_{name}", value) for name, value in spread.items())
            measures[f"queue_{direction}_sd"] = measures.pop(f"queue_{direction}_sd_mean", None)
    return measures


def _order_of(order: dict[str, Any]) -> dict[str, Any]:
    measures = {column: order[name] for name, column in REORDERING.items() if name in order}
    measures.update((f"reorder_extent_{name}", value) for name, value in order.get("extent", {}).items())
    measures.update((f"{name}_flows", value) for name, value in order.get("flows", {}).items())
    return measures
