"""Where in the body a complaint of serde points, whose path may be missing or may end too early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from llmdebug.diagnosis.locate import ABSENT, Located, value_at
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.schema import Problem, escape
from llmdebug.jsontext import pointer as pointers
from llmdebug.jsontext.scan import first_value, members

NO_BRANCH = "variant_type"
"""Said where no variant of an enum takes a value, without a word on why."""
MAX_BODY = 4_000_000
MAX_DEPTH = 200


def placed(item: Located, question: Question, own: list[Problem]) -> Located:
    """A complaint with its place in the body; `own` are the problems that the tree's types find in it."""
    complaint = item.complaint
    named = complaint.type in ABSENT or complaint.type in {"extra_forbidden", "duplicate_key"}
    if complaint.at != (0, 0) and len(complaint.loc) <= (1 if named else 0):
        item = replace(item, pointer=_by_position(item, question, named))
    if complaint.word:
        tag = _tag(question.body, item.pointer, complaint.word)
        item = replace(item, pointer=tag, of_union=tag != item.pointer or item.of_union)
    below = [p for p in own if f"{p.pointer}/".startswith(f"{_holder(item, named)}/")]
    if named and not any(p.pointer == item.pointer for p in below):
        last = item.pointer.rpartition("/")[2]
        found = [p for p in below if p.type == complaint.type and p.pointer.rpartition("/")[2] == last]
        return replace(item, pointer=found[0].pointer) if found else item
    return _of_branch(item, below) if complaint.type == NO_BRANCH and below else item


def _holder(item: Located, named: bool) -> str:
    return pointers.parent(item.pointer) if named and item.pointer else item.pointer


def _by_position(item: Located, question: Question, named: bool) -> str:
    """The pointer to what ends at the line and column that the text gives."""
    data = question.request.body
    line, column = item.complaint.at
    lines = data.split(b"\n", line) if len(data) <= MAX_BODY else []
    if len(lines) < line or question.body is None:
        return item.pointer
    offset = sum(len(each) + 1 for each in lines[: line - 1]) + max(column - 1, 0)
    at = _pointer_at(data.decode("utf-8", "replace"), len(data[:offset].decode("utf-8", "replace")))
    if not named:
        return at
    name = escape(str(item.complaint.loc[-1])) if item.complaint.loc else ""
    if at.rpartition("/")[2] == name and item.complaint.type not in ABSENT:
        return at
    while at and not isinstance(value_at(question.body, at), dict):
        at = pointers.parent(at)
    return f"{at}/{name}"


def _pointer_at(text: str, offset: int) -> str:
    """The pointer to the innermost value of a JSON text that covers an offset, its key included."""
    way: list[str] = []
    start = first_value(text)
    while len(way) < MAX_DEPTH:
        inner = next((m for m in members(text, start) if offset < m.end or m.key_start > offset), None)
        if inner is None or inner.key_start > offset:
            break
        way.append(inner.key)
        start = inner.start
    return pointers.join(*way)


def _tag(body: Any, pointer: str, word: str) -> str:
    """The key of an object that holds the name of a variant; the value itself where it is that name."""
    value = value_at(body, pointer)
    if not isinstance(value, dict):
        return pointer
    return next((f"{pointer}/{escape(k)}" for k, v in value.items() if v == word), pointer)


def _of_branch(item: Located, below: list[Problem]) -> Located:
    """The problem of the branch that the value is nearest to, as far as names lead, not to elements."""
    problem = below[0]
    pointer = problem.pointer
    while pointer != item.pointer and pointer.rpartition("/")[2].isdigit():
        pointer = pointers.parent(pointer)
    if pointer == item.pointer:
        return item
    return replace(item, complaint=msgspec.structs.replace(item.complaint, type=problem.type), pointer=pointer)
