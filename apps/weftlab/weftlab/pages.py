# SPDX-License-Identifier: BSD-3-Clause
"""weftlab pages: the pages of publications, from their templates and the results that are kept beside the scenarios."""
from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Sequence

from .errors import WeftlabError
from .files import names_in
from .help import new_command, nothing_more

if TYPE_CHECKING:
    from .binary import Binary

PAPERS = "configs/papers"
SUCCESS, FAILURE = 0, 1


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """weftlab pages"""
    command = new_command(
        commands, "pages", pages, "write the pages of publications",
        "Writes the page of each publication from its template and the results that are kept beside its scenarios. "
        "Runs nothing.")
    add_places(command)
    command.add_argument("--results", metavar="DIR", help="judge these results (DIR/PAPER/FIGURE, as weft reproduce "
                         "leaves them) and keep what the pages need of them")
    command.add_argument("--partial", action="store_true", help="with --results: of figures that have none there "
                         "stays what is kept, if their runs are the same")
    command.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a page would change")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable, for --results")


def add_places(command: argparse.ArgumentParser) -> None:
    """Which publications, and where they, their pages and pictures are."""
    command.add_argument("papers", nargs="*", metavar="PAPER", help="names or directories; default: all")
    command.add_argument("--papers", dest="root", default=PAPERS, metavar="DIR",
                         help="directory of the publications; default: configs/papers")
    command.add_argument("--out", default="doc/papers", metavar="DIR", help="of the pages; default: doc/papers")
    command.add_argument("--gallery", default="doc/papers/figures", metavar="DIR",
                         help="of the pictures that the pages show; default: doc/papers/figures")


def pages(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Writes the pages and prints the names of those that changed."""
    from .publish import write_pages

    nothing_more(rest)
    if options.partial and not options.results:
        raise WeftlabError("--partial is for --results: which results?")
    directories = directories_of(options, with_results=not options.results)
    if options.results:
        for directory in directories:
            keep_results(directory, options.results, options.binary, options.partial)
    changed = write_pages(directories, options.out, options.gallery, options.check, with_index=not options.papers)
    for path in changed:
        print(path if not options.check else f"{path}: is not what its template and results make")
    return FAILURE if options.check and changed else SUCCESS


def draw_gallery(results: str, root: str, out: str, weft: "Binary") -> int:
    """Draws the gallery of the results, names the figures that are not in it, and returns how many failed."""
    from .gallery import write_gallery

    outcome = write_gallery(results, root, out, weft)
    print(os.path.join(out, "gallery.md"))
    if outcome.missing:
        print(f"{outcome.drawn} figures drawn; no results of {', '.join(outcome.missing)}", file=sys.stderr)
    for failure in outcome.failures:
        print(f"weftlab gallery: {failure}", file=sys.stderr)
    return len(outcome.failures)


def directories_of(options: argparse.Namespace, with_results: bool) -> list[str]:
    """The publications that are named, or all: those with a template, and maybe with results that are kept."""
    return [directory_of(paper, options.root) for paper in options.papers or names(options.root, with_results)]


def names(root: str, with_results: bool = True) -> list[str]:
    """Publications with a template, and with results that are kept if it must be."""
    endings = (".md.j2", ".json") if with_results else (".md.j2",)
    found = [name for name in names_in(root)
             if all(os.path.exists(os.path.join(root, name, name + ending)) for ending in endings)]
    if not found:
        raise WeftlabError(f"{root}: no directory PAPER with " + " and ".join("PAPER" + ending for ending in endings))
    return found


def directory_of(paper: str, root: str) -> str:
    """Where the scenarios of a publication are."""
    found = paper if "/" in paper else os.path.join(root, paper)
    if not os.path.isdir(found):
        raise WeftlabError(f"{found}: no such directory")
    return found


def keep_results(directory: str, results: str, binary: str | None, partial: bool = False) -> None:
    """Judges the results of a publication's figures and keeps what its page needs. `partial`: those without results
    keep what is kept of them."""
    from .binary import find
    from .publication import name_of, scenarios
    from .publish import judged_figure, keep
    from .reader import load as load_scenario
    from .results import load

    paper = os.path.basename(os.path.normpath(directory))
    weft = find(binary)
    places = {path: os.path.join(results, paper, name_of(path)) for path in scenarios(directory)}
    keep(directory, [judged_figure(load_scenario(path, weft), load(place)) for path, place in places.items()
                     if os.path.exists(place) or not partial], partial)
