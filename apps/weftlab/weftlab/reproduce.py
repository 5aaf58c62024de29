# SPDX-License-Identifier: BSD-3-Clause
"""`weft reproduce`: the figures of a publication as scenarios with claims: run, repeated in real time where they say
so, and judged."""
from __future__ import annotations

import argparse
import glob
import os
import signal
import sys
from dataclasses import dataclass, field, replace
from typing import Any, Sequence

from . import sweep_command
from .binary import Binary, find
from .errors import UnwritableError, UsageError, WeftlabError
from .help import new_command, nothing_more

FAILURE = 1  # exit code


@dataclass
class Figure:
    """One scenario of a publication."""

    name: str  # of the file, without its ending
    scenario: Any  # Scenario; its results lie in `out`
    planned: Sequence[Any]  # Planned
    claims: Sequence[Any]  # Claim
    runs: Any = None  # Runs, once they are there
    judgements: Sequence[Any] = field(default=())  # Judgement, one for each claim


def add(commands: Any) -> None:
    """weft reproduce"""
    command = new_command(
        commands, "reproduce", reproduce, "run a publication's figures and judge its claims",
        "Runs the scenarios of a publication's figures (configs/papers/PAPER, or any directory of scenario files with\n"
        "claims), judges each claim by the results and makes pages with the figures redrawn. Goes on where it was "
        "stopped.\n"
        "PAPER is drill, prime, reference, reps, smartt or spraypass.")
    command.add_argument("paper", metavar="PAPER|DIRECTORY", nargs="?")
    command.add_argument("--only", metavar="NAME[,NAME]...",
                         help="these figures; a name is that of the file without .yaml, or the beginning of several")
    command.add_argument("--out", metavar="DIR", help="results; default: weft-out/reproduce/PAPER")
    command.add_argument("--list", action="store_true",
                         help="tell the figures and their claims, without PAPER the papers; run nothing")
    command.add_argument("--measures", action="store_true", help="tell what a claim can be about")
    sweep_command.add_options(command)


def reproduce(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Runs, judges and writes the pages; or lists."""
    nothing_more(rest)
    weft = find(options.binary)
    if options.measures:
        list_measures(weft)
        return 0
    if not options.paper and options.list:
        print("\n".join(papers_of(weft)))
        return 0
    if not options.paper:
        raise UsageError(f"which paper? {there_are(weft)} (see --help)")
    signal.signal(signal.SIGTERM, sweep_command.stop)
    paper = os.path.basename(os.path.normpath(options.paper))
    out = options.out or os.path.join("weft-out", "reproduce", paper)
    directory = find_directory(options.paper, weft)
    figures = figures_of(directory, options.only, out, weft)
    if options.list:
        list_figures(figures)
        return 0
    for number, figure in enumerate(figures, 1):
        if not options.quiet:
            print(f"[{number} of {len(figures)}] {figure.name}: {figure.scenario.title}", file=sys.stderr)
        run_figure(figure, weft, options)
    conclude(paper, figures, out, others_of(directory, figures, out, weft))
    return FAILURE if tell_missing(figures) else 0


def tell_missing(figures: Sequence[Figure]) -> int:
    """Names the figures with runs that failed and left no result, and counts these. Flows without an end leave one."""
    missing = [(figure, int((figure.runs["directory"] == "").sum())) for figure in figures]
    for figure, count in missing:
        if count:
            print(f"weft reproduce: {figure.name}: {count} of {len(figure.runs)} runs have no result; "
                  f"{os.path.join(figure.scenario.out, 'sweep.json')} says why", file=sys.stderr)
    return sum(count for _, count in missing)


def list_measures(weft: Binary) -> None:
    """What a claim can be about."""
    from .measures import explained

    for name, text in explained(weft).items():
        print(f"{name:<24} {text}")


def list_figures(figures: Sequence[Figure]) -> None:
    """Figures and what they claim."""
    for figure in figures:
        print(f"{figure.name}: {figure.scenario.title} ({len(figure.planned)} runs)")
        for claim in figure.claims:
            print(f"  {claim.text}")


def homes_of(weft: Binary) -> list[str]:
    """Where papers can be: below the working directory, beside the program that was built or installed."""
    beside = os.path.join(os.path.dirname(weft.path), "..")
    return [os.path.join(*home, "configs", "papers") for home in ((), (beside,), (beside, "share", "weft"))]


def papers_of(weft: Binary) -> list[str]:
    """The papers whose scenarios are there."""
    return sorted({os.path.basename(os.path.dirname(path)) for home in homes_of(weft)
                   for path in glob.glob(os.path.join(home, "*", "*.yaml"))})


def there_are(weft: Binary) -> str:
    """The papers in words, for messages."""
    return "there are " + (", ".join(papers_of(weft)) or "none")


def find_directory(paper: str, weft: Binary) -> str:
    """The directory of a paper's scenarios, as given or by the paper's name."""
    for place in [paper] if "/" in paper else [paper, *(os.path.join(home, paper) for home in homes_of(weft))]:
        if os.path.isdir(place):
            return place
    raise WeftlabError(f"no scenarios for '{paper}' (configs/papers/{paper} is no directory); {there_are(weft)}")


def figures_of(directory: str, only: str | None, out: str, weft: Binary) -> list[Figure]:
    """The figures of a paper, or those whose names begin with one of `only`. All are checked before the first runs."""
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".yaml") and not name.startswith("."))
    except OSError as error:
        raise WeftlabError(f"{directory}: {error.strerror}") from error
    if not names:
        raise WeftlabError(f"{directory}: no scenario")
    return [load_figure(os.path.join(directory, name), out, weft) for name in chosen(names, only, directory)]


def chosen(names: Sequence[str], only: str | None, directory: str) -> Sequence[str]:
    """Those of `names` that are a word of `only`, or begin with a word that is no name itself; all without `only`.
    UsageError: no name begins with some word."""
    if only is None:
        return names
    wanted = [word for word in only.split(",") if word]
    unknown = [word for word in wanted if not any(name.startswith(word) for name in names)]
    if unknown or not wanted:
        raise UsageError(f"--only: no scenario in {directory} begins with {' or '.join(unknown) or repr(only)}")
    begun = tuple(word for word in wanted if f"{word}.yaml" not in names)
    return [name for name in names if name.removesuffix(".yaml") in wanted or name.startswith(begun)]


def load_figure(path: str, out: str, weft: Binary) -> Figure:
    """Reads and checks one figure."""
    from .claim_reader import load_bench, load_claims
    from .plan import plan
    from .published import load_published
    from .reader import load as load_scenario

    name = os.path.basename(path).removesuffix(".yaml")
    scenario = replace(load_scenario(path, weft), out=os.path.join(out, name))
    load_bench(scenario)
    load_published(scenario)
    return Figure(name, scenario, plan(scenario, weft), load_claims(scenario))


def others_of(directory: str, figures: Sequence[Figure], out: str, weft: Binary) -> list[Figure]:
    """The figures that are not run now and have earlier results, judged. The page of a paper is about all."""
    from .claim_reader import load_claims
    from .claims import judge
    from .directory import check_origin
    from .publication import name_of, scenarios
    from .reader import load as load_scenario
    from .results import load

    found = []
    for path in scenarios(directory):
        name = name_of(path)
        results = os.path.join(out, name)
        is_run = any(figure.name == name for figure in figures)
        if is_run or not os.path.exists(os.path.join(results, "sweep.json")):
            continue
        try:
            scenario, runs = replace(load_scenario(path, weft), out=results), load(results)
            check_origin(scenario, list(runs["directory"]))
            claims = load_claims(scenario)
            found.append(Figure(name, scenario, (), claims, runs, [judge(claim, runs) for claim in claims]))
        except WeftlabError as error:
            print(f"weft reproduce: {name} is left out: {error}", file=sys.stderr)
    return found


def run_figure(figure: Figure, weft: Binary, options: argparse.Namespace) -> None:
    """Runs what has no result yet, and judges."""
    from .claim_reader import load_bench
    from .claims import judge
    from .real import repeat
    from .sweep import run_plan

    figure.runs = run_plan(figure.scenario, figure.planned, weft, jobs=options.jobs, fresh=options.fresh,
                           scheduler=options.scheduler, any_build=options.any_build, quiet=options.quiet)
    repeat(figure.scenario, figure.planned, load_bench(figure.scenario), weft, fresh=options.fresh,
           any_build=options.any_build)
    figure.judgements = [judge(claim, figure.runs) for claim in figure.claims]


def conclude(paper: str, figures: Sequence[Figure], out: str, others: Sequence[Figure] = ()) -> None:
    """Prints the verdicts; writes claims.txt, a page for each figure, and one that leads to them. `others` have their
    pages, and are in what is about all."""
    from .quotes import Quotes, with_notes

    everything = sorted([*figures, *others], key=lambda figure: figure.name)
    quotes = Quotes({}, {figure.name: figure.runs for figure in everything})
    for figure in everything:
        figure.judgements = with_notes(figure.judgements, quotes, figure.name)
    write(os.path.join(out, "claims.txt"), verdicts_of(everything))
    sys.stdout.write(verdicts_of(figures))
    write_pages(paper, figures, everything, out)


def verdicts_of(figures: Sequence[Figure]) -> str:
    """All claims as text."""
    from .claims import in_words

    return "".join(f"{figure.name}: {figure.scenario.title}\n{in_words(figure.judgements)}" for figure in figures)


def write_pages(paper: str, figures: Sequence[Figure], everything: Sequence[Figure], out: str) -> None:
    """FIGURE/report.html of `figures`, and report.html with all claims."""
    from .claims import counted
    from .page import rendered, write_page

    for figure in figures:
        if (figure.runs["directory"] != "").any():
            write_page(figure.runs, os.path.join(out, figure.name, "report.html"), figure.judgements,
                       picture_of(figure))
    path = os.path.join(out, "report.html")
    counts = counted([found for figure in everything for found in figure.judgements])
    write(path, rendered("reproduce.html.j2", paper=paper, figures=everything, counts=counts))
    print(f"{path}: {(os.path.getsize(path) + 1023) // 1024} KiB")


def picture_of(figure: Figure) -> Any:
    """The published form of a figure, as page.Picture; None: it declares none."""
    from .forms import draw_published, svg_of
    from .page import PICTURE_BYTES_MAX, Picture
    from .published import load_published

    form = load_published(figure.scenario)
    if form is None:
        return None
    try:
        svg = svg_of(draw_published(form, figure.runs))
        if len(svg) > PICTURE_BYTES_MAX:
            return Picture(form.shows, form.note, "", f"{len(svg) >> 10} KiB are too much for this page; weft report "
                           "--figure published draws it")
        return Picture(form.shows, form.note, svg)
    except WeftlabError as error:  # verdicts count more than a picture
        return Picture(form.shows, form.note, "", str(error))


def write(path: str, text: str) -> None:
    """A file of the results."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UnwritableError(f"{path}: {error.strerror}") from error
