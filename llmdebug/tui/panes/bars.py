"""The first line of the screen, and the last: keys that work here, a message, or a question to type into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from llmdebug.tui.panes.painter import beside, paint
from llmdebug.tui.theme import Theme
from llmdebug.tui.views.rows import Row, Span, wrap
from llmdebug.tui.views.safetext import clean, shorten, width

MESSAGE_LINES = 4


class Bar(Widget):
    """A widget that draws the rows it was given, in the colours of a bar."""

    DEFAULT_CSS = ""
    ALLOW_SELECT = False

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._drawn: tuple[Row, ...] = ()

    def rows(self, cells: int) -> tuple[Row, ...]:
        """What is to be drawn."""
        return ()

    def update(self) -> None:
        """Draws again where something has changed."""
        rows = self.rows(self.size.width)
        if rows != self._drawn:
            self.refresh()

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y == 0:
            self._drawn = self.rows(self.size.width)
        row = self._drawn[y] if y < len(self._drawn) else ()
        return paint(row, self.size.width, self.theme, behind="bar")


class TitleBar(Bar):
    """Which server, which source, which request of how many."""

    def __init__(self, theme: Theme, told: Callable[[], tuple[Row, Row]]) -> None:
        super().__init__(theme)
        self._told = told

    def rows(self, cells: int) -> tuple[Row, ...]:
        left, right = self._told()
        return ((Span(" "), *beside(left, right, cells - 2), Span(" ")),)


class Refusal(NamedTuple):
    """Why a line that was typed cannot be taken."""

    told: str
    at: int
    """The letter at fault, from 0; behind the last where something is missing."""


@dataclass(slots=True)
class Question:
    """A line that the user types."""

    label: str
    text: str
    on_done: Callable[[str], Refusal | None]
    """A refusal keeps the question open."""
    on_change: Callable[[str], None] | None = None
    on_cancel: Callable[[], None] | None = None
    refusal: Refusal | None = None


class BottomBar(Bar):
    """Key hints; a message until the next key; or a question."""

    def __init__(self, theme: Theme, hints: Callable[[], Sequence[tuple[str, str]]]) -> None:
        super().__init__(theme)
        self._hints = hints
        self.message: Row = ()
        self.note: Row = ()
        """Stays above the keys until it is taken away."""
        self.question: Question | None = None

    def lines_wanted(self, cells: int) -> int:
        """How many lines it takes."""
        return len(self.rows(cells))

    def rows(self, cells: int) -> tuple[Row, ...]:
        if self.question is not None:
            refusal = self.question.refusal
            told: Row = () if refusal is None else (Span("✗ ", "error"), Span(clean(refusal.told)))
            above = wrap(told, max(cells - 2, 4))[: MESSAGE_LINES - 1] if told else ()
            return (*((Span(" "), *row) for row in above), self._question_row(self.question, cells))
        if self.message:
            return tuple((Span(" "), *row) for row in wrap(self.message, max(cells - 2, 4))[:MESSAGE_LINES])
        if self.note:
            return (*((Span(" "), *row) for row in wrap(self.note, max(cells - 2, 4))[:2]), self._hint_row(cells))
        return (self._hint_row(cells),)

    def _question_row(self, question: Question, cells: int) -> Row:
        room = max(cells - width(question.label) - 3, 4)
        refusal, text = question.refusal, question.text
        at = len(text) if refusal is None else min(refusal.at, len(text))
        first = 0
        while first < at and width(clean(text[first:])) > room:
            first += 1
        shown = shorten(clean(text[at + 1 :]), max(room - width(clean(text[first : at + 1])), 0))
        return (
            Span(" "),
            Span(question.label + " ", "bar_key"),
            Span(clean(text[first:at]), "text"),
            Span(clean(text[at : at + 1]), "error"),
            Span(shown, "text"),
            Span(" ", "cursor"),
        )

    def _hint_row(self, cells: int) -> Row:
        hints = list(self._hints())
        last = hints.pop() if hints else ("", "")
        room = cells - 2 - width(last[0]) - width(last[1]) - 1
        spans: list[Span] = [Span(" ")]
        for key, told in hints:
            needed = width(key) + 1 + width(told) + 2
            if needed > room:
                continue
            spans += [Span(key, "bar_key"), Span(f" {told}  ")]
            room -= needed
        return (*spans, Span(last[0], "bar_key"), Span(f" {last[1]}"))

    def tell(self, text: str, role: str = "text") -> None:
        """Shows a message until the next key."""
        mark = {"error": "✗ ", "ok": "✓ ", "warning": "! "}.get(role, "")
        self.message = (Span(mark, role), Span(clean(text))) if mark else (Span(clean(text)),)

    def press(self, event: events.Key) -> None:
        """A key for the question."""
        question = self.question
        if question is None:
            return
        if event.key == "enter":
            self.question = None
            question.refusal = question.on_done(question.text)
            if question.refusal is not None and self.question is None:
                self.question = question
        elif event.key in ("escape", "ctrl+c"):
            self.question = None
            if question.on_cancel is not None:
                question.on_cancel()
        elif event.key in ("backspace", "ctrl+h"):
            self._retype(question, question.text[:-1])
        elif event.key == "ctrl+u":
            self._retype(question, "")
        elif event.key == "ctrl+w":
            self._retype(question, question.text.rstrip().rpartition(" ")[0])
        elif event.is_printable and event.character:
            self._retype(question, question.text + event.character)

    def paste(self, text: str) -> None:
        """Pasted text goes into the question, as one line."""
        if self.question is not None:
            self._retype(self.question, self.question.text + " ".join(text.split()))

    def _retype(self, question: Question, text: str) -> None:
        question.text, question.refusal = text, None
        if question.on_change is not None:
            question.on_change(text)
