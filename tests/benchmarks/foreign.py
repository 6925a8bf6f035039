"""How often a refusal is given a place in the tree of a server that never said it: each such place is wrong.

    python tests/benchmarks/foreign.py CASES TREES [--list]

Every refused case is asked about in every tree of another server that the cases name and TREES holds. Trees of one
server in several versions are no strangers to each other.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "trees"))

from fetched import kept_tree
from recorded import Case, read_cases

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

GENERAL = frozenset({"none", "ignored_field", "no_route", "wrong_method", "malformed_json", "content_type"})
"""Kinds that say nothing of the server that refused: an unknown path is unknown elsewhere, too."""


def homes(cases: Iterable[Case]) -> dict[str, set[str]]:
    """The servers of each tree."""
    found: dict[str, set[str]] = {}
    for case in cases:
        if case.server.tree:
            found.setdefault(case.server.tree, set()).add(case.server.name)
    return found


def main(arguments: list[str]) -> None:
    cases_folder, trees_folder = (Path(a) for a in arguments if not a.startswith("--"))
    cases = read_cases(cases_folder)
    strangers = [case for case in cases if case.truth.kind not in GENERAL]
    counts: dict[tuple[str, str], Counter[str]] = {}
    for name, servers in homes(cases).items():
        place = kept_tree(name, trees_folder)
        if place is None or not any(place.rglob("*.py")):
            continue
        index = open_index(open_tree(str(place)))
        for case in strangers:
            if case.server.name in servers:
                continue
            told = diagnose(case.exchange, [index])
            count = counts.setdefault((name, case.server.name), Counter())
            count.update(["asked"] + ["named"] * bool(told.sites))
            if told.sites and "--list" in arguments:
                site = told.sites[0]
                print(f"- {case.id} in {name}: {site.file}:{site.line} {site.role} {site.score} | {case.answer[:120]}")
    print(f"{'tree':<70}{'refusals of':<14}{'asked':>7}{'given a site':>14}")
    for (name, server), count in counts.items():
        print(f"{name[:68]:<70}{server:<14}{count['asked']:>7}{count['named']:>14}")
    total = sum(counts.values(), Counter())
    print(f"{'all':<84}{total['asked']:>7}{total['named']:>14}  {100 * total['named'] / max(total['asked'], 1):.1f}%")


if __name__ == "__main__":
    if len([a for a in sys.argv[1:] if not a.startswith("--")]) != 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
