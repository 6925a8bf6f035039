"""Tokens as text to read, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from llmdebug.cli.ink import Ink
from llmdebug.debugger.visible import visible
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import BROKEN, OUTSIDE, PART, SPECIAL, Cells, Vocabulary

SCHEMA = "llmdebug.tokens/1"
MARKS = {
    "t": "text",
    PART: "part of a character",
    BROKEN: "broken UTF-8",
    SPECIAL: "special",
    OUTSIDE: "out of the vocabulary",
}
_STYLES = {PART: "yellow", BROKEN: "red", SPECIAL: "cyan", OUTSIDE: "red"}


def report_text(report: TokenReport, stream: TextIO) -> str:
    """All of a report, for `stream`; ends with a line end."""
    return "\n".join(_lines(report, Ink(stream))) + "\n"


def _lines(report: TokenReport, ink: Ink) -> Iterator[str]:
    if report.vocabulary is not None:
        yield ink(vocabulary_line(report.vocabulary), "dim")
    for prompt in report.prompts:
        yield from _prompt(prompt, report, ink)
    for note in report.notes:
        yield ink.paragraph(f"note: {visible(note)}")


def vocabulary_line(vocabulary: Vocabulary) -> str:
    """The tokenizer in one line."""
    rows = f" (the model has {vocabulary.rows:,} rows)" if vocabulary.rows not in (None, vocabulary.size) else ""
    holes = f", {vocabulary.holes:,} of them unused" if vocabulary.holes else ""
    return visible(f"{vocabulary.kind}: {vocabulary.size:,} ids{holes}{rows} · {vocabulary.place}")


def _prompt(prompt: PromptTokens, report: TokenReport, ink: Ink) -> Iterator[str]:
    place = prompt.prompt.pointer
    if prompt.fault is not None:
        yield ink(visible(f"{place}: {prompt.fault.told}"), "red")
        if prompt.fault.place:
            yield visible(f"  {prompt.fault.place}")
        return
    if prompt.reading is None:
        yield ink(visible(f"{place}: no tokens: {prompt.problem.removeprefix(place + ': ')}"), "red")
        return
    yield ink(f"{place}: {report.counted(prompt)}", "bold")
    cells = prompt.reading.cells
    if prompt.outside:
        yield ink(f"Out of the vocabulary: {prompt.outside_told}.", "red")
    if prompt.reading.difference is not None:
        yield ink(visible(f"Converted there and back, {prompt.reading.difference.told}."), "yellow")
    if prompt.server is not None:
        yield ink(visible(f"From the server's own tokens, {prompt.server.told}."), "red")
    for note in prompt.notes:
        yield ink.paragraph(f"note: {visible(note)}")
    if prompt.prompt.form == "ids":
        yield ink(f"text: {quoted_text(prompt.reading.text)}", "bold")
    yield from _cells(cells, ink)


def _cells(cells: Cells, ink: Ink) -> Iterator[str]:
    width = len(str(max(len(cells) - 1, 0)))
    ids = max((len(str(id_)) for id_ in cells.ids), default=0)
    for place, (id_, piece, mark) in enumerate(zip(cells.ids, cells.pieces, cells.marks, strict=True)):
        told = f"  ({MARKS[mark]})" if mark not in ("t",) else ""
        text = quoted_text(piece_text(piece, mark)) if piece else ""
        yield f"{place:>{width}}  {id_:>{ids}}  " + ink(text + told, _STYLES.get(mark, ""))


def piece_text(piece: bytes, mark: str) -> str:
    """A token as text; bytes that alone are none as `\\xNN`."""
    if mark in (PART, BROKEN):
        return piece.decode("utf-8", "backslashreplace")
    return piece.decode("utf-8", "replace")


def quoted_text(text: str) -> str:
    """On one line, between quotation marks, spaces and ends told apart."""
    return '"' + visible(text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")) + '"'


def report_json(report: TokenReport) -> dict[str, Any]:
    """The report as `llmdebug.tokens/1`."""
    return {
        "schema": SCHEMA,
        "tokenizer": report.vocabulary,
        "limit": report.limit,
        "limit_from": report.limit_from,
        "budget": report.budget,
        "over": report.over,
        "prompts": [_prompt_json(prompt) for prompt in report.prompts],
        "notes": report.notes,
    }


def _prompt_json(prompt: PromptTokens) -> dict[str, Any]:
    made: dict[str, Any] = {"pointer": prompt.prompt.pointer, "form": prompt.prompt.form, "count": prompt.count}
    if prompt.reading is not None:
        cells = prompt.reading.cells
        made |= {
            "text": prompt.reading.text,
            "outside": [{"position": place, "id": cells.ids[place]} for place in prompt.outside],
            "tokens": [
                {"id": id_, "text": piece_text(piece, mark), "kind": MARKS[mark]}
                | ({"bytes": piece.hex()} if mark in (PART, BROKEN) else {})
                for id_, piece, mark in zip(cells.ids, cells.pieces, cells.marks, strict=True)
            ],
            "difference": prompt.reading.difference,
            "server_difference": prompt.server,
        }
    return made | {"fault": prompt.fault, "problem": prompt.problem, "notes": prompt.notes}
