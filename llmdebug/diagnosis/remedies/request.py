"""A proposal as complete requests, with the patch that shows its change."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.remedies.malformed import infinities
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.verdict import Remedy, RemedyRequest
from llmdebug.jsontext import pointer as pointers
from llmdebug.jsontext.patch import Operation, diff, same

LEFT_OUT = frozenset(
    {"content-length", "host", "transfer-encoding", "content-encoding", "connection", "accept-encoding", "expect"}
)
"""Headers of the bytes and the connection that were, not of the request."""
MAX_REQUESTS = 32
MAX_COMPARED = 200_000
"""Bytes."""


def remedy_of(question: Question, proposal: Proposal) -> Remedy | None:
    """The remedy; None where its body would be no JSON."""
    if proposal.is_advice:
        return Remedy(title=proposal.title, why=proposal.why)
    bodies = [_finite(body) for body in proposal.bodies[:MAX_REQUESTS]]
    method = proposal.method or question.method
    original = question.body if method not in {"GET", "HEAD", "DELETE"} else None
    requests = tuple(
        RemedyRequest(
            method=method, url=_url(question, proposal), headers=_headers(question, proposal, body), body=body
        )
        for body in (bodies or [_finite(original)])
    )
    patch = patch_of(question, bodies[0]) if bodies and question.body is not None else []
    return Remedy(title=proposal.title, why=proposal.why, requests=requests, patch=tuple(patch))


def patch_of(question: Question, new: Any) -> list[Operation]:
    """The change; of a large body field by field only, as comparing it more closely takes too long."""
    old = question.body
    if len(question.request.body) <= MAX_COMPARED or not isinstance(old, dict) or not isinstance(new, dict):
        return diff(old, new)
    changes: list[Operation] = [{"op": "remove", "path": pointers.join(key)} for key in old if key not in new]
    for key, value in new.items():
        if key not in old:
            changes.append({"op": "add", "path": pointers.join(key), "value": value})
        elif old[key] is not value and not same(old[key], value):
            changes.append({"op": "replace", "path": pointers.join(key), "value": value})
    return changes


def _finite(body: Any) -> Any:
    """The body without numbers that JSON cannot write; in a list they become null."""
    for place in infinities(body):
        if place and isinstance(pointers.get(body, pointers.parent(place)), list):
            body = pointers.set(body, place, None)
        else:
            body = pointers.remove(body, place) if place else None
    return body


def _url(question: Question, proposal: Proposal) -> str:
    if not proposal.path and proposal.query is None:
        return question.request.url
    try:
        parts = urlsplit(question.request.url)
    except ValueError:
        return proposal.path
    query = parts.query if proposal.query is None else urlencode(proposal.query)
    path = quote(proposal.path, safe="/%:@!$&'()*+,;=~") if proposal.path else parts.path
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


def _headers(question: Question, proposal: Proposal, body: Any) -> dict[str, str]:
    """The headers as they were sent, with those that the proposal sets in their place."""
    new = {name.lower(): (name, value) for name, value in proposal.headers}
    made: dict[str, str] = {}
    for name, value in question.request.headers:
        if name.lower() not in LEFT_OUT and name.lower() not in new:
            made[name] = f"{made[name]}, {value}" if name in made else value
    if body is None:
        made = {name: value for name, value in made.items() if name.lower() != "content-type"}
    elif "content-type" not in new and not any("json" in v for n, v in made.items() if n.lower() == "content-type"):
        made = {name: value for name, value in made.items() if name.lower() != "content-type"}
        made["Content-Type"] = "application/json"
    return made | dict(new.values())
