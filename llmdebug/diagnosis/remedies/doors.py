"""Refusals at the door: credentials, content type, size, a server that is busy, a model that is not served."""

from __future__ import annotations

import json
import re
from typing import Any

from llmdebug.diagnosis.remedies.admitted import QUOTED, quoted, shown
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.context import cut
from llmdebug.diagnosis.remedies.drop import dropped
from llmdebug.diagnosis.remedies.example import NOT_GIVEN, default_of
from llmdebug.diagnosis.remedies.malformed import JSON_TYPE, from_form
from llmdebug.diagnosis.remedies.proposal import Proposal, advice
from llmdebug.diagnosis.remedies.repair import repaired
from llmdebug.http.exchange import header

PLACEHOLDER = "{{secret:API_KEY}}"
LISTING = re.compile(
    r"(?:alias\w*|available|served|known|valid|loaded)[^:.\n]{0,40}:\s*\[?([\w./:@\-]+(?:,\s*[\w./:@\-]+)*)", re.I
)
SIZE = re.compile(r"(?<![\w.])(\d[\d,_]*)\s*(?:bytes?|B\b)?")
BUSY = frozenset({408, 409, 425, 429, 502, 503, 504})


def with_key(case: Case) -> list[Proposal]:
    """The key where servers look for it; the value itself is never written down."""
    headers = case.question.request.headers
    given = header(headers, "authorization")
    if re.search(r"\bhost\b|\borigin\b", case.question.answer.text, re.I):
        return _as_local(case)
    why = "The server asks for a key. The placeholder is filled from API_KEY when the request is sent."
    if given and not given.lower().startswith("bearer "):
        why = "The server reads the key as a bearer token. The placeholder is filled from API_KEY when it is sent."
    elif given:
        why = "The key that was sent is not the server's. The placeholder is filled from API_KEY when it is sent."
    key = (("Authorization", f"Bearer {PLACEHOLDER}"),)
    return [Proposal("send the key as Authorization: Bearer", why, (), 0.8, 1.0, headers=key)]


def _as_local(case: Case) -> list[Proposal]:
    told = "The server takes requests for some names only; it looks at the Host or Origin header."
    return [advice("call the server by a name that it admits, as localhost", told, 0.5)]


def with_content_type(case: Case) -> list[Proposal]:
    """The body as JSON, and said to be."""
    if case.question.content_type == "application/x-www-form-urlencoded":
        found = from_form(case)
        if found:
            return found
    body = case.body
    if body is None:
        body = repaired(case.question.request.body[:2_000_000].decode("utf-8", "replace"))
    bodies = (body,) if isinstance(body, dict | list) else ()
    why = "The route reads JSON, and looks at the header for it."
    return [Proposal("set Content-Type: application/json", why, bodies, 0.9, 1.0, headers=JSON_TYPE, is_tried=True)]


def smaller(case: Case) -> list[Proposal]:
    """The body cut to the size that the refusal names."""
    size = len(case.question.request.body)
    named = [int(m[1].replace(",", "").replace("_", "")[:15]) for m in SIZE.finditer(case.question.answer.text[:2_000])]
    limit = max((n for n in named if n < size), default=0)
    found: list[Proposal] = []
    if limit > 0 and isinstance(case.body, dict):
        texts = {key: value for key, value in case.body.items() if isinstance(value, str | list) and _bytes(value) > 8}
        if texts:
            longest = max(texts, key=lambda key: _bytes(texts[key]))
            share = max(0.0, 1.0 - (size - limit + 4) / max(1, _bytes(texts[longest])))
            made = cut(texts[longest], share * 0.98, False)
            body = {**case.body, longest: made}
            if _bytes(body) <= limit:
                why = f"The body has {size} bytes, the server takes {limit}."
                found.append(Proposal(f"cut /{longest} so that the body fits", why, (body,), 0.85, 0.6))
    return [
        *found,
        advice("let the server, or the proxy before it, take larger bodies", f"The body has {size} bytes.", 0.3),
    ]


def _bytes(value: Any) -> int:
    return len(json.dumps(value))


def of_served_model(case: Case) -> list[Proposal]:
    """Another model: one that the refusal names, or the server's own choice."""
    pointer = next(iter(case.present), "/model")
    asked = case.value(pointer)
    found: list[Proposal] = []
    for name in case.models[:3]:
        if name != asked and isinstance(asked, str):
            body = case.changed(pointer, name)
            found.append(
                Proposal(f"set {pointer} to {shown(name)}", "The server lists it.", (body,), 0.95, 0.9, is_tried=True)
            )
    named = [next(g for g in m.groups() if g) for m in QUOTED.finditer(case.question.answer.text[:4_000])]
    listing = LISTING.search(case.question.answer.text[:4_000])
    named += re.split(r"[,\s]+", listing[1]) if listing else []
    for name in dict.fromkeys([*quoted(case.question.answer.text), *named]):
        name = name.strip("'\"`[].")
        if name and name not in (asked, "model", pointer.rpartition("/")[2]) and isinstance(asked, str):
            body = case.changed(pointer, name)
            found.append(Proposal(f"set {pointer} to {shown(name)}", "The refusal names it.", (body,), 0.6, 0.8))
    declared = case.declared(pointer)
    default = default_of(declared) if declared is not None else NOT_GIVEN
    if isinstance(default, str) and default and default != asked:
        why = "The route takes it as its default."
        found.append(Proposal(f"set {pointer} to {shown(default)}", why, (case.changed(pointer, default),), 0.6, 0.8))
    if declared is not None and not declared.required:
        found += dropped(case, pointer, "The server then takes the model that it serves.", 0.75)
    told = (
        f"GET /v1/models lists what is served; {shown(asked)} is not among it."
        if asked
        else "GET /v1/models lists them."
    )
    return [*found[:4], advice("name a model that the server lists", told, 0.45)]


def again(case: Case) -> list[Proposal]:
    """For a server that is busy, or one behind it that failed: the same request later."""
    status = case.question.answer.status
    if status in BUSY:
        return [advice("send it again after a while", f"{status} speaks of the moment, not of the request.", 0.5)]
    return []
