"""Experiments kept small: a request that only has to show whether it passes need not write many tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import msgspec

from llmdebug.diagnosis.ground import ground_of
from llmdebug.diagnosis.question import parse_body
from llmdebug.diagnosis.verdict import Diagnosis, Remedy
from llmdebug.http.exchange import Request
from llmdebug.index.build import Index
from llmdebug.index.python.types import Object

FEW_TOKENS = 16
LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens", "num_predict", "n_predict")
"""Names under which servers take the most tokens to write."""
_BOUND_TO = ("thinking", "min_tokens", "min_new_tokens", "best_of", "use_beam_search")
"""Fields that may need more tokens than FEW_TOKENS."""


def limit_names(request: Request) -> Callable[[Index], frozenset[str]]:
    """Asks a tree which of LIMITS the route of a request declares."""

    def ask(index: Index) -> frozenset[str]:
        ground = ground_of(index)
        try:
            matches = ground.resolve(request.method.upper(), urlsplit(request.url).path).matches
        except ValueError:
            return frozenset()
        body = ground.inputs(matches[0]).body if matches else None
        if not isinstance(body, Object):
            return frozenset()
        return frozenset(name for name in LIMITS if body.model.by_key(name) is not None)

    return ask


def bounded(request: Request, remedy: Remedy, diagnosis: Diagnosis, declared: Iterable[str]) -> Request:
    """The request with FEW_TOKENS to write, where it has such a limit or its schema declares one.

    As it is where the number of tokens is what the refusal is about, or another field hangs on it.
    """
    body, problem = parse_body(request.body)
    if problem or not isinstance(body, dict) or any(body.get(name) is not None for name in _BOUND_TO):
        return request
    at_stake = {field.pointer for field in diagnosis.fields} | {str(step.get("path")) for step in remedy.patch}
    if any(f"/{name}" in at_stake for name in LIMITS):
        return request
    given = [name for name in LIMITS if name in body]
    names = given or [name for name in LIMITS if name in set(declared)][:1]
    small = {name: FEW_TOKENS for name in names if not given or _is_more(body[name])}
    if not small:
        return request
    return msgspec.structs.replace(request, body=json.dumps(body | small, ensure_ascii=False).encode())


def _is_more(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > FEW_TOKENS
