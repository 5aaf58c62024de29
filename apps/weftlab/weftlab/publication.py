# SPDX-License-Identifier: BSD-3-Clause
"""What is kept of a publication's runs, PAPER.json beside its scenarios: the judged values of the claims, and the
numbers that its texts quote. It is enough to write the page of the publication without results."""
from __future__ import annotations

import glob
import hashlib
import json
import math
import os
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

import yaml

from .claims import Claim, Judgement
from .document import LOADER, Document
from .errors import WeftlabError
from .measures import Scope
from .results import Runs
from .stats import Interval

SCHEMA = "weft.paper/1"
NOT_MEASURED = ("text", "paper", "note", "at_most", "at_least", "bound")  # keys of a claim that leave its value alone
NOT_RUN = ("title", "about", "claims", "figure")  # keys of a scenario that leave its runs' numbers alone


@dataclass(frozen=True)
class Figure:
    """A scenario of a publication and how its claims fare."""

    name: str
    title: str
    runs: int
    judgements: tuple[Judgement, ...]


def scenarios(directory: str) -> list[str]:
    """The scenario files of a publication."""
    return sorted(glob.glob(os.path.join(directory, "*.yaml")))


def name_of(path: str) -> str:
    """The figure's name of a scenario file."""
    return os.path.splitext(os.path.basename(path))[0]


def kept_file(directory: str) -> str:
    """Where the results of a publication are kept."""
    return os.path.join(directory, os.path.basename(os.path.normpath(directory)) + ".json")


def read_yaml(path: str) -> dict[str, Any]:
    """A scenario as plain values; the reader of scenarios checks it when it is run."""
    Document(path)  # says what is no YAML, and where
    try:
        with open(path, encoding="utf-8") as file:
            return dict(yaml.load(file, LOADER))
    except (OSError, yaml.YAMLError, ValueError, TypeError) as error:
        raise WeftlabError(f"{path}: not a scenario: {error}") from error


def digest(values: Mapping[str, Any]) -> str:
    """Tells whether what was measured is what the file says now."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:12]


def runs_digest(path: str, scenario: Mapping[str, Any]) -> str:
    """Of what decides the numbers of a scenario's runs: what it says, where its results go apart, and what stands in
    the files that it names."""
    values = {key: value for key, value in scenario.items() if key not in NOT_RUN}
    outputs = {key: value for key, value in (values.pop("outputs", None) or {}).items() if key != "dir"}
    if outputs:
        values["outputs"] = outputs
    files = {part: content_digest(found) for part in sorted(set(parts_of(values)))
             if (found := file_of(path, part)) is not None}
    return digest({**values, "files": files} if files else values)


def parts_of(value: Any) -> Iterator[str]:
    """Whatever may name a file in a scenario: texts, or what is between their colons."""
    if isinstance(value, str):
        yield from value.split(":")
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from parts_of(entry)
    elif isinstance(value, dict):
        yield from parts_of(list(value.values()))


def file_of(path: str, part: str) -> str | None:
    """A file beside the scenario, or as seen from here; None: it names none."""
    if "." not in part and "/" not in part:
        return None
    return next((place for place in (os.path.join(os.path.dirname(path), part), part) if os.path.isfile(place)), None)


def content_digest(path: str) -> str:
    """Of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def claim_digest(entry: Mapping[str, Any]) -> str:
    """Of what decides the value of a claim."""
    return digest({key: value for key, value in entry.items() if key not in NOT_MEASURED})


def record_of(path: str, runs: Runs, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """What is kept of a figure. The simulator's events say how much work its runs are."""
    scenario = read_yaml(path)
    claims = [{"claim": claim_digest(entry), **interval_of(found), **limits_of(found), "runs": found.runs,
               **pairs_of(found), **bound_of(entry, found)}
              for entry, found in zip(scenario.get("claims", []), judgements)]
    return {"scenario": runs_digest(path, scenario), "runs": len(runs), "events": events_in(runs), "claims": claims}


def events_in(runs: Runs) -> int:
    """Of the simulator in runs that have a result; there may be none."""
    return int(runs["events"].fillna(0).sum()) if "events" in runs else 0


def interval_of(found: Judgement) -> dict[str, Any]:
    """What is kept of a value: half of its interval, or the ends of a ratio's; `seeds` if several have no interval."""
    value, known = found.interval, {"value": kept_number(found.value)}
    if value.n > 1 and math.isnan(value.half):
        return {**known, "half": None, "seeds": value.n}
    if value.ends is None:
        return {**known, "half": kept_number(value.half)}
    return {**known, "low": kept_number(value.low), "high": kept_number(value.high)}


def limits_of(found: Judgement) -> dict[str, Any]:
    """What is kept of flows that did not end."""
    return {name: True for name in ("least", "most") if getattr(found, name)}


def pairs_of(found: Judgement) -> dict[str, Any]:
    """What is kept of a comparison."""
    if found.pairs < 2:
        return {}
    return {"pairs": found.pairs, "p": kept_number(found.p_value, 3), "effect": kept_number(found.effect, 3)}


def bound_of(entry: Mapping[str, Any], found: Judgement) -> dict[str, Any]:
    """What is kept of a claim of several combinations: by another bound another of them might speak most against it."""
    return {"judged_by": bounds(entry)} if found.combinations > 1 else {}


def bounds(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """The bound of a claim."""
    return {name: _number(entry, name) for name in ("at_most", "at_least")}


def kept_number(value: float, digits: int = 9) -> float | str | None:
    """As JSON has it: null for what is not known, and text for the infinite."""
    if math.isnan(value):
        return None
    return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)


def together(figures: Mapping[str, dict[str, Any]], quotes: Mapping[str, list[float | None]]) -> dict[str, Any]:
    """All that is kept of a publication."""
    return {"schema": SCHEMA, "figures": dict(figures), "quotes": dict(sorted(quotes.items()))}


def one_line_each(values: Mapping[str, Any]) -> str:
    """JSON with a line for each claim and quote, so that a change of one number changes one line."""
    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    parts = []
    for name, figure in values["figures"].items():
        claims = ",\n   ".join(line(claim) for claim in figure["claims"])
        head = ", ".join(f"{line(key)}: {line(figure[key])}" for key in ("scenario", "runs", "events"))
        parts.append(f"  {line(name)}: {{{head}, \"claims\": [\n   {claims}\n  ]}}")
    quotes = ",\n".join(f"  {line(key)}: {line(value)}" for key, value in values["quotes"].items())
    return f"{{\"schema\": {line(values['schema'])},\n \"figures\": {{\n" + ",\n".join(parts) + \
        f"\n }},\n \"quotes\": {{\n{quotes}\n }}\n}}\n"


def kept(directory: str) -> dict[str, Any]:
    """What is kept of a publication, as it stands in the file."""
    path = kept_file(directory)
    try:
        with open(path, encoding="utf-8") as file:
            found = dict(json.load(file))
        if found["schema"] != SCHEMA:
            raise ValueError("another schema")
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeftlabError(f"{path}: not the results of a publication: {error}") from error


def figures_of(directory: str, found: Mapping[str, Any]) -> list[Figure]:
    """The figures of a publication with their verdicts. WeftlabError when what is kept (`found`) does not belong to the
    scenarios as they are now."""
    return [_figure(each, found["figures"].get(name_of(each))) for each in scenarios(directory)]


def _figure(path: str, known: Mapping[str, Any] | None) -> Figure:
    scenario = read_yaml(path)
    entries = scenario.get("claims", [])
    if known is None or known["scenario"] != runs_digest(path, scenario) or len(known["claims"]) != len(entries):
        raise WeftlabError(f"{path}: its results are not kept, or those of other settings (run make reproduce)")
    for entry, of_it in zip(entries, known["claims"]):
        if of_it["claim"] != claim_digest(entry):
            raise WeftlabError(f"{path}: claim '{entry['text']}' was measured in another form (run make reproduce)")
        if of_it.get("judged_by", bounds(entry)) != bounds(entry):  # older files do not say by which
            raise WeftlabError(f"{path}: claim '{entry['text']}' is of several combinations and was judged by another "
                               "bound (judge it again: weftlab pages --results DIR)")
    judgements = tuple(_judgement(_claim(path, entry), of_it) for entry, of_it in zip(entries, known["claims"]))
    return Figure(name_of(path), str(scenario.get("title", "")), int(known["runs"]), judgements)


def _claim(path: str, entry: Mapping[str, Any]) -> Claim:
    """As far as a verdict and its row need it."""
    compares = "over" in entry or "less" in entry
    return Claim(path=path, line=0, text=str(entry["text"]), paper=str(entry.get("paper", "")),
                 note=str(entry.get("note", "")), measure=str(entry["measure"]), scope=Scope(), of={},
                 over={} if compares else None, difference="less" in entry, real="real" in entry,
                 at_most=_number(entry, "at_most"), at_least=_number(entry, "at_least"),
                 published=entry.get("bound") == "published")


def _number(entry: Mapping[str, Any], name: str) -> float | None:
    return float(entry[name]) if name in entry else None


def _judgement(claim: Claim, known: Mapping[str, Any]) -> Judgement:
    value, limits = _interval(known), [bool(known.get(name)) for name in ("least", "most")]
    return Judgement(claim, claim.verdict(value, *limits), value, str(known["runs"]), int(known.get("pairs", 0)),
                     _kept(known, "p"), _kept(known, "effect"), *limits)


def _interval(known: Mapping[str, Any]) -> Interval:
    """What interval_of() keeps."""
    low, high = _kept(known, "low"), _kept(known, "high")
    ends = None if math.isnan(low) else (low, high)
    half = (high - low) / 2 if ends else _kept(known, "half")
    return Interval(int(known.get("seeds", known.get("pairs", 0))), _kept(known, "value"), math.nan, half, 0.95, ends)


def _kept(known: Mapping[str, Any], name: str) -> float:
    """NaN: not known."""
    return math.nan if known.get(name) is None else float(known[name])
