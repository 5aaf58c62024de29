# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: the same numbers as the command's own, going on where one stopped, failed runs."""
from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pandas as pd
import pytest

import weftlab
from conftest import ROOT, Write
from weftlab import Runs
from weftlab.__main__ import main
from weftlab.binary import Binary
from weftlab.table import text_table

# Two runs that end at once, then two that would take minutes.
LONG = """topology: star:64
sweep:
  matrix: ["permutation:64:16KiB", "permutation:64:8KiB", "alltoall:64:64MiB", "alltoall:64:65MiB"]
"""


def test_a_sweep_is_its_runs(write: Write, weft: Binary, tmp_path: Path) -> None:
    """Each row has the numbers that `weft sim` alone has with the same options, and runs.csv has the rows."""
    text = "topology: star:4\nmatrix: permutation:4:16KiB\nsweep: {lb: [ops, ecmp]}\nseeds: [3, 8]\n"
    runs = weftlab.run(write(text), jobs=2, out=tmp_path / "out", quiet=True)
    for row in runs.to_dict("records"):
        subprocess.run([weft.path, "sim", "--topology=star:4", "--matrix=permutation:4:16KiB", f"--lb={row['lb']}",
                        f"--seed={row['seed']}", f"--out={tmp_path}/one"], check=True, capture_output=True)
        alone = weftlab.load(tmp_path / "one").to_dict("records")[0]
        for name in set(alone) - {"id", "label", "directory", "wall_s", "max_rss_kib"}:
            assert alone[name] == row[name] or (pd.isna(alone[name]) and pd.isna(row[name])), name
    csv = pd.read_csv(tmp_path / "out" / "runs.csv", keep_default_na=False, na_values=[""])
    assert list(csv["digest"]) == list(runs["digest"]) and runs["digest"].nunique() == 4
    assert list(csv["fct_max_us"]) == list(runs["fct_max_us"])


def test_the_table_of_kept_results() -> None:
    kept = ROOT / "tests" / "weftlab" / "golden" / "results"
    assert text_table(weftlab.load(kept)) == (kept / "table.txt").read_text()


def test_experiments_are_no_seeds_of_each_other(write: Write, weft: Binary, tmp_path: Path) -> None:
    text = "topology: star:4\nmatrix: permutation:4:16KiB\ncases: [{name: a}, {name: b, lb: ecmp}]\n"
    for name, mtu in (("one", 1024), ("two", 4096)):
        weftlab.run(write(f"{text}mtu: {mtu}\n"), jobs=1, out=tmp_path / name, quiet=True)
        subprocess.run([weft.path, "sim", "--topology=star:4", "--matrix=permutation:4:16KiB", f"--mtu={mtu}",
                        f"--out={tmp_path}/{name}/single"], check=True, capture_output=True)
    table = text_table(weftlab.load(tmp_path / "one", tmp_path / "two"))
    assert [line.split("  ")[0] for line in table.splitlines()[2:]] == ["one a", "one b", "two a", "two b"]
    assert "±" not in table
    table = text_table(weftlab.load(tmp_path / "one" / "single", tmp_path / "two" / "single"))
    assert [line.split("  ")[0] for line in table.splitlines()[2:]] == ["one/single", "two/single"]


def test_long_labels_and_seeds_have_their_rows(write: Write, tmp_path: Path) -> None:
    long = "x" * 160
    runs = weftlab.run(write("topology: star:4\nmatrix: permutation:4:16KiB\nsweep: {seed: [1, 2]}\n"
                             f"cases: [{{name: {long}a}}, {{name: {long}b}}, {{name: c}}]\n"), jobs=1, quiet=True,
                       out=tmp_path / "out")
    assert runs["label"].nunique() == 3
    table = text_table(runs)
    assert len(table.splitlines()) == 2 + 6 and "±" not in table


def test_runs_that_did_not_end_are_not_fast(write: Write, tmp_path: Path) -> None:
    """Case a ends only with one of the two seeds; case b has both, case c none."""
    runs = weftlab.run(write("topology: star:4\nmatrix: permutation:4:16KiB\nseeds: 2\n"
                             "cases: [{name: a}, {name: b}, {name: c}]\n"), jobs=1, out=tmp_path / "out", quiet=True)
    for at in (0, 4, 5):
        path = tmp_path / "out" / "runs" / f"{at:04d}" / "run.json"
        record = json.loads(path.read_text())
        record.update(flows={"count": 4, "completed": 3, "verified": 3}, inflation=0)
        path.write_text(json.dumps(record))
    runs = weftlab.load(tmp_path / "out")
    for name in ("fct_max_us", "fct_mean_us", "slowdown_max", "goodput_gbps", "jain", "inflation"):
        assert list(runs[name].notna()) == [False, True, True, True, False, False], name
    of_a, of_b, of_c = text_table(runs).splitlines()[2:]
    assert re.match(r"a  +[\d.]+ \(1 of 2\)  +[\d.]+ \(1 of 2\)  ", of_a) and "(1 of 2)  0 ±0 " in of_a
    assert re.match(r"b  +[\d.]+ ±", of_b) and " of 2" not in of_b
    assert re.match(r"c  +-  +-  +-  +-  +0 ±0 ", of_c)
    assert list(weftlab.summary(runs, "fct_max_us")["n"]) == [1, 2, 0]


def test_results_that_are_there_are_used_again(two_cases: Runs, tmp_path: Path) -> None:
    path = os.path.join(os.path.dirname(two_cases.attrs["directory"]), "case.yaml")
    before = {row.directory: os.stat(row.directory).st_mtime_ns for row in two_cases.itertuples()}
    again = weftlab.run(path, out=two_cases.attrs["directory"], quiet=True)
    assert {row.directory: os.stat(row.directory).st_mtime_ns for row in again.itertuples()} == before
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(two_cases))


def test_changed_settings_are_run_and_old_results_kept(write: Write, tmp_path: Path) -> None:
    text = "topology: star:4\nmatrix: permutation:4:16KiB\nsweep: {mtu: [1024, 2048]}\n"
    first = weftlab.run(write(text), jobs=1, out=tmp_path / "out", quiet=True)
    other = weftlab.run(write(text.replace("2048", "4096")), jobs=1, out=tmp_path / "out", quiet=True)
    assert other["wall_s"][0] == first["wall_s"][0]
    assert len(os.listdir(tmp_path / "out" / "kept")) == 1
    back = weftlab.run(write(text), jobs=1, out=tmp_path / "out", quiet=True)
    pd.testing.assert_frame_equal(pd.DataFrame(back), pd.DataFrame(first))
    fresh = weftlab.run(write(text), jobs=1, out=tmp_path / "out", resume=False, quiet=True)
    assert fresh["wall_s"][0] != first["wall_s"][0]


def test_labels_stand_beside_their_own_numbers(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a sweep runs, or after it was killed: it moves directories before it writes down what they are."""
    text = "topology: star:4\nmatrix: permutation:4:16KiB\ncases: [{name: a}, {name: b, lb: ecmp}]\n"
    out = tmp_path / "out"
    weftlab.run(write(text), jobs=1, out=out, quiet=True)
    for source, target in (("0000", "x"), ("0001", "0000"), ("x", "0001")):
        (out / "runs" / source).rename(out / "runs" / target)
    swapped = weftlab.load(out)
    assert list(swapped["label"]) == ["a", "b"] and list(swapped["directory"]) == ["", ""]
    assert "fct_max_us" not in swapped and "a  " in text_table(swapped)
    weftlab.run(write(text), jobs=1, out=out, quiet=True)

    def look(*_: object) -> None:
        during.append(weftlab.load(out))

    during: list[Runs] = []
    monkeypatch.setattr(weftlab.sweep, "work_off", look)
    weftlab.run(write(text.replace("{name: a}, {name: b, lb: ecmp}", "{name: b, lb: ecmp}, {name: c, lb: ops}")),
                out=out, quiet=True)
    assert list(during[0]["label"]) == ["b", "c"] and [place != "" for place in during[0]["directory"]] == [True, False]


def test_a_result_is_of_its_case(write: Write, tmp_path: Path) -> None:
    """The same settings without cases are the same run, but not the same row."""
    text = "title: a\ntopology: star:4\nmatrix: permutation:4:16KiB\n"
    weftlab.run(write(text), jobs=1, out=tmp_path / "out", quiet=True)
    runs = weftlab.run(write(text + "cases: [{name: a}]\n"), jobs=1, out=tmp_path / "out", quiet=True)
    assert list(runs["case"]) == ["a"] and list(runs["completed"]) == [4]


def test_a_plug_in_with_other_contents_is_run_again(write: Write, tmp_path: Path) -> None:
    plug_in = tmp_path / "cc_mine.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT}/include", "-o", plug_in, ROOT / "examples" / "cc_mine.c"],
                   check=True)
    path = write(f"topology: star:4\nmatrix: permutation:4:16KiB\nplugin: {plug_in}\ncc: mine\n")
    first, again = (weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True) for _ in range(2))
    assert again["wall_s"][0] == first["wall_s"][0]
    plug_in.write_bytes(plug_in.read_bytes() + b"of another build")
    changed = weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    assert changed["wall_s"][0] != first["wall_s"][0]
    assert changed["digest"][0] == first["digest"][0]


def test_options_win_over_the_file(write: Write, tmp_path: Path) -> None:
    options = {"seed": 9, "lb": "ecmp", "set": {"ack_every": 2}, "no-trim": True}
    runs = weftlab.run(write("topology: star:4\nmatrix: permutation:4:16KiB\nseeds: 3\nlb: ops\n"), quiet=True,
                       out=tmp_path / "out", options=options)
    assert list(runs["seed"]) == [9]
    record = json.loads(Path(runs["directory"][0], "run.json").read_text())
    assert record["options"] == {"topology": "star:4", "matrix": "permutation:4:16KiB", "seed": 9, "lb": "ecmp",
                                 "set": {"ack_every": 2}, "no-trim": "true"}


@pytest.mark.parametrize("jobs", ["0", "-1", "x"])
def test_a_number_of_jobs_is_one_at_least(jobs: str, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", write("topology: star:4\nmatrix: permutation:4:16KiB\n"), f"--jobs={jobs}"])
    assert f"--jobs: '{jobs}' is not a number from 1" in capsys.readouterr().err


def test_a_scenario_is_no_file_of_options(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = tmp_path / "many.yaml"
    many.write_text("lb: ops\nseeds: 3\n")
    assert main(["sweep", write("topology: star:4\nmatrix: permutation:4:16KiB\n"), "--config", str(many)]) == 2
    assert capsys.readouterr().err.startswith(f"weftlab sweep: {many}:2: seeds: is for a scenario")


def test_unfinished_flows_fail_their_run_and_keep_its_result(write: Write, tmp_path: Path) -> None:
    runs = weftlab.run(write("topology: star:4\nmatrix: permutation:4:1MiB\nsweep: {end: [20us, 1s]}\n"), quiet=True,
                       jobs=1, out=tmp_path / "out")
    assert list(runs["status"]) == ["failed", "done"]
    assert "flows" in runs["error"][0]
    assert (runs["completed"][0], runs["completed"][1]) == (0, 4)
    assert runs.flows().query("id == 0")["fct_us"].isna().all()


def test_a_sweep_that_cannot_write_stops(write: Write, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(weftlab.UnwritableError, match="out: File exists"):
        weftlab.run(write("topology: star:4\n"), out=tmp_path / "out", quiet=True)


def test_a_build_during_a_sweep_stops_it(write: Write, tmp_path: Path, rebuilding: Callable[[str], str],
                                         capsys: pytest.CaptureFixture[str]) -> None:
    path = write("topology: star:4\nmatrix: permutation:4:16KiB\nseeds: 3\n")
    words = ["sweep", path, "--out", str(tmp_path / "out"), "--binary", rebuilding("--out="), "--jobs", "1"]
    assert main(words) == 1
    assert "weft was built anew during the sweep; the same command goes on" in capsys.readouterr().err
    assert not os.listdir(tmp_path / "out" / "runs"), "a result of one build or the other"
    assert main(words) == 0
    program = (tmp_path / "weft").read_bytes()
    for row in weftlab.load(tmp_path / "out").to_dict("records"):
        identity = json.loads(Path(row["directory"], "run.json").read_text())["identity"]
        assert identity.startswith(hashlib.sha256(program).hexdigest()[:16] + "-")


def test_one_sweep_has_a_directory_at_a_time(write: Write, tmp_path: Path) -> None:
    import fcntl
    (tmp_path / "out").mkdir()
    lock = os.open(tmp_path / "out", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(weftlab.WeftlabError, match="another sweep is writing there"):
        weftlab.run(write("topology: star:4\n"), out=tmp_path / "out", quiet=True)
    os.close(lock)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "weftlab", *arguments]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "apps" / "weftlab")}


def test_ctrl_c_keeps_what_is_done_and_the_sweep_goes_on(write: Write, tmp_path: Path) -> None:
    path, out = write(LONG), tmp_path / "out"
    process = subprocess.Popen(command("sweep", path, "--out", str(out), "--jobs", "2"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    while not {"0000", "0001"} <= set(os.listdir(out / "runs") if (out / "runs").is_dir() else []):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "2 of 4 runs have results in" in said and "the same command goes on" in said
    summary = json.loads((out / "sweep.json").read_text())
    assert [run["status"] for run in summary["runs"]] == ["done", "done", "waiting", "waiting"]
    assert "without result" in (out / "table.txt").read_text()
    again = subprocess.run(command("sweep", path, "--out", str(out), "--end", "10us", "--jobs", "1"),
                           capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert again.returncode == 1, again.stderr
    assert "2 of 4 runs failed" in again.stderr


def test_the_command_prints_the_table(write: Write, tmp_path: Path) -> None:
    path = write("title: a title\ntopology: star:4\nmatrix: permutation:4:16KiB\nseeds: 2\n")
    done = subprocess.run(command("sweep", path, "--out", str(tmp_path / "out"), "--set", "ack_every=2", "--no-trim",
                                  "--jobs", "1"),
                          capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "out" / "table.txt").read_text()
    assert "2/2  a title, seed " in done.stderr


def test_unknown_options_are_refused(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", write("topology: star:4\n"), "--colour", "red"]) == 2
    assert capsys.readouterr().err == "weftlab sweep: unknown option '--colour' (see weft sim --help)\n"
    assert main(["sweep", write("topology: star:4\n"), "--lb"]) == 2
    assert capsys.readouterr().err == "weftlab sweep: option '--lb' needs a value: NAME\n"
