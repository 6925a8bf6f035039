"""Does diagnosis depend on how a server names things and words its messages? It is scored on the same server renamed.

    python tests/benchmarks/rewriting.py CASES TREES [--misses] [NAME…]

For each tree that the cases name (those whose id holds a NAME) rewritten copies are scored beside the original; the
recorded answers are re-worded with their tree, and lines stay the same:

renamed    each identifier that the tree defines has a new name
re-worded  the words of messages are replaced, but for those that Python's and libraries' messages share with them
both       both of these
nonsense   names, and all words of messages: what is told by English (`must be`, `not supported`), such as kinds, must
           suffer, the site must not
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent.parent / "trees"))

from fetched import kept_tree
from recorded import HEADER, Case, Mark, by_tree, mark, read_cases, row
from renaming import (
    Wording,
    borrowed_names,
    defined_names,
    general_words,
    library_names,
    library_spans,
    message_words,
    quoted_words,
    replacements,
    words_of,
)

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

_DATA = re.compile(r"^(data: ?)?(\{.*\}|\[.*\])$", re.S)


def wording_of(sources: dict[str, str], cases: Iterable[Case]) -> Wording:
    """New names and words for a tree, chosen so that what the cases send and get back keeps its meaning."""
    own_packages = {path.split("/")[0].removesuffix(".py") for path in sources}
    defined: set[str] = set()
    borrowed: set[str] = set()
    words: set[str] = set()
    for source in sources.values():
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        defined |= defined_names(tree)
        borrowed |= borrowed_names(tree, own_packages)
        words |= message_words(tree)
    modules = {part.removesuffix(".py") for path in sources for part in path.split("/")}
    outside = said_by_cases(cases)
    fixed = borrowed | modules | outside | library_names()
    names = {n for n in defined - fixed if len(n) > 2 and not n.startswith("__")}
    everything = defined | fixed | words
    prose = words - {word.lower() for word in outside | modules}
    return Wording(replacements(names, everything), replacements(prose, everything | set(names)))


def said_by_cases(cases: Iterable[Case]) -> set[str]:
    """Names and words that requests hold, and names that answers hold beside their prose."""
    found: set[str] = set()
    for case in cases:
        sent = case.request
        found |= words_of(sent.path) | words_of(sent.raw_body or "") | words_of(json.dumps(sent.body))
        found |= words_of(json.dumps(sent.headers or {}))
        found |= words_of(" ".join([*(case.truth.fields or ()), *(case.truth.ignored or ())]))
        found |= {word for word in quoted_words(case.answer.replace("\\", "")) if word.islower()}
        for path in re.findall(r"(?:/[\w.-]+){2,}", case.answer):
            found |= words_of(path)
    return found


def rewritten(case: Case, wording: Wording) -> Case:
    """The case as the rewritten server would have answered it."""

    def reword(text: str) -> str:
        out, end = [], 0
        for start, stop in library_spans(text):
            out += [wording.text(text[end:start]), text[start:stop]]
            end = stop
        return "".join([*out, wording.text(text[end:])])

    def inside(value: Any) -> Any:
        match value:
            case str():
                return reword(value)
            case list():
                return [inside(item) for item in value]
            case dict():
                return {key: item if key == "input" else inside(item) for key, item in value.items()}
        return value

    def line(text: str) -> str:
        found = _DATA.match(text.strip())
        try:
            value = json.loads(found[2]) if found else None
        except ValueError:
            value = None
        if found is None or value is None:
            return text if text.startswith("event:") else reword(text)
        return (found[1] or "") + json.dumps(inside(value), ensure_ascii=False, separators=(",", ":"))

    answer = case.answer
    whole = _DATA.match(answer.strip()) and not answer.startswith("data:")
    body = line(answer) if whole else "\n".join(map(line, answer.split("\n")))
    return msgspec.structs.replace(case, response=msgspec.structs.replace(case.response, body=body))


def read_sources(tree: Path) -> dict[str, str]:
    """The Python files of a tree by their path in it; files in other encodings are left out."""
    found = {}
    for path in sorted(tree.rglob("*.py")):
        try:
            found[path.relative_to(tree).as_posix()] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return found


def write_tree(sources: dict[str, str], wording: Wording, place: Path) -> None:
    for path, source in sources.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(wording.code(source), encoding="utf-8")


def broken(sources: dict[str, str], place: Path) -> list[str]:
    """Files of a rewritten tree that could be parsed before and cannot now."""
    return [
        path
        for path, source in sources.items()
        if not _parses((place / path).read_text(encoding="utf-8")) and _parses(source)
    ]


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def scored(tree: Path, cases: list[Case]) -> list[tuple[Case, Mark, str]]:
    """Each case, how it was marked and what was said, of a tree whose index is not kept."""
    index = open_index(open_tree(str(tree)), keep=False)
    out = []
    for case in cases:
        told = diagnose(case.exchange, [index])
        sites = ", ".join(f"{site.file}:{site.line}" for site in told.sites[:2]) or "no site"
        said = f"{told.kind} {[field.pointer for field in told.fields[:2]]} {sites}"
        out.append((case, mark(case, told), said))
    return out


def compared(name: str, tree: Path, cases: list[Case], show_misses: bool) -> None:
    sources = read_sources(tree)
    full = wording_of(sources, cases)
    own = {word: new for word, new in full.words.items() if word not in general_words()}
    manners = {
        "renamed": Wording(full.names, {}),
        "re-worded": Wording({}, own),
        "both": Wording(full.names, own),
        "nonsense": full,
    }
    print(f"\n{name}: {len(full.names)} names, {len(own)} or {len(full.words)} words replaced in {len(sources)} files")
    before = scored(tree, cases)
    print(HEADER, row("as it is", (m for _, m, _ in before)), sep="\n", flush=True)
    for manner, wording in manners.items():
        with tempfile.TemporaryDirectory() as folder:
            write_tree(sources, wording, Path(folder))
            after = scored(Path(folder), [rewritten(case, wording) for case in cases])
            if manner == "nonsense" and (unreadable := broken(sources, Path(folder))):
                print(f"no longer parsed: {', '.join(unreadable[:5])}")
        print(row(manner, (m for _, m, _ in after)), flush=True)
        if show_misses:
            print("\n".join(_lost(before, after)), flush=True)


Scored = tuple[Case, Mark, str]


def _lost(before: list[Scored], after: list[Scored]) -> Iterator[str]:
    """One line for each case that was right in something before and is not now."""
    for (case, old, _), (new_case, new, said) in zip(before, after, strict=True):
        pairs = zip(("site", "field", "kind"), _right(old), _right(new), strict=True)
        if what := [word for word, was, still in pairs if was and not still]:
            yield f"- {case.id} lost {', '.join(what)}: {said} | {new_case.answer[:200]}"


def _right(m: Mark) -> tuple[bool, bool, bool]:
    return m.rank == 1 or not m.has_site, m.field, m.kind


def main(arguments: list[str]) -> None:
    cases_folder, trees_folder, *wanted = [a for a in arguments if not a.startswith("--")]
    cases = [c for c in read_cases(Path(cases_folder)) if not wanted or any(name in c.id for name in wanted)]
    for name, of_tree in by_tree(cases).items():
        tree = kept_tree(name, Path(trees_folder))
        if tree is not None:
            compared(name, tree, of_tree, "--misses" in arguments)


if __name__ == "__main__":
    if len([a for a in sys.argv[1:] if not a.startswith("--")]) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
