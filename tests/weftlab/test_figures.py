# SPDX-License-Identifier: BSD-3-Clause
"""Figures: what is drawn, what is said when it cannot be, and files that are the same each time."""
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import weftlab
from weftlab import Runs, WeftlabError, figure, save
from weftlab.__main__ import main, where
from weftlab.binary import Binary
from weftlab.drawing import fold, named
from weftlab.figures import FIGURES, ideals, rates_over_time


@pytest.fixture(scope="module")
def dead_cable(tmp_path_factory: pytest.TempPathFactory, weft: Binary) -> Runs:
    """One run, of which some flows never end."""
    out = tmp_path_factory.mktemp("dead") / "out"
    subprocess.run([weft.path, "sim", "--matrix", "permutation:16:1MiB", "--lb", "ecmp", "--end", "2ms",
                    "--fault", "100us fail cable:leaf:0:2", "--out", str(out)], capture_output=True, check=False)
    return weftlab.load(out)


def axes_of(drawn: Any) -> Any:
    axes, = drawn.axes
    return axes


def legend_of(drawn: Any) -> list[str]:
    legend = axes_of(drawn).get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def test_every_figure_is_drawn_and_saved(two_cases: Runs, tmp_path: Path) -> None:
    for kind in FIGURES:
        runs = two_cases if kind in ("bars", "lines") else two_cases[two_cases["mtu"] == 4096]
        drawn = figure(runs, kind)
        assert axes_of(drawn).get_ylabel()
        assert {"sprayed", "hashed"} <= {label.partition(":")[0] for label in legend_of(drawn)}
        for line in axes_of(drawn).get_lines():
            assert len(line.get_xdata()) > 1 or kind == "lines"
        save(drawn, tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("ending, start", [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_file_is_the_same_each_time(ending: str, start: bytes, two_cases: Runs, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(figure(two_cases, "bars", style="paper"), tmp_path / f"{name}.{ending}")
    one = (tmp_path / f"one.{ending}").read_bytes()
    assert one.startswith(start)
    assert one == (tmp_path / f"two.{ending}").read_bytes()


def test_each_combination_has_its_ideal() -> None:
    def alone(rate: int, mtu: int, *times: float) -> tuple[dict[str, object], Any]:
        return {"case": "a", "rate": rate, "mtu": mtu}, np.array(times)
    found = ideals([alone(1, 5, 2.0, 3.0), alone(1, 6, 2.0, 3.0), alone(4, 5, 1.0, 1.5), alone(4, 6)])
    assert [name for name, _ in found] == ["ideal, alone, rate 1", "ideal, alone, rate 4, mtu 5"]
    assert list(found[1][1]) == [1.0, 1.5]
    assert [name for name, _ in ideals([alone(1, 5, 2.0), alone(1, 6, 2.0)])] == ["ideal, alone"]
    assert ideals([alone(rate, 5, float(rate)) for rate in range(5)]) == []


def test_axes_have_the_names_of_their_columns() -> None:
    names = {"fct_p99_us": "p99 FCT (µs)", "queue_max_bytes": "max queue (bytes)", "max_rss_kib": "max rss (KiB)",
             "flow_gbps_min": "min flow (Gb/s)", "jain": "Jain's fairness", "seed": "seed", "bytes": "bytes"}
    assert {column: named(column) for column in names} == names


def test_bars_are_means_over_the_seeds(two_cases: Runs) -> None:
    drawn = figure(two_cases, "bars", measure="fct_mean_us")
    heights = [bar.get_height() for bar in axes_of(drawn).patches]
    means = weftlab.summary(two_cases, "fct_mean_us")["mean"]
    assert heights == pytest.approx(list(means))
    assert axes_of(drawn).get_xlabel() == "mtu"


def test_flows_without_an_end_are_seen(dead_cable: Runs) -> None:
    flows = dead_cable.flows()
    missing = flows["fct_us"].isna().sum()
    assert missing
    drawn = figure(dead_cable, "fct-cdf")
    assert "did not end" in legend_of(drawn)[0]
    curve = axes_of(drawn).get_lines()[0].get_ydata()
    assert curve[-1] == pytest.approx(1 - missing / len(flows))
    bars = figure(dead_cable, "bars")
    assert axes_of(bars).patches[0].get_hatch()
    assert axes_of(bars).patches[0].get_height() == pytest.approx(dead_cable["virtual_us"][0]), "flows began at 0"
    assert "hatched" in axes_of(bars).get_legend().get_title().get_text()
    assert figure(dead_cable, "bars", measure="jain").axes[0].texts[0].get_text() == "no value"


def test_what_cannot_be_drawn_is_said(two_cases: Runs, dead_cable: Runs, tmp_path: Path) -> None:
    attempts: list[tuple[str, Runs, str, dict[str, str]]] = [
            ("no figure 'pie'; there are fct-cdf", two_cases, "pie", {}),
            ("no option 'colour'; there are measure", two_cases, "bars", {"colour": "red"}),
            ("no column 'beauty'", two_cases, "bars", {"measure": "beauty"}),
            ("no style 'baroque'", two_cases, "bars", {"style": "baroque"}),
            ("the runs differ in mtu, too", two_cases, "bars", {"x": "case", "by": "seed"}),
            ("needs an axis whose values are numbers", two_cases, "lines", {"x": "case", "by": "mtu"}),
            ("no run has ports.csv: sample it", dead_cable, "queue", {}),
            ("no port is called 'foo'$", two_cases, "queue", {"ports": "foo"}),
            ("no run has a result", two_cases[two_cases["id"] > 99], "bars", {})]
    for message, runs, kind, options in attempts:
        with pytest.raises(WeftlabError, match=message):
            figure(runs, kind, **options)
    with pytest.raises(WeftlabError, match="saved as .pdf, .svg or .png"):
        save(figure(two_cases, "bars"), tmp_path / "x.gif")
    with pytest.raises(WeftlabError, match="No such file"):
        save(figure(two_cases, "bars"), tmp_path / "none" / "x.pdf")


def test_rates_are_zero_where_nothing_arrived() -> None:
    arrivals = pd.DataFrame({"time_us": [1.0, 4.0, 4.0], "interval_us": 1.0, "flow": [0, 0, 1],
                             "bytes": [125, 250, 1000]})
    rates = rates_over_time(arrivals)
    assert list(rates.index[:4]) == [0.5, 1.5, 2.5, 3.5]
    assert list(rates[0][:4]) == [1.0, 0.0, 0.0, 2.0]
    assert list(rates[1][:4]) == [0.0, 0.0, 0.0, 8.0]
    long = pd.DataFrame({"time_us": np.arange(1.0, 1001), "interval_us": 1.0, "flow": 0, "bytes": 125})
    assert len(rates_over_time(long)) < 130
    assert rates_over_time(long)[0].iloc[:100].tolist() == pytest.approx([1.0] * 100)


def test_the_command_draws(two_cases: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = two_cases.attrs["directory"]
    assert main(["report", directory, "--figure", "bars", "--measure", "goodput_gbps", "--pdf", str(tmp_path / "a.pdf"),
                 "--png", str(tmp_path / "a.png"), "--where", "case=sprayed"]) == 0
    assert (tmp_path / "a.pdf").exists() and (tmp_path / "a.png").exists()
    assert main(["report", directory, "--figure", "bars"]) == 2  # names no file
    assert main(["report", directory, "--figure", "bars", "--colour", "red"]) == 2
    assert main(["table", directory]) == 0
    assert "two cases (mean over seeds" in capsys.readouterr().out
    assert main(["table", directory, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("id,label,case,seed,status")


def test_runs_are_selected_by_value(two_cases: Runs) -> None:
    assert len(where(two_cases, "mtu=1024,4096")) == 12
    assert set(where(two_cases, "case=hashed")["case"]) == {"hashed"}
    with pytest.raises(WeftlabError, match="no run has case=x; there are sprayed, hashed"):
        where(two_cases, "case=x")
    with pytest.raises(WeftlabError, match="is not COLUMN=VALUE"):
        where(two_cases, "case")


def test_paths_are_known_by_their_last_part(two_cases: Runs) -> None:
    runs = two_cases.assign(case=["a/b.topo", "c.topo"] * 6)
    assert len(where(runs, "case=b.topo")) == 6


def test_long_names_are_folded_into_the_same_number_of_lines() -> None:
    assert fold(["SMaRTT", "EQDS+SMaRTT", "no FI", "a-b"], 6) == ["SMaRTT\n", "EQDS+\nSMaRTT", "no FI\n", "a-b\n"]
    assert fold(["EQDS+SMaRTT"], 20) == ["EQDS+SMaRTT"]
    assert fold([], 5) == []


@pytest.mark.parametrize("kind, words, options", [
    ("bars", ["--x", "mtu", "--by", "case", "--log"], {"x": "mtu", "by": "case", "log": True}),
    ("bars", ["--x", "case", "--by", "mtu", "--title", "a b"], {"x": "case", "by": "mtu", "title": "a b"}),
    ("queue", ["--ports", "leaf0:host1"], {"ports": "leaf0:host1"})])
def test_the_command_draws_what_the_function_draws(kind: str, words: list[str], options: dict[str, Any],
                                                   two_cases: Runs, tmp_path: Path) -> None:
    command = ["report", two_cases.attrs["directory"], "--figure", kind, "--svg", str(tmp_path / "command.svg")]
    assert main([*command, *words]) == 0
    save(figure(two_cases, kind, style="paper", **options), tmp_path / "function.svg")
    assert (tmp_path / "command.svg").read_bytes() == (tmp_path / "function.svg").read_bytes()
    save(figure(two_cases, kind, style="paper", **dict(list(options.items())[:-1])), tmp_path / "other.svg")
    assert (tmp_path / "command.svg").read_bytes() != (tmp_path / "other.svg").read_bytes()
