# SPDX-License-Identifier: BSD-3-Clause
"""Results as tables, and captures."""
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import weftlab
from weftlab import Runs, WeftlabError
from weftlab.binary import Binary


def test_a_row_per_run_with_its_keys(two_cases: Runs) -> None:
    assert len(two_cases) == 12
    assert two_cases.keys_of_runs() == ["case", "mtu", "seed"]
    assert two_cases.attrs["title"] == "two cases"
    assert list(two_cases["mtu"][:4]) == [1024, 1024, 1024, 4096]
    record = json.loads(Path(two_cases["directory"][5], "run.json").read_text())
    row = two_cases.iloc[5]
    assert row["fct_max_us"] == record["fct_us"]["max"]
    assert row["retransmitted"] == record["packets"]["retransmitted"]
    assert row["queue_max_bytes"] == record["queues"]["max_bytes"]
    assert row["makespan_us"] == record["inflation"] * record["ideal_us"]
    assert row["wait_leaf_host_mean_us"] == record["hops"]["leaf_host"]["wait_mean_us"]


def test_files_of_selected_runs(two_cases: Runs) -> None:
    flows = two_cases.flows()
    assert len(flows) == 12 * 4
    assert list(flows.columns[:6]) == ["id", "label", "case", "mtu", "seed", "flow"]
    assert (flows["slowdown"] >= 1).all()
    some = two_cases[two_cases["case"] == "hashed"].query("seed == 2")
    assert isinstance(some, Runs)
    assert set(some.flows()["case"]) == {"hashed"}
    assert {"time_us", "port", "queue_bytes"} <= set(some.ports().columns)
    assert {"time_us", "cwnd_bytes"} <= set(some.series().columns)
    assert list(some.arrivals().groupby("id")["bytes"].sum()) == [4 * 16384] * 2
    assert set(some.links()["port"]) >= {"host0", "leaf0:host0"}


def test_captures_are_read(two_cases: Runs) -> None:
    packets = two_cases.query("case == 'sprayed' and seed == 1 and mtu == 4096").pcap()
    assert set(packets["direction"]) == {"in", "out"}
    assert set(packets["port"]) == {"host0", "host1", "host2", "host3"}
    assert packets["time_us"].is_monotonic_increasing
    data = packets[(packets["direction"] == "out") & (packets["bytes"] > 4096)]
    assert len(data) == 4 * 4
    assert data["sport"].nunique() > 4
    assert set(data["dport"]) == {4793}
    assert data["src"].nunique() == 4


def test_a_broken_capture_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.pcapng").write_bytes(b"nothing of the kind")
    with pytest.raises(WeftlabError, match="x.pcapng: not a pcapng capture"):
        weftlab.pcap(tmp_path / "x.pcapng")
    with pytest.raises(WeftlabError, match="none.pcapng: No such file"):
        weftlab.pcap(tmp_path / "none.pcapng")


def test_single_runs_and_several_directories(weft: Binary, tmp_path: Path, two_cases: Runs) -> None:
    for seed in ("1", "2"):
        subprocess.run([weft.path, "sim", "--topology", "star:4", "--matrix", "permutation:4:16KiB", "--seed", seed,
                        "--out", str(tmp_path / seed)], capture_output=True, check=True)
    one = weftlab.load(tmp_path / "1")
    assert (len(one), one["status"][0], len(one.flows())) == (1, "done", 4)
    both = weftlab.load(tmp_path / "1", tmp_path / "2")
    assert list(both["source"]) == ["1", "2"]
    assert both.keys_of_runs() == ["source", "seed"]
    assert len(both.flows()) == 8
    assert len(weftlab.load(tmp_path / "1", two_cases.attrs["directory"])) == 13


def test_results_of_one_name_in_two_places(weft: Binary, tmp_path: Path) -> None:
    """They are two results, not two seeds of one."""
    for place in ("ecmp", "reps"):
        subprocess.run([weft.path, "sim", "--topology=star:4", "--matrix=permutation:4:16KiB", f"--lb={place}",
                        f"--out={tmp_path}/{place}/out"], capture_output=True, check=True)
    both = weftlab.load(tmp_path / "ecmp" / "out", tmp_path / "reps" / "out" / "run.json")
    assert list(both["source"]) == ["ecmp/out", "reps/out"]
    with pytest.raises(WeftlabError, match="reps/out/run.json: given twice"):
        weftlab.load(tmp_path / "reps" / "out", tmp_path / "reps" / "out" / "run.json")


def test_a_result_of_json_has_no_files_of_another_run(weft: Binary, tmp_path: Path) -> None:
    """Also when both lie in one directory."""
    command = [weft.path, "sim", "--topology=star:4", "--matrix=permutation:4:16KiB"]
    subprocess.run([*command, "--seed=2", f"--out={tmp_path}", f"--json={tmp_path}/b.json"], capture_output=True,
                   check=True)
    subprocess.run([*command, "--mtu=1024", f"--json={tmp_path}/a.json"], capture_output=True, check=True)
    both = weftlab.load(tmp_path / "a.json", tmp_path / "b.json")
    assert list(both["directory"]) == [f"{tmp_path}/a.json", str(tmp_path)]
    for asked in (both.flows, both.links, both.ports, both.series, both.arrivals, both.pcap):
        with pytest.raises(WeftlabError, match="a.json: a result of --json has no .*; run it with --out DIR"):
            asked()
    with pytest.raises(WeftlabError, match="a.json: a result of --json has no flows.csv"):
        weftlab.figure(both, "fct-cdf")
    for name in ("b.json", "run.json"):
        assert set(weftlab.load(tmp_path / name).flows()["seed"]) == {2}
    assert list(weftlab.load(tmp_path / "run.json", tmp_path / "a.json")["source"]) == [tmp_path.name, "a.json"]


def test_a_single_run_says_why_it_failed(weft: Binary, tmp_path: Path) -> None:
    done = subprocess.run([weft.path, "sim", "--topology=star:4", "--matrix=permutation:4:1MiB", "--end=5us",
                           f"--out={tmp_path}/one"], capture_output=True, text=True, check=False)
    row = weftlab.load(tmp_path / "one").iloc[0]
    assert row["status"] == "failed" and "had not ended at 5.0 us" in row["error"]
    assert row["error"] in done.stderr


def test_directories_without_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(WeftlabError, match="run.json: no results: No such file or directory$"):
        weftlab.load(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(WeftlabError, match="sweep.json: not the results of a sweep"):
        weftlab.load(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(WeftlabError, match="not a run's result"):
        weftlab.load(tmp_path / "run.json")
    with pytest.raises(WeftlabError, match="names no directory"):
        weftlab.load()
