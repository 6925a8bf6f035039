"""A diagnosis as rows: verdict, sites with reasons and the marked source line, what is related, the trail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from llmdebug.diagnosis.verdict import Diagnosis, Remedy, Site
from llmdebug.tui.views.highlight import python_row
from llmdebug.tui.views.rows import Row, Span, safe, wrap
from llmdebug.tui.views.safetext import clean, shorten, width

_EXCERPT = re.compile(r"\s*(\d+) ([▶│]) ?(.*)")

MOST_AROUND = 12
MOST_MARKED = 6
"""Of a refusal that spans more lines, the first so many."""

SAID: dict[str, str] = {"experiment": "tried", "for": "for", "against": "against"}


@dataclass(frozen=True, slots=True)
class Target:
    """What a row stands for when it is acted on."""

    kind: Literal["site", "remedy"]
    index: int
    """Of the site, related ones after the claims; or the remedy's number, from 1."""


@dataclass(slots=True)
class DiagnosisRows:
    """Rows and what they stand for; fulfils Rows together with FixedRows' search."""

    rows: list[Row]
    targets: dict[int, Target]


def places(diagnosis: Diagnosis) -> tuple[Site, ...]:
    """Claims first, then what is related."""
    return (*diagnosis.sites, *diagnosis.related)


def verdict_rows(
    diagnosis: Diagnosis, cells: int, settled: Row = (), *, tight: bool = False, broken: bool = False
) -> DiagnosisRows:
    """The whole diagnosis, what matters most first; `tight` shows one line of source around the marked one.

    `broken`: the answer is not whole, so that nothing refused is no good news.
    """
    rows: list[Row] = []
    targets: dict[int, Target] = {}
    if settled:
        rows += wrap(settled, cells, 2)
    role = "strong" if diagnosis.kind != "none" or broken else "ok"
    rows += wrap(safe(diagnosis.summary, role), cells)
    for number, site in enumerate(diagnosis.sites):
        start = len(rows)
        rows += wrap(site_row(site, claim=True), cells, 4)
        rows += excerpt_rows(site.excerpt, cells, around=0 if number else 1 if tight else MOST_AROUND)
        targets |= {at: Target("site", number) for at in range(start, len(rows))}
        for why in site.why:
            rows += wrap((Span("    · ", "dim"), Span(clean(why), "dim")), cells, 6)
    rows += _blame_rows(diagnosis, cells)
    rows += _remedy_reasons(diagnosis, cells, targets, len(rows))
    if diagnosis.related:
        rows.append((Span("also worth reading", "strong"),))
    for number, site in enumerate(diagnosis.related, start=len(diagnosis.sites)):
        targets[len(rows)] = Target("site", number)
        rows += wrap(site_row(site, claim=False), cells, 4)
    for record in diagnosis.records:
        rows += wrap((Span("record ", "key"), *safe(record)), cells, 4)
    for note in diagnosis.notes:
        rows += wrap((Span("note  ", "warning"), *safe(note)), cells, 6)
    return DiagnosisRows(rows, targets)


def site_row(site: Site, *, claim: bool) -> Row:
    """`▸ protocol.py:372 declares CompletionRequest.prompt`."""
    tree = (Span(clean(site.tree) + ": ", "dim"),) if site.tree else ()
    return (
        Span("▸ " if claim else "  ", "accent"),
        *tree,
        Span(clean(f"{site.file}:{site.line}"), "accent"),
        Span(f" {site.role} ", "dim"),
        Span(clean(site.symbol), "strong" if claim else "text"),
    )


def excerpt_rows(excerpt: str, cells: int, *, around: int = MOST_AROUND) -> list[Row]:
    """Source lines, the refusing ones marked, and at most `around` lines on either side of them."""
    parsed = [match for line in excerpt.split("\n") if (match := _EXCERPT.fullmatch(line))]
    marked = [place for place, match in enumerate(parsed) if match[2] == "▶"]
    if marked:
        last = min(marked[-1], marked[0] + MOST_MARKED - 1)
        parsed = parsed[max(marked[0] - around, 0) : last + around + 1]
    common = min((len(m[3]) - len(m[3].lstrip()) for m in parsed if m[3].strip()), default=0)
    digits = max((len(m[1]) for m in parsed), default=0)
    rows: list[Row] = []
    for match in parsed:
        code = clean(match[3].expandtabs(4)[common:])
        if match[2] == "▶":
            room = cells - digits - 5
            text = shorten(code, room)
            rows.append(
                (
                    Span(f"  {match[1]:>{digits}} ▶ ", "marked"),
                    Span(text + " " * max(room - width(text), 0), "marked"),
                )
            )
        else:
            rows.append((Span(f"  {match[1]:>{digits}} │ ", "dim"), *python_row(code)))
    return rows


def _blame_rows(diagnosis: Diagnosis, cells: int) -> list[Row]:
    rows: list[Row] = []
    for field in diagnosis.fields:
        where = "" if field.place == "body" else f" ({field.place})"
        told = f"{field.pointer or '(the whole body)'}{where} {field.reason}, {field.confidence:.0%} sure"
        rows += wrap((Span("✗ ", "error"), *safe(told)), cells, 2)
    for pointer in diagnosis.ignored:
        rows += wrap((Span("? ", "warning"), *safe(f"{pointer} ignored: this server takes no such field")), cells, 2)
    return rows


def _remedy_reasons(diagnosis: Diagnosis, cells: int, targets: dict[int, Target], start: int) -> list[Row]:
    rows: list[Row] = []
    for number, remedy in enumerate(diagnosis.remedies, start=1):
        at = start + len(rows)
        told: Row = (*remedy_row(number, remedy), Span(f": {clean(remedy.why)}", "dim"))
        wrapped_rows = wrap(told, cells, 2)
        targets |= {at + n: Target("remedy", number) for n in range(len(wrapped_rows))}
        rows += wrapped_rows
    return rows


def remedy_row(number: int, remedy: Remedy) -> Row:
    """`1 send the ids as prompt`; advice for the server's side has no number."""
    if not remedy.requests:
        return (Span("- ", "dim"), *safe(remedy.title))
    many = f" ({len(remedy.requests)} requests)" if len(remedy.requests) > 1 else ""
    return (Span(str(number), "bar_key"), Span(" "), Span(clean(remedy.title) + many, "accent"))


def remedy_bar(diagnosis: Diagnosis | None, cells: int, most: int) -> tuple[Row, ...]:
    """The remedies in few rows, for the pane's lower edge."""
    if diagnosis is None:
        return ()
    rows: list[Row] = []
    line: list[Span] = []
    room = cells
    for number, remedy in enumerate(diagnosis.remedies[:9], start=1):
        if not remedy.requests:
            continue
        spans = remedy_row(number, remedy)
        needed = sum(width(span.text) for span in spans)
        if line and needed + 2 > room:
            rows.append(tuple(line))
            line, room = [], cells
        if line:
            line.append(Span("  "))
            room -= 2
        line += spans
        room -= needed
    if line:
        rows.append(tuple(line))
    return tuple(rows[:most])


def trail_rows(diagnosis: Diagnosis, cells: int) -> list[Row]:
    """Symptom, hypotheses, evidence, experiment, verdict."""
    rows: list[Row] = []
    for step in diagnosis.trail:
        role = {"for": "ok", "against": "error", "verdict": "strong", "experiment": "accent"}.get(step.step, "key")
        rows += wrap((Span(f"{SAID.get(step.step, step.step):>10}  ", role), *safe(step.text)), cells, 12)
    told = ", ".join(f"{name} {ms:.0f} ms" for name, ms in diagnosis.timings_ms.items())
    if told:
        rows += wrap((Span(f"{'times':>10}  ", "dim"), *safe(told, "dim")), cells, 12)
    return rows or [safe("The diagnosis kept no trail.", "dim")]


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The diagnosis as plain text, to copy."""
    shown = verdict_rows(diagnosis, 100)
    return "\n".join("".join(span.text for span in row).rstrip() for row in shown.rows) + "\n"
