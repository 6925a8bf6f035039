"""The values a diagnosis is made of, and their JSON contract `llmdebug.diagnosis/1`.

Pointers are JSON Pointers (RFC 6901) into the request body. Scores and confidences lie in 0..1.
`fields` and `sites` are claims, best first; `related` holds places worth reading that are no claim.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = "llmdebug.diagnosis/1"
NO_TREE = "no source tree is linked: give --source with the server's package folder, or auto, to find the line"
"""The note of a diagnosis without a tree; a screen may say it in its own way."""

Kind = Literal[
    "malformed_json",
    "content_type",
    "no_route",
    "wrong_method",
    "auth",
    "payload_too_large",
    "model_not_found",
    "context_length",
    "unknown_field",
    "missing_field",
    "wrong_type",
    "conflict",
    "out_of_range",
    "bad_value",
    "unsupported",
    "upstream",
    "other",
    "ignored_field",
    "none",
]
"""What went wrong, the first that fits."""

Role = Literal["declares", "raises", "returns", "checks", "routes", "reads", "internal", "documents"]

Place = Literal["body", "query", "path", "header"]


class BlamedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the request that is to blame; for a missing one, where it should have been."""

    pointer: str
    place: Place = msgspec.field(name="in", default="body")
    reason: str
    confidence: float


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a source tree."""

    file: str
    """Relative to the tree, with forward slashes."""
    line: int
    end_line: int
    symbol: str = ""
    """Qualified name of what stands there, `Class.field` or `Class.method`; empty at module level."""
    role: Role
    score: float
    why: tuple[str, ...] = ()
    excerpt: str = ""
    """A few source lines around `line`, untouched; empty where the file can't be read."""
    tree: str = ""
    """The tree's name where several are linked."""


class RemedyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One complete request of a remedy. `body` is a JSON value; None means no body."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: Any = None


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """A changed request and why it should pass. No requests: it is advice to follow at the server."""

    title: str
    why: str
    requests: tuple[RemedyRequest, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    """JSON Patch (RFC 6902) from the refused body to the first request's body."""


class TrailStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the way from symptom to verdict."""

    step: Literal["symptom", "hypothesis", "for", "against", "experiment", "verdict"]
    text: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What llmdebug has to say of one exchange."""

    schema: str = SCHEMA
    summary: str
    kind: Kind
    fields: tuple[BlamedField, ...] = ()
    ignored: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()
    related: tuple[Site, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    records: tuple[str, ...] = ()
    trail: tuple[TrailStep, ...] = ()
    notes: tuple[str, ...] = ()
    """Things to know about this diagnosis itself: files that could not be parsed, no tree linked."""
    timings_ms: dict[str, float] = {}
