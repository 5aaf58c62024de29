# SPDX-License-Identifier: BSD-3-Clause
"""Input that is wrong is said to be so, with its place, and never by a traceback."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

import weftlab
from conftest import Write
from weftlab import Runs, WeftlabError
from weftlab.__main__ import main
from weftlab.binary import Binary
from weftlab.publication import read_yaml
from weftlab.quotes import Quotes, environment, filled
from weftlab.publish import Page

HEAD = "topology: star:4\nmatrix: permutation:4:16KiB\n"
MANY = "1" * 5000  # digits


@pytest.mark.parametrize("said, words", [
    (f"seeds: {MANY}\n", "is neither a list nor a number from 1 to"),
    (f"seeds: [1, {MANY}]\n", "is not a number"),
    (f"matrix: {'x' * 200_000}\n", "case.yaml:1: too long for a command line"),
    ("title: " + "[" * 2000 + "]" * 2000 + "\n", "case.yaml:1: more than 100 levels"),
    ("\n".join(" " * at + "a:" for at in range(200)), "case.yaml:101: more than 100 levels"),
    ("cases: [{name: a}]\nclaims: [{text: a, measure: flow_fct_max_us, at_most: 1, flows: %s}]\n" % MANY,
     "flows: '1*' is neither"),
    ("claims: [{text: a, measure: flow_fct_max_us, at_most: 1, flows: 0-99999999999}]\n", "flows: '0-9*' is neither"),
    ("sweep: {seed: [1, 2]}\nclaims: [{text: a, measure: failed, of: {seed: 1}, at_most: 1}]\n",
     "case.yaml:4: seed: of is of all seeds"),
    ("figure: {shows: a, form: bars, measure: failed, x: measure}\n", "x: measure tells several measures apart"),
    ("figure: {shows: a, form: bars, measure: [failed, jain], by: measure}\n", "by: measure tells several"),
    ("figure: {shows: a, form: bars, measure: [failed, jain], split: measure}\n", "split: measure tells several"),
    ("figure: {shows: a, form: bars, measure: [failed, jain], x: measure:1}\n", "x: measure tells several"),
    ("figure: {shows: a, form: cdf, values: flows.fct_us, by: measure}\n", "by: measure tells several"),
    ("figure: {shows: a, form: bars, measure: failed, x: source}\n", "x: no column 'source'; there are"),
    (f"figure: {{shows: a, form: bars, measure: failed, x: 'seed:{MANY}'}}\n", "x: no column 'seed:1*'; there are"),
    ("figure: {shows: a, form: bars, measure: failed, x: 'seed:1000000000'}\n", "x: no column 'seed:1000000000'"),
], ids=lambda text: str(text)[:40])  # a long one would be too long for the environment
def test_what_a_scenario_says(said: str, words: str, write: Write, weft: Binary) -> None:
    from weftlab.claim_reader import load_claims
    from weftlab.published import load_published

    text = said if said.startswith(("matrix", "title", "a:")) else HEAD + said
    with pytest.raises(WeftlabError, match=words.replace("*'", "+'")):
        scenario = weftlab.load_scenario(write(text))
        load_claims(scenario)
        load_published(scenario)


@pytest.mark.parametrize("note", [
    "see {{ q() }}", '{{ q("fct_max_us", "fig1", 3) }}', '{{ q("jain", case="a")|d("x") }}', "{{ 1 // 0 }}",
    '{{ q("jain", scope={"colour": 1}) }}', "{{ [][1] + 1 }}", "{{ q( }}"])
def test_what_a_text_quotes(note: str, two_cases: Runs) -> None:
    for quotes in (Quotes({"fig jain case=a": [0.5, None, 0.5, 0.5, 1]}), Quotes({}, {"fig": two_cases})):
        with pytest.raises(WeftlabError):
            filled(note, quotes, "fig")
        with pytest.raises(WeftlabError):
            Page("paper", (), quotes, "", ()).render(note)
    assert environment(Quotes()).from_string("{{ 2|d(1) }}").render() == "2.0"


@pytest.mark.parametrize("command, words", [
    ("pages", "configs/papers: No such file or directory"),
    ("pages --papers nosuch", "nosuch: No such file or directory"),
    ("pages res", "configs/papers/res: no such directory"),
    ("papers", "configs/papers: No such file or directory"),
    ("gallery res", "configs/papers: No such file or directory"),
    ("gallery res --papers nosuch", "nosuch: No such file or directory"),
    ("pages ./paper --results res", "there is no template paper.md.j2"),
    ("table empty.json", "empty.json: not a run's result: 'seed'"),
    ("table flows.json", "flows.json: not a run's result: "),
    ("table sweep", "sweep.json: not the results of a sweep"),
    ("report {runs} --figure bars --measure status --svg a.svg", "status is no number of a run"),
    ("report {runs} --figure lines --x mtu --measure digest --svg a.svg", "digest is no number of a run"),
])
def test_what_a_command_is_given(command: str, words: str, two_cases: Runs, tmp_path: Path, weft: Binary,
                                 monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WEFT", weft.path)
    monkeypatch.chdir(tmp_path)
    for directory in ("res/paper", "paper", "sweep"):
        os.makedirs(directory)
    Path("paper/fig.yaml").write_text(HEAD)
    weftlab.run("paper/fig.yaml", jobs=1, out="res/paper/fig", quiet=True)
    Path("empty.json").write_text('{"schema": "weft.run/1"}')
    Path("flows.json").write_text('{"schema": "weft.run/1", "seed": 1, "flows": 3}')
    Path("sweep/sweep.json").write_text('{"title": "a", "runs": [3]}')
    assert main(command.format(runs=two_cases.attrs["directory"]).split()) in (1, 2)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text, words", [("[" * 2000, "more than 100 levels"), ("[1]\n", "not a scenario"),
                                         ("a: 2001-99-99\n", "not a scenario"), ("a: ]\n", "fig.yaml:1: ")],
                         ids=lambda text: str(text)[:40])
def test_what_a_publication_has(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "fig.yaml").write_text(text)
    with pytest.raises(WeftlabError, match=words):
        read_yaml(str(tmp_path / "fig.yaml"))
