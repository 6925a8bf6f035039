"""How much of what a server refuses or ignores is foreseen from its source, and how often in vain.

    python tests/benchmarks/preflight.py CASES… [--trees FOLDER] [--misses]

Each recorded request is checked against its tree as if it had not been sent. A refusal could be foreseen where it is one
of the schema, of a range, an enum or a conflict: its kind is among KNOWABLE, and the true line hangs neither on what only
the running server holds (its model, vocabulary, template, limits, flags) nor on what a library says of a value. Printed
are the share of these that is foreseen, those of them at the true line, the good exchanges with an alarm, and the
exchanges with ignored fields whose exact set is told.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "trees"))

from accuracy import indexes_of
from fetched import NotFetched, trees_folder
from recorded import Case, by_tree, overlaps, read_cases

from llmdebug.diagnosis.complaint import Answer
from llmdebug.diagnosis.ground import ground_of
from llmdebug.diagnosis.preflight import preflight
from llmdebug.diagnosis.question import question_of
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.index.build import Index
from llmdebug.index.facts import Function
from llmdebug.index.python.guards import guards_of
from llmdebug.index.python.syntax import text
from llmdebug.index.python.types import Anything, Either, Limited, ListOf, Object, Type

KNOWABLE = frozenset(
    {"malformed_json", "missing_field", "wrong_type", "unknown_field", "out_of_range", "bad_value", "conflict"}
)
TAKEN = frozenset({"none", "ignored_field"})
OF_THE_SERVER = re.compile(
    r"config|server_args|token|vocab|max_model|context|limit|lora|template|grammar|processor|registry|session|store"
    r"|os\.path|shared\.|loaded|enabled|hidden"
)


def is_knowable(case: Case, index: Index) -> bool:
    """Whether the source and the request alone tell of a refusal."""
    if case.truth.kind not in KNOWABLE:
        return False
    accepted = (case.truth.accept or ())[:1]
    if case.truth.kind == "malformed_json" or not accepted:
        return bool(accepted)
    place = accepted[0]
    facts = index.facts(place.file)
    around = [f for f in facts.functions if f.line <= place.start <= f.end_line] if facts else []
    if not around:
        return not _is_of_library(case, index)  # a declaration
    function = max(around, key=lambda f: f.line)
    return not _hangs_on_server(index, place.file, function, place.start)


def _is_of_library(case: Case, index: Index) -> bool:
    """Whether the blamed field is declared by a class that the tree imports from a package outside it."""
    ground = ground_of(index)
    question = question_of(case.exchange.request, Answer(status=0))
    matches = ground.resolve(question.method, question.path).matches
    body = ground.inputs(matches[0]).body if matches else None
    if not isinstance(body, Object) or not case.truth.fields:
        return False
    declared = body.model.by_key(case.truth.fields[0].split("/")[1])
    return declared is not None and _is_open(ground.checker.field_type(declared))


def _is_open(kind: Type) -> bool:
    """Whether a part of a type is a name that leads out of the tree."""
    match kind:
        case Anything(name):
            return bool(name)
        case Limited(inner, _) | ListOf(inner):
            return _is_open(inner)
        case Either(options, _):
            return any(_is_open(option) for option in options)
    return False


def _hangs_on_server(index: Index, path: str, function: Function, line: int) -> bool:
    node = index.node(path, function)
    if node is None:
        return False
    handlers = [h for h in ast.walk(node) if isinstance(h, ast.ExceptHandler)]
    if any(h.lineno <= line <= (h.end_lineno or h.lineno) for h in handlers):
        return True
    made_of = {
        name.id: text(part.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Assign)
        for target in part.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    tests = [guard.test for guard in guards_of(node, line)]
    names = [part.id for test in tests for part in ast.walk(test) if isinstance(part, ast.Name)]
    return any(OF_THE_SERVER.search(read) for read in [*map(text, tests), *(made_of.get(name, "") for name in names)])


def is_foreseen(told: Diagnosis) -> bool:
    return told.kind not in TAKEN


def counted(case: Case, told: Diagnosis, index: Index) -> tuple[Counter[str], str]:
    """What a case adds to the table, and one line where it is not right."""
    counts: Counter[str] = Counter()
    sites = ", ".join(f"{site.file}:{site.line}" for site in told.sites[:2])
    line = f"- {case.id} [{case.truth.kind}] {told.kind} {list(told.ignored)} {sites}"
    if case.truth.kind == "none":
        alarm = is_foreseen(told) or bool(told.ignored)
        counts.update(good=1, alarms=int(alarm))
        return counts, line if alarm else ""
    if case.truth.kind == "ignored_field":
        exact = set(told.ignored) == set(case.truth.ignored or ()) and not is_foreseen(told)
        counts.update(ignored=1, exact=int(exact))
        return counts, "" if exact else line
    foreseen = is_foreseen(told)
    counts.update(refused=1, foreseen_of_all=int(foreseen))
    if not is_knowable(case, index):
        return counts, ""
    there = foreseen and any(overlaps(site, case.truth.accept or ()) for site in told.sites)
    counts.update(knowable=1, foreseen=int(foreseen), there=int(there))
    return counts, "" if foreseen else line


def row(name: str, counts: Counter[str]) -> str:
    def share(part: str, whole: str) -> str:
        rate = f"{100 * counts[part] / counts[whole]:.1f}%" if counts[whole] else "-"
        return f"{counts[part]}/{counts[whole]} {rate}"

    told = [
        share("foreseen", "knowable"),
        share("there", "knowable"),
        share("foreseen_of_all", "refused"),
        share("alarms", "good"),
        share("exact", "ignored"),
    ]
    return f"{name:<14}" + "".join(f"{value:>16}" for value in told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--trees", type=Path, default=trees_folder())
    parser.add_argument("--misses", action="store_true", help="list the cases that are not right")
    given = parser.parse_args()
    cases = [case for folder in given.cases for case in read_cases(folder)]
    table: dict[str, Counter[str]] = {}
    for name, of_tree in by_tree(cases).items():
        try:
            indexes = indexes_of(name, given.trees)
        except NotFetched as reason:
            print(f"left out: {len(of_tree)} cases, {reason}")
            continue
        if not indexes or not indexes[0].kept:
            print(f"left out: {len(of_tree)} cases, {name or 'no tree'} holds no Python source")
            continue
        for case in of_tree:
            counts, miss = counted(case, preflight(case.exchange.request, indexes), indexes[0])
            table.setdefault(case.server.name, Counter()).update(counts)
            if given.misses and miss:
                print(miss)
    heads = ("foreseen", "at its line", "of all refused", "alarms on good", "exact ignored")
    print(f"{'server':<14}" + "".join(f"{head:>16}" for head in heads))
    for server, counts in sorted(table.items()):
        print(row(server, counts))
    print(row("all", sum(table.values(), Counter())))


if __name__ == "__main__":
    main()
