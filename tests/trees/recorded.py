"""Recorded exchanges whose truth is known: read, and held against a diagnosis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from llmdebug.diagnosis.verdict import Diagnosis, Site
from llmdebug.http.exchange import Exchange, Request, Response

WIDEST_SITE = 60
"""Lines; a wider site points at nothing."""


class Server(msgspec.Struct, frozen=True):
    name: str
    tree: str | None = None
    """Such as `pypi:NAME==VERSION`, with `#folder` behind it where a folder of it serves as the tree."""


class SentRequest(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: dict[str, Any] | None = None
    body: Any = None
    raw_body: str | None = None
    """In place of `body` where that is no JSON."""


class GivenResponse(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, Any] | None = None
    body: Any = ""


class Range(msgspec.Struct, frozen=True):
    file: str
    start: int
    end: int


class Truth(msgspec.Struct, frozen=True):
    kind: str
    fields: tuple[str, ...] | None = None
    ignored: tuple[str, ...] | None = None
    accept: tuple[Range, ...] | None = None
    """Places that an expert accepts as the code that refused; empty where nothing in the tree is to blame."""


class Case(msgspec.Struct, frozen=True):
    id: str
    server: Server
    request: SentRequest
    response: GivenResponse
    truth: Truth

    @property
    def exchange(self) -> Exchange:
        sent, given = self.request, self.response
        body = sent.raw_body
        if body is None:
            body = "" if sent.body is None else json.dumps(sent.body, ensure_ascii=False)
        return Exchange(
            request=Request(
                method=sent.method,
                url="http://127.0.0.1:8000" + sent.path,
                headers=_headers(sent.headers),
                body=body.encode(),
            ),
            response=Response(status=given.status, headers=_headers(given.headers), body=self.answer.encode()),
        )

    @property
    def answer(self) -> str:
        """The answer's body."""
        body = self.response.body or ""
        return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


class Mark(NamedTuple):
    """What of a case's truth a diagnosis found."""

    has_site: bool
    rank: int
    """Of the first site that is accepted, from 1; 0: there is none."""
    abstains: bool
    field: bool
    kind: bool


def read_cases(folder: Path) -> list[Case]:
    """All cases below a folder, by path; JSON files of another shape are passed over."""
    texts = [path.read_bytes() for path in sorted(folder.rglob("*.json"))]
    return [msgspec.json.decode(text, type=Case) for text in texts if b'"truth"' in text]


def by_tree(cases: Iterable[Case]) -> dict[str, list[Case]]:
    trees: dict[str, list[Case]] = {}
    for case in cases:
        trees.setdefault(case.server.tree or "", []).append(case)
    return trees


def overlaps(site: Site, accepted: Iterable[Range]) -> bool:
    if site.end_line - site.line >= WIDEST_SITE:
        return False
    return any(site.file == a.file and site.line <= a.end and site.end_line >= a.start for a in accepted)


def mark(case: Case, told: Diagnosis) -> Mark:
    truth = case.truth
    accepted = truth.accept or ()
    rank = next((n for n, site in enumerate(told.sites, start=1) if overlaps(site, accepted)), 0)
    fields = [field.pointer for field in told.fields if field.place == "body"]
    if truth.ignored:
        is_field_right = set(told.ignored) == set(truth.ignored) and not fields
    elif truth.fields:
        is_field_right = bool(fields) and fields[0] in truth.fields
    else:
        is_field_right = not fields and not (truth.kind == "none" and told.ignored)
    return Mark(bool(accepted), rank, not told.sites, is_field_right, told.kind == truth.kind)


class Figures(NamedTuple):
    cases: int
    sited: int
    """Cases with a site in the tree."""
    top1: int
    top3: int
    field: int
    kind: int
    unsited: int
    abstains: int
    """Of those without a site in the tree."""


def figures(marks: Iterable[Mark]) -> Figures:
    marks = list(marks)
    sited = [m for m in marks if m.has_site]
    unsited = [m for m in marks if not m.has_site]
    return Figures(
        cases=len(marks),
        sited=len(sited),
        top1=sum(m.rank == 1 for m in sited),
        top3=sum(1 <= m.rank <= 3 for m in sited),
        field=sum(m.field for m in marks),
        kind=sum(m.kind for m in marks),
        unsited=len(unsited),
        abstains=sum(m.abstains for m in unsited),
    )


def rows(marks: Iterable[tuple[str, Mark]]) -> Iterator[str]:
    """A table: a line for each name, in order, and one for all."""
    named = list(marks)
    yield HEADER
    for name in [*dict.fromkeys(name for name, _ in named), "all"]:
        yield row(name, (m for other, m in named if name in (other, "all")))


HEADER = f"{'':<22}{'cases':>6}{'top-1':>8}{'top-3':>8}{'field':>8}{'kind':>8}{'abstains':>10}"


def row(name: str, marks: Iterable[Mark]) -> str:
    f = figures(marks)
    shares = (_share(f.top1, f.sited), _share(f.top3, f.sited), _share(f.field, f.cases), _share(f.kind, f.cases))
    columns = "".join(f"{share:>8}" for share in shares)
    return f"{name:<22}{f.cases:>6}{columns}{f'{f.abstains} of {f.unsited}':>10}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def _headers(headers: dict[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in (headers or {}).items())
