# SPDX-License-Identifier: BSD-3-Clause
"""Experiments over many runs of `weft sim`: sweeps, tables, statistics and figures. doc/guide/weftlab.md tells how.

    import weftlab
    runs = weftlab.run("configs/scenarios/roce.yaml")
    print(weftlab.summary(runs, "fct_max_us"))

Modules are imported when a name of theirs is used first: pandas and matplotlib take a second each."""
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .capture import pcap
    from .claim_reader import load_claims
    from .claims import Claim, Judgement, judge
    from .errors import ScenarioError, UnwritableError, WeftlabError
    from .drawing import save
    from .figures import figure
    from .reader import load as load_scenario
    from .results import Runs, load
    from .stats import BREAKS, HOLDS, UNDECIDED, Comparison, Interval, compare, interval, summary, verdict
    from .sweep import run

_HOMES = {  # module -> names that it has for users; a name there may be another one, after a colon
    "capture": "pcap",
    "claim_reader": "load_claims",
    "claims": "Claim Judgement judge",
    "errors": "ScenarioError UnwritableError WeftlabError",
    "drawing": "save",
    "figures": "figure",
    "reader": "load_scenario:load",
    "results": "Runs load",
    "stats": "BREAKS HOLDS UNDECIDED Comparison Interval compare interval summary verdict",
    "sweep": "run",
}
_PLACES = {entry.partition(":")[0]: (module, entry.partition(":")[2] or entry)
           for module, entries in _HOMES.items() for entry in entries.split()}

__all__ = ["BREAKS", "HOLDS", "UNDECIDED", "Claim", "Comparison", "Interval", "Judgement", "Runs", "ScenarioError",
           "UnwritableError", "WeftlabError", "compare", "figure", "interval", "judge", "load", "load_claims",
           "load_scenario", "pcap", "run", "save", "summary", "verdict"]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'weftlab' has no attribute '{name}'")
    module, there = _PLACES[name]
    value: object = getattr(importlib.import_module(f"weftlab.{module}"), there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
