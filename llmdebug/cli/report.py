"""A diagnosis as text to read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

import msgspec

from llmdebug.cli.ink import Ink
from llmdebug.debugger.visible import visible
from llmdebug.diagnosis.verdict import BlamedField, Diagnosis, Remedy, RemedyRequest, Site
from llmdebug.http.exchange import Exchange

MAX_BODY = 4_000
"""Characters of a remedy's body that are shown; --json gives all."""
_MARKED = re.compile(r"\s*\d+ ▶")


def report(diagnosis: Diagnosis, stream: TextIO) -> str:
    """All that a diagnosis holds but its trail and times, for `stream`; ends with a line end."""
    return "\n".join(_lines(_safe(diagnosis), Ink(stream))) + "\n"


def headline(exchange: Exchange, stream: TextIO) -> str:
    """The exchange in one line."""
    request, response = exchange.request, exchange.response
    asked = f"{request.method} {request.url}" if request.url else "an answer without its request"
    told = exchange.failure.message if exchange.failure else "no answer"
    if response is not None:
        told = f"{response.status} {response.reason}".rstrip()
    return Ink(stream)(visible(f"{asked} → {told}"), "bold")


def _safe(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with all its texts, which come from servers and trees, made safe to show."""
    return msgspec.convert(_visible(msgspec.to_builtins(diagnosis)), Diagnosis)


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(item) for item in value]
    return value


def _lines(diagnosis: Diagnosis, ink: Ink) -> Iterator[str]:
    yield ink.paragraph(diagnosis.summary)
    yield ink(f"kind: {diagnosis.kind}", "dim")
    for field in diagnosis.fields:
        yield _field(field, ink)
    for pointer in diagnosis.ignored:
        yield f"{ink('ignored', 'yellow')} {pointer}"
    for site in diagnosis.sites:
        yield ""
        yield from _site(site, ink)
    if diagnosis.related:
        yield ""
        yield ink("Also worth reading", "bold")
        for site in diagnosis.related:
            yield "  " + _place(site) + (f"  ({site.why[0]})" if site.why else "")
    for number, remedy in enumerate(diagnosis.remedies, start=1):
        yield ""
        yield from _remedy(number, remedy, ink)
    if diagnosis.records or diagnosis.notes:
        yield ""
    for record in diagnosis.records:
        yield ink.paragraph(f"record: {record}")
    for note in diagnosis.notes:
        yield ink.paragraph(f"note: {note}")


def _field(field: BlamedField, ink: Ink) -> str:
    where = "" if field.place == "body" else f" of the {field.place}"
    return (
        f"{ink('blamed', 'red')}  {field.pointer or 'the whole body'}{where}: {field.reason} ({field.confidence:.0%})"
    )


def _place(site: Site) -> str:
    tree = f"{site.tree}: " if site.tree else ""
    return f"{tree}{site.file}:{site.line} {site.role}" + (f" {site.symbol}" if site.symbol else "")


def _site(site: Site, ink: Ink) -> Iterator[str]:
    yield ink(_place(site), "bold") + ink(f"  ({site.score:.2f})", "dim")
    for reason in site.why:
        yield ink.paragraph(f"- {reason}", "  ")
    for line in site.excerpt.splitlines():
        yield "  " + (ink(line, "red") if _MARKED.match(line) else line)


def _remedy(number: int, remedy: Remedy, ink: Ink) -> Iterator[str]:
    yield ink(f"Remedy {number}: {remedy.title}", "bold")
    yield ink.paragraph(remedy.why, "  ")
    for request in remedy.requests:
        yield from _request(request)


def _request(request: RemedyRequest) -> Iterator[str]:
    yield f"  {request.method} {request.url}"
    if request.body is None:
        return
    body = json.dumps(request.body, ensure_ascii=False)
    yield "  " + (body if len(body) <= MAX_BODY else f"{body[:MAX_BODY]}… (all {len(body):,} characters: --json)")
