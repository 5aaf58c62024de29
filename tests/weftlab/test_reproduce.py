# SPDX-License-Identifier: BSD-3-Clause
"""`weft reproduce`: small scenarios with claims, run, judged and written down; runs in real time beside the lab."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable

import pytest

from conftest import ROOT
from weftlab.__main__ import main
from weftlab.binary import Binary

PAPERS = sorted(path.name for path in (ROOT / "configs" / "papers").iterdir() if path.is_dir())

SMALL = """title: two incasts
topology: leafspine:2:2:2
cases:
  - {name: three, matrix: "incast:3:64KiB"}
  - {name: one, matrix: "incast:1:64KiB"}
sweep:
  lb: [reps, ops]
seeds: 2
claims:
"""
BENCH = "bench: {link-gbps: 1, runs: [{case: one, lb: ops}]}\n"


class Paper:
    """A directory of scenarios, and where its results go."""

    def __init__(self, home: Path, output: pytest.CaptureFixture[str]) -> None:
        self.home, self.out, self.output = home / "paper", home / "out", output
        self.home.mkdir()

    def write(self, *claims: str, name: str = "fig1", more: str = "") -> None:
        """A figure with these claims."""
        text = SMALL + "".join(f"  - {claim}\n" for claim in claims) + more
        (self.home / f"{name}.yaml").write_text(text)

    def reproduce(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and error."""
        code = main(["reproduce", str(self.home), "--out", str(self.out), *arguments])
        said = self.output.readouterr()
        return code, said.out, said.err


@pytest.fixture
def paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Paper:
    """An empty one."""
    return Paper(tmp_path, capsys)


def test_claims_are_judged_and_written(paper: Paper) -> None:
    ratio = "measure: fct_max_us, of: {case: three, lb: ops}, over: {case: one}"
    paper.write(f"{{text: slower, {ratio}, at_least: 0.1, paper: thrice}}", f"{{text: faster, {ratio}, at_most: 0.1}}",
                f"{{text: about thrice, {ratio}, at_least: 2.9}}")
    code, said, _ = paper.reproduce()
    assert code == 0
    assert said.startswith("fig1: two incasts\n")
    ours = r"[2-4]\.\d* \[\S+, \S+\] \(three lb=ops: .*one lb=ops: .*paper: thrice"
    assert re.search(r"holds: slower\n +ours " + ours, said)
    assert "breaks: faster\n" in said
    assert "report.html: " in said
    assert said.startswith((paper.out / "claims.txt").read_text())
    page = (paper.out / "report.html").read_text()
    for word in ("slower", "breaks", "two incasts", 'href="fig1/report.html"'):
        assert word in page
    assert "two incasts" in (paper.out / "fig1" / "report.html").read_text()


def test_it_goes_on_where_it_stopped(paper: Paper) -> None:
    paper.write("{text: a, measure: failed, of: {}, at_most: 0}")
    assert paper.reproduce()[0] == 0
    record = paper.out / "fig1" / "runs" / "0003" / "run.json"
    before = record.stat().st_mtime_ns
    code, _, said = paper.reproduce()
    assert code == 0 and "8 of 8 runs were done before" in said
    assert record.stat().st_mtime_ns == before


def test_some_figures_only(paper: Paper) -> None:
    for name in ("fig1", "fig12", "fig2"):
        paper.write("{text: about %s, measure: failed, of: {}, at_most: 0}" % name, name=name)
    code, said, _ = paper.reproduce("--list", "--only", "fig12,fig2")
    assert code == 0
    assert said == "fig12: two incasts (8 runs)\n  about fig12\nfig2: two incasts (8 runs)\n  about fig2\n"
    assert not paper.out.exists()
    code, said, _ = paper.reproduce("--list", "--only", "fig1")
    assert code == 0 and "about fig1\n" in said and "fig12" not in said
    assert paper.reproduce("--list", "--only", "fig")[1].count("two incasts") == 3
    code, _, said = paper.reproduce("--only", "fig3,fig12,table")
    assert code == 2 and f"--only: no scenario in {paper.home} begins with fig3 or table\n" in said
    assert paper.reproduce("--only", ",")[0] == 2
    assert not paper.out.exists()


def test_claims_of_figures_that_are_not_run_stay(paper: Paper) -> None:
    for name in ("fig1", "fig2", "fig3"):
        paper.write("{text: about %s, measure: failed, of: {}, at_most: 0}" % name, name=name)
    assert paper.reproduce("--only", "fig1")[0] == 0
    assert (paper.out / "claims.txt").read_text().count(": about ") == 1
    code, said, _ = paper.reproduce("--only", "fig2")
    assert code == 0 and "about fig2" in said and "about fig1" not in said
    claims, page = (paper.out / "claims.txt").read_text(), (paper.out / "report.html").read_text()
    assert claims.index("fig1: two incasts\n  holds: about fig1") < claims.index("holds: about fig2")
    assert "about fig1" in page and "about fig2" in page and "2 claims: 2 holds" in page and "fig3" not in page
    paper.write("{text: changed, measure: failed, of: {}, at_most: 0}", name="fig1", more="mtu: 1024\n")
    code, _, said = paper.reproduce("--only", "fig2")
    assert code == 0 and "fig1 is left out: " in said and "results are of other settings" in said
    assert "about fig1" not in (paper.out / "claims.txt").read_text()


def test_runs_without_a_result_fail(paper: Paper, weft: Binary) -> None:
    """Flows without an end are a result."""
    paper.write("{text: a, measure: failed, of: {}, at_most: 0}", more="end: 10us\n")
    assert paper.reproduce()[0] == 0
    program = paper.home.parent / "failing"
    program.write_text(f"""#!/bin/sh
case "$*" in *--lb=ops*--out=*) echo "weft sim: on fire" >&2; exit 3 ;; esac
exec {weft.path} "$@"
""")
    program.chmod(0o755)
    code, _, told = paper.reproduce("--binary", str(program))
    assert code == 1
    assert not (paper.out / "fig1" / "runs" / "0002").exists(), "a result of the other build"
    assert f"fig1: 4 of 8 runs have no result; {paper.out}/fig1/sweep.json says why" in told


def test_quotes_of_notes_are_in_place(paper: Paper) -> None:
    quoting = "{text: %s, measure: failed, of: {}, at_least: 9, note: " \
        "'of {{ q(\"flows\", case=\"three\", lb=\"ops\"%s)|d }} flows'}"
    paper.write(quoting % ("own", ""), quoting % ("other", ', figure=\"fig2\"'))
    code, said, _ = paper.reproduce()
    assert code == 0 and "note: of 3 flows\n" in said and "note: of ? flows\n" in said
    for text in (said, (paper.out / "claims.txt").read_text(), (paper.out / "report.html").read_text(),
                 (paper.out / "fig1" / "report.html").read_text()):
        assert "of 3 flows" in text and "of ? flows" in text and "{{" not in text
    paper.output.readouterr()
    assert main(["claims", str(paper.home / "fig1.yaml"), str(paper.out / "fig1")]) == 0
    said = paper.output.readouterr().out
    assert "note: of 3 flows\n" in said and "{{" not in said


def test_a_wrong_claim_is_named_before_anything_runs(paper: Paper) -> None:
    paper.write("{text: a, measure: beauty, of: {}, at_most: 0}")
    code, _, said = paper.reproduce()
    assert code == 1 and "fig1.yaml:10: measure: unknown 'beauty'" in said
    assert not paper.out.exists()


def test_real_time_stands_beside_the_lab(paper: Paper) -> None:
    paper.write("{text: whole, measure: failed, real: lab, of: {case: one, lb: ops}, at_most: 1}",
                "{text: slower, measure: inflation, real: lab, of: {case: one, lb: ops}}",
                "{text: not run, measure: jain, real: lab, of: {case: three}, at_least: 0}", more=BENCH)
    code, said, _ = paper.reproduce()
    assert code == 0
    assert re.search(r"holds: whole\n +ours 1 \(one lb=ops: in real time 0, in the lab 0\)", said)
    assert re.search(r": slower\n +ours \S+ \(one lb=ops: in real time \S+, in the lab \S+\)", said)
    assert "not known: not run\n" in said
    real = paper.out / "fig1" / "real"
    assert [path.name for path in real.iterdir()] == ["0006"]
    assert json.loads((real / "0006" / "run.json").read_text())["mode"] == "bench"
    command = (real / "0006" / "command.txt").read_text()
    assert re.search(r"\nbench --local .*--lb ops --seed 1 --link-gbps 1 --json=", command)
    first = (real / "0006" / "run.json").stat().st_mtime_ns
    paper.reproduce()
    assert (real / "0006" / "run.json").stat().st_mtime_ns == first
    paper.reproduce("--fresh")
    assert (real / "0006" / "run.json").stat().st_mtime_ns != first
    (real / "0004").mkdir()
    paper.reproduce()
    assert [path.name for path in real.iterdir()] == ["0006"], "of a run that is not repeated"


def test_a_run_that_fails_in_real_time_is_not_known(paper: Paper) -> None:
    paper.write("{text: a, measure: inflation, real: lab, of: {case: one, lb: ops}, at_least: 0}",
                more=BENCH.replace("link-gbps: 1", "threads: 99"))
    code, said, told = paper.reproduce()
    assert code == 0 and "not known: a\n" in said
    assert "failed, see " in told
    assert "--threads 99" in (paper.out / "fig1" / "real" / "0006" / "bench.log").read_text()


def test_a_build_before_a_run_in_real_time_stops_it(paper: Paper, rebuilding: Callable[[str], str]) -> None:
    paper.write("{text: whole, measure: failed, real: lab, of: {case: one, lb: ops}, at_most: 1}", more=BENCH)
    code, _, said = paper.reproduce("--binary", rebuilding("--local"))
    assert code == 1 and "weft was built anew during the sweep" in said
    assert not (paper.out / "fig1" / "real" / "0006").exists()
    code, said, _ = paper.reproduce("--binary", str(paper.home.parent / "weft"))
    assert code == 0 and "holds: whole" in said


def test_real_time_of_another_build_is_taken_with_any_build_alone(paper: Paper, weft: Binary) -> None:
    paper.write("{text: whole, measure: failed, real: lab, of: {case: one, lb: ops}, at_most: 1}", more=BENCH)
    assert "holds: whole" in paper.reproduce()[1]
    other = paper.home.parent / "other"
    other.write_text(f'#!/bin/sh\nexec {weft.path} "$@"\n')
    other.chmod(0o755)
    real = paper.out / "fig1" / "real" / "0006"
    (real / "run.json").unlink()  # it is run by the other build, beside a result of the first
    for _ in range(2):
        assert "holds: whole" in paper.reproduce("--binary", str(other), "--any-build")[1]
        assert (real / "command.txt").read_text().count("\n") == 3
    first = (real / "run.json").stat().st_mtime_ns
    assert "holds: whole" in paper.reproduce("--any-build")[1] and (real / "run.json").stat().st_mtime_ns == first
    assert "holds: whole" in paper.reproduce()[1] and (real / "run.json").stat().st_mtime_ns != first
    (real / "command.txt").write_text("0" * 16 + (real / "command.txt").read_text()[16:])
    assert main(["claims", str(paper.home / "fig1.yaml"), str(paper.out / "fig1")]) == 0
    assert "not known: whole" in paper.output.readouterr().out


def test_usage(paper: Paper, capsys: pytest.CaptureFixture[str]) -> None:
    there = ", ".join(PAPERS)
    assert main(["reproduce", "nothing"]) == 1
    said = capsys.readouterr().err
    assert "no scenarios for 'nothing'" in said and f"there are {there}\n" in said
    assert main(["reproduce"]) == 2
    assert f"which paper? there are {there} (see --help)" in capsys.readouterr().err
    assert main(["reproduce", "--measures"]) == 0
    assert re.search(r"(?m)^fct_max_us +slowest", capsys.readouterr().out)


def test_papers_are_named(paper: Paper, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    assert capsys.readouterr().out.split() == PAPERS
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    assert f"PAPER is {', '.join(PAPERS[:-1])} or {PAPERS[-1]}." in capsys.readouterr().out
