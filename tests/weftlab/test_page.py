# SPDX-License-Identifier: BSD-3-Clause
"""The page of results: complete in itself, small, and, where there is a Chromium, used as a reader would."""
from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weftlab
from conftest import ROOT, Write
from weftlab import Runs, WeftlabError
from weftlab.__main__ import main
from weftlab.binary import Binary
from weftlab.page import PAGE_BYTES_MAX, as_json, data_of, page, plain, rounded

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

# Done in the page once it is drawn; what it finds is read from <pre id="found"> of the page around it.
READER = """
const found = {ready: document.documentElement.dataset.ready, wide: document.documentElement.scrollWidth - innerWidth};
const charts = [...document.querySelectorAll(".chart")], count = (chart, what) => chart.querySelectorAll(what).length;
found.titles = [...document.querySelectorAll("h2")].map(title => title.textContent);
found.paths = charts.map(chart => count(chart, "svg[role=img] path") + count(chart, "svg[role=img] rect"));
found.wanted = "h1, h2, select, input, .legend button, svg[role=img]";
found.off = [...document.querySelectorAll(found.wanted)].filter(
  one => one.getBoundingClientRect().right > innerWidth + 1).length;
const cdf = charts[1], svg = () => cdf.querySelector("svg[role=img]");
const before = count(cdf, "svg[role=img] path"), box = svg().getBoundingClientRect();
const point = (kind, share) => svg().dispatchEvent(new PointerEvent(kind,
  {bubbles: true, clientX: box.left + box.width * share, clientY: box.top + 50}));
point("pointermove", 0.5);
found.tip = cdf.querySelector(".tip").textContent;
cdf.querySelector(".legend button").click();
found.hidden = before - count(cdf, "svg[role=img] path");
cdf.querySelector(".legend button").click();
const labels = () => [...svg().querySelectorAll("text")].map(text => text.textContent).join(" ");
const whole = labels();
point("pointerdown", 0.3); point("pointermove", 0.6); point("pointerup", 0.6);
found.zoomed = labels() !== whole;
svg().dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
found.restored = labels() === whole;
document.querySelector("#curves input[type=checkbox]").click();
found.log = labels() !== whole;
const rows = () => document.querySelectorAll("#runs tbody tr");
const cells = at => [...document.querySelectorAll(`#runs tbody td:nth-child(${at})`)].map(cell => cell.textContent);
const heads = [...document.querySelectorAll("#runs th")];
const at = heads.findIndex(head => head.textContent.startsWith("max FCT"));
heads[at].click(); const up = cells(at + 1); heads[at].click(); found.sorted = [up, cells(at + 1)];
const filter = document.querySelector("#runs input");
found.all = rows().length; filter.value = "hashed"; filter.dispatchEvent(new Event("input"));
found.filtered = rows().length;
const measure = document.querySelector("#compare select");
measure.value = "goodput_gbps"; measure.dispatchEvent(new Event("change"));
found.measure = charts[0].querySelector("svg[role=img]").getAttribute("aria-label");
const pre = parent.document.createElement("pre");
pre.id = "found"; pre.textContent = JSON.stringify(found); parent.document.body.append(pre);
"""


# What a reader sees without doing anything: marks of data in each plot, where they lie, and where the verdicts are.
LOOKER = """
const shown = one => { const box = one.getBoundingClientRect(); return [box.left, box.right, box.width, box.height]; };
const marks = chart => [...chart.querySelectorAll("svg[role=img] g[clip-path] > *")].filter(
  one => ["path", "circle", "rect"].includes(one.tagName) && Math.max(...shown(one).slice(2)) > 1);
const found = {wide: document.documentElement.scrollWidth, view: innerWidth};
found.plots = [...document.querySelectorAll("section .chart")].map(chart => marks(chart).length);
found.lines = [...document.querySelectorAll("#curves .chart, #time .chart")].map(
  chart => Math.max(...marks(chart).map(one => shown(one)[2])));
found.pictures = [...document.querySelectorAll(".published img")].map(one => [one.naturalWidth, ...shown(one)]);
found.verdicts = [...document.querySelectorAll(".verdict, .claim, .claim p")].map(shown);
const pre = parent.document.createElement("pre");
pre.id = "found"; pre.textContent = JSON.stringify(found); parent.document.body.append(pre);
"""
FAILING_LINK = """title: an uplink fails and two cases go on
topology: leafspine:2:4:4
matrix: permutation:8:256KiB
faults: ["10us fail uplink:leaf:0:0"]
end: 400us
reconverge: 1s
cases:
  - {name: ops, lb: ops}
  - {name: reps, lb: reps}
seeds: 2
outputs: {series: 2us}
figure: {shows: Figure 1, form: time, split: case, values: ports.gbps, ports: "leaf0:up*"}
claims:
  - text: OPS suffers more, at ports such as leaf0:up0,leaf0:up1,leaf0:up2,leaf0:up3,leaf1:up0,leaf1:up1,leaf1:up2
    paper: 40 times
    measure: retransmitted
    of: {case: ops}
    over: {case: reps}
    at_least: 1000
  - {text: No flow of REPS fails, measure: failed, of: {case: reps}, at_most: 0}
  - {text: Nothing is lost, measure: fct_max_us, of: {case: ops}, at_most: 1, note: it is}
"""


def browse(text: str, directory: Path, width: int, *more: str, reader: str = READER) -> dict[str, Any]:
    """What READER finds in a frame of this width: windows cannot be as narrow as a phone."""
    path = directory / "frame.html"
    text = text.replace("</body>", f"<script>addEventListener('load', () => {{ {reader} }})</script></body>")
    path.write_text(f'<!doctype html><body style="margin:0"><iframe srcdoc="{html.escape(text)}" width="{width}" '
                    'height="2400" style="border:0"></iframe></body>')
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
               f"--user-data-dir={directory}/profile", f"--window-size={max(width, 500)},2400", *more]
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=100,
                          check=False)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr
    said: dict[str, Any] = json.loads(html.unescape(found.group(1)))
    return said


def test_a_page_needs_nothing_else(two_cases: Runs) -> None:
    text = page(two_cases)
    assert len(text.encode()) < PAGE_BYTES_MAX / 4
    assert not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)", text)
    assert "prefers-color-scheme: dark" in text and "@media print" in text and "width=device-width" in text
    assert text == page(two_cases)


def test_names_are_text_not_markup(write: Write, tmp_path: Path) -> None:
    runs = weftlab.run(write('title: "<b>&</script>"\ntopology: star:4\nmatrix: permutation:4:16KiB\n'), quiet=True,
                       out=tmp_path / "out")
    text = page(runs)
    assert "<b>" not in text
    assert text.count("</script>") == 2


def test_the_command_writes_the_page(two_cases: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    assert main(["report", two_cases.attrs["directory"], "--html", str(path), "--where", "case=hashed"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert "sprayed" not in path.read_text()
    assert main(["report", two_cases.attrs["directory"], "--html", "/nonexistent/page.html"]) == 1
    assert main(["report", two_cases.attrs["directory"], "--where", "case=hashed", "-o", "-"]) == 0
    assert capsys.readouterr().out == path.read_text()


@pytest.mark.parametrize("words, said", [
    (["--pdf=x.pdf"], "--pdf is of a figure: --figure NAME"), (["--measure=jain"], "--measure is of a figure"),
    (["--style=screen", "-o", "-"], "--style is of a figure"), (["--log"], "--log is of a figure"),
    (["--binary=weft"], "--binary is for --scenario"),
    (["--figure=bars", "--svg=x.svg", "--scenario=x.yaml"], "--scenario has no effect on --figure bars"),
    (["--figure=published", "--svg=x.svg", "--scenario=x.yaml", "--x=lb"], "--x has no effect on --figure published"),
    (["--figure=nosuch", "--svg=x.svg"], "no figure 'nosuch'; there are fct-cdf, slowdown-cdf, bars, lines, queue, "
     "cwnd, goodput and published"), (["--colour"], "unknown option '--colour' (see --help)"),
    (["t.csv", "--measure=jain"], "--measure is of a figure, not of a trace")])
def test_no_option_is_without_effect(words: list[str], said: str, two_cases: Runs,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", two_cases.attrs["directory"], *words]) in (1, 2)
    assert f"weftlab report: {said}" in capsys.readouterr().err


@pytest.fixture
def json_files(weft: Binary, tmp_path: Path) -> list[str]:
    """Results of --json alone, of two load balancers."""
    files = [f"{tmp_path}/{lb}.json" for lb in ("ops", "ecmp")]
    for lb, file in zip(("ops", "ecmp"), files):
        subprocess.run([weft.path, "sim", "--topology=star:4", "--matrix=permutation:4:16KiB", f"--lb={lb}",
                        f"--json={file}"], capture_output=True, check=True)
    return files


def test_files_of_json_are_compared(json_files: list[str], tmp_path: Path, two_cases: Runs,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    """They have no flows: what needs these is left out, and said to be."""
    page_path = tmp_path / "ops.html"
    assert main(["report", *json_files]) == 0
    assert capsys.readouterr().out == f"{page_path}\n"
    assert "file of --json (weft sim --out DIR writes\nall): ops.json, ecmp.json" in page_path.read_text()
    assert main(["report", *json_files, "--figure=bars", f"--svg={tmp_path}/bars.svg"]) == 0
    assert main(["report", *json_files, "--figure=fct-cdf", f"--svg={tmp_path}/cdf.svg"]) == 1
    assert "ops.json: a result of --json has no flows.csv; run it with --out DIR" in capsys.readouterr().err
    single = Path(two_cases["directory"][0])
    both = data_of(runs := weftlab.load(json_files[0], single), runs)
    assert [len(curve["x"]) > 0 for curve in both["curves"]["fct_us"]] == [False, True]
    assert {curve["of"] for curve in both["time"]} == {1} and len(both["ideals"]) == 1
    run_json = shutil.copytree(single, tmp_path / "run") / "run.json"
    assert main(["report", str(run_json)]) == 0
    text = (tmp_path / "run" / "report.html").read_text()
    assert "file of --json" not in text and '"kind":"queue"' in text


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
def test_a_page_of_json_alone_has_no_empty_plots(json_files: list[str], tmp_path: Path) -> None:
    found = browse(page(weftlab.load(*json_files)), tmp_path, 1280, reader=LOOKER)
    assert len(found["plots"]) == 1 and found["plots"][0] > 1


def test_a_reader_may_stop_reading(two_cases: Runs) -> None:
    command = [sys.executable, "-m", "weftlab", "table", two_cases.attrs["directory"]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "apps" / "weftlab")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_claims_stand_on_the_page_with_their_verdicts(write: Write, tmp_path: Path) -> None:
    path = write("topology: star:4\nmatrix: permutation:4:16KiB\nclaims:\n"
                 "  - {text: nothing <fails>, paper: none, measure: failed, at_most: 0}\n"
                 "  - {text: is slow, note: it is not, measure: fct_max_us, at_least: 1000000}\n")
    weftlab.run(path, jobs=1, out=tmp_path / "out", quiet=True)
    assert main(["report", str(tmp_path / "out"), "--claims", path]) == 0
    text = (tmp_path / "out" / "report.html").read_text()
    assert '<strong class="verdict">holds</strong> nothing &lt;fails&gt;' in text
    assert '<strong class="verdict">breaks</strong> is slow' in text
    assert "it is not" in text


def test_nothing_to_show_is_said(two_cases: Runs) -> None:
    with pytest.raises(WeftlabError, match="no run has a result"):
        page(two_cases[two_cases["id"] > 99])


def test_what_has_no_room_is_left_out(two_cases: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large sweep first curves over time, then measures that no table has, and points of the distributions."""
    whole = data_of(two_cases, two_cases)
    assert (whole["left_out"], {curve["of"] for curve in whole["time"]}) == (0, {0, 1, 2, 3})
    size = len(as_json({**whole, "time": []}))
    some = data_of(two_cases, two_cases, size + len(as_json(whole["time"])) // 2)
    assert 0 < some["left_out"] < 4 and len(as_json(some)) < len(as_json(whole))
    none = data_of(two_cases, two_cases, size)
    assert (none["time"], none["left_out"]) == ([], 4)
    monkeypatch.setattr("weftlab.page.CELLS_MAX", 10)
    monkeypatch.setattr("weftlab.page.CURVES_BYTES_MAX", 10)
    least = data_of(two_cases, two_cases, size)
    assert [measure["name"] for measure in least["measures"]] == whole["shown"] == least["shown"]
    assert max(len(curve["x"]) for curve in least["curves"]["fct_us"]) <= 12
    assert {combination["cells"][0][0] for combination in least["combinations"]} == set(
        weftlab.summary(two_cases, "fct_max_us")["mean"].map(rounded))


def test_numbers_are_short() -> None:
    assert (rounded(123456.789), rounded(float("inf")), plain("a/b.topo"), plain("incast:1/2")) == \
        (123460.0, None, "b.topo", "incast:1/2")


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
@pytest.mark.parametrize("width, more", [(1280, ()), (390, ("--blink-settings=preferredColorScheme=0",))],
                         ids=["1280", "390, dark"])
def test_readers_hover_zoom_sort_and_filter(width: int, more: tuple[str, ...], two_cases: Runs, tmp_path: Path) -> None:
    found = browse(page(two_cases), tmp_path, width, *more)
    assert found["ready"] == "yes"
    assert found["titles"] == ["Comparison", "Distribution over flows", "Over time", "Combinations", "Runs"]
    assert (found["wide"] <= 0, found["off"]) == (True, 0)
    assert all(paths > 2 for paths in found["paths"]), "a blank plot"
    assert "sprayed" in found["tip"] and "flow completion time" in found["tip"]
    assert found["hidden"] == 1
    assert found["zoomed"] and found["restored"] and found["log"]
    up, down = ([float(value.replace(",", "")) for value in values] for values in found["sorted"])
    assert up == sorted(up) and down == sorted(down, reverse=True)
    assert (found["all"], found["filtered"]) == (12, 6)
    assert found["measure"].startswith("goodput (Gb/s) over mtu")


@pytest.fixture(scope="module")
def publication(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `weft reproduce` writes of FAILING_LINK."""
    directory = tmp_path_factory.mktemp("paper")
    (directory / "fig1.yaml").write_text(FAILING_LINK)
    assert main(["reproduce", str(directory), "--out", str(directory / "out"), "--quiet"]) == 0
    return directory / "out"


@pytest.fixture(scope="module")
def figure_page(publication: Path) -> str:
    """The page of its figure."""
    return (publication / "fig1" / "report.html").read_text()


def assert_seen(found: dict[str, Any]) -> None:
    """No plot is blank, and no verdict is off the screen."""
    assert found["wide"] <= found["view"]
    assert len(found["plots"]) == 3 and min(found["plots"]) > 1, "a blank plot"
    assert min(found["lines"]) > found["view"] / 8, "a plot without a line"
    (natural, left, right, wide, high), = found["pictures"]
    assert natural > 100 and left >= 0 and right <= found["view"] and wide > 300 and high > 50
    assert_verdicts(found)


def assert_verdicts(found: dict[str, Any]) -> None:
    """All are on the screen, with what they are about."""
    assert found["wide"] <= found["view"]
    assert len(found["verdicts"]) >= 9
    for left, right, wide, high in found["verdicts"]:
        assert left >= 0 and right <= found["view"] and wide > 10 and high > 5, "a verdict off the screen"


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_no_verdict_of_a_publication_is_off_the_screen(width: int, publication: Path, tmp_path: Path) -> None:
    text = (publication / "report.html").read_text()
    found = browse(text, tmp_path, width, reader=LOOKER)
    assert found["view"] == width
    assert_verdicts(found)
    with pytest.raises(AssertionError):
        assert_verdicts(browse(text.replace("</style>", ".verdict { position: relative; left: -99px; }</style>"),
                               tmp_path, width, reader=LOOKER))


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_no_plot_is_blank_and_no_verdict_off_the_screen(width: int, figure_page: str, tmp_path: Path) -> None:
    found = browse(figure_page, tmp_path, width, reader=LOOKER)
    assert found["view"] == width
    assert_seen(found)


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
@pytest.mark.parametrize("rule", [".claim p { white-space: nowrap; }", ".verdict { position: relative; left: -99px; }",
                                  ".chart g { display: none; }"])
def test_what_is_not_seen_is_noticed(rule: str, figure_page: str, tmp_path: Path) -> None:
    found = browse(figure_page.replace("</style>", f"{rule}</style>", 1), tmp_path, 390, reader=LOOKER)
    with pytest.raises(AssertionError):
        assert_seen(found)
