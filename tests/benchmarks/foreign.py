"""How often a refusal is given a place in the tree of a server that never said it: each such place is wrong.

    python tests/benchmarks/foreign.py CASES TREES [--list] [--curve]

Every refused case is asked about in every tree of another server in Python that the cases name and TREES holds. Trees
of one server in several versions are no strangers to each other. Left out are texts that stand in both trees (see
commontexts.py): nobody can tell from them who spoke. `--curve` also asks each case about its own tree, with every
threshold taken away, and prints for each value of each threshold how many wrong places it lets through and how many
right ones it costs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "trees"))

from commontexts import TreeText, is_common
from fetched import kept_tree
from recorded import Case, mark, read_cases

from llmdebug.diagnosis import text_claim
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.ground import ground_of
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

GENERAL = frozenset({"none", "ignored_field", "no_route", "wrong_method", "malformed_json", "content_type"})
"""Kinds that say nothing of the server that refused: an unknown path is unknown elsewhere, too."""
COVERAGES = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.98)
LETTERS = (4, 8, 10, 11, 12, 14, 16, 19, 22, 26, 32)
COVERAGE = text_claim.ENOUGH_COVERAGE
MADE = re.compile(r"makes (\d+) letters of the message")


class Claim(NamedTuple):
    """A place claimed for a text, with what it explains of it."""

    coverage: float
    letters: int
    is_right: bool


def homes(cases: Iterable[Case]) -> dict[str, set[str]]:
    """The servers of each tree."""
    found: dict[str, set[str]] = {}
    for case in cases:
        if case.server.tree:
            found.setdefault(case.server.tree, set()).add(case.server.name)
    return found


def servers_in(cases: list[Case], trees: Path) -> Iterator[tuple[str, set[str], Path, Index]]:
    """The trees that register routes in Python, with their servers' names."""
    for name, servers in homes(cases).items():
        place = kept_tree(name, trees)
        if place is None:
            continue
        index = open_index(open_tree(str(place)))
        if ground_of(index).routes.known:
            yield name, servers, place, index


def claims_of(told: Diagnosis, case: Case, is_own: bool) -> list[Claim]:
    made = MADE.search(" ".join(told.sites[0].why)) if told.sites else None
    if made is None:
        return []
    return [Claim(told.sites[0].score, int(made[1]), is_own and mark(case, told).rank == 1)]


def curve(wrong: list[Claim], own: list[Claim]) -> None:
    """Both kinds of mistakes at each threshold, of the claims that rest on a text."""
    right = [claim for claim in own if claim.is_right]
    print(f"\n{'threshold':<36}{'wrong sites':>12}{'missed ones':>12}   of {len(wrong)} and {len(right)}")
    steps = [(coverage, 0) for coverage in COVERAGES] + [(COVERAGE, letters) for letters in LETTERS]
    for coverage, letters in steps:
        let_through = sum(c.coverage >= coverage and c.letters >= letters for c in wrong)
        missed = sum(c.coverage < coverage or c.letters < letters for c in right)
        told = f"coverage >= {coverage:g}" + (f" and letters >= {letters}" if letters else "")
        print(f"{told:<36}{let_through:>12}{missed:>12}")


def main(arguments: list[str]) -> None:
    cases_folder, trees_folder = (Path(a) for a in arguments if not a.startswith("--"))
    cases = read_cases(cases_folder)
    strangers = [case for case in cases if case.truth.kind not in GENERAL]
    counts: dict[tuple[str, str], Counter[str]] = {}
    wrong: list[Claim] = []
    own: list[Claim] = []
    if "--curve" in arguments:
        text_claim.ENOUGH_COVERAGE, text_claim.ENOUGH_LETTERS, text_claim.ENOUGH_ALONE = 0.0, 0, 0
    for name, servers, place, index in servers_in(cases, trees_folder):
        text = TreeText(place)
        for case in strangers:
            home = kept_tree(case.server.tree or "", trees_folder)
            if case.server.name in servers:
                if "--curve" in arguments and case.server.tree == name:
                    own += claims_of(diagnose(case.exchange, [index]), case, True)
                continue
            count = counts.setdefault((name, case.server.name), Counter())
            if is_common(case, home, text):
                count["common"] += 1
                continue
            told = diagnose(case.exchange, [index])
            wrong += claims_of(told, case, False)
            count.update(["asked"] + ["named"] * bool(told.sites))
            if told.sites and "--list" in arguments:
                site = told.sites[0]
                print(f"- {case.id} in {name}: {site.file}:{site.line} {site.role} {site.score} | {case.answer[:120]}")
    report(counts)
    if "--curve" in arguments:
        curve(wrong, own)


def report(counts: dict[tuple[str, str], Counter[str]]) -> None:
    print(f"{'tree':<70}{'refusals of':<28}{'in both':>8}{'asked':>7}{'given a site':>14}")
    for (name, server), count in counts.items():
        print(f"{name[:68]:<70}{server:<28}{count['common']:>8}{count['asked']:>7}{count['named']:>14}")
    total = sum(counts.values(), Counter())
    share = 100 * total["named"] / max(total["asked"], 1)
    print(f"{'all':<98}{total['common']:>8}{total['asked']:>7}{total['named']:>14}  {share:.1f}%")


if __name__ == "__main__":
    if len([a for a in sys.argv[1:] if not a.startswith("--")]) != 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
