"""Which field of the request a message means.

In this order: the pointer that the complaint carries, the `param` beside it, names in the text that the request
has, the fields that the guard of the site reads, and at last the value that the text quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from llmdebug.diagnosis.finding import blamed
from llmdebug.diagnosis.locate import has_pointer, value_at, walk
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.schema import escape
from llmdebug.diagnosis.verdict import BlamedField, Kind

PLAIN_WORDS = frozenset(
    {"model", "input", "text", "prompt", "stream", "user", "stop", "tools", "role", "content", "name", "type", "n", "id",
     "message", "messages", "function", "functions", "format", "value", "key", "data", "object", "options", "query",
     "image", "file", "echo", "seed", "documents", "instances", "parameters", "schema", "error", "code", "index", "url"}
)  # fmt: skip
QUOTED = re.compile(r"[`'\"“‘]([\w.\-\[\]/]+)[`'\"”’]")
WORD = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|\[)[\w\]]+)*")
INDEX = re.compile(r"\b(?:index|item|message|tool|prompt|element|at|position|number)\s*(?:#|=|:)?\s*(\d+)\b", re.I)


def from_text(
    text: str, question: Question, kind: Kind, param: str | None, known: Iterable[str], guard: Sequence[str]
) -> list[BlamedField]:
    """The fields that a message blames, best first.

    `known` holds the names that the route declares, `guard` the pointers that the site's guard read.
    """
    body = question.body
    found: list[BlamedField] = []
    declared = set(known)
    if param:
        pointer = named(param, body)
        if pointer is not None:
            found.append(blamed(pointer, f"the answer's param is {param!r}", 0.9))
        elif kind == "missing_field" and param in declared:
            found.append(blamed(f"/{escape(param)}", f"the answer's param {param!r} is not in the request", 0.9))
    names = names_in(text)
    for name, quoted in names:
        pointer = named(name, body)
        if pointer is not None and (quoted or _is_distinctive(name)):
            found.append(blamed(pointer, f"the text names {name!r}", 0.8 if quoted else 0.7))
    if kind == "missing_field":
        missing = [
            blamed(f"/{escape(name)}", f"the text names {name!r}, and the request has no such field", 0.8)
            for name, _ in names
            if name in declared and named(name, body) is None
        ]
        found = missing + found if missing else found
    for pointer in guard:
        found.append(blamed(pointer, "the check before the refusal reads it", 0.6))
    for name, quoted in names:
        pointer = named(name, body)
        if pointer is not None and not quoted and not _is_distinctive(name):
            found.append(blamed(pointer, f"the text says {name!r}", 0.45))
    return _once(found)


def _once(found: list[BlamedField]) -> list[BlamedField]:
    seen: dict[str, BlamedField] = {}
    for field in found:
        seen.setdefault(field.pointer, field)
    return list(seen.values())


def names_in(text: str) -> list[tuple[str, bool]]:
    """Names that a text may mean fields by, with whether they stand in quotes; quoted ones first."""
    text = text[:6_000]
    quoted = [m[1].strip(".") for m in QUOTED.finditer(text)]
    bare = [m[0].strip(".") for m in WORD.finditer(text)]
    ordered = [(name, True) for name in dict.fromkeys(quoted)]
    ordered += [(name, False) for name in dict.fromkeys(bare) if name not in set(quoted)]
    return ordered


def _is_distinctive(name: str) -> bool:
    return name not in PLAIN_WORDS and ("_" in name or "." in name or len(name) > 4)


def named(name: str, body: Any) -> str | None:
    """The pointer of the request's field of this name: a dotted path, a top-level key, or a unique key below."""
    if not name:
        return None
    steps = [s for s in re.split(r"[.\[\]]+", name) if s]
    if steps and steps[0] in {"body", "request"} and not (isinstance(body, dict) and steps[0] in body):
        steps = steps[1:]
    pointer = "".join(f"/{escape(step)}" for step in steps)
    if steps and has_pointer(body, pointer):
        return pointer
    if len(steps) != 1:
        return None
    below = [place for place, _ in walk(body) if place.endswith(pointer)]
    return below[0] if below else None


LONG_TEXT = (
    "prompt",
    "input",
    "inputs",
    "text",
    "messages",
    "input_ids",
    "prompt_token_ids",
    "query",
    "documents",
    "content",
)
MEDIA = re.compile(r"multi-?modal|\bimage|\baudio|\bvideo|vision", re.I)
BUDGET = re.compile(r"(?:^|_)(?:max|min)_.*tokens?$|^n_predict$|^num_predict$")
GOT = re.compile(r"\bgot[: ]+(-?\d+)|(?:value=|is )(-?\d+)")


def of_prompt(body: Any) -> str | None:
    """The pointer of the text that makes a request too long: the largest piece of prompt in it."""
    if not isinstance(body, dict):
        return None
    held = [key for key in LONG_TEXT if body.get(key)]
    if not held:
        return None
    key = max(held, key=lambda k: _size(body[k]))
    pointer, value = f"/{escape(key)}", body[key]
    if isinstance(value, list) and len(value) > 1 and any(isinstance(v, str | list | dict) for v in value):
        place = max(range(len(value)), key=lambda i: _size(value[i]))
        if _size(value[place]) > 0.6 * _size(value):
            pointer, value = f"{pointer}/{place}", value[place]
    elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        pointer, value = f"{pointer}/0", value[0]
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        pointer = f"{pointer}/content"
    return pointer


def _size(value: Any) -> int:
    """A rough count of what a value adds to a prompt."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(_size(v) for v in value) + len(value)
    if isinstance(value, dict):
        return sum(_size(v) for v in value.values())
    return 4


def of_media(body: Any) -> str | None:
    """The pointer of the first part of a message that is no text."""
    for pointer, value in walk(body):
        if isinstance(value, dict) and isinstance(value.get("type"), str) and MEDIA.search(value["type"]):
            return pointer
    return None


def unsent_budget(text: str, field: str, body: Any) -> bool:
    """Whether a text complains of a token budget that the request does not give: the rest of the context is too small."""
    if not BUDGET.search(field.rpartition("/")[2]):
        return False
    got = GOT.search(text)
    if got is None:
        return not has_pointer(body, field)
    number = int(got[1] or got[2])
    return value_at(body, field) != number


def narrowed(pointer: str, deeper: Iterable[str], values: Sequence[str], body: Any) -> str:
    """A pointer made more exact: by what the guard read below it, else by the value that the text quotes."""
    below = [p for p in deeper if p.startswith(pointer + "/") and has_pointer(body, p)]
    longest = [p for p in below if not any(q.startswith(p + "/") for q in below)]
    if len(longest) == 1:
        return longest[0]
    return with_value(pointer, values, body)


def with_value(pointer: str, values: Sequence[str], body: Any) -> str:
    """A pointer made more exact: the element of a list, or the key of a map, that the text quotes."""
    top = value_at(body, pointer)
    for wanted in quoted_values(values):
        if isinstance(top, dict) and wanted in top:
            return f"{pointer}/{escape(wanted)}"
        if isinstance(top, list):
            places = [p for p, v in walk(top, pointer) if p.rpartition("/")[2].isdigit() and prints_as(v, wanted)]
            if len(places) == 1:
                return places[0]
    return pointer


def quoted_values(values: Sequence[str]) -> list[str]:
    """What a text quotes, lists taken apart."""
    found: list[str] = []
    for value in values:
        inner = value.strip()
        if inner.startswith(("[", "(", "{")) and len(inner) < 2_000:
            found += [part.strip("'\"` ") for part in inner.strip("[](){}").split(",")]
        else:
            found.append(inner.strip("'\"` "))
    return [value for value in found if value]


def by_value(values: Sequence[str], body: Any) -> str | None:
    """The only place of the body that holds one of the values which the text quotes."""
    for wanted in quoted_values(values):
        if len(wanted) < 2 and not wanted.isdigit():
            continue
        places = [p for p, v in walk(body) if p and prints_as(v, wanted)]
        if len(places) == 1:
            return places[0]
    return None


def prints_as(value: Any, text: str) -> bool:
    """Whether a JSON value printed into a message gives this text."""
    if isinstance(value, str):
        return value == text
    if isinstance(value, bool | list | dict) or value is None:
        return False
    try:
        return str(value) == text or float(value) == float(text)
    except (ValueError, OverflowError):
        return False
