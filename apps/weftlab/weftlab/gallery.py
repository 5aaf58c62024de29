# SPDX-License-Identifier: BSD-3-Clause
"""The gallery: a small picture of every published figure, drawn from the results of `reproduce`, on one page."""
from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from typing import Iterator

import matplotlib
from PIL import Image

from .binary import Binary
from .directory import check_origin
from .drawing import style_path
from .errors import UnwritableError, WeftlabError
from .files import names_in
from .forms import draw_published
from .published import Published, load_published
from .reader import load as load_scenario
from .results import load
from .scenario import Scenario

DOTS_PER_INCH = 110
COLOURS_MAX = 64  # of a picture, so that all of them stay small
HEAD = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Published figures, redrawn

Each picture shows what the lab measured, in the form that the published figure has by its caption and text. Diamonds
and dotted lines are values that the publication gives. Bars and lines are means over the seeds with 95 % confidence
intervals; arrows, hatched bars and open marks stand for flows that did not end. `weft reproduce` makes the results, and

    python3 -m weftlab gallery weft-out/reproduce

this page with its pictures. [reproduce.md](../guide/reproduce.md#the-form-of-a-figure) tells how figures are declared.
One of them as PDF:

    weft report weft-out/reproduce/reps/fig03 --figure published \\
        --scenario configs/papers/reps/fig03.yaml --pdf fig03.pdf
"""


@dataclass(frozen=True)
class Entry:
    """One figure of a publication."""

    paper: str  # directory below configs/papers
    name: str  # file without its ending
    form: Published
    scenario: Scenario


@dataclass
class Outcome:
    """What became of the figures."""

    drawn: int = 0
    missing: list[str] = field(default_factory=list)  # PAPER/FIGURE without results
    failures: list[str] = field(default_factory=list)  # scenario and reason of each that could not be drawn


def scenario_files(papers: str) -> Iterator[str]:
    """The scenarios of all papers."""
    for paper in names_in(papers):
        directory = os.path.join(papers, paper)
        for file in names_in(directory) if os.path.isdir(directory) else []:
            if file.endswith(".yaml"):
                yield os.path.join(directory, file)


def entry_of(path: str, binary: Binary) -> Entry | None:
    """The figure that a scenario declares; None: it has none."""
    scenario = load_scenario(path, binary)
    form = load_published(scenario)
    directory, file = os.path.split(path)
    return Entry(os.path.basename(directory), file.removesuffix(".yaml"), form, scenario) if form is not None else None


def write_gallery(results: str, papers: str, out: str, binary: Binary) -> Outcome:
    """Draws every figure that has results in RESULTS/PAPER/FIGURE into OUT/figures, and writes OUT/gallery.md of all
    that have a picture there. A figure that cannot be drawn does not keep the others from it."""
    outcome, shown = Outcome(), []
    for path in scenario_files(papers):
        try:
            entry = entry_of(path, binary)
        except WeftlabError as error:
            outcome.failures.append(str(error))
            continue
        if entry is not None and _draw(entry, results, out, outcome):
            shown.append(entry)
    if shown or not outcome.failures:
        if not shown:
            raise WeftlabError(f"{results}: no results of a figure in {papers}")
        _write(os.path.join(out, "gallery.md"), page_of(shown).encode())
    return outcome


def _draw(entry: Entry, results: str, out: str, outcome: Outcome) -> bool:
    """Draws one figure if it has results. Whether there is a picture of it now."""
    path = os.path.join(out, "figures", f"{entry.paper}-{entry.name}.png")
    directory = os.path.join(results, entry.paper, entry.name)
    if not os.path.exists(os.path.join(directory, "sweep.json")):
        outcome.missing.append(f"{entry.paper}/{entry.name}")
        return os.path.exists(path)
    try:
        picture = picture_of(entry, directory)
    except (WeftlabError, LookupError, ValueError) as error:  # results of an older build may lack columns
        reason = str(error) if isinstance(error, WeftlabError) else f"{type(error).__name__}: {error}"
        outcome.failures.append(reason if reason.startswith(entry.form.path) else f"{entry.form.path}: {reason}")
        return os.path.exists(path)
    _write(path, picture)
    outcome.drawn += 1
    return True


def picture_of(entry: Entry, directory: str) -> bytes:
    """A figure as a small PNG; the same results give the same bytes."""
    runs = load(directory)
    check_origin(entry.scenario, list(runs["directory"]), one_build=True)
    drawn = draw_published(entry.form, runs)
    if drawn.weft_blank:
        raise WeftlabError(f"nothing is drawn in panel '{drawn.weft_blank[0]}'; run the scenario again, results may be "
                           "older")
    with matplotlib.rc_context(fname=style_path("paper")):
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=DOTS_PER_INCH, facecolor="white")
    whole = Image.open(buffer).convert("RGB")
    small = whole.quantize(COLOURS_MAX, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    small.save(packed, format="PNG", optimize=True)
    return packed.getvalue()


def page_of(shown: list[Entry]) -> str:
    """The page's text."""
    lines = [HEAD]
    for paper in dict.fromkeys(entry.paper for entry in shown):
        lines.append(f"## {paper}\n\n[Claims and verdicts]({paper}.md)\n")
        for entry in shown:
            if entry.paper == paper:
                title = entry.form.title.partition(": ")[2] or entry.form.title
                note = f" {entry.form.note}" if entry.form.note else ""
                lines.append(f"**{entry.form.shows}: {title}** (`{entry.name}.yaml`).{note}\n\n"
                             f"![{entry.form.shows} of {paper}](figures/{paper}-{entry.name}.png)\n")
    return "\n".join(lines)


def _write(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise UnwritableError(f"{path}: {error.strerror}") from error
