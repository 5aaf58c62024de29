# SPDX-License-Identifier: BSD-3-Clause
"""Experiments over many runs of `weft sim`: sweeps, tables, statistics and figures. doc/guide/weftlab.md tells how.

    import weftlab
    runs = weftlab.run("configs/scenarios/roce.yaml")
    print(weftlab.summary(runs, "fct_max_us"))
"""
from .capture import pcap
from .claims import Claim, Judgement, judge, load_claims
from .errors import ScenarioError, UnwritableError, WeftlabError
from .figures import figure, save
from .reader import load as load_scenario
from .results import Runs, load
from .stats import BREAKS, HOLDS, UNDECIDED, Comparison, Interval, compare, interval, summary, verdict
from .sweep import run

__all__ = ["BREAKS", "HOLDS", "UNDECIDED", "Claim", "Comparison", "Interval", "Judgement", "Runs", "ScenarioError",
           "UnwritableError", "WeftlabError", "compare", "figure", "interval", "judge", "load", "load_claims",
           "load_scenario", "pcap", "run", "save", "summary", "verdict"]
