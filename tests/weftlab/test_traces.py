# SPDX-License-Identifier: BSD-3-Clause
"""Drawings of what weft trace saves."""
from __future__ import annotations

from pathlib import Path

import pytest

from weftlab import WeftlabError
from weftlab.__main__ import main
from weftlab.traces import load_trace, trace_figure

HEAD = "pid,device,time_ns,event,conn,peer,psn,ev,bytes,cwnd_bytes,inflight_bytes,rtt_ns,detail\n"
EVENTS = """7,"eth0",1000,opened,5,10.0.0.2,0,0,0,0,0,0,by us
7,"eth0",2000,sent,5,10.0.0.2,4294967295,9,4210,100000,4210,0,0
7,"eth0",3000,sent,5,10.0.0.2,0,9,4210,100000,8420,0,0
7,"eth0",4000,ack_received,5,10.0.0.2,4294967295,0,0,100000,0,2000,0
7,"eth0",5000,lost,5,10.0.0.2,0,9,4210,50000,4210,0,timeout
7,"eth0",6000,sent_again,5,10.0.0.2,0,9,4210,50000,4210,0,129
7,"eth0",6500,received,6,10.0.0.3,77,1,0,0,0,0,0
"""


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_connections_have_psns_and_windows(tmp_path: Path) -> None:
    drawn = trace_figure(load_trace(write(tmp_path / "a.csv", HEAD + EVENTS)))
    assert len(drawn.axes) == 4  # two connections, two plots each
    psns, windows = drawn.axes[:2]
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in psns.get_lines()}
    assert lines == {"sent": ([1, 2], [0, 1]), "acknowledged": ([3], [0]), "lost": ([4], [1]),
                     "sent again": ([5], [1])}  # PSNs go on over their largest
    assert "connection 5 to 10.0.0.2" in psns.get_title(loc="left")
    assert [line.get_label() for line in windows.get_lines()] == ["window", "in flight"]
    assert "connection 6 from 10.0.0.3" in drawn.axes[2].get_title(loc="left")


def test_report_draws_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.csv", HEAD + EVENTS)
    assert main(["report", path]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/a.svg\n"
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert main(["report", path, "--png", str(tmp_path / "b.png")]) == 0
    assert (tmp_path / "b.png").stat().st_size > 1000
    assert main(["report", path, "--figure", "cwnd"]) == 2
    assert main(["report", path, path, "--svg", str(tmp_path / "c.svg")]) == 2


@pytest.mark.parametrize("text, reason", [("a,b\n1,2\n", "no trace"), (HEAD, "no events"), ("", "a.csv"),
                                          (HEAD + EVENTS.splitlines()[0] + "\n", "no packets")])
def test_what_is_no_trace_is_said(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(WeftlabError, match=reason):
        trace_figure(load_trace(write(tmp_path / "a.csv", text)))
