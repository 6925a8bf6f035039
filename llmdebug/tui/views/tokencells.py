"""Tokens as coloured cells, as ids, or one a row; rows are made for the visible part only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import BROKEN, OUTSIDE, PART, SPECIAL, TEXT, Cells
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, Stacked, pattern_of, plain, wrapped
from llmdebug.tui.views.safetext import clean, shorten, width

Mode = Literal["text", "ids", "list"]
MODES: tuple[Mode, ...] = ("text", "ids", "list")

ROLES = {SPECIAL: "accent", PART: "warning", BROKEN: "error", OUTSIDE: "error"}
TURNS = ("string", "key")
"""Ordinary tokens take turns in these, so that each is told from its neighbours."""
KINDS = {TEXT: "", PART: "part of a character", BROKEN: "broken UTF-8", SPECIAL: "special", OUTSIDE: "no token"}
LONGEST = 200
"""Cells of one token; longer ones are cut."""


class ShownCells:
    """The tokens of one prompt with their texts ready to be shown: each kind of token is cleaned once."""

    def __init__(self, cells: Cells) -> None:
        """Takes a moment for many different tokens: call it in a thread."""
        self.cells = cells
        self.texts: list[str] = []
        self.breaks: list[bool] = []
        """Whether a line ends with the token."""
        known: dict[tuple[int, str], str] = {}
        for id_, piece, mark in zip(cells.ids, cells.pieces, cells.marks, strict=True):
            text = known.get((id_, mark))
            if text is None:
                text = known[id_, mark] = _shown(id_, piece, mark)
            self.texts.append(text)
            self.breaks.append(piece.endswith(b"\n") and mark == TEXT)

    def __len__(self) -> int:
        return len(self.texts)

    def span(self, place: int, mode: Mode) -> Span:
        """One token as a cell."""
        mark = self.cells.marks[place]
        role = ROLES.get(mark) or TURNS[place % 2]
        return Span(self.texts[place] if mode == "text" else f"{self.cells.ids[place]} ", role)

    def listed(self, place: int) -> Row:
        """One token as a row of its own."""
        mark = self.cells.marks[place]
        digits = len(str(len(self) - 1))
        row = (Span(f"{place:>{digits}}  ", "dim"), Span(f"{self.cells.ids[place]:>8}  ", "number"))
        text = Span(self.texts[place] if self.cells.pieces[place] else "", ROLES.get(mark, "text"))
        return (*row, text, Span(f"  {KINDS[mark]}" if KINDS[mark] else "", "dim"))


def _shown(id_: int, piece: bytes, mark: str) -> str:
    """A token's text on one line, its spaces and ends as signs; its bytes where it is none; else its id."""
    if not piece:
        return f"⟨{id_}⟩"
    errors = "backslashreplace" if mark in (PART, BROKEN) else "replace"
    text = piece.decode("utf-8", errors).replace(" ", "·").replace("\n", "⏎").replace("\t", "⇥")
    return shorten(clean(text), LONGEST)


class CellRows:
    """Tokens in lines of a width."""

    def __init__(self, shown: ShownCells, cells: int, mode: Mode) -> None:
        self._shown = shown
        self._mode: Mode = mode
        self._starts = list(range(len(shown))) if mode == "list" else _starts(shown, cells, mode)

    def __len__(self) -> int:
        return len(self._starts)

    def row(self, index: int) -> Row:
        start = self._starts[index]
        if self._mode == "list":
            return self._shown.listed(start)
        end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._shown)
        return tuple(self._shown.span(place, self._mode) for place in range(start, end))

    def place(self, index: int) -> int:
        """The position of a row's first token."""
        return self._starts[index]

    def find(self, needle: str, start: int, step: int) -> int | None:
        pattern = pattern_of(needle.replace(" ", "·"))
        count = len(self._starts)
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            if pattern.search(plain(self.row(index))):
                return index
        return None


def _starts(shown: ShownCells, cells: int, mode: Mode) -> list[int]:
    """The position of the first token of each line."""
    if not len(shown):
        return []
    widths = [width(text) for text in shown.texts] if mode == "text" else [len(str(i)) + 1 for i in shown.cells.ids]
    starts, used, ends = [0], 0, False
    for place, taken in enumerate(widths):
        if used and (ends or used + taken > cells):
            starts.append(place)
            used = 0
        used += taken
        ends = mode == "text" and shown.breaks[place]
    return starts


class StackedCells(Stacked):
    """A space is searched for as it is shown."""

    def find(self, needle: str, start: int, step: int) -> int | None:
        count = len(self)
        pattern = pattern_of(needle.replace(" ", "·"))
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            if pattern.search(plain(self.row(index)).replace(" ", "·")):
                return index
        return None


class ShownReport:
    """All prompts of a report, ready to be shown."""

    def __init__(self, report: TokenReport) -> None:
        """Takes a moment for many tokens: call it in a thread."""
        self.report = report
        self._cells = [ShownCells(prompt.reading.cells) if prompt.reading else None for prompt in report.prompts]

    def rows(self, cells: int, mode: Mode) -> StackedCells:
        parts: list[Rows] = []
        if not self.report.prompts:
            parts.append(FixedRows([(Span("The request holds neither a prompt, nor ids, nor messages.", "dim"),)]))
        notes: list[Row] = [(Span(clean(note), "warning"),) for note in self.report.notes]
        if notes:
            parts.append(FixedRows(wrapped(notes, cells)))
        for prompt, shown in zip(self.report.prompts, self._cells, strict=True):
            parts.append(FixedRows(wrapped(list(_told(prompt, self.report)), cells)))
            if shown is not None:
                parts.append(CellRows(shown, cells, mode))
        return StackedCells(parts)


def _told(prompt: PromptTokens, report: TokenReport) -> Iterator[Row]:
    """What stands above the tokens of a prompt."""
    place = clean(prompt.prompt.pointer)
    if prompt.fault is not None:
        yield (Span(f"{place}: {clean(prompt.fault.told)}", "error"),)
        if prompt.fault.place:
            yield (Span(clean(prompt.fault.place), "dim"),)
    elif prompt.reading is None:
        yield (Span(f"{place}: no tokens: {clean(prompt.problem)}", "error"),)
    else:
        yield (Span(f"{place}: ", "strong"), Span(clean(report.counted(prompt))))
        if prompt.outside:
            yield (Span(f"Out of the vocabulary: {prompt.outside_told}.", "error"),)
        if prompt.reading.difference is not None:
            yield (Span(clean(f"Converted there and back, {prompt.reading.difference.told}."), "warning"),)
        if prompt.server is not None:
            yield (Span(clean(f"From the server's own tokens, {prompt.server.told}."), "error"),)
    for note in prompt.notes:
        yield (Span(clean(note), "dim"),)
