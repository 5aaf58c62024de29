# SPDX-License-Identifier: BSD-3-Clause
"""Claims: what is read, what is measured, and what is made of it."""
from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

import weftlab
from conftest import ROOT, Write
from weftlab import BREAKS, HOLDS, UNDECIDED, Runs, ScenarioError, WeftlabError, judge, load_claims
from weftlab.__main__ import main
from weftlab.binary import Binary, Metric, find
from weftlab.claim_reader import load_bench
from weftlab.claims import REPORTED, UNKNOWN, in_words, paired
from weftlab.fields import value_is
from weftlab.measures import MEASURES, Scope, explained, known, nearest_rank, rates_of
from weftlab.panels import cells
from weftlab.published import load_published
from weftlab.reader import load

GOLDEN = ROOT / "tests" / "weftlab" / "golden"  # results of one sweep, and what they were measured to be
SWEPT = "topology: star:4\ncases: [{name: a}, {name: b}]\nsweep: {topology: [x/a.topo, b.topo]}\nclaims:\n"


def test_measures_of_kept_results(weft: Binary) -> None:
    """Values and intervals of about 300 claims: each measure alone, over and less others, of some ports and flows."""
    expected = (GOLDEN / "claims.txt").read_text().splitlines()
    runs = weftlab.load(GOLDEN / "results")
    judged = [judge(claim, runs) for claim in load_claims(load(GOLDEN / "claims.yaml", weft))]
    assert len(judged) == len(expected) > 280
    for found, said in zip(judged, expected):
        value = float(said.split()[0])
        assert found.value == pytest.approx(value, rel=0.006, abs=1e-9), (found.claim.measure, said)
        half, ends = re.search(r"±(\S+)", said), re.search(r"\[(\S+), (\S+)\]", said)
        if half:
            assert found.interval.half == pytest.approx(float(half[1]), rel=0.06, abs=1e-9), (found.claim.measure, said)
        if ends:
            assert found.interval.ends == pytest.approx((float(ends[1]), float(ends[2])), rel=0.006)
        assert bool(ends) == (found.interval.ends is not None), (found.claim.measure, said)


def test_measures_of_the_result_are_the_metrics_of_the_command(weft: Binary) -> None:
    """Names and meanings have one source."""
    assert {name for name, measure in MEASURES.items() if not measure.help} == set(weft.metrics)
    assert all(measure.help for name, measure in MEASURES.items() if name not in weft.metrics)
    assert explained(weft)["fct_max_us"] == weft.metrics["fct_max_us"].help


def test_a_new_metric_of_the_command_is_a_measure(weft: Binary, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": "weft.run/1", "packets": {"lucky": 7}}')
    newer = Binary(weft.path, weft.options, weft.digest)
    newer.metrics.update(lucky=Metric("packets.lucky", "packets", "luck"), derived=Metric(None, None, "of others"))
    assert known("lucky", newer) and not known("derived", newer) and not known("nothing", newer)
    assert MEASURES["lucky"].of({"directory": str(tmp_path)}, Scope()) == 7
    assert explained(newer)["lucky"] == "luck"
    del MEASURES["lucky"]


def test_the_build_that_is_named_says_what_can_be_measured(write: Write, tmp_path: Path, weft: Binary) -> None:
    """Not the one that would be found without a name."""
    program = tmp_path / "newer"
    program.write_text(f"""#!/bin/sh
[ "$2" = --metrics ] || exec {weft.path} "$@"
echo '[{{"name": "fortunate", "json": "packets.fortunate", "unit": "packets", "help": "luck"}}]'
""")
    program.chmod(0o755)
    text = "topology: star:4\nfigure: {shows: 1, form: bars, measure: fortunate, x: seed}\n" \
        "claims:\n  - {text: a, measure: fortunate, at_most: 1}\n"
    with pytest.raises(ScenarioError, match="measure: unknown 'fortunate'"):
        load_claims(load(write(text), weft))
    for read in (load_claims, load_published):
        assert read(load(write(text), find(program)))
        del MEASURES["fortunate"]


@pytest.mark.parametrize("entry, words", [
    ("{measure: jain, at_most: 1}", "text: a claim says something"),
    ("{text: a, at_most: 1}", "measure: is missing"),
    ("{text: a, measure: beauty, at_most: 1}", "measure: unknown 'beauty'"),
    ("{text: a, measure: jain}", "at_most: a claim needs at_most or at_least"),
    ("{text: a, measure: jain, at_most: much}", "at_most: 'much' is not a number"),
    ("{text: a, measure: jain, at_most: %s}" % ("1" * 400), "1' is not a number"),
    ("{text: a, measure: jain, at_most: 1, flows: ²}", "flows: '²' is neither"),
    ("{text: a, measure: jain, at_most: 1, from: ²us}", "from: '²us' is not a time"),
    ("{text: a, measure: jain, at_most: 1, colour: red}", "colour: unknown key of a claim"),
    ("{text: a, measure: jain, at_most: 1, of: {case: c}}", "case: no run has 'c'"),
    ("{text: a, measure: jain, at_most: 1, over: {}}", "over: names nothing to compare with"),
    ("{text: a, measure: jain, at_most: 1, less: {case: a}, over: {case: b}}",
     "over: a claim has one of over and less"),
    ("{text: a, measure: jain, at_most: 1, flows: 5-2}", "flows: '5-2' is neither"),
    ("{text: a, measure: jain, at_most: 1, from: soon}", "from: 'soon' is not a time"),
    ("{text: a, measure: jain, at_most: 1, to: 2ms}", "to: changes nothing: jain is of the whole run"),
    ("{text: a, measure: fct_p99_us, at_most: 1, ports: 'leaf0:*'}", "ports: changes nothing: fct_p99_us is of the"),
    ("{text: a, measure: fct_p9999_us, at_most: 1, from: 1ms}", "from: changes nothing: fct_p9999_us is of flows"),
    ("{text: a, measure: link_share_max, at_most: 1, flows: 3}", "flows: changes nothing: link_share_max is of ports"),
    ("{text: a, measure: flow_jain, at_most: 1, within: 0.1}", "within: changes nothing: flow_jain is of flows,"),
    ("{text: a, measure: flow_jain, at_most: 1, from: 2ms, to: 2ms}", "from: 2000 us to 2000 us is no time"),
    ("{text: a, measure: port_bytes, at_most: 1}", "measure: needs samples over time: give outputs: {series: TIME}"),
    ("{text: a, measure: flow_jain, at_most: 1}", "measure: needs samples over time"),
    ("{text: a, measure: jain, real: life}", "real: 'life' is not lab"),
    ("{text: a, measure: jain, at_most: 1, bound: mine}", "bound: 'mine' is not published"),
    ("{text: a, measure: port_bytes, real: lab}", "real: takes a number of the result"),
    ("{text: a, measure: jain, real: lab}", "real: the scenario has no bench"),
])
def test_refusals_name_line_and_key(entry: str, words: str, write: Write, weft: Binary) -> None:
    scenario = load(write(SWEPT + f"  - {entry}\n"), weft)
    with pytest.raises(ScenarioError, match="case.yaml:5: ") as caught:
        load_claims(scenario)
    assert words in str(caught.value)


def test_a_claim_is_read_whole(write: Write, weft: Binary) -> None:
    text = SWEPT + ("  - {text: a, paper: 2x, note: why, measure: flow_reach_us, at_most: 2, at_least: 1, "
                    "of: {case: [a, b]}, less: {topology: a.topo}, flows: 3, from: 2ms, to: 1s, within: 0.1}\n")
    claim, = load_claims(load(write(f"series: 1us\n{text}"), weft))
    assert (claim.text, claim.paper, claim.note, claim.bound) == ("a", "2x", "why", "at least 1 and at most 2")
    assert claim.scope == Scope(None, 3, 3, 2000.0, 1e6, 0.1)
    assert claim.of == {"case": ["a", "b"]} and claim.over == {"topology": ["a.topo"]} and claim.difference


def made_up(**values: list[float]) -> Runs:
    rows = [{"id": 0, "label": case, "case": case, "seed": seed, "status": "done", "directory": "x", "failed": value}
            for case, list_ in values.items() for seed, value in enumerate(list_)]
    for at, row in enumerate(rows):
        row["id"] = at
    runs = Runs(rows)
    runs.attrs.update(axes=[], cases=list(values), title="made up")
    return runs


@pytest.mark.parametrize("a, b, bound, expected", [
    ([10, 11, 12], [5, 5.5, 6], "at_least: 1.9", HOLDS), ([10, 11, 12], [5, 5.5, 6], "at_least: 2.1", BREAKS),
    ([10, 11, 14], [5, 6, 6], "at_least: 1.9", UNDECIDED), ([10], [5], "at_least: 1.9", HOLDS),
    ([10, 11, math.nan], [5, 5, 5], "at_least: 1.9", UNKNOWN), ([0, 0], [0, 0], "at_most: 1", HOLDS),
    ([1, 1], [0, 0], "at_least: 2", HOLDS), ([0, 0, 0, 0, 1], [0] * 5, "at_least: 1.5", UNDECIDED)])
def test_verdicts(a: list[float], b: list[float], bound: str, expected: str, write: Write, weft: Binary) -> None:
    text = "topology: star:4\ncases: [{name: a}, {name: b}]\nclaims:\n" \
        f"  - {{text: a claim, measure: failed, of: {{case: a}}, over: {{case: b}}, {bound}}}\n"
    claim, = load_claims(load(write(text), weft))
    found = judge(claim, made_up(a=a, b=b))
    assert found.verdict == expected
    words = in_words([found])
    assert expected in words and (" pairs, " in words) == (expected != UNKNOWN and len(a) > 1)


def test_claims_about_no_runs_are_refused(write: Write, weft: Binary) -> None:
    text = "topology: star:4\ncases: [{name: a}, {name: b}]\nclaims:\n" \
        "  - {text: t, measure: failed, of: {case: a}, over: {case: b}, at_most: 1}\n"
    claim, = load_claims(load(write(text), weft))
    with pytest.raises(ScenarioError, match="over: nothing stands beside a"):
        judge(claim, made_up(a=[1, 2]))
    with pytest.raises(ScenarioError, match="of: no run is meant"):
        judge(claim, made_up(b=[1, 2]))


def test_flows_without_an_end_decide_what_they_can(write: Write, weft: Binary, tmp_path: Path) -> None:
    """A completion time is then at least the time so far: here 20 us, and the other case's flows end."""
    bounds = ("at_least: 19", "at_most: 19", "at_least: 21", "at_most: 21", "at_least: 19, at_most: 30")
    text = "topology: star:4\nmatrix: permutation:4:1MiB\nseries: 5us\n" \
        "cases: [{name: a, end: 20us}, {name: b}]\nclaims:\n"
    for bound in bounds:
        text += f"  - {{text: t, measure: fct_max_us, of: {{case: a}}, {bound}}}\n"
    for case, other, bound in (("a", "b", "at_least: 0.1"), ("b", "a", "at_most: 20"), ("b", "a", "at_least: 20"),
                               ("b", "a", "at_most: 0.1")):
        text += f"  - {{text: t, measure: fct_max_us, of: {{case: {case}}}, over: {{case: {other}}}, {bound}}}\n"
    text += "  - {text: t, measure: jain, of: {case: a}, at_least: 0}\n"
    text += "  - {text: t, measure: port_bytes, ports: 'host9', at_most: 1}\n"
    path = write(text)
    runs = weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    *claims, of_rates, of_ports = load_claims(load(path, weft))
    found = [judge(claim, runs) for claim in claims]
    assert [each.verdict for each in found] == [HOLDS, BREAKS, UNKNOWN, UNKNOWN, UNKNOWN,
                                                HOLDS, HOLDS, BREAKS, UNKNOWN]
    so_far = found[0].ours.split()  # at least TIME (a)
    assert so_far[:2] == ["at", "least"] and 19 < float(so_far[2]) <= 20 and found[6].ours.startswith("at most ")
    assert judge(of_rates, runs).verdict == UNKNOWN
    with pytest.raises(WeftlabError, match="links.csv: no port is called 'host9'"):
        judge(of_ports, runs)


def test_sampled_ports_are_those_of_a_claim(write: Write, weft: Binary) -> None:
    text = "topology: star:4\nseries: 1us\nseries-ports: 'leaf0:*'\nclaims:\n" \
        "  - {text: all that are sampled, measure: port_bytes, at_most: 1}\n" \
        "  - {text: other, measure: port_bytes, at_most: 1, ports: 'host*'}\n"
    with pytest.raises(ScenarioError, match="case.yaml:6: ports: 'host.' are not among the sampled ports"):
        load_claims(load(write(text), weft))
    assert len(load_claims(load(write(text.rpartition("  -")[0]), weft))) == 1


def of_first_run(name: str, scope: Scope = Scope()) -> float:
    """A measure of the first of the kept runs."""
    return MEASURES[name].of(weftlab.load(GOLDEN / "results").to_dict("records")[0], scope)


def test_nothing_is_not_zero() -> None:
    """Of no flow and no time there is no measure; an idle port has 0."""
    for name in ("flow_fct_max_us", "flow_dup_acks_max", "fct_p999_us", "foreground_gbps_mean", "flow_jain"):
        with pytest.raises(WeftlabError, match="there is no flow 6"):
            of_first_run(name, Scope(first_flow=6))
        with pytest.raises(WeftlabError, match="there is no flow 99"):
            of_first_run(name, Scope(first_flow=2, last_flow=99))
    for name in ("port_bytes", "cwnd_max_bytes", "flow_jain"):
        with pytest.raises(WeftlabError, match="the run ends at 16.5397 us, before the time looked at begins .17 us"):
            of_first_run(name, Scope(from_us=17))
    for name in ("port_queue_max_bytes", "port_bytes", "cwnd_max_bytes"):
        with pytest.raises(WeftlabError, match="there is no sample from 13 us to 13.5 us .one each 2 us"):
            of_first_run(name, Scope(from_us=13, to_us=13.5))
    assert of_first_run("port_bytes", Scope(ports="host0", from_us=16, to_us=16.2)) == 0
    assert of_first_run("cwnd_max_bytes", Scope(from_us=16.5)) == 160968, "the sample at the end of the run"
    assert math.isnan(of_first_run("cwnd_max_bytes", Scope(to_us=1.2)))


def test_flows_that_did_not_end_leave_a_mean_open(write: Write, weft: Binary, tmp_path: Path) -> None:
    """Flow 0 has the link to itself and ends; flows 1 to 3 share one."""
    claims = "".join(f"  - {{text: t, measure: {measure}, {bound}}}\n" for measure, bound in (
        ("flow_fct_max_us", "at_most: 50"), ("flow_fct_mean_us", "at_most: 50"), ("flow_fct_max_us", "at_least: 50"),
        ("flow_fct_max_us", "flows: 0, at_most: 50"), ("background_mean_us", "at_most: 50"),
        ("foreground_p99_us", "flows: 0, at_most: 50"), ("background_p99_us", "at_most: 50")))
    (tmp_path / "some.cm").write_text("Nodes 5\nConnections 4\n" + "".join(
        f"{src}->{dst} id {at} start 0 size {size}\n"
        for at, (src, dst, size) in enumerate(((1, 2, 65536), (2, 0, 4 << 20), (3, 0, 4 << 20), (4, 0, 4 << 20)), 1)))
    path = write(f"topology: star:5\nmatrix: some.cm\nlink-gbps: 100\nend: 100us\nclaims:\n{claims}")
    runs = weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    assert list(runs["completed"]) == [1]
    found = [judge(claim, runs) for claim in load_claims(load(path, weft))]
    assert [each.verdict for each in found] == [BREAKS, BREAKS, HOLDS, HOLDS, UNKNOWN, HOLDS, UNKNOWN]


def test_rates_that_never_become_fair_take_longer_than_looked_at(write: Write, weft: Binary, tmp_path: Path) -> None:
    """Of the two flows of a host's link one ends long before the other."""
    (tmp_path / "two.cm").write_text("Nodes 4\nConnections 2\n0->1 id 1 start 0 size 65536\n"
                                     "2->3 id 2 start 0 size 2097152\n")
    claims = "".join(f"  - {{text: t, measure: {measure}, from: 10us, {bound}}}\n"
                     for measure in ("flow_reach_us", "flow_settle_us")
                     for bound in ("at_most: 1e6", "at_least: 1", "at_most: 1", "flows: 1, within: 0.9, at_most: 1e6"))
    path = write(f"topology: star:4\nmatrix: two.cm\nlink-gbps: 100\nseries: 5us\nclaims:\n{claims}"
                 "figure: {shows: 1, form: bars, measure: flow_reach_us, from: 10us, x: seed}\n")
    runs = weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    assert list(runs["completed"]) == [2]
    scenario = load(path, weft)
    found = [judge(claim, runs) for claim in load_claims(scenario)]
    assert [each.verdict for each in found] == [UNKNOWN, HOLDS, BREAKS, HOLDS] * 2
    assert found[1].shown.startswith("at least ") and not found[3].least
    form = load_published(scenario)
    assert form is not None
    cell, = cells(form, form.panels[0], runs, runs)
    assert (cell.limit, cell.value) == ("least", found[1].value)


@pytest.mark.parametrize("least, most, bound, value, expected", [
    (True, True, "at_least: 1", 2.0, UNKNOWN), (True, False, "at_least: 1", 2.0, HOLDS),
    (True, False, "at_least: 1", 0.5, UNKNOWN), (True, False, "at_most: 1", 2.0, BREAKS),
    (True, False, "at_most: 1", 0.5, UNKNOWN), (False, True, "at_most: 1", 0.5, HOLDS),
    (False, True, "at_most: 1", 2.0, UNKNOWN), (False, True, "at_least: 1", 0.5, BREAKS),
    (True, False, "at_least: 1, at_most: 3", 4.0, BREAKS), (True, False, "at_least: 1, at_most: 3", 2.0, UNKNOWN),
    (True, False, "at_least: 1, at_most: 3", 0.5, UNKNOWN), (False, True, "at_least: 1, at_most: 3", 0.5, BREAKS),
    (False, True, "at_least: 1, at_most: 3", 2.0, UNKNOWN), (False, True, "at_least: 1, at_most: 3", 4.0, UNKNOWN)])
def test_limits_decide_one_way(least: bool, most: bool, bound: str, value: float, expected: str, write: Write,
                               weft: Binary) -> None:
    claim, = load_claims(load(write(SWEPT + f"  - {{text: t, measure: jain, {bound}}}\n"), weft))
    assert claim.verdict(weftlab.interval([value]), least, most) == expected


def test_the_command_prints_verdicts(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("topology: star:4\nmatrix: permutation:4:16KiB\nclaims:\n"
                 "  - {text: nothing fails, paper: none, measure: failed, at_most: 0}\n")
    weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    assert main(["claims", path, str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == "  holds: nothing fails\n" \
        "          ours 0 (case), must be at most 0; paper: none\n1 claims: 1 holds\n"


def test_claims_of_all_publications_are_read(weft: Binary) -> None:
    count = 0
    for path in sorted((ROOT / "configs" / "papers").glob("*/fig0[1-5].yaml")):
        scenario = load(path, weft)
        count += len(load_claims(scenario))
    assert count > 50


REAL = """topology: star:4
matrix: permutation:4:16KiB
seeds: 2
bench: {link-gbps: 0.25, set: {ack_every: 2}, runs: [{}]}
claims:
  - {text: as fast, measure: inflation, real: lab}
  - {text: nothing fails, measure: failed, real: lab, at_most: 1}
"""


def test_real_time_stands_beside_the_lab(write: Write, weft: Binary, tmp_path: Path) -> None:
    path = write(REAL)
    runs = weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    scenario = load(path, weft)
    inflation, failed = load_claims(scenario)
    assert judge(inflation, runs).verdict == UNKNOWN
    real = tmp_path / "out" / "real" / "0000"
    shutil.copytree(tmp_path / "out" / "runs" / "0000", real)
    identity = json.loads((real / "run.json").read_text())["identity"]
    for said in (None, "", f"{identity[:-1]}x\nbench\n"):
        if said is not None:
            (real / "command.txt").write_text(said)
        assert judge(inflation, runs).verdict == judge(failed, runs).verdict == UNKNOWN, "the run of other settings"
    (real / "command.txt").write_text(f"{identity}\nbench\n")
    found = judge(inflation, runs)
    assert found.verdict == REPORTED and found.ours.startswith("1 (case: in real time "), found
    assert judge(failed, runs).verdict == HOLDS
    assert in_words([found, judge(failed, runs)]).endswith("2 claims: 1 holds, 1 reported\n")
    record = tmp_path / "out" / "runs" / "0001" / "run.json"
    values = json.loads(record.read_text())
    values["flows"]["completed"] -= 1
    record.write_text(json.dumps({**values, "inflation": 0}))
    found = judge(inflation, weftlab.load(tmp_path / "out"))
    assert found.most and found.shown.startswith("at most "), "the lab's mean is only the least that it can be"
    bench = load_bench(scenario)
    assert [item.argument for item in bench.items] == ["--link-gbps=0.25", "--set=ack_every=2"]
    assert bench.picks == ({},)


@pytest.mark.parametrize("key, words", [("[]", "a mapping"), ("{link-gbps: 1}", "bench: names no runs"),
                                        ("{runs: [{case: x}]}", "case: no run has 'x'"),
                                        ("{colour: red, runs: [{}]}", "case.yaml:2: colour: unknown key; bench has"),
                                        ("{fault: 1us, runs: [{}]}", "fault: unknown key")])
def test_runs_in_real_time_are_named(key: str, words: str, write: Write, weft: Binary) -> None:
    with pytest.raises(ScenarioError, match=words):
        load_bench(load(write(f"topology: star:4\nbench: {key}\n"), weft))


def test_the_combination_that_speaks_most_against_a_claim_decides(write: Write, weft: Binary) -> None:
    path = write("topology: star:4\ncases: [{name: a}, {name: b}]\nclaims:\n"
                 "  - {text: t, measure: failed, of: {}, at_most: 10}\n")
    claim, = load_claims(load(path, weft))
    near, wide, beyond = [9.9, 9.9], [2.0, 8.0], [11.0, 11.1]
    assert judge(claim, made_up(a=near, b=wide)).verdict == UNDECIDED
    assert judge(claim, made_up(a=near, b=wide)).runs == "b"
    assert judge(claim, made_up(a=beyond, b=wide)).verdict == BREAKS
    assert judge(claim, made_up(a=near, b=near)).verdict == HOLDS
    unknown = [9.9, math.nan]
    assert judge(claim, made_up(a=unknown, b=beyond)).verdict == BREAKS
    assert judge(claim, made_up(a=unknown, b=wide)).verdict == UNKNOWN
    assert judge(claim, made_up(a=near, b=unknown)).verdict == UNKNOWN


def test_pairs_tell_how_large_a_difference_is(write: Write, weft: Binary) -> None:
    path = write("topology: star:4\ncases: [{name: a}, {name: b}]\nclaims:\n"
                 "  - {text: t, measure: failed, of: {case: a}, over: {case: b}, at_least: 1}\n")
    claim, = load_claims(load(path, weft))
    found = judge(claim, made_up(a=[10, 12, 14], b=[5, 6, 9]))
    assert (found.pairs, round(found.effect, 2), round(found.p_value, 4)) == (3, 9.24, 0.0039)
    assert paired(found) == "3 pairs, p 0.0039, effect size 9.2 (large)"
    assert paired(judge(claim, made_up(a=[1, 2], b=[1, 2]))) == "2 pairs, no difference"
    assert judge(claim, made_up(a=[10], b=[5])).pairs == 1


def test_pairs_are_of_the_same_seed(write: Write, weft: Binary) -> None:
    path = write("topology: star:4\ncases: [{name: a}, {name: b}]\nclaims:\n"
                 "  - {text: t, measure: failed, of: {case: a}, less: {case: b}, at_least: 1}\n")
    claim, = load_claims(load(path, weft))
    runs = made_up(a=[2, 12, 22], b=[1, 11, 21])
    turned = runs.iloc[[0, 1, 2, 5, 3, 4]]
    assert judge(claim, turned).interval == judge(claim, runs).interval == weftlab.interval([1, 1, 1])
    others = runs.assign(seed=[0, 1, 2, 1, 2, 3])
    assert judge(claim, others).verdict == UNKNOWN


def test_values_of_axes_are_known_by_the_end_of_their_path() -> None:
    assert value_is("x/a.topo", "a.topo") and value_is(100, "100") and value_is(0.3, "0.30")
    assert not value_is("xa.topo", "a.topo")


def test_rates_settle_where_they_stay_fair() -> None:
    rows = [{"time_us": float(t + 1), "interval_us": 1.0, "flow": flow, "bytes": size}
            for t, sizes in enumerate([(100, 300), (200, 200), (120, 280), (200, 200), (200, 200), (200, 200)])
            for flow, size in enumerate(sizes)]
    rates = rates_of(pd.DataFrame(rows), Scope(), 2)
    assert rates is not None
    assert (rates.reach_us(), rates.settle_us()) == (2.0, 3.0)
    assert list(rates.gbps) == pytest.approx([1.36, 1.84])
    assert rates_of(pd.DataFrame(rows), Scope(from_us=50.0), 2) is None


def test_percentiles_are_by_nearest_rank() -> None:
    assert [nearest_rank([3, 1, 2, 4], share) for share in (0.25, 0.5, 0.51, 1)] == [1, 2, 3, 4]
    assert math.isnan(nearest_rank([], 0.5))
    assert nearest_rank([1], 0.999) == 1
