# SPDX-License-Identifier: BSD-3-Clause
"""From scenario files to command lines."""
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Write
from weftlab import ScenarioError, WeftlabError
from weftlab.__main__ import main
from weftlab.binary import Binary
from weftlab.plan import plan, value_of
from weftlab.reader import load
from weftlab.sweep import given
from weftlab.scenario import LABEL_BYTES_MAX, Run, whole_number

SWEPT = """topology: star:4
matrix: permutation:4:4KiB
set: {ack_every: 2}
cases:
  - {name: a, lb: ops, set: {ack_every: 3}}
  - {name: b}
sweep: {link-gbps: [100, 400], set.ecn_min_pct: [10, 20]}
seeds: [7, 9]
"""

REFUSED = [
    ("", None, "case.yaml: empty"),
    ("# nothing at all\n", None, "case.yaml: empty"),
    ("seed: 1\ncolour: red\n", 2, "colour: unknown key"),
    ("seed: 1\nseed: 2\n", 2, "seed: given twice, first in line 1"),
    ("title: [a]\n", 1, "title: a single value"),
    ("end: soon\n", 1, "end: 'soon'"),
    ("end:\n", 1, "end: ''"),
    ("set: 4\n", 1, "set: a mapping"),
    ("set:\n  ack_every: 2\n  ack_every: 3\n", 3, "ack_every: given twice"),
    ("faults: 4\n", 1, "faults: a list"),
    ("lb: [ops]\n", 1, "lb: a single value"),
    ("plugin: [[a.so]]\n", 1, "plugin: a single value"),
    ("plugin:\n  - none.so\n", 2, "plugin: "),
    ("json: x\n", 1, "json: is for the command line"),
    ("outputs:\n  colour: red\n", 2, "colour: unknown key"),
    ("claims: [1]\n", 1, "claims: a mapping"),
    ("bench: 1\n", 1, "bench: a mapping"),
    ("- 1\n", 1, "a mapping"),
    ("seed: 1\n---\nseed: 2\n", 3, "second document"),
    ("seed: \"1\n", 2, ""),
    ("title: \"a\\0b\"\n", 1, "title: a zero byte"),
    ("cases: []\n", 1, "cases: there must be at least one"),
    ("cases: {a: 1}\n", 1, "cases: a list"),
    ("cases:\n  - lb: ops\n", 2, "a case needs a name"),
    ("cases:\n  - {name: a}\n  - {name: a}\n", 3, "two are named 'a', first in line 2"),
    ("cases:\n  - {name: a, cases: []}\n", 2, "cases: a single value"),
    ("cases:\n  - name: a\n    colour: red\n", 3, "colour: unknown key"),
    ("sweep: [1]\n", 1, "sweep: a mapping"),
    ("sweep: {mtu: 4096}\n", 1, "mtu: a list"),
    ("sweep: {mtu: []}\n", 1, "mtu: an axis needs a value"),
    ("sweep: {colour: [1]}\n", 1, "colour: is no option"),
    ("sweep:\n  end:\n    - 1ms\n    - soon\n", 4, "end: 'soon'"),
    ("sweep: {mtu: [4096, 4096]}\n", 1, "mtu: '4096' is there twice"),
    ('sweep: {link-gbps: [100, "100.0"]}\n', 1, "link-gbps: '100.0' is there twice, as '100'"),
    ("sweep: {mtu: [{a: 1}]}\n", 1, "mtu: a single value"),
    ("sweep: {json: [a]}\n", 1, "json: is for the command line"),
    ("seeds: 0\n", 1, "seeds: '0'"),
    ("seeds: many\n", 1, "seeds: 'many'"),
    ("seeds: 99999999\n", 1, "seeds: '99999999'"),
    ("seeds: []\n", 1, "seeds: an empty list"),
    ("seeds: [1, -1]\n", 1, "seeds: '-1'"),
    ("seeds: [3, 3]\n", 1, "seeds: 3 is there twice"),
    ("seeds: 2\nseed: 1\n", 2, "seed: there is a key seeds"),
    ("seeds: 2\nsweep: {seed: [1, 2]}\n", 1, "seeds: seed is an axis"),
    ("seeds: 10000\nsweep: {mtu: [1024, 2048, 4096]}\n", None, "more than 20000 runs"),
]


def runs_of(text: str, write: Write, weft: Binary, **overrides: str) -> list[Run]:
    given = [(name.replace("_", "-"), value) for name, value in overrides.items()]
    return load(write(text), weft).override(given).runs()


@pytest.mark.parametrize("text, line, words", REFUSED)
def test_refusals_name_line_and_key(text: str, line: int | None, words: str, write: Write, weft: Binary) -> None:
    path = write(text)
    with pytest.raises(ScenarioError) as caught:
        load(path, weft)
    assert caught.value.line == line
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_every_key_is_taken(write: Write, weft: Binary) -> None:
    scenario = load(write("title: a title\nabout: a sentence\noutputs: {dir: here, series: 1us}\n"
                          "claims:\n  - {anything: [goes, here]}\nbench: {runs: []}\n" + SWEPT), weft)
    assert (scenario.title, scenario.about, scenario.out) == ("a title", "a sentence", "here")
    assert [axis.name for axis in scenario.axes] == ["link-gbps", "ecn_min_pct"]
    assert scenario.seeds == (7, 9)
    assert len(scenario.claims) == 1
    assert scenario.run_count() == 16


def test_options_alone_are_one_run(write: Write, weft: Binary) -> None:
    scenario = load(write("seed: 4\n"), weft)
    assert (scenario.title, scenario.out) == ("case", "weft-out/case")
    run, = scenario.runs()
    assert (run.label, run.seed, run.arguments) == ("case", 4, ["--seed=4"])


def test_seeds_change_fastest(write: Write, weft: Binary) -> None:
    runs = runs_of(SWEPT, write, weft)
    assert [run.id for run in runs] == list(range(16))
    assert runs[11].label == "b link-gbps=100 ecn_min_pct=20"
    assert runs[11].seed == 9
    assert runs[11].values == {"link-gbps": "100", "ecn_min_pct": "20"}


def test_a_case_wins_over_the_file_and_an_axis_over_the_case(write: Write, weft: Binary) -> None:
    runs = runs_of(SWEPT, write, weft)
    assert runs[0].arguments == ["--topology=star:4", "--matrix=permutation:4:4KiB", "--lb=ops", "--set=ack_every=3",
                                 "--link-gbps=100", "--set=ecn_min_pct=10", "--seed=7"]
    assert "--set=ack_every=2" in runs[15].arguments


def test_each_option_is_there_once(write: Write, weft: Binary) -> None:
    run, = runs_of("mtu: 1024\nlb: ops\nset: {ack_every: 1}\n"
                   "cases: [{name: a, lb: ecmp, set: {payload_bytes: 2048, ack_every: 2}}]\n", write, weft)
    assert run.arguments == ["--lb=ecmp", "--set=payload_bytes=2048", "--set=ack_every=2"]


def test_faults_add_up(write: Write, weft: Binary) -> None:
    run, = runs_of("faults: [1us fail switch:spine:0]\n"
                   "cases: [{name: a, faults: [2us fail switch:spine:1]}]\n", write, weft)
    assert run.arguments == ["--fault=1us fail switch:spine:0", "--fault=2us fail switch:spine:1"]


def test_the_caller_replaces_seeds_and_axes(write: Write, weft: Binary) -> None:
    assert len(runs_of(SWEPT, write, weft, seed="3")) == 8
    runs = runs_of(SWEPT, write, weft, seed="3", link_gbps="200")
    assert len(runs) == 4
    assert "--link-gbps=200" in runs[0].arguments
    assert len(runs_of(SWEPT, write, weft, set="ecn_min_pct=15")) == 8


def test_mtu_and_payload_bytes_are_the_same(write: Write, weft: Binary) -> None:
    run, = runs_of("sweep: {mtu: [1024, 2048]}\n", write, weft, set="payload_bytes=512")
    assert run.arguments == ["--mtu=512"]
    run, = runs_of("sweep: {set.payload_bytes: [1024, 2048]}\n", write, weft, mtu="512")
    assert run.arguments == ["--set=payload_bytes=512"]


def test_labels_are_cut_between_characters(write: Write, weft: Binary) -> None:
    run, = runs_of("title: ab" + "\u20ac" * 100 + "\n", write, weft)
    assert LABEL_BYTES_MAX - 5 <= len(run.label.encode()) <= LABEL_BYTES_MAX
    assert run.label.endswith("\u20ac")


def test_files_are_found_beside_the_scenario(write: Write, weft: Binary, tmp_path: Path) -> None:
    (tmp_path / "two.cm").write_text("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10\n")
    run, = runs_of("matrix: two.cm\ntopology: star:4\n", write, weft)
    assert run.arguments[0] == f"--matrix={tmp_path}/two.cm"


def test_an_impossible_combination_is_named(write: Write, weft: Binary) -> None:
    for text, line, words in [
            ("topology: star:4\ncases:\n  - {name: a}\n  - name: b\n    cc: nonsense\n", 5, "cc: unknown"),
            ("topology: star:4\nsweep:\n  matrix: ['permutation:4:4KiB', 'permutation:8:4KiB']\n", 3,
             "(in matrix=permutation:8:4KiB)"),
            ("cases: [{name: a}]\nset:\n  colour: 3\n", 3,
             "colour: unknown parameter 'colour'; see weft sim --help-params (in a)"),
            ("sweep:\n  set.ack_every: [1, 99999]\n", 2, "(in ack_every=99999)")]:
        with pytest.raises(ScenarioError, match=f"case.yaml:{line}: ") as caught:
            plan(load(write(text), weft), weft)
        assert words in str(caught.value)


def test_a_key_is_named_once(write: Write, weft: Binary) -> None:
    path = write("topology: star:4\nset:\n  ack_every: two\n")
    with pytest.raises(WeftlabError) as caught:
        plan(load(path, weft), weft)
    assert str(caught.value).startswith(f"{path}:3: ack_every: 'two' is not a number"), caught.value


def test_a_second_file_is_unexpected(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", write("seed: 1\n"), "b.yaml"]) == 2
    assert capsys.readouterr().err == "weftlab sweep: unexpected argument 'b.yaml'\n"


def test_options_that_are_repeatable_add_up(write: Write, weft: Binary) -> None:
    """Also of a list, and those of the command line."""
    assert weft.repeatable == {"plugin", "fault", "series-ports", "pcap-port"}
    scenario = load(write("topology: star:4\nseries-ports: ['host*', 'leaf0:*']\npcap-port: host0\n"
                          "cases: [{name: a, pcap-port: [host1]}, {name: b, fault: [10us fail host:1]}]\n"), weft)
    first, second = scenario.override([("series-ports", "host9"), ("pcap-port", "host2")]).runs()
    ports = ["--series-ports=host*", "--series-ports=leaf0:*"]
    assert first.arguments == ["--topology=star:4", *ports, "--pcap-port=host0", "--pcap-port=host1",
                               "--series-ports=host9", "--pcap-port=host2"]
    assert "--fault=10us fail host:1" in second.arguments
    assert given({"plugin": ["a.so", "b.so"], "lb": "ops"}, weft.repeatable) == \
        [("plugin", "a.so"), ("plugin", "b.so"), ("lb", "ops")]


def test_options_of_the_caller_add_up_over_an_axis(write: Write, weft: Binary) -> None:
    path = write("topology: star:4\nsweep: {fault: [1us fail host:1, 2us fail host:1], lb: [ops, ecmp]}\n")
    scenario = load(path, weft)
    runs = scenario.override([("fault", "3us fail host:2"), ("fault", "4us fail host:3"), ("lb", "ops"),
                              ("lb", "reps")]).runs()
    assert [run.arguments for run in runs] == [
        ["--topology=star:4", "--fault=3us fail host:2", "--lb=reps", "--fault=4us fail host:3"]]


def test_plug_ins_lie_beside_the_scenario(write: Write, weft: Binary, tmp_path: Path) -> None:
    for name in ("cc_mine", "lb_mine"):
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT}/include", "-o", tmp_path / f"{name}.so",
                        ROOT / "examples" / f"{name}.c"], check=True)
    path = write("topology: star:4\nmatrix: permutation:4:4KiB\nplugin: [cc_mine.so, lb_mine.so]\ncc: mine\n"
                 "lb: turns\n")
    planned, = plan(load(path, weft), weft)
    assert planned.run.arguments[2:4] == [f"--plugin={tmp_path}/{name}.so" for name in ("cc_mine", "lb_mine")]
    done = subprocess.run([weft.path, "sim", path, "--dry-run"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)
    assert (config["cc"], config["lb"]) == ("mine", "turns")


def test_identity_is_of_settings_and_file_contents(write: Write, weft: Binary, tmp_path: Path) -> None:
    matrix = tmp_path / "two.cm"
    matrix.write_text("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10\n")
    text = "matrix: two.cm\ntopology: star:4\nseeds: 2\n"
    first = [planned.identity for planned in plan(load(write(text), weft), weft)]
    assert len(set(first)) == 2
    assert first == [planned.identity for planned in plan(load(write(text), weft), weft)]
    matrix.write_text("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 11\n")
    assert not set(first) & {planned.identity for planned in plan(load(write(text), weft), weft)}


@pytest.mark.parametrize("text, value", [("7", 7), ("0x10", 16), ("010", 8), ("0", 0), ("-1", None), ("1e3", None),
                                         ("", None), ("18446744073709551616", None)])
def test_whole_numbers_are_read_as_the_command_does(text: str, value: int | None) -> None:
    assert whole_number(text) == value


def test_a_missing_program_is_named() -> None:
    from weftlab.binary import find
    with pytest.raises(WeftlabError, match="/nonexistent/weft: no such program"):
        find("/nonexistent/weft")


def test_a_missing_file_is_named(weft: Binary) -> None:
    with pytest.raises(ScenarioError, match="/nonexistent.yaml: No such file"):
        load("/nonexistent.yaml", weft)


def test_all_scenarios_of_this_tree_are_read(weft: Binary) -> None:
    files = sorted((ROOT / "configs" / "scenarios").glob("*.yaml")) + \
        sorted((ROOT / "configs" / "papers").glob("*/fig0[1-3].yaml"))
    assert len(files) > 15
    for file in files:
        scenario = load(file, weft)
        assert len({(run.label, run.seed) for run in scenario.runs()}) == scenario.run_count()


def test_runs_of_a_kept_sweep(write: Write, weft: Binary) -> None:
    """Order, labels, values, seeds and options, each of them as it always was."""
    expected = json.loads((ROOT / "tests" / "weftlab" / "golden" / "runs.json").read_text())
    runs = load(write(SWEPT + "mtu: 1024\nno-trim: true\n"), weft).runs()
    assert len(runs) == len(expected)
    for run, theirs in zip(runs, expected):
        values = {name: value_of(value) for name, value in run.values.items()}
        assert (run.label, run.case, values, run.seed) == tuple(theirs[k] for k in ("label", "case", "values", "seed"))
        options = theirs["options"]
        settings = dict(item.value.split("=") for item in run.items if item.name == "set")
        assert {k: value_of(v) for k, v in settings.items()} == options.pop("set")
        assert {i.name: value_of(i.value) for i in run.items if i.name != "set"} == options
