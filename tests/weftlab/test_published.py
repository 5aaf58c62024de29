# SPDX-License-Identifier: BSD-3-Clause
"""The forms of published figures: what is declared, what is refused, and what is drawn of flows that did not end."""
from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import weftlab
from conftest import ROOT, Write
from weftlab import Runs, ScenarioError, WeftlabError
from weftlab.__main__ import main
from weftlab.binary import Binary
from weftlab.forms import draw_published
from weftlab.gallery import entry_of, scenario_files, write_gallery
from weftlab.measures import Scope, lower_bound
from weftlab.panels import cells, chosen_runs, number_of, over_time
from weftlab.published import FORMS, SOURCES, Panel, Published, load_published
from weftlab.reader import load

PAPERS = ROOT / "configs" / "papers"
SCENARIO = """title: a dead cable
topology: leafspine:2:2:4
sweep: {matrix: ["permutation:8:256KiB"]}
end: 300us
reconverge: 1s
fault: "5us fail cable:leaf:0:0"
cases:
  - {name: one, lb: ecmp}
  - {name: two, lb: ops}
outputs: {series: 10us}
figure:
  shows: Figure 1
  names: {two: sprayed, one: hashed}
  by: case
  panels:
    - {form: bars, measure: fct_max_us, x: matrix:2, ideal: true, paper: [{value: 90, by: one}]}
    - {form: lines, measure: fct_p99_us, x: seed}
    - {form: cdf, values: flows.fct_us, ideal: true}
    - {form: violin, values: flows.fct_us, x: case}
    - {form: each, values: arrivals.gbps, marks: [{y: 50, text: half}]}
    - {form: time, values: arrivals.gbps, split: case, right: ports.queue_bytes, events: ports.dropped}
"""


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory, weft: Binary) -> tuple[Published, Runs]:
    """A figure with a panel of each form, of runs in which flows do not end."""
    directory = tmp_path_factory.mktemp("dead")
    (directory / "fig01.yaml").write_text(SCENARIO)
    runs = weftlab.run(directory / "fig01.yaml", jobs=2, out=directory / "results" / "paper" / "fig01", quiet=True)
    form = load_published(load(directory / "fig01.yaml", weft))
    assert form is not None
    return form, runs


def test_every_scenario_of_a_paper_declares_its_form(weft: Binary) -> None:
    files = {f"{path.parent.name}/{path.stem}" for path in PAPERS.glob("*/*.yaml")}
    found = {f"{entry.paper}/{entry.name}": entry.form
             for entry in (entry_of(path, weft) for path in scenario_files(str(PAPERS))) if entry}
    assert files - set(found) == set()
    assert len(found) > 70
    assert all(form.shows and form.panels for form in found.values())
    assert {panel.form for form in found.values() for panel in form.panels} == set(FORMS)


@pytest.mark.parametrize("said, message", [
    ("{shows: 1, form: pie}", r"case.yaml:2: form: unknown 'pie'; there are bars"),
    ("{shows: 1, form: bars}", r"case.yaml:2: measure: is missing; bars need it"),
    ("{form: bars, measure: failed}", r"case.yaml:2: shows: is missing"),
    ("{shows: 1, measure: failed}", r"case.yaml:2: form: is missing"),
    ("{shows: 1, form: bars, measure: beauty}", r"case.yaml:2: measure: unknown 'beauty'"),
    ("{shows: 1, form: bars, measure: failed, x: matrix}", r"case.yaml:2: x: no column 'matrix'; there are measure"),
    ("{shows: 1, form: bars, measure: failed, x: seed:²}", r"case.yaml:2: x: no column 'seed:²'"),
    ("{shows: 1, form: cdf, values: flows.colour}", r"case.yaml:2: values: unknown 'flows.colour'"),
    ("{shows: 1, form: time, values: flows.fct_us}", r"case.yaml:2: values: flows.fct_us has no samples over time"),
    ("{shows: 1, form: cdf, values: flows.fct_us, y_range: [2, 1]}", r"case.yaml:2: y_range: is a list of the lower"),
    ("{shows: 1, form: cdf, values: flows.fct_us, x_log: yes}", r"case.yaml:2: x_log: 'yes' is neither"),
    ("{shows: 1, form: cdf, values: flows.fct_us, marks: [{text: a}]}", r"case.yaml:2: marks: a mark has one of x and"),
    ("{shows: 1, form: cdf, values: flows.fct_us, paper: [{x: 1}]}", r"case.yaml:2: value: is missing"),
    ("{shows: 1, form: cdf, values: flows.fct_us, colour: red}", r"case.yaml:2: colour: unknown key of a figure"),
    ("{shows: 1, form: time, values: ports.gbps}", r"case.yaml:2: figure: needs samples over time: give outputs:"),
    ("{shows: 1, form: bars, measure: port_dropped}", r"case.yaml:2: figure: needs samples.*for ports.dropped"),
    ("{shows: 1, form: bars, measure: flow_jain}", r"case.yaml:2: figure: needs samples.*for arrivals"),
    ("{shows: 1, form: time, values: ports.gbps, ports: 'leaf0:up*'}\nseries: 1us\nseries-ports: 'leaf1:*'",
     r"case.yaml:2: ports: 'leaf0:up\*' are not among the sampled ports, series-ports: leaf1"),
    ("{shows: 1, panels: []}", r"case.yaml:2: panels: there must be at least one"),
    ("{shows: 1, form: bars, measure: [jain, fct_p99_us], from: 1us}",
     r"case.yaml:2: from: changes nothing for jain and fct_p99_us"),
    ("{shows: 1, form: bars, flows: 1, panels: [{measure: jain}, {measure: inflation}]}",
     r"case.yaml:2: flows: changes nothing for jain and inflation"),
    ("{shows: 1, form: bars, measure: fct_p9999_us, panels: [{flows: 1}, {ports: 'leaf0:*'}]}",
     r"case.yaml:2: ports: changes nothing for fct_p9999_us"),
])
def test_what_is_wrong_is_said_with_its_place(said: str, message: str, write: Write, weft: Binary) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_published(load(write(f"topology: star:4\nfigure: {said}\n"), weft))


@pytest.mark.parametrize("said", [
    "{shows: 1, form: bars, flows: 1, panels: [{measure: jain}, {measure: fct_p9999_us}]}",
    "{shows: 1, flows: 1, panels: [{form: bars, measure: jain}, {form: cdf, values: flows.fct_us}]}",
])
def test_a_scope_of_the_figure_need_not_be_of_every_panel(said: str, write: Write, weft: Binary) -> None:
    assert load_published(load(write(f"topology: star:4\nfigure: {said}\n"), weft))


def test_no_panel_is_blank_and_flows_without_an_end_are_seen(dead: tuple[Published, Runs]) -> None:
    form, runs = dead
    assert (runs["completed"] < runs["flows"]).all(), "all flows ended, so that nothing is tested"
    drawn = draw_published(form, runs)
    panels = [axes for axes in drawn.axes if axes.axison and axes.get_ylabel() != "queue (bytes)"]
    assert len(panels) == 7
    assert all(axes.has_data() for axes in panels)
    bars = panels[0]
    assert {patch.get_hatch() for patch in bars.patches} == {"/////"}
    assert all(patch.get_height() > 200 for patch in bars.patches), "shorter than the time they have taken"
    for axes in panels[:4]:
        assert any(line.get_marker() in "^>" for line in axes.lines), axes.get_title()
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert words[:2] == ["sprayed", "hashed"]
    assert {"published", "ideal", "flows did not end: at least so much", "open: did not end"} <= set(words)


def test_a_lower_bound_counts_the_time_so_far(dead: tuple[Published, Runs]) -> None:
    row, everything = dead[1].to_dict("records")[0], Scope()
    bounds = {name: lower_bound(row, name, everything) for name in
              ("fct_min_us", "fct_mean_us", "fct_p99_us", "fct_max_us", "makespan_us", "inflation")}
    assert bounds["fct_max_us"] == pytest.approx(row["virtual_us"], rel=0.01)
    assert bounds["fct_min_us"] < bounds["fct_mean_us"] < bounds["fct_p99_us"]
    assert bounds["inflation"] == pytest.approx(bounds["makespan_us"] / row["ideal_us"])


def test_a_lower_bound_of_some_flows_is_of_these(dead: tuple[Published, Runs]) -> None:
    row = dead[1].to_dict("records")[0]
    flows = dead[1].head(1).flows()
    ended = flows[flows["fct_us"].notna()].iloc[0]
    one = Scope(first_flow=int(ended["flow"]), last_flow=int(ended["flow"]))
    assert lower_bound(row, "fct_p999_us", one) == ended["fct_us"]
    assert lower_bound(row, "fct_p999_us", Scope()) == pytest.approx(row["virtual_us"], rel=0.01)


def test_sources_are_columns_of_the_files(dead: tuple[Published, Runs]) -> None:
    runs = dead[1]
    files: dict[str, Any] = {"flows": runs.flows(), "ports": runs.ports(), "links": runs.links(),
                             "conns": runs.series(), "arrivals": runs.arrivals()}
    missing = [source for source in SOURCES if source.partition(".")[0] in files and source != "ports.gbps" and
               source.partition(".")[2] not in files[source.partition(".")[0]].columns]
    assert not missing
    rates = over_time(runs.head(1), "ports.gbps", Scope(ports="leaf0:*"))
    assert rates.max().max() == pytest.approx(runs.links()["gbps"].max(), rel=0.1)


def test_a_run_without_a_result_takes_its_partner_with_it() -> None:
    rows = [{"id": at, "label": case, "case": case, "seed": seed, "directory": "" if at == 3 else "x", "failed": value,
             "completed": 1, "flows": 1}
            for at, (case, seed, value) in enumerate(zip("aaabbb", (1, 2, 3, 1, 2, 3), (20, 6, 2, 10, 3, 1)))]
    runs = Runs(rows)
    runs.attrs.update(axes=[], cases=["a", "b"], title="made up")
    panel = Panel(form="bars", measure=("failed",), of={"case": ["a"]}, over={"case": ["b"]}, by="case")
    cell, = cells(Published("x", 1, "", "", "", {}, 0, (panel,)), panel, chosen_runs(panel, runs), runs)
    assert cell.value == 2 and cell.half == pytest.approx(0)


UNEVEN = """title: one that is slow
topology: star:4
cases: [{name: fast}, {name: slow, end: 20us}, {name: slower, end: 10us}]
seeds: 3
matrix: permutation:4:256KiB
figure: {shows: 1, by: case, panels: [
  {form: bars, measure: fct_max_us, of: {case: fast}, over: {case: slow}},
  {form: bars, measure: fct_max_us, of: {case: slow}, over: {case: fast}},
  {form: bars, measure: fct_max_us, of: {case: slow}, over: {case: slower}},
  {form: bars, measure: goodput_gbps, of: {case: fast}}, {form: lines, measure: fct_max_us, x: seed, of: {case: fast},
   over: {case: slow}}]}
"""


def test_what_is_divided_by_flows_without_an_end_is_at_most_so_much(write: Write, weft: Binary, tmp_path: Path) -> None:
    """Of goodput and fairness nothing is known, then, and a mean is not of the seeds that went well."""
    path = write(UNEVEN)
    runs = weftlab.run(path, jobs=2, out=tmp_path / "out", quiet=True)
    assert list(runs["completed"]) == [4, 4, 4] + [0] * 6
    record = tmp_path / "out" / "runs" / "0001" / "run.json"
    values = json.loads(record.read_text())
    form = load_published(load(path, weft))
    assert form is not None
    most, least, neither, rate, _ = [cells(form, panel, chosen_runs(panel, runs), runs) for panel in form.panels]
    assert [cell.limit for cell in (*most, *least, *rate)] == ["most", "least", ""]
    assert all(cell.value > 0 for cell in (*most, *least, *rate))
    assert [math.isnan(cell.value) for cell in neither] == [True]
    drawn = draw_published(form, runs)
    arrows = [{line.get_marker() for line in axes.lines} & {"^", "v"} for axes in drawn.axes[:5]]
    assert arrows == [{"v"}, {"^"}, set(), set(), {"v"}]
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert {"flows did not end: at most so much", "flows did not end: at least so much"} <= set(words)
    values["flows"]["completed"] -= 1
    record.write_text(json.dumps(values))
    runs = weftlab.load(tmp_path / "out")
    cell, = cells(form, form.panels[3], chosen_runs(form.panels[3], runs), runs)
    assert math.isnan(cell.value)
    bars = weftlab.figure(runs[(runs["case"] == "fast").to_numpy()], "bars", measure="goodput_gbps")
    assert [text.get_text() for text in bars.axes[0].texts] == ["no value"]


def test_words_with_units_are_numbers() -> None:
    assert (number_of("64KiB"), number_of("0.8"), number_of("2ms")) == (65536.0, 0.8, 2000.0)
    assert number_of("reps") != number_of("reps")


def test_the_gallery_shows_what_has_results(dead: tuple[Published, Runs], tmp_path: Path, weft: Binary) -> None:
    directory = Path(dead[0].path).parent
    papers = tmp_path / "papers" / "paper"
    papers.mkdir(parents=True)
    for name in ("fig01", "fig02"):
        (papers / f"{name}.yaml").write_text(SCENARIO)
    out = tmp_path / "doc"
    outcome = write_gallery(str(directory / "results"), str(papers.parent), str(out), weft)
    assert (outcome.drawn, outcome.missing, outcome.failures) == (1, ["paper/fig02"], [])
    picture = (out / "figures" / "paper-fig01.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) < 60000
    assert "![Figure 1 of paper](figures/paper-fig01.png)" in (out / "gallery.md").read_text()
    write_gallery(str(directory / "results"), str(papers.parent), str(out), weft)
    assert (out / "figures" / "paper-fig01.png").read_bytes() == picture
    (papers / "fig01.yaml").write_text(SCENARIO.replace("end: 300us", "end: 200us"))
    outcome = write_gallery(str(directory / "results"), str(papers.parent), str(out), weft)
    assert len(outcome.failures) == 1 and "fig01.yaml: results are of other settings" in outcome.failures[0]
    with pytest.raises(WeftlabError, match="no results of a figure"):
        write_gallery(str(tmp_path), str(papers.parent), str(tmp_path / "none"), weft)


def test_a_figure_that_fails_keeps_no_other_from_the_gallery(
        dead: tuple[Published, Runs], tmp_path: Path, weft: Binary, capsys: pytest.CaptureFixture[str]) -> None:
    papers, results = tmp_path / "papers" / "paper", tmp_path / "results" / "paper"
    papers.mkdir(parents=True)
    results.mkdir(parents=True)
    for name in ("fig01", "fig02", "fig03", "fig04"):
        (papers / f"{name}.yaml").write_text(SCENARIO)
        shutil.copytree(str(dead[1].attrs["directory"]), results / name)
    (papers / "fig01.yaml").write_text(SCENARIO.replace("outputs: {series: 10us}\n", ""))
    for file in (results / "fig02").glob("**/arrivals.csv"):
        file.unlink()
    (results / "fig03" / "sweep.json").write_text("{}")
    command = ["gallery", str(results.parent), "--papers", str(papers.parent), "--out", str(tmp_path / "doc")]
    assert main([*command, "--binary", weft.path]) == 1
    assert [path.name for path in (tmp_path / "doc" / "figures").iterdir()] == ["paper-fig04.png"]
    assert "paper-fig04.png" in (tmp_path / "doc" / "gallery.md").read_text()
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert all(f"{papers}/{name}.yaml" in line for name, line in zip(("fig01", "fig02", "fig03"), said))
    assert "needs samples over time" in said[0] and "nothing is drawn" in said[1]


def test_the_command_draws_the_published_form(dead: tuple[Published, Runs], tmp_path: Path) -> None:
    results = str(dead[1].attrs["directory"])
    files = [option for ending in ("pdf", "svg", "png") for option in (f"--{ending}", str(tmp_path / f"a.{ending}"))]
    assert main(["report", results, "--figure", "published", "--scenario", dead[0].path, *files]) == 0
    assert all((tmp_path / f"a.{ending}").stat().st_size > 5000 for ending in ("pdf", "svg", "png"))
    assert main(["report", results, "--figure", "published", "--pdf", str(tmp_path / "b.pdf")]) == 1
