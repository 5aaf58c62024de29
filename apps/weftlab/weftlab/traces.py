# SPDX-License-Identifier: BSD-3-Clause
"""What `weft trace` saves of a process's last packets, drawn: PSNs, windows and losses over time."""
from __future__ import annotations

from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from .drawing import draw_line, label_axes, legend_above, style_path
from .errors import WeftlabError
from .results import read_csv

CONNECTIONS_MAX = 6  # those with the most events are drawn
COLUMNS = ("device", "time_ns", "event", "conn", "peer", "psn", "cwnd_bytes", "inflight_bytes", "rtt_ns", "detail")
# Event, name and how it is drawn, what is rare above what is not.
MARKS = (("sent", "sent", {"marker": ".", "color": "C0"}), ("received", "received", {"marker": ".", "color": "C0"}),
         ("ack_received", "acknowledged", {"marker": ".", "color": "C2"}),
         ("ack_marked", "acknowledged, marked", {"marker": "^", "color": "C1"}),
         ("sent_again", "sent again", {"marker": "+", "color": "C4"}),
         ("duplicate", "duplicate", {"marker": "+", "color": "C4"}),
         ("trimmed", "trimmed", {"marker": "v", "color": "C5"}),
         ("nack_received", "refused", {"marker": "v", "color": "C5"}), ("lost", "lost", {"marker": "x", "color": "C3"}))


def load_trace(path: str) -> pd.DataFrame:
    """The events of a file that `weft trace` wrote as CSV, with `time_us` since the first of them."""
    table = read_csv(path)
    if not set(COLUMNS) <= set(table.columns):
        raise WeftlabError(f"{path}: no trace; weft trace PID --format csv -o {path} writes one")
    if table.empty:
        raise WeftlabError(f"{path}: has no events")
    return table.assign(time_us=(table["time_ns"] - table["time_ns"].min()) / 1e3,
                        direction=table["event"].isin(["received", "duplicate", "trimmed", "ack_sent"]))


def trace_figure(table: pd.DataFrame, style: str = "screen") -> Figure:
    """For each connection and direction PSNs over time, and where we send, the window and what is in flight below."""
    packets = table[table["event"].isin([event for event, _, _ in MARKS])]
    if packets.empty:
        raise WeftlabError("the trace has no packets of a connection")
    found = sorted(packets.groupby(["device", "conn", "direction"]), key=lambda item: -len(item[1]))[:CONNECTIONS_MAX]
    with matplotlib.rc_context(fname=style_path(style)):
        width, height = matplotlib.rcParams["figure.figsize"]
        drawn = Figure(figsize=(width * 1.6, height * 1.3 * len(found)))
        grid = drawn.subplots(2 * len(found), 1, squeeze=False, sharex=True,
                              gridspec_kw={"height_ratios": [2, 1] * len(found)})
        for at, ((device, conn, receives), events) in enumerate(found):
            peers = events["peer"].dropna()
            peer = peers.iloc[-1] if len(peers) else "?"
            _draw_psns(drawn, grid[2 * at][0], events)
            grid[2 * at][0].set_title(f"{device}, connection {conn} {'from' if receives else 'to'} {peer}", loc="left",
                                      pad=24)
            _draw_windows(drawn, grid[2 * at + 1][0], events)
        grid[-1][0].set_xlabel("time (µs)")
    setattr(drawn, "weft_style", style)
    return drawn


def _draw_psns(drawn: Figure, axes: Any, events: pd.DataFrame) -> None:
    first = events["psn"].iloc[0]
    for event, name, form in MARKS:
        some = events[events["event"] == event]
        if not some.empty:
            psns = (some["psn"] - first + 2**31) % 2**32 - 2**31  # they wrap
            axes.plot(some["time_us"].to_numpy(), psns.to_numpy(), linestyle="none", markersize=4, label=name, **form)
    label_axes(axes, "", f"PSN - {first}")
    legend_above(drawn, axes)


def _draw_windows(drawn: Figure, axes: Any, events: pd.DataFrame) -> None:
    sent = events[events["event"].isin(["sent", "sent_again"])]
    for at, (column, name) in enumerate((("cwnd_bytes", "window"), ("inflight_bytes", "in flight"))):
        if not sent.empty:
            draw_line(axes, sent["time_us"], sent[column] / 1e3, name, at)
    label_axes(axes, "", "kB")
    axes.set_ylim(bottom=0)
    legend_above(drawn, axes)
