"""Remedies that would carry ids without a token on to the server: marked, and offered without these ids."""

from __future__ import annotations

from typing import Any

import msgspec

from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.remedies.request import patch_of
from llmdebug.diagnosis.verdict import Remedy
from llmdebug.jsontext import pointer as pointers
from llmdebug.tokens.prompts import prompts_of

MAX_NAMED = 4


def carried(remedy: Remedy, outside: frozenset[int]) -> list[int]:
    """The ids of `outside` that a remedy sends, each once."""
    if not outside:
        return []
    found = (id_ for request in remedy.requests for prompt in prompts_of(request.body) for id_ in prompt.ids)
    return list(dict.fromkeys(id_ for id_ in found if id_ in outside))


def cautioned(remedy: Remedy, bad: list[int]) -> Remedy:
    """The remedy with a warning of the ids that it carries."""
    named = ", ".join(map(str, bad[:MAX_NAMED])) + (f" and {len(bad) - MAX_NAMED:,} more" if bad[MAX_NAMED:] else "")
    told = f"Careful: it sends ids out of the vocabulary ({named}), and some servers die of them."
    return msgspec.structs.replace(remedy, why=f"{remedy.why} {told}".strip())


def without(remedy: Remedy, question: Question, outside: frozenset[int]) -> Remedy | None:
    """The remedy with these ids left out; None where a prompt would have none left."""
    requests = []
    for request in remedy.requests:
        body = _cleaned(request.body, outside)
        if body is None:
            return None
        requests.append(msgspec.structs.replace(request, body=body))
    return msgspec.structs.replace(
        remedy,
        title=f"{remedy.title}, without the ids that have no token",
        requests=tuple(requests),
        patch=tuple(patch_of(question, requests[0].body)) if question.body is not None else (),
    )


def _cleaned(body: Any, outside: frozenset[int]) -> Any:
    for prompt in prompts_of(body):
        if outside.isdisjoint(prompt.ids):
            continue
        kept = [id_ for id_ in prompt.ids if id_ not in outside]
        if not kept:
            return None
        body = pointers.set(body, prompt.pointer, kept)
    return body
