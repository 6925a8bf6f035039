"""The parts of a request that fill a model's context: its longest text, its media, its budget of tokens."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.locate import has_pointer, value_at, walk
from llmdebug.diagnosis.schema import escape

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
    """Whether a text complains of a token budget that the request does not give: the context leaves too little."""
    if not BUDGET.search(field.rpartition("/")[2]):
        return False
    got = GOT.search(text)
    if got is None:
        return not has_pointer(body, field)
    number = int(got[1] or got[2])
    return bool(value_at(body, field) != number)
