# SPDX-License-Identifier: BSD-3-Clause
"""Pages of publications: what is kept of results, what texts quote, and that the committed pages are what they make."""
from __future__ import annotations

import json
import math
import os
import shutil
import types
from pathlib import Path

import pandas as pd
import pytest

import weftlab
from conftest import ROOT
from weftlab import WeftlabError
from weftlab.__main__ import main
from weftlab.binary import Binary
from weftlab.pages import names
from weftlab.papers import Pass, Row, Step, summary
from weftlab.publication import read_yaml, runs_digest
from weftlab.publish import fill, read_text, render, table, wrapped
from weftlab.quotes import Number, Quotes, environment, plain, significant, with_interval
from weftlab.stats import BREAKS, HOLDS, UNDECIDED

PAPERS = ROOT / "configs" / "papers"
PAGES = ROOT / "doc" / "papers"

FIGURE = """title: "Figure 3: two cases"
topology: star:4
matrix: permutation:4:16KiB
cases: [{name: ops, lb: ops}, {name: reps, lb: reps}]
sweep: {mtu: [1024, 4096]}
seeds: 2
claims:
  - text: REPS is at most twice as slow
    paper: "2x"
    measure: fct_max_us
    of: {case: reps}
    over: {case: ops}
    at_most: 2
    bound: published
  - {text: nothing ends, measure: fct_max_us, of: {mtu: 4096}, at_most: 0.5,
     note: 'in {{ q("fct_max_us", case="reps", mtu=4096)|d(1) }} us it does'}
"""
TEMPLATE = """# A paper

{{ counts.holds }} of {{ counts.judged }} hold. OPS takes
{{ ratio("fct_max_us", {"case": "ops"}, {"case": "reps"}, "fig03", mtu=1024)|pm }}.

{{ results() }}

{{ causes() }}
"""


@pytest.mark.parametrize("paper", names(str(PAPERS)))
def test_committed_pages_are_what_their_templates_and_results_make(paper: str) -> None:
    text = render(str(PAPERS / paper), gallery=str(PAGES / "figures"))
    assert text == (PAGES / f"{paper}.md").read_text(), f"weftlab pages {paper} writes another page"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of FIGURE; not to be changed."""
    top = tmp_path_factory.mktemp("results")
    (top / "fig03.yaml").write_text(FIGURE)
    weftlab.run(top / "fig03.yaml", jobs=1, out=top / "mine" / "fig03", quiet=True)
    return top


@pytest.fixture
def paper(tmp_path: Path, results: Path) -> Path:
    """A publication with one figure, and its results in tmp_path/results."""
    directory = tmp_path / "papers" / "mine"
    directory.mkdir(parents=True)
    (directory / "fig03.yaml").write_text(FIGURE)
    (directory / "mine.md.j2").write_text(TEMPLATE)
    shutil.copytree(results, tmp_path / "results")
    return directory


def test_committed_index_counts_all_publications(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pages", "--check", "--papers", str(PAPERS), "--out", str(PAGES),
                 "--gallery", str(PAGES / "figures")]) == 0, capsys.readouterr().out


def pages(paper: Path, *options: str) -> int:
    """weftlab pages for the publication."""
    return main(["pages", str(paper), "--out", str(paper.parent.parent), "--gallery", str(paper.parent / "pictures"),
                 *options])


def test_a_page_is_written_from_results_and_then_without_them(paper: Path) -> None:
    top = paper.parent.parent
    assert pages(paper, "--results", str(top / "results")) == 0
    text = (top / "mine.md").read_text()
    assert text.startswith("# A paper\n\n1 of 2 hold. OPS takes 1") or "1 of 2 hold. OPS takes 0." in text, text
    assert "### Figure 3: two cases\n\n`fig03.yaml`, 8 runs\n" in text
    assert "| claim | the publication says | its bound | our bound | measured | verdict |" in text
    assert "| REPS is at most twice as slow | 2x | at most 2 |  |" in text and "; 2 pairs, " in text
    assert "| **breaks** |" in text
    row = next(line for line in text.splitlines() if line.startswith("| fig03 | nothing ends |"))
    assert " us it does |" in row and "{{" not in row
    shutil.rmtree(top / "results")
    os.remove(top / "mine.md")
    assert pages(paper) == 0 and (top / "mine.md").read_text() == text
    assert pages(paper, "--check") == 0
    assert not (top / "README.md").exists()
    assert main(["pages", "--papers", str(paper.parent), "--out", str(top), "--gallery", str(top / "none")]) == 0
    assert "| [A paper](mine.md) | 8 | 2 | 1 | 1 | 0 | 0 | 0 |\n| all | 8 | 2 | 1 | 1 | 0 | 0 | 0 |" in \
        (top / "README.md").read_text()


def test_partial_needs_results(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pages(paper, "--partial") != 0
    assert "--partial is for --results" in capsys.readouterr().err


def test_one_pass_runs_all_publications_and_goes_on_where_it_was_stopped(
        paper: Path, weft: Binary, capfd: pytest.CaptureFixture[str]) -> None:
    results = paper.parent.parent / "results"
    command = ["papers", str(paper), "--results", str(results), "--binary", weft.path, "--jobs", "1"]
    assert main(command) == 0
    said = capfd.readouterr()
    assert "[1 of 1, 0 %] mine/fig03: Figure 3: two cases" in said.err and "8 of 8 runs were done before" in said.err
    assert "2 claims: 1 holds, 1 breaks" in said.out
    shutil.rmtree(results / "mine" / "fig03" / "runs" / "0003")
    assert main(command) == 0
    assert "7 of 8 runs were done before" in capfd.readouterr().err
    assert pages(paper) == 0 and (paper.parent.parent / "mine.md").exists()


def test_a_pass_ends_with_one_table_of_all_publications(paper: Path, weft: Binary,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    top = paper.parent.parent
    assert main(["papers", str(paper), "--results", str(top / "results"), "--binary", weft.path, "--quiet",
                 "--pages", "--papers", str(paper.parent), "--out", str(top), "--gallery", str(top / "figures")]) != 0
    assert "no results of a figure" in capsys.readouterr().err  # FIGURE declares none
    (paper / "fig03.yaml").write_text(FIGURE + "figure: {shows: Figure 3, form: bars, measure: fct_max_us, x: mtu, "
                                      "by: case}\n")
    assert main(["papers", str(paper), "--results", str(top / "results"), "--binary", weft.path, "--quiet",
                 "--pages", "--papers", str(paper.parent), "--out", str(top), "--gallery", str(top / "figures")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-4].split() == ["publication", "runs", "claims", "holds", "breaks", "time", "CPU", "time"]
    assert said[-3].split()[:5] == ["mine", "8", "2", "1", "1"] and said[-2].split()[:5] == ["all", "8", "2", "1", "1"]
    assert "![Figure 3: two cases](figures/mine-fig03.png)" in (top / "mine.md").read_text()
    assert (top / "figures" / "mine-fig03.png").exists() and "mine-fig03.png" in (top / "gallery.md").read_text()


def test_a_figure_whose_runs_all_fail_does_not_end_a_pass(paper: Path, tmp_path: Path,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "failing"
    program.write_text(f"""#!/bin/sh
case "$*" in *--out=*) echo "weft sim: on fire" >&2; exit 3 ;; esac
exec {os.environ.get("WEFT", "build/weft")} "$@"
""")
    program.chmod(0o755)
    (paper / "mine.md.j2").write_text("# A paper\n\n{{ results() }}")
    (paper / "fig03.yaml").write_text(FIGURE.partition("  - {text: nothing ends")[0])
    assert main(["papers", str(paper), "--results", str(tmp_path / "none"), "--binary", str(program), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "not known: REPS is at most twice as slow" in said and "\nmine            8" in said


def test_the_table_of_publications_adds_up() -> None:
    text = summary([Row("one", 3, [HOLDS, BREAKS], 59.0, 100.0), Row("two", 40, [HOLDS, UNDECIDED], 3601.0, 7000.0)])
    assert text.splitlines()[1:5] == [
        "publication  runs  claims  holds  breaks  not decided by these seeds     time  CPU time",
        "one             3       2      1       1                           0     0:59      1:40",
        "two            40       2      1       0                           1  1:00:01   1:56:40",
        "all            43       4      2       1                           1  1:01:00   1:58:20"]


def test_work_is_counted_in_events() -> None:
    def step(events: float, made: list[float]) -> Step:
        runs = pd.DataFrame({"events": made, "directory": ["" for _ in made]})
        return Step("papers/mine", types.SimpleNamespace(runs=runs), events)

    steps = [step(100.0, [100.0]), step(300.0, []), step(0.0, [])]
    tell = Pass(steps, quiet=True)
    assert tell.in_words() == "0 %"
    tell.begin(steps[0])
    tell.end(steps[0])
    assert tell.in_words() == "17 %"  # of 100, 300, and their mean for what is not known
    tell.events, tell.seconds = 50.0, 60.0
    assert tell.in_words() == "17 %, about 10 min left"


def test_check_tells_of_pages_that_would_change(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = paper.parent.parent
    pages(paper, "--results", str(top / "results"))
    (top / "mine.md").write_text("by hand\n")
    assert pages(paper, "--check") == 1
    assert "mine.md: is not what its template and results make" in capsys.readouterr().out
    assert (top / "mine.md").read_text() == "by hand\n"


@pytest.mark.parametrize("old, new, words", [
    ("of: {case: reps}", "of: {case: [reps]}", "was measured in another form"),
    ("permutation:4:16KiB", "permutation:4:32KiB", "those of other settings"),
    ("- {text: nothing ends", "- {text: more, measure: jain, at_most: 1}\n  - {text: nothing ends", "other settings"),
])
def test_results_of_other_scenarios_make_no_page(old: str, new: str, words: str, paper: Path,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    pages(paper, "--results", str(paper.parent.parent / "results"))
    assert old in FIGURE
    (paper / "fig03.yaml").write_text(FIGURE.replace(old, new))
    assert pages(paper) != 0
    assert words in capsys.readouterr().err


def test_results_are_of_samples_and_files_too(tmp_path: Path) -> None:
    path = tmp_path / "fig.yaml"
    (tmp_path / "all.cm").write_text("one")

    def digest(said: str) -> str:
        path.write_text(f"topology: star:4\n{said}\n")
        return runs_digest(str(path), read_yaml(str(path)))

    assert digest("outputs: {dir: a}") == digest("outputs: {dir: b}") == digest("title: t") == digest("")
    assert digest("outputs: {series: 1us}") == digest("outputs: {series: 1us, dir: a}")
    assert len({digest("outputs: {series: 1us}"), digest("outputs: {series: 2us}"), digest("")}) == 3
    for said in ("matrix: all.cm", "sweep: {matrix: ['permutation:4:1MiB', all.cm]}", "cases: [{matrix: 'x:all.cm'}]"):
        before = digest(said)
        (tmp_path / "all.cm").write_text(said)
        assert digest(said) != before and digest(said) == digest(said)


@pytest.mark.parametrize("old, new", [("permutation:4:16KiB", "permutation:4:32KiB"), ("seeds: 2", "seeds: 3"),
                                      ("seeds: 2", "seeds: 1")])
def test_results_of_another_scenario_are_not_kept(old: str, new: str, paper: Path,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    (paper / "fig03.yaml").write_text(FIGURE.replace(old, new))
    assert pages(paper, "--results", str(paper.parent.parent / "results")) != 0
    assert "fig03.yaml: results are of other settings" in capsys.readouterr().err
    assert not (paper / "mine.json").exists()
    results = str(paper.parent.parent / "results" / "mine" / "fig03")
    assert main(["claims", str(paper / "fig03.yaml"), results]) == 2
    assert "fig03.yaml: results are of other settings" in capsys.readouterr().err


def test_results_of_several_builds_are_not_kept(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = paper.parent.parent / "results" / "mine" / "fig03"
    record = results / "runs" / "0003" / "run.json"
    values = json.loads(record.read_text())
    values["identity"] = "0123456789abcdef" + values["identity"][16:]
    record.write_text(json.dumps(values))
    assert pages(paper, "--results", str(paper.parent.parent / "results")) != 0
    assert "fig03.yaml: results are of several builds" in capsys.readouterr().err
    assert main(["claims", str(paper / "fig03.yaml"), str(results)]) == 0


def test_a_bound_is_judged_again_without_a_run(paper: Path) -> None:
    one = FIGURE.replace("of: {mtu: 4096}", "of: {mtu: 4096, case: ops}")
    (paper / "fig03.yaml").write_text(one)
    pages(paper, "--results", str(paper.parent.parent / "results"))
    (paper / "fig03.yaml").write_text(one.replace("at_most: 0.5", "at_most: 1e6"))
    assert pages(paper) == 0
    assert (paper.parent.parent / "mine.md").read_text().count("| holds |") == 2


def test_a_bound_of_several_combinations_is_judged_by_their_results(
        paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is kept is the one of them that spoke most against the bound: by another bound it may be another."""
    results = ("--results", str(paper.parent.parent / "results"))
    pages(paper, *results)
    kept = json.loads((paper / "mine.json").read_text())
    assert [claim.get("judged_by") for claim in kept["figures"]["fig03"]["claims"]] == \
        [{"at_most": 2.0, "at_least": None}, {"at_most": 0.5, "at_least": None}]
    capsys.readouterr()
    (paper / "fig03.yaml").write_text(FIGURE.replace("at_most: 0.5", "at_least: 0.5"))
    assert pages(paper) != 0
    assert "claim 'nothing ends' is of several combinations and was judged by another bound (judge it again: weftlab" \
        in capsys.readouterr().err
    assert pages(paper, *results) == 0
    assert (paper.parent.parent / "mine.md").read_text().count("| holds |") == 2
    for claim in kept["figures"]["fig03"]["claims"]:  # as older files have them
        del claim["judged_by"]
    (paper / "mine.json").write_text(json.dumps(kept))
    assert pages(paper) == 0


def test_what_is_quoted_must_be_kept(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages(paper, "--results", str(paper.parent.parent / "results"))
    (paper / "mine.md.j2").write_text('{{ q("jain", figure="fig03", case="ops", mtu=1024) }}')
    assert pages(paper) != 0
    assert "'fig03 jain case=ops mtu=1024' is quoted and not in the results that are kept" in capsys.readouterr().err
    (paper / "mine.md.j2").write_text('{{ q("jain", figure="fig03", case="ops") }}')
    assert pages(paper, "--results", str(paper.parent.parent / "results")) != 0
    assert "means 2 combinations, not one" in capsys.readouterr().err


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_quoted_is_known_of_every_seed(seed: int, paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Here one of the two seeds did not end."""
    record = paper.parent.parent / "results" / "mine" / "fig03" / "runs" / f"{seed:04d}" / "run.json"
    values = json.loads(record.read_text())
    values["flows"]["completed"] -= 1
    record.write_text(json.dumps(values))
    assert pages(paper, "--results", str(paper.parent.parent / "results")) != 0
    assert "'fig03 fct_max_us mtu=1024 case=ops over mtu=1024 case=reps' is quoted and not" in capsys.readouterr().err
    (paper / "mine.md.j2").write_text('{{ q("jain", figure="fig03", case="ops", mtu=1024) }}')
    assert pages(paper, "--results", str(paper.parent.parent / "results")) != 0
    assert "'fig03 jain case=ops mtu=1024' is quoted and not known: a run has no result, or" in capsys.readouterr().err
    assert not (paper / "mine.json").exists()


def test_a_figure_is_added_without_results_of_the_others(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top, results = paper.parent.parent, paper.parent.parent / "results" / "mine"
    pages(paper, "--results", str(top / "results"))
    before = json.loads((paper / "mine.json").read_text())
    (results / "fig03").rename(results / "fig04")
    (paper / "fig04.yaml").write_text(FIGURE.replace("Figure 3", "Figure 4").replace("at_most: 2", "at_most: 0.1"))
    (paper / "mine.md.j2").write_text(TEMPLATE + 'In {{ q("fct_max_us", figure="fig04", case="ops", mtu=1024)|n }} us.')
    assert pages(paper, "--results", str(top / "results")) != 0
    assert "fig03" in capsys.readouterr().err
    assert pages(paper, "--results", str(top / "results"), "--partial") == 0
    after, text = json.loads((paper / "mine.json").read_text()), (top / "mine.md").read_text()
    assert list(after["figures"]) == ["fig03", "fig04"] and after["figures"]["fig03"] == before["figures"]["fig03"]
    assert before["quotes"].items() <= after["quotes"].items() and "1 of 4 hold." in text and "Figure 4: two" in text
    (paper / "fig03.yaml").write_text(FIGURE.replace("seeds: 2", "seeds: 3"))
    assert pages(paper, "--results", str(top / "results"), "--partial") != 0
    assert "fig03.yaml: its results are not kept, or those of other settings" in capsys.readouterr().err
    assert json.loads((paper / "mine.json").read_text()) == after


def test_kept_results_have_a_line_for_each_number(paper: Path) -> None:
    pages(paper, "--results", str(paper.parent.parent / "results"))
    text = (paper / "mine.json").read_text()
    kept = json.loads(text)
    assert kept["schema"] == "weft.paper/1" and len(kept["figures"]["fig03"]["claims"]) == 2
    assert sum('"claim": ' in line for line in text.splitlines()) == 2
    assert len(text) < 2000


def test_numbers_are_shown_with_the_digits_that_they_have() -> None:
    assert [significant(value) for value in (2317.4, 0.8127, 12.73, 1e6, math.nan)] == \
        ["2,317", "0.813", "12.7", "1,000,000", "not known"]
    assert plain(15400.2) == "15,400" and plain(1.0375, 2) == "1.04"
    assert with_interval(Number(3.844, 1.02, 3, 5, 5)) == "3.84 ±1"
    assert with_interval(Number(3.844, math.nan, 3, 5, 1)) == "3.84"
    quotes = Quotes({"f m case=a": [0.25, 0.05, 0.2, 0.3, 3], "f m case=a over case=b": [2.0, None, 2.0, 2.0, 1]})
    made = environment(quotes, "f").from_string(
        '{{ q("m", case="a")|percent }} % {{ q("m", case="a").low }} {{ ratio("m", {"case": "a"}, {"case": "b"})|pm }}')
    assert made.render() == "25 % 0.2 2"


def test_paragraphs_are_wrapped_and_tables_are_not() -> None:
    words = "word " * 40
    text = wrapped(f"# {words}\n\n{words}`a b` {words}\n\n* one {words}\n* two\n\n| {words} |\n|---|\n\n    {words}\n")
    blocks = text.split("\n\n")
    assert max(len(line) for line in blocks[1].split("\n") + blocks[2].split("\n")) <= 130
    assert "`a b`" in blocks[1] and blocks[2].split("\n")[-1] == "* two"
    assert blocks[3] == f"| {words} |\n|---|" and blocks[0] == f"# {words}"
    assert fill("a  b\nc") == "a b c"
    assert table(["a", "b"], [["x | y", "1"]], numbers_from=1) == "| a | b |\n|---|--:|\n| x \\| y | 1 |\n"


def test_a_page_that_is_not_there_has_no_text(tmp_path: Path) -> None:
    assert read_text(str(tmp_path / "none.md")) == ""
    with pytest.raises(WeftlabError, match="no directory PAPER with PAPER.md.j2 and PAPER.json"):
        names(str(tmp_path))
