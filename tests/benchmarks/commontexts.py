"""Texts of refusals that stand in two trees: who refused cannot be told from them.

Held against the source alone, without any part of the diagnosis: the runs of words that a refusal shares with the
places where it is known to come from, looked for in another tree; and where it shares none with them, the library
that made it, looked for among what the other tree imports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from recorded import Case

from llmdebug.diagnosis.complaint import Answer, read_answer
from llmdebug.diagnosis.kinds import ROUTER_TEXTS, SAYS_NOTHING, kind_of_schema
from llmdebug.diagnosis.library import LIBRARIES
from llmdebug.diagnosis.silent import PYTHON_TEXT
from llmdebug.http.exchange import Response

SUFFIXES = frozenset({".py", ".go", ".rs", ".cpp", ".cc", ".c", ".h", ".hpp"})
MIN_RUN = 10
"""Letters of the shortest run of words that tells anything."""
MOST_SHARED = 0.8
"""Share of its own letters from which on a refusal stands in the other tree as well."""
MADE_BY = {
    "a chat template": r"transformers|jinja2|tokenizers",
    "the tokenizer": r"transformers|tokenizers|sentencepiece",
    "the JSON reader": r"json",
    "int()": r"\w+",
    "float()": r"\w+",
    "jsonschema": r"jsonschema",
    "base64": r"base64|pybase64",
    "an image library": r"PIL",
    "the HTTP client": r"requests|aiohttp|httpx|urllib",
    "msgspec": r"msgspec",
}
"""Libraries and the modules that a tree imports to have them."""
VALIDATION, ANY = r"pydantic|fastapi", r"\w+"

_JOINED = re.compile(r"[\"'`]\s*(?:\\?\n\s*)[frbFRB]{0,2}[\"'`]")
_LETTER = re.compile(r"[^\W_]")


def letters(text: str) -> int:
    return len(_LETTER.findall(text))


@dataclass(eq=False)
class TreeText:
    """The source of a tree as one text, string literals that go on over lines joined."""

    place: Path

    @cached_property
    def text(self) -> str:
        files = sorted(p for p in self.place.rglob("*") if p.suffix in SUFFIXES and p.is_file() and not p.is_symlink())
        return "\n".join(joined(path) for path in files)

    @cached_property
    def imported(self) -> frozenset[str]:
        """The first names of the Python modules that the tree imports."""
        return frozenset(re.findall(r"^\s*(?:from|import) (\w+)", self.text, re.M))

    def imports(self, modules: str) -> bool:
        return any(re.fullmatch(modules, name) for name in self.imported)

    def holds(self, run: str) -> bool:
        return run in self.text


def joined(path: Path) -> str:
    return _JOINED.sub("", path.read_text(encoding="utf-8", errors="replace"))


def answer_of(case: Case) -> Answer:
    return read_answer(Response(status=case.response.status, body=case.answer.encode()))


def own_runs(case: Case, home: Path) -> list[str]:
    """The runs of words that the refusal shares with the files it is known to come from, longest first."""
    source = "\n".join(joined(home / place.file) for place in case.truth.accept or () if (home / place.file).is_file())
    return sorted(runs(answer_of(case).text[:4_000], source), key=len, reverse=True)


def runs(message: str, source: str) -> Iterator[str]:
    """Pieces of a message, from word to word, that stand in a source: each the longest from its place on."""
    words = [m.span() for m in re.finditer(r"\S+", message)]
    at = 0
    while at < len(words):
        end = at
        while end < len(words) and message[words[at][0] : words[end][1]] in source:
            end += 1
        if end > at:
            run = message[words[at][0] : words[end - 1][1]]
            if letters(run) >= MIN_RUN:
                yield run
        at = max(end, at + 1)


def library_of(answer: Answer) -> str:
    """A pattern for the modules whose text an answer is; empty where it is no known library's."""
    text = answer.text
    if answer.complaints and all(kind_of_schema(complaint.type) for complaint in answer.complaints):
        return VALIDATION
    if SAYS_NOTHING.match(text.strip()) or text.strip().lower() in ROUTER_TEXTS:
        return ANY
    if PYTHON_TEXT.search(text):
        return ANY
    return next((MADE_BY[known.name] for known in LIBRARIES if known.says(text)), "")


def is_common(case: Case, home: Path | None, other: TreeText) -> bool:
    """Whether what a refusal says may as well have been said by the other tree."""
    answer = answer_of(case)
    modules = library_of(answer)
    if modules == VALIDATION:
        return other.imports(modules)
    if answer.text and json.dumps(answer.text)[1:-1] in json.dumps(case.request.body):
        return True  # the request brought it in
    found = own_runs(case, home) if home is not None else []
    total = sum(map(letters, found))
    if total:
        return sum(letters(run) for run in found if other.holds(run)) >= MOST_SHARED * total
    return bool(modules) and other.imports(modules)
