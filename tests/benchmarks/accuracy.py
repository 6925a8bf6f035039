"""How often diagnosis names the right place, field and kind on recorded exchanges whose truth is known.

    python tests/benchmarks/accuracy.py CASES… [--trees FOLDER] [--misses]

CASES are folders of cases; trees are taken from LLMDEBUG_TREES or the user's cache, and fetched where they can be. A
case that names no tree is diagnosed without one; the cases of a tree that cannot be had are left out and counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "trees"))

from fetched import NotFetched, fetched_tree, kept_tree, trees_folder
from recorded import Case, Mark, by_tree, mark, read_cases, rows

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree


def indexes_of(name: str, trees: Path) -> list[Index]:
    """The index of a tree id; none for no id. Raises NotFetched."""
    if not name:
        return []
    base, _, inside = name.partition("#")
    fetched_tree(base, trees)
    place = kept_tree(name, trees)
    if place is None:
        raise NotFetched(f"{base} has no folder {inside}")
    return [open_index(open_tree(str(place)))]


def miss(case: Case, m: Mark, told: Diagnosis) -> str:
    """One line on what is not right of a case; empty where all is."""
    if m.field and m.kind and (m.rank == 1 if m.has_site else m.abstains):
        return ""
    said = ", ".join(f"{site.file}:{site.line}" for site in told.sites[:3]) or "no site"
    true = ", ".join(f"{a.file}:{a.start}-{a.end}" for a in (case.truth.accept or ())[:2]) or "no site"
    fields = [field.pointer for field in told.fields[:2]]
    return f"- {case.id} [{case.truth.kind}] rank {m.rank or '-'}: {told.kind} {fields} {said}; true: {true}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--trees", type=Path, default=trees_folder())
    parser.add_argument("--misses", action="store_true", help="list the cases that are not right")
    given = parser.parse_args()
    cases = [case for folder in given.cases for case in read_cases(folder)]
    marks: list[tuple[str, Mark]] = []
    for name, of_tree in by_tree(cases).items():
        started = time.process_time()
        try:
            indexes = indexes_of(name, given.trees)
        except NotFetched as reason:
            print(f"left out: {len(of_tree)} cases, {reason}")
            continue
        for case in of_tree:
            told = diagnose(case.exchange, indexes)
            marks.append((case.server.name, mark(case, told)))
            if given.misses and (line := miss(case, marks[-1][1], told)):
                print(line)
        print(f"{name or 'no tree'}: {time.process_time() - started:.1f} CPU s")
    print("\n".join(["", *rows(marks)]))


if __name__ == "__main__":
    main()
