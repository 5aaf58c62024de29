# SPDX-License-Identifier: BSD-3-Clause
"""The page of a publication in doc/papers, whole: its template PAPER.md.j2 with the tables, verdicts and numbers of the
results that are kept beside it."""
from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from . import publication
from .claim_reader import load_claims
from .claims import REPORTED, UNKNOWN, VERDICTS, Judgement, judge, paired
from .directory import check_origin
from .errors import WeftlabError
from .files import write_text
from .publication import Figure
from .quotes import WRONG, Quotes, environment, filled
from .results import Runs
from .scenario import Scenario
from .stats import BREAKS, HOLDS, UNDECIDED

WIDTH = 130  # of lines of text
HEAD = ["claim", "the publication says", "its bound", "our bound", "measured", "verdict"]
LEFT_ALONE = ("|", "#", "<", "!", "    ", "```")  # how blocks begin that are no paragraphs
LIST = "* "
LONG_PATH = re.compile(r"(?:\w+=)?(?:\.\./)+(?:\w+/)*")  # of a matrix in the label of a run; its name is enough
INDEX = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Publications

Claims of publications, judged by runs of the lab, and their figures, redrawn: [all pictures](gallery.md).
[reproduce.md](../guide/reproduce.md) explains claims and verdicts. `make reproduce` repeats all runs and
writes the pages.

{table}
`reported` are comparisons of real time with the lab, which have no bound.
"""
WITHIN = "The bound lies within the interval."
MARKS = {HOLDS: HOLDS, BREAKS: f"**{BREAKS}**"}


@dataclass(frozen=True)
class Page:
    """What a template can put into its page."""

    paper: str
    figures: Sequence[Figure]
    quotes: Quotes
    gallery: str  # directory of pictures, as seen from the page; empty: none
    pictures: Sequence[str]  # names of the files in it

    def render(self, template: str) -> str:
        """The page. WeftlabError says what is wrong with the template."""
        found = environment(self.quotes)
        found.globals.update(counts=self.counts(), verdicts=self.verdicts, results=self.results, causes=self.causes,
                             figure=self.figure, picture=self.picture, runs=sum(each.runs for each in self.figures),
                             files=len(self.figures))
        try:
            return wrapped(found.from_string(template).render())
        except WRONG as error:
            raise WeftlabError(f"{self.paper}.md.j2: {error}") from error

    def counts(self) -> dict[str, int]:
        """How many claims there are (`all`), by verdict, and those with a bound (`judged`)."""
        found = Counter(judgement.verdict for figure in self.figures for judgement in figure.judgements)
        return {"all": found.total(), "judged": found.total() - found[REPORTED], "holds": found[HOLDS],
                "breaks": found[BREAKS], "undecided": found[UNDECIDED], "unknown": found[UNKNOWN],
                "reported": found[REPORTED]}

    def verdicts(self) -> str:
        """Claims by figure and verdict, as a table."""
        words = [word for word in VERDICTS if any(j.verdict == word for f in self.figures for j in f.judgements)]
        rows = [[f"[{heading(each)}](#{anchor(heading(each))})", str(len(each.judgements)),
                 *(str(sum(j.verdict == word for j in each.judgements)) for word in words)] for each in self.figures]
        total = ["all", *(str(sum(int(row[at]) for row in rows)) for at in range(1, len(words) + 2))]
        return table(["figure", "claims", *words], [*rows, total], numbers_from=1)

    def results(self) -> str:
        """A section for each figure."""
        return "\n".join(self.figure(each.name) for each in self.figures)

    def figure(self, name: str) -> str:
        """Picture and claims of a figure."""
        each = next((each for each in self.figures if each.name == name), None)
        if each is None:
            raise WeftlabError(f"{self.paper}.md.j2: there is no figure '{name}'")
        rows = [self._row(judgement) for judgement in each.judgements]
        used = [at for at, title in enumerate(HEAD) if title in ("claim", "measured", "verdict")
                or any(row[at] for row in rows)]
        body = table([HEAD[at] for at in used], [[row[at] for at in used] for row in rows])
        return f"### {heading(each)}\n\n`{each.name}.yaml`, {each.runs} runs\n\n{self.picture(name)}{body}"

    def _row(self, found: Judgement) -> list[str]:
        claim = found.claim
        words = f"{claim.at_least:g} to {claim.at_most:g}" \
            if claim.at_least is not None and claim.at_most is not None else claim.bound
        measured = LONG_PATH.sub("", found.ours) + (f"; {paired(found)}" if found.is_comparison else "")
        return [claim.text, claim.paper, words if claim.published else "", "" if claim.published else words, measured,
                MARKS.get(found.verdict, found.verdict)]

    def picture(self, name: str) -> str:
        """The figure beside the published one; empty: there is none."""
        file = f"{self.paper}-{name}.png"
        title = next((each.title for each in self.figures if each.name == name), name)
        return f"![{title}]({self.gallery}/{file})\n\n" if file in self.pictures else ""

    def causes(self) -> str:
        """A row for each claim that does not hold, with the reason that its note gives."""
        rows = [[each.name, found.claim.text, MARKS.get(found.verdict, found.verdict),
                 filled(found.claim.note, self.quotes, each.name) or (WITHIN if found.verdict == UNDECIDED else "")]
                for each in self.figures for found in each.judgements if found.verdict not in (HOLDS, REPORTED)]
        return table(["figure", "claim", "verdict", "why"], rows) if rows else "Every claim holds.\n"


def heading(figure: Figure) -> str:
    """The title with the figure's number before it, unless it has it already."""
    number = re.match(r"fig0*(\d+)([a-d]*)", figure.name)
    if number is None or re.search(r"\bfigures? \d", figure.title, re.I):
        return figure.title
    letter = number.group(2) if figure.name == number.group(0) else ""
    return f"Figure {number.group(1)}{letter}: {figure.title}"


def anchor(title: str) -> str:
    """The name that a heading has in links."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int | None = None) -> str:
    """A Markdown table; columns from `numbers_from` on are aligned to the right."""
    right = len(head) if numbers_from is None else numbers_from
    rule = ["---" if at < right else "--:" for at in range(len(head))]
    cells = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in [head, *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]]) + "\n"


def wrapped(text: str) -> str:
    """Paragraphs and lists with lines of at most WIDTH; tables, headings and code as they are."""
    blocks = text.strip("\n").split("\n\n")
    return "\n\n".join(wrapped_block(block.strip("\n")) for block in blocks if block.strip()) + "\n"


def wrapped_block(block: str) -> str:
    """One block between empty lines."""
    if block.startswith(LEFT_ALONE):
        return block
    if not block.startswith(LIST):
        return fill(block)
    items = ("\n" + block).split("\n" + LIST)[1:]
    return "\n".join(fill(LIST + item, "  ") for item in items)


def fill(text: str, indent: str = "") -> str:
    """A paragraph; code in backticks is not broken."""
    spans = " ".join(text.split()).split("`")
    glued = "`".join(span.replace(" ", "\0") if at % 2 else span for at, span in enumerate(spans))
    return textwrap.fill(glued, WIDTH, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False).replace("\0", " ")


def keep(directory: str, judged: Sequence[tuple[Scenario, Runs, Sequence[Judgement]]], partial: bool = False) -> None:
    """Keeps what the page needs of the results of all figures: scenarios with their runs and verdicts. `partial`: what
    is kept of other figures stays; render() refuses it if it is of other runs."""
    for scenario, runs, _ in judged:
        check_origin(scenario, list(runs["directory"]), one_build=True)
    earlier = publication.kept(directory) if partial else publication.together({}, {})
    figures = {**earlier["figures"],
               **{publication.name_of(scenario.path): publication.record_of(scenario.path, runs, judgements)
                  for scenario, runs, judgements in judged}}
    paths = publication.scenarios(directory)
    missing = [path for path in paths if publication.name_of(path) not in figures]
    if missing:
        raise WeftlabError(f"{missing[0]}: has no results, and a page is about all figures")
    figures = {name: figures[name] for name in map(publication.name_of, paths)}
    quotes = Quotes(dict(earlier["quotes"]), {publication.name_of(scenario.path): runs for scenario, runs, _ in judged})
    render(directory, publication.together(figures, {}), quotes)
    if quotes.unknown():
        raise WeftlabError(f"'{quotes.unknown()[0]}' is quoted and not known: a run has no result, or flows without an "
                           "end")
    text = publication.one_line_each(publication.together(figures, {key: quotes.known[key] for key in quotes.used}))
    write_text(publication.kept_file(directory), text)


def judged_figure(scenario: Scenario, runs: Runs) -> tuple[Scenario, Runs, list[Judgement]]:
    """A scenario with its results and verdicts."""
    check_origin(scenario, list(runs["directory"]))  # claims of other runs would be refused with less clear words
    return scenario, runs, [judge(claim, runs) for claim in load_claims(scenario)]


def render(directory: str, found: Mapping[str, Any] | None = None, quotes: Quotes | None = None,
           gallery: str = "") -> str:
    """The page of a publication by what is kept of it; `gallery`: where the pictures of its figures are."""
    found = found or publication.kept(directory)
    figures = publication.figures_of(directory, found)
    paper = os.path.basename(os.path.normpath(directory))
    pictures = sorted(os.listdir(gallery)) if gallery and os.path.isdir(gallery) else []
    template = read_text(os.path.join(directory, f"{paper}.md.j2"))
    if not template:
        raise WeftlabError(f"{directory}: there is no template {paper}.md.j2")
    beside = os.path.basename(os.path.normpath(gallery)) if gallery else ""
    quotes = quotes or Quotes(dict(found["quotes"]))
    text = Page(paper, figures, quotes, beside, pictures).render(template)
    for each in figures:  # a note that is not shown must be right, too
        for judgement in each.judgements:
            filled(judgement.claim.note, quotes, each.name)
    return text


def write_pages(directories: Sequence[str], out: str, gallery: str, check: bool, with_index: bool = False) -> list[str]:
    """Writes PAPER.md of each publication into `out`, maybe README.md about all of them, and returns the files that
    changed; `check` writes nothing."""
    texts = {os.path.basename(os.path.normpath(directory)): render(directory, gallery=gallery)
             for directory in directories}
    if with_index:
        texts["README"] = index(directories, texts)
    paths = {name: os.path.join(out, name + ".md") for name in texts}
    changed = [name for name, text in texts.items() if text != read_text(paths[name])]
    for name in changed if not check else []:
        write_text(paths[name], texts[name])
    return [paths[name] for name in changed]


def index(directories: Sequence[str], pages: Mapping[str, str]) -> str:
    """The page that leads to the pages of publications (text by name), with their verdicts."""
    rows = []
    for directory in directories:
        paper = os.path.basename(os.path.normpath(directory))
        figures = publication.figures_of(directory, publication.kept(directory))
        verdicts = [judgement.verdict for figure in figures for judgement in figure.judgements]
        title = next(line[2:] for line in pages[paper].splitlines() if line.startswith("# "))
        rows.append([f"[{title}]({paper}.md)", str(sum(each.runs for each in figures)), str(len(verdicts)),
                     *(str(verdicts.count(word)) for word in VERDICTS)])
    total = ["all", *(f"{sum(int(row[at]) for row in rows):,}" for at in range(1, len(VERDICTS) + 3))]
    return INDEX.format(table=table(["publication", "runs", "claims", *VERDICTS], [*rows, total], numbers_from=1))


def read_text(path: str) -> str:
    """A file's text; empty: there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
